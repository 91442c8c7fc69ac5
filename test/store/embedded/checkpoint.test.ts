import assert from "node:assert/strict";
import { truncateSync } from "node:fs";
import { join } from "node:path";
import Libsql from "libsql";
import { failureOf } from "../../../store/embedded/failure.js";
import { copyMsAt, createCheckpoint, type Checkpoint } from "../../../store/embedded/file/checkpoint.js";
import { createFile } from "../../../store/embedded/file/create.js";
import { PAGE_BYTES } from "../../../store/embedded/file/page.js";
import { LOG_BYTES } from "../../../store/embedded/file/write-ahead-log.js";
import { withFolder } from "../../support/faults.js";

/** Where no time at all is left for a copy. */
const DUE_AT = 110;

interface Opened {
  readonly file: string;
  readonly db: Libsql.Database;
  readonly reader: Libsql.Database;
  readonly checkpoint: Checkpoint;
  readonly write: (frames: number) => void;
}

const withLog = (work: (opened: Opened) => void): Promise<void> =>
  withFolder(async (folder) => {
    const file = join(folder, "test.db");
    createFile(file);
    const [db, reader] = [new Libsql(file), new Libsql(file)];
    for (const pragma of ["journal_mode = WAL", "wal_autocheckpoint = 0"]) db.pragma(pragma);
    db.exec("CREATE TABLE rows (body BLOB)");
    const checkpoint = createCheckpoint(db, file);
    const insert = db.prepare("INSERT INTO rows VALUES (?)");
    const write = (frames: number) => void insert.run([Buffer.alloc(Math.floor(frames - 3) * PAGE_BYTES)]);
    work({ file, db, reader, checkpoint, write });
    checkpoint.close();
    reader.close();
    db.close();
  });

describe("A copy of the log", () => {
  it("is due by what is new in the log, not by what an earlier round left behind it", () =>
    withLog(({ reader, checkpoint, write }) => {
      write(DUE_AT * 0.6);
      assert.equal(checkpoint.isDue(0), false, "short");
      // Who reads what the log holds keeps it from beginning anew, so it goes on behind what was copied.
      reader.exec("BEGIN; SELECT count(*) FROM rows");
      assert.equal(checkpoint.run(), true);
      write(DUE_AT * 0.6);
      assert.equal(checkpoint.isDue(0), false, "most of it is copied");
      reader.exec("COMMIT");
      assert.equal(checkpoint.run(), true);
      write(10);
      assert.equal(checkpoint.isDue(0), false, "begun anew over a longer one");
      write(DUE_AT);
      assert.equal(checkpoint.isDue(0), true, "long");
      assert.equal(checkpoint.isDue(60_000), false, "a copy may take longer");
    }));

  it("may take longer the busier the loop is", () => {
    assert.deepEqual([0, 0.7, 0.8, 0.97, 0.99, 1].map(copyMsAt), [2, 2, 20, 20, 60, 60]);
  });

  it("is not due where the log is empty, and only as long as it must be", () =>
    withLog(({ db, file, checkpoint, write }) => {
      write(2 * DUE_AT);
      assert.equal(checkpoint.isDue(0), true);
      assert.equal(checkpoint.run(), true);
      db.pragma("wal_checkpoint(TRUNCATE)");
      truncateSync(`${file}-wal`, LOG_BYTES);
      assert.equal(checkpoint.isDue(0), false);
    }));

  it("waits for its time where the log only seemed long: who took back a large transaction left frames in it", () =>
    withLog(({ db, checkpoint, write }) => {
      write(10);
      db.pragma("cache_size = 10");
      db.exec("BEGIN");
      write(2 * DUE_AT);
      db.exec("ROLLBACK");
      assert.equal(checkpoint.isDue(0), true, "it cannot tell yet");
      assert.equal(checkpoint.run(), true);
      assert.equal(checkpoint.isDue(0), false);
      assert.equal(checkpoint.run(), true, "at its time");
      write(2 * DUE_AT);
      assert.equal(checkpoint.isDue(0), true, "long");
      assert.equal(checkpoint.run(), true);
      write(10);
      assert.equal(checkpoint.isDue(0), false, "copied");
    }));

  it("waits for its time where it failed, so that a full disk is not tried all the time", () =>
    withLog(({ db, reader, checkpoint, write }) => {
      reader.exec("BEGIN; SELECT count(*) FROM rows");
      write(2 * DUE_AT);
      assert.equal(checkpoint.isDue(0), true);
      assert.equal(checkpoint.run(), false, "somebody reads what stood before");
      assert.equal(checkpoint.isDue(0), false);
      reader.exec("COMMIT");
      db.exec("BEGIN IMMEDIATE");
      assert.throws(() => checkpoint.run(), /inside a transaction/);
      assert.equal(checkpoint.isDue(0), true, "once in each time");
      assert.throws(() => checkpoint.run(), /inside a transaction/);
      assert.equal(checkpoint.isDue(0), false);
      db.exec("COMMIT");
      assert.equal(checkpoint.run(), true);
    }));

  it("ends all writing where commits would no more be flushed: the next one may write over what is not on disk", () =>
    withLog(({ db, checkpoint, write }) => {
      write(10);
      const pragma = db.pragma.bind(db);
      const failure = Object.assign(new Error("out of memory"), { code: "SQLITE_NOMEM" });
      db.pragma = (text: string) => {
        if (text === "synchronous = FULL") throw failure;
        return pragma(text);
      };
      assert.throws(
        () => checkpoint.run(),
        (error: Error) => failureOf(error) === null && error.cause === failure,
      );
    }));
});
