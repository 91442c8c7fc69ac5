import assert from "node:assert/strict";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { makeCopyFolder, removeLeftCopies } from "../../../store/embedded/file/copies.js";
import { temporaryFolder } from "../../support/backends.js";

describe("Copies that a verify reads", () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await temporaryFolder();
  });
  afterEach(() => rm(dataDir, { recursive: true }));

  const copies = async (): Promise<readonly string[]> =>
    (await readdir(dataDir)).filter((name) => name.startsWith("verify-")).toSorted();
  const leave = async (): Promise<void> => {
    await mkdir(join(dataDir, "verify-left"));
    await writeFile(join(dataDir, "verify-left", "onym.db"), "rows");
  };

  it("are removed when nobody has one in use, and nothing else is", async () => {
    await leave();
    await writeFile(join(dataDir, "verify-notes"), "mine");
    removeLeftCopies(dataDir);
    assert.deepEqual(await copies(), ["verify-notes"]);
  });

  it("stay while one is in use, of two at once too", async () => {
    const one = makeCopyFolder(dataDir);
    await leave();
    const two = makeCopyFolder(dataDir);
    const names = [basename(one.folder), basename(two.folder), "verify-left"].toSorted();
    assert.deepEqual(await copies(), names);
    one.remove();
    removeLeftCopies(dataDir);
    assert.deepEqual(await copies(), [basename(two.folder), "verify-left"].toSorted());
    two.remove();
    removeLeftCopies(dataDir);
    assert.deepEqual(await copies(), []);
  });
});
