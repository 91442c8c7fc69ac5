import assert from "node:assert/strict";
import { cp, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../../core/errors.js";
import { openDatabase, type OwnDatabase } from "../../../store/embedded/database.js";
import { readVersion } from "../../../store/embedded/file/check.js";
import { OPEN } from "../../../store/embedded/file/page.js";
import { requireWholeLog } from "../../../store/embedded/file/write-ahead-log.js";
import { temporaryFolder } from "../../support/backends.js";
import { rejectsAsUnavailable } from "../../support/eventually.js";

const sqliteError = (code: string): Error => Object.assign(new Error(code), { code });

const findDamage = (): never => {
  throw sqliteError("SQLITE_CORRUPT");
};
const mine = new Error("mine");

describe("The embedded database", () => {
  let folder: string;
  let database: OwnDatabase;
  let commits: number;
  let errors: string[];
  /** Stands in for the disk: called instead of COMMIT, with what COMMIT would do. */
  let disk: (commit: () => void) => void;
  const open = (at = folder): OwnDatabase => {
    const opened = openDatabase({
      file: join(at, "test.db"),
      checkpointMs: 1_000,
      onError: (message) => errors.push(message),
      commit: (commit) => disk(commit),
    });
    opened.prepare("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, body BLOB)").run([]);
    return opened;
  };
  const insert = (id: number, body = Buffer.alloc(0)): Promise<void> => {
    const statement = database.prepare("INSERT INTO rows (id, body) VALUES (?, ?)");
    return database.write(() => void statement.run([id, body]));
  };
  const ids = (): readonly unknown[] =>
    database.read(() => database.prepare("SELECT id FROM rows ORDER BY id").all([])).map(([id]) => id);

  beforeEach(async () => {
    folder = await temporaryFolder();
    commits = 0;
    errors = [];
    disk = (commit) => {
      commits += 1;
      commit();
    };
    database = open();
  });
  afterEach(async () => {
    await database.close();
    await rm(folder, { recursive: true });
  });

  it("takes no writes while its file is not the one at its path, and says so once", async () => {
    const [file, away] = [join(folder, "test.db"), join(folder, "away.db")];
    await insert(1);
    await rename(file, away);
    for (let time = 0; time < 2; time += 1) assert.throws(() => database.check(), /removed, moved or replaced/);
    await cp(away, file);
    assert.throws(() => database.check(), /removed, moved or replaced/, "a copy is another file");
    await rejectsAsUnavailable(() => insert(2));
    assert.deepEqual([ids(), errors], [[1], ["the file of the embedded store was removed, moved or replaced"]]);
    await rename(away, file);
    database.check();
    await insert(3);
    assert.deepEqual(ids(), [1, 3]);
  });

  it("still copies what was accepted into a file that was replaced: it stands nowhere else", async () => {
    const [file, copy] = [join(folder, "test.db"), join(folder, "copy.db")];
    await cp(file, copy);
    await insert(1);
    await rename(copy, file);
    assert.throws(() => database.check(), /save it with `npm run backup` before the service is stopped/);
    await rejectsAsUnavailable(() => insert(2));
    await database.copyTo(copy);
    const copied = openDatabase({ file: copy, checkpointMs: 1_000, onError: (message) => errors.push(message) });
    assert.deepEqual(copied.prepare("SELECT id FROM rows").all([]), [[1]]);
    await copied.close();
  });

  it("answers by the parameters of the call, whatever the statement was asked before", async () => {
    for (const id of [1, 2, 3]) await insert(id);
    const statement = database.prepare("SELECT id FROM rows WHERE id >= ? ORDER BY id LIMIT ?");
    const first = (id: number) => database.read(() => statement.get([id, 1]));
    const all = (id: number) => database.read(() => statement.all([id, 9]));
    assert.deepEqual(first(1), [1]);
    assert.deepEqual([all(3), first(1), first(2)], [[[3]], [1], [2]]);
    assert.deepEqual([all(4), first(1), all(2), first(4)], [[], [1], [[2], [3]], undefined]);
  });

  it("takes every setting that durability rests on, and has them still once the log was copied", async () => {
    const names = ["journal_mode", "synchronous", "wal_autocheckpoint", "foreign_keys", "secure_delete", "mmap_size"];
    const settings = () => names.map((name) => database.prepare(`PRAGMA ${name}`).get([])?.[0]);
    assert.deepEqual(settings(), ["wal", 2, 0, 1, 1, 0]);
    await insert(1);
    assert.equal(await database.purge(), true);
    assert.deepEqual(settings(), ["wal", 2, 0, 1, 1, 0]);
  });

  it("leaves no byte of what was deleted or written over, in the file or the log, once it is purged", async () => {
    const gone = (n: number) => `gone ${n} `.repeat(n % 7 === 0 ? 2_000 : 20);
    const stays = (n: number) => `stays ${n} `.repeat(20);
    for (let id = 0; id < 400; id += 1) await insert(id, Buffer.from(id % 2 === 0 ? gone(id) : stays(id)));
    const [remove, change] = [
      database.prepare("DELETE FROM rows WHERE id = ?"),
      database.prepare("UPDATE rows SET body = ? WHERE id = ?"),
    ];
    for (let id = 0; id < 400; id += 2)
      await database.write(() => void (id % 4 === 0 ? remove.run([id]) : change.run([Buffer.from(stays(id)), id])));
    const bytes = async () =>
      Buffer.concat(await Promise.all(["", "-wal"].map((end) => readFile(join(folder, `test.db${end}`)))));
    assert.ok((await bytes()).includes("gone "), "the log still has it");
    assert.equal(await database.purge(), true);
    const left = await bytes();
    assert.deepEqual([left.includes("gone "), left.includes("stays 1 ")], [false, true]);

    // As after a kill: the files as they stand, and what was committed behind the purge.
    await insert(1_000);
    const killed = await temporaryFolder();
    await cp(folder, killed, { recursive: true });
    const file = join(killed, "test.db");
    requireWholeLog(`${file}-wal`, readVersion(file) === OPEN);
    const again = open(killed);
    assert.deepEqual(again.prepare("SELECT count(*) FROM rows").get([]), [ids().length]);
    await again.close();
    await rm(killed, { recursive: true });
  });

  it("commits all writes of one turn together", async () => {
    await Promise.all(Array.from({ length: 50 }, (_, id) => insert(id)));
    assert.equal(commits, 1);
    await insert(50);
    assert.equal(commits, 2);
    assert.equal(ids().length, 51);
  });

  it("answers a write only after COMMIT has returned", async () => {
    const order: string[] = [];
    disk = (commit) => {
      order.push("commit begins");
      commit();
      order.push("commit has returned");
    };
    await Promise.all([1, 2].map((id) => insert(id).then(() => order.push("answered"))));
    assert.deepEqual(order, ["commit begins", "commit has returned", "answered", "answered"]);
  });

  it("lets a write that throws fail alone, and commits its neighbours once", async () => {
    const results = await Promise.allSettled([
      insert(1),
      insert(2),
      insert(2),
      database.write(() => {
        database.prepare("INSERT INTO rows (id) VALUES (9)").run([]);
        throw mine;
      }),
      insert(3),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "fulfilled", "rejected", "rejected", "fulfilled"],
    );
    assert.equal((results[3] as { reason?: unknown }).reason, mine);
    assert.deepEqual(ids(), [1, 2, 3]);
    assert.equal(commits, 1);
  });

  it("undoes a lone write that throws", async () => {
    const work = (): void => {
      database.prepare("INSERT INTO rows (id) VALUES (9)").run([]);
      throw mine;
    };
    await assert.rejects(database.write(work), mine);
    assert.deepEqual(ids(), []);
    await insert(1);
    assert.deepEqual(ids(), [1]);
  });

  it("shows nobody what is not committed", async () => {
    const write = insert(1);
    assert.deepEqual(ids(), []);
    disk = () => {
      throw sqliteError("SQLITE_FULL");
    };
    await rejectsAsUnavailable(() => write);
    assert.deepEqual(ids(), []);
  });

  it("refuses writes as unavailable while the disk is full, goes on reading, and writes again when there is room", async () => {
    await insert(1);
    const pages = database.prepare("PRAGMA page_count").get([])![0] as number;
    database.prepare(`PRAGMA max_page_count = ${pages + 2}`).get([]);
    await rejectsAsUnavailable(() => insert(2, Buffer.alloc(100_000)));
    await rejectsAsUnavailable(() => Promise.all([insert(3), insert(4, Buffer.alloc(100_000))]));
    assert.deepEqual(ids(), [1]);
    assert.throws(() => database.check(), AppError);
    database.prepare("PRAGMA max_page_count = 1000000").get([]);
    await Promise.all([insert(2, Buffer.alloc(100_000)), insert(3)]);
    assert.deepEqual(ids(), [1, 2, 3]);
    assert.ok(errors.length > 0);
  });

  it("tries no write again after a write error, until it is opened again, and goes on reading", async () => {
    await insert(1);
    let tries = 0;
    disk = () => {
      tries += 1;
      throw sqliteError("SQLITE_IOERR_FSYNC");
    };
    await rejectsAsUnavailable(() => insert(2));
    await rejectsAsUnavailable(() => insert(3));
    assert.equal(tries, 1);
    assert.deepEqual(ids(), [1]);
    assert.throws(() => database.check(), AppError);
    await database.close();
    disk = (commit) => commit();
    database = open();
    await insert(4);
    assert.deepEqual(ids(), [1, 4]);
  });

  it("refuses also the writes that waited together with the one that met the write error", async () => {
    disk = () => {
      throw sqliteError("SQLITE_IOERR_WRITE");
    };
    const group = [insert(1), insert(2)];
    const settled = await Promise.allSettled(group);
    assert.deepEqual(
      settled.map(({ status }) => status),
      ["rejected", "rejected"],
    );
    assert.deepEqual(ids(), []);
  });

  it("says damaged when what the file holds is wrong, and goes on", () => {
    assert.throws(
      () => database.read(findDamage),
      (error) => error instanceof AppError && error.code === "damaged",
    );
    database.check();
  });

  it("commits at its close what waits, and refuses everything after", async () => {
    const last = insert(1);
    await database.close();
    await last;
    await rejectsAsUnavailable(() => database.write(() => 1));
    assert.throws(() => database.read(() => 1), AppError);
    assert.throws(() => database.check(), AppError);
    await database.close();
    database = open();
    assert.deepEqual(ids(), [1]);
  });

  it("writes the log back into the file from time to time, so that it does not grow for ever", async () => {
    await database.close();
    const file = join(folder, "short.db");
    database = openDatabase({ file, checkpointMs: 5, onError: (message) => errors.push(message) });
    database.prepare("CREATE TABLE rows (id INTEGER PRIMARY KEY, body BLOB)").run([]);
    for (let id = 0; id < 60; id += 1) {
      await insert(id, Buffer.alloc(250_000));
      if (id % 10 === 0) await sleep(15);
    }
    const log = (await stat(`${file}-wal`)).size;
    assert.ok(log < 8_000_000, `15 MB were written and the log has ${log} bytes`);
  });

  it("writes a long log back before its time, because everybody waits for the copy", async () => {
    await database.close();
    const file = join(folder, "long.db");
    database = openDatabase({ file, checkpointMs: 600_000, onError: (message) => errors.push(message) });
    database.prepare("CREATE TABLE rows (id INTEGER PRIMARY KEY, body BLOB)").run([]);
    await insert(1, Buffer.alloc(250_000));
    await sleep(100);
    const before = (await stat(file)).size;
    assert.ok(before < 100_000, `a short log waits, and the file has ${before} bytes`);
    for (let id = 2; id < 30; id += 1) await insert(id, Buffer.alloc(250_000));
    await sleep(100);
    const after = (await stat(file)).size;
    assert.ok(after > 5_000_000, `7 MB were written and the file has ${after} bytes`);
    for (let id = 30; id < 300; id += 1) {
      await insert(id, Buffer.alloc(250_000));
      if (id % 10 === 0) await sleep(30);
    }
    const log = (await stat(`${file}-wal`)).size;
    assert.ok(log < 40_000_000, `75 MB were written and the log has ${log} bytes`);
  });
});
