import assert from "node:assert/strict";
import { join } from "node:path";
import Libsql from "libsql";
import { createCheckpoint } from "../../../store/embedded/file/checkpoint.js";
import { createFile } from "../../../store/embedded/file/create.js";
import { PAGE_BYTES } from "../../../store/embedded/file/page.js";
import { withFolder } from "../../support/faults.js";

const DUE_AT = 1_024;

describe("A copy of the log", () => {
  it("is due by what is new in the log, not by what an earlier round left behind it", () =>
    withFolder(async (folder) => {
      const file = join(folder, "test.db");
      createFile(file);
      const [db, reader] = [new Libsql(file), new Libsql(file)];
      for (const pragma of ["journal_mode = WAL", "wal_autocheckpoint = 0"]) db.pragma(pragma);
      db.exec("CREATE TABLE rows (body BLOB)");
      const checkpoint = createCheckpoint(db, file);
      const write = (frames: number) =>
        db.prepare("INSERT INTO rows VALUES (?)").run([Buffer.alloc((frames - 3) * PAGE_BYTES)]);

      write(DUE_AT * 0.6);
      assert.equal(checkpoint.isDue(), false, "short");
      // Who reads what the log holds keeps it from beginning anew, so it goes on behind what was copied.
      reader.exec("BEGIN; SELECT count(*) FROM rows");
      assert.equal(checkpoint.run(), true);
      write(DUE_AT * 0.6);
      assert.equal(checkpoint.isDue(), false, "most of it is copied");
      reader.exec("COMMIT");
      assert.equal(checkpoint.run(), true);
      write(10);
      assert.equal(checkpoint.isDue(), false, "begun anew over a longer one");
      write(DUE_AT);
      assert.equal(checkpoint.isDue(), true, "long");
      checkpoint.close();
      reader.close();
      db.close();
    }));
});
