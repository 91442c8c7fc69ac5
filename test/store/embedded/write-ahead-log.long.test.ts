import assert from "node:assert/strict";
import { open as openFile, readFile, rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import { openEmbedded, type EmbeddedStore } from "../../../store/embedded/open.js";
import { createEmbeddedQueue } from "../../../store/embedded/queue/queue.js";
import { onError, temporaryFolder } from "../../support/backends.js";
import { copyStore, flip } from "../../support/files.js";

const FRAME_BYTES = 24 + 4_096;

describe("A write-ahead log that a crash left", () => {
  let folder: string;
  let dataDir: string;
  let opened: EmbeddedStore[];
  const open = async (dataFolder = dataDir): Promise<EmbeddedStore> => {
    const store = await openEmbedded({ dataDir: dataFolder, checkpointMs: 60_000, onError });
    opened.push(store);
    return store;
  };
  let copy: string;
  let log: string;
  let last: number;
  const COMMITS = 20;
  const messages = async (): Promise<number> => {
    const store = await open(copy);
    return createEmbeddedQueue({ database: store.database, lengthMax: 100, onError: () => {} }).depth();
  };
  /** Behind the last frame: the rest of the file is zeros. */
  const endOf = async (file: string): Promise<number> => {
    const bytes = await readFile(file);
    const used = bytes.findLastIndex((byte) => byte !== 0) - 32;
    return 32 + Math.ceil(used / FRAME_BYTES) * FRAME_BYTES;
  };
  beforeEach(async () => {
    folder = await temporaryFolder();
    dataDir = join(folder, "data");
    opened = [];
    const { database } = await open();
    const queue = createEmbeddedQueue({ database, lengthMax: 100, onError: () => {} });
    for (let n = 0; n < COMMITS; n += 1) await queue.publish(Buffer.alloc(500, n));
    copy = await copyStore(dataDir, join(folder, "copy"));
    log = join(copy, "onym.db-wal");
    last = await endOf(log);
  });

  afterEach(async () => {
    for (const store of opened) await store.close();
    await rm(folder, { recursive: true });
  });

  it("reads it all when it is whole", async () => {
    assert.equal(await messages(), COMMITS);
  });

  it("drops a torn end, which nobody was told of", async () => {
    const file = await openFile(log, "r+");
    await file.write(Buffer.alloc(100), 0, 100, last - 100);
    await file.close();
    assert.equal(await messages(), COMMITS - 1);
  });

  for (const [where, position] of [
    ["page", -50],
    ["size", -FRAME_BYTES + 5],
    ["salt", -FRAME_BYTES + 9],
    ["checksum", -FRAME_BYTES + 17],
  ] as const)
    it(`refuses to start when a bit of its last commit's ${where} has flipped`, async () => {
      for (const bit of [1, 16, 128]) {
        await flip(log, last + position, bit);
        await assert.rejects(messages(), /onym\.db-wal is damaged: a bit of its last commit has flipped/);
        await flip(log, last + position, bit);
      }
      assert.equal(await messages(), COMMITS);
    });

  it("refuses to start when its middle is damaged, and touches nothing", async () => {
    const frames = Math.floor((last - 32) / FRAME_BYTES);
    await flip(log, 32 + Math.floor(frames / 2) * FRAME_BYTES + 1_000);
    const before = await readFile(log);
    await assert.rejects(messages(), /onym\.db-wal is damaged/);
    assert.deepEqual(await readFile(log), before);
  });

  for (let position = 0; position < 32; position += 1)
    it(`refuses to start when byte ${position} of its head is damaged, and touches nothing`, async () => {
      await flip(log, position);
      const before = await readFile(log);
      await assert.rejects(messages(), /onym\.db-wal is damaged: its head is wrong/);
      assert.deepEqual(await readFile(log), before);
    });

  it("refuses to start when it was cut, emptied or removed", async () => {
    for (const bytes of [last, last - FRAME_BYTES, 40, 0]) {
      await truncate(log, bytes);
      await assert.rejects(messages(), /onym\.db-wal is damaged: it (was cut|is missing or empty)/);
    }
    await rm(log);
    await assert.rejects(messages(), /onym\.db-wal is damaged: it is missing or empty/);
  });

  it("does not need it after an orderly close", async () => {
    await Promise.all(opened.map((store) => store.close()));
    await rm(join(dataDir, "onym.db-wal"), { force: true });
    const { database } = await open();
    assert.deepEqual(database.prepare("SELECT count(*) FROM queue").get([]), [COMMITS]);
  });
});
