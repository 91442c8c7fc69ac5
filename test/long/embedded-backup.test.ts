import assert from "node:assert/strict";
import { mkdir, open as openFile, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { AppError } from "../../core/errors.js";
import { createBackups } from "../../store/embedded/file/backup.js";
import { openEmbedded, type EmbeddedStore } from "../../store/embedded/open.js";
import { isWhole, PAGE_BYTES, PAGE_COUNT_AT } from "../../store/embedded/file/page.js";
import { verifyFolder } from "../../store/embedded/file/verify.js";
import { onError, temporaryFolder } from "../support/backends.js";

const ROWS = 6_000;
const hasCode = (code: string) => (error: unknown) => error instanceof AppError && error.code === code;

describe("A backup of the embedded store", () => {
  let folder: string;
  let dataDir: string;
  let file: string;
  let store: EmbeddedStore;
  const open = (from: string, checkpointMs: number) => openEmbedded({ dataDir: from, checkpointMs, onError });
  beforeEach(async () => {
    folder = await temporaryFolder();
    dataDir = join(folder, "data");
    file = join(folder, "backup.db");
    store = await open(dataDir, 2);
    const { database } = store;
    database.prepare("CREATE TABLE pairs (id INTEGER PRIMARY KEY, one INTEGER, body BLOB, other INTEGER)").run([]);
    const insert = database.prepare("INSERT INTO pairs VALUES (?, 0, ?, 0)");
    await database.write(() => {
      for (let id = 0; id < ROWS; id += 1) insert.run([id, Buffer.alloc(3_000, id)]);
    });
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  /** The copy as a store of its own. */
  const restored = async (): Promise<EmbeddedStore> => {
    const again = join(folder, "again");
    await mkdir(again);
    await rename(file, join(again, "onym.db"));
    assert.deepEqual(verifyFolder(again), []);
    return open(again, 60_000);
  };

  it("is one state of the store, with all that was committed before, while every page changes", async () => {
    const { database } = store;
    const update = database.prepare("UPDATE pairs SET one = ?, other = ? WHERE id % 100 = ? OR id IN (0, ?)");
    const load = { done: 0, isOn: true };
    const write = async (): Promise<void> => {
      while (load.isOn) {
        const step = load.done + 1;
        await database.write(() => void update.run([step, step, step % 100, ROWS - 1]));
        load.done = step;
        await nextTurn();
      }
    };
    const writing = write();
    while (load.done < 100) await nextTurn();
    const before = load.done;
    const { pages, damaged } = await database.copyTo(file);
    load.isOn = false;
    await writing;
    assert.ok(load.done > before + 10, "it was written while the copy was made");
    assert.deepEqual(damaged, []);
    assert.ok(pages > ROWS);
    const copy = await restored();
    try {
      const ask = (sql: string) =>
        copy.database.read(() => copy.database.prepare(sql).all([])) as readonly (readonly number[])[];
      // Each step changed the first row and the last, which stand far apart in the file,
      const ends = ask(`SELECT one, other FROM pairs WHERE id IN (0, ${ROWS - 1})`);
      const newest = ends[0]![0]!;
      assert.deepEqual(ends, [
        [newest, newest],
        [newest, newest],
      ]);
      assert.ok(newest >= before && newest <= load.done);
      // and one hundredth of the others, in turn.
      const between = `FROM pairs WHERE id BETWEEN 1 AND ${ROWS - 2} GROUP BY 1`;
      for (const [group, ...found] of ask(`SELECT id % 100, min(one), max(one), max(other) ${between}`)) {
        const expected = newest - ((newest - group!) % 100);
        assert.deepEqual(found, [expected, expected, expected], `group ${group}`);
      }
      assert.deepEqual(
        copy.database.read(() => copy.database.prepare("PRAGMA integrity_check").all([])),
        [["ok"]],
      );
    } finally {
      await copy.close();
    }
  });

  it("has what was committed just before, wherever it stands", async () => {
    await store.close();
    store = await open(dataDir, 60_000);
    const { database } = store;
    await database.write(() => void database.prepare("UPDATE pairs SET one = 7").run([]));
    await database.copyTo(file);
    const copy = await restored();
    try {
      const count = copy.database.prepare("SELECT count(*) FROM pairs WHERE one = 7");
      assert.deepEqual(
        copy.database.read(() => count.get([])),
        [ROWS],
      );
    } finally {
      await copy.close();
    }
  });

  it("is not made over a file, nor twice at once, and leaves nothing behind when it fails", async () => {
    await writeFile(file, "mine");
    await assert.rejects(store.database.copyTo(file), hasCode("conflict"));
    assert.equal(await readFile(file, "utf8"), "mine");
    const other = join(folder, "other.db");
    const first = store.database.copyTo(other);
    await assert.rejects(store.database.copyTo(join(folder, "third.db")), hasCode("conflict"));
    await first;
    await assert.rejects(store.database.copyTo(join(folder, "no", "folder.db")), { code: "ENOENT" });
    assert.deepEqual((await readdir(folder)).toSorted(), ["backup.db", "data", "other.db"]);
  });

  it("replaces no file beside it, nor one that comes while it is made", async () => {
    const beside = `${file}.part`;
    await writeFile(beside, "mine");
    const copying = store.database.copyTo(file);
    await writeFile(file, "mine too");
    await assert.rejects(copying, hasCode("conflict"));
    assert.equal(await readFile(file, "utf8"), "mine too");
    await rm(file);
    await store.database.copyTo(file);
    assert.equal(await readFile(beside, "utf8"), "mine");
    assert.deepEqual((await readdir(folder)).toSorted(), ["backup.db", "backup.db.part", "data"]);
  });

  it("ends when the store closes, and leaves nothing", async () => {
    const copying = store.database.copyTo(file);
    await Promise.all([assert.rejects(copying, hasCode("unavailable")), store.close()]);
    assert.deepEqual(await readdir(folder), ["data"]);
    assert.deepEqual(verifyFolder(dataDir), []);
  });

  it("is not begun where it would leave the disk no room", async () => {
    const head = Buffer.alloc(PAGE_BYTES);
    head.writeUInt32BE(ROWS, PAGE_COUNT_AT);
    const large = join(folder, "large");
    await writeFile(large, head);
    const source = await openFile(large, "r");
    const quiet = { descriptor: source.fd, checkpoint: () => true, watch: () => undefined };
    const backups = createBackups(quiet, async () => ROWS * PAGE_BYTES);
    try {
      await assert.rejects(backups.copyTo(file), /^AppError: A copy needs 26 MB in .*, where 24 MB are free/);
      assert.deepEqual((await readdir(folder)).toSorted(), ["data", "large"]);
    } finally {
      await source.close();
    }
  });
});

describe("A page", () => {
  it("that SQLite only locks is whole although nothing is on it", () => {
    const empty = Buffer.alloc(PAGE_BYTES);
    assert.deepEqual(
      [262_144, 262_145, 262_146].map((number) => isWhole(empty, number)),
      [false, true, false],
    );
  });
});
