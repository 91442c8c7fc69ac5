import assert from "node:assert/strict";
import { createJudge } from "../../scripts/drill/fsync/trace.js";

const ID = "019aae3e-7d1b-7d46-9f3a-2b7a5a4e8c11";
const OTHER = "019aae3e-7d1b-7d46-9f3a-2b7a5a4e8c12";
const written = (id: string, file = "/data/onym.db-wal"): string =>
  `7 pwrite64(17<${file}>, "{\\"v\\":1,\\"ws\\":\\"w\\",\\"id\\":\\"${id}\\"", 4096, 56) = 4096`;
const answered = (...ids: readonly string[]): string =>
  `7 writev(21<socket:[1]>, [{iov_base="HTTP/1.1 202 Accepted"}, {iov_base="${ids.map((id) => `{\\"event_id\\":\\"${id}\\"`).join()}"}], 2) = 9`;
const FLUSHED = "7 fdatasync(17</data/onym.db-wal>)  = 0";
const BEGUN = "7 fdatasync(17</data/onym.db-wal> <unfinished ...>";
const RETURNED = "7 <... fdatasync resumed>)              = 0";

const early = (...lines: readonly string[]): readonly string[] => {
  const { line, judged } = createJudge();
  for (const text of lines) line(text);
  assert.equal(judged.answers, lines.filter((text) => text.includes("HTTP/1.1 202")).length);
  return judged.early;
};

const RESTARTED = '7 pwrite64(17</data/onym.db-wal>, "7\\177", 32, 0) = 32';
const torn = (...lines: readonly string[]): number => {
  const { line, judged } = createJudge();
  for (const text of lines) line(text);
  assert.equal(judged.restarts, 1);
  return judged.torn;
};

describe("npm run drill -- --fsync", () => {
  it("is content with an answer behind a flush that returned behind the write", () => {
    assert.deepEqual(early(written(ID), FLUSHED, answered(ID)), []);
    assert.deepEqual(early(written(ID), BEGUN, "8 futex(0x1) = 0", RETURNED, answered(ID)), []);
    assert.deepEqual(early(written(ID), written(OTHER), FLUSHED, answered(ID, OTHER)), []);
  });

  it("names each event whose answer left before", () => {
    assert.deepEqual(early(answered(ID)), [ID], "never written");
    assert.deepEqual(early(written(ID), answered(ID), FLUSHED), [ID], "flushed behind it");
    assert.deepEqual(early(FLUSHED, written(ID), answered(ID)), [ID], "flushed before the write");
    assert.deepEqual(early(written(ID), BEGUN, answered(ID), RETURNED), [ID], "while the flush runs");
    assert.deepEqual(early(BEGUN, written(ID), RETURNED, answered(ID)), [ID], "written while the flush ran");
    assert.deepEqual(early(written(ID), FLUSHED.replace("= 0", "= -1 EIO"), answered(ID)), [ID], "the flush failed");
    assert.deepEqual(early(written(ID), FLUSHED.replace("-wal", ""), answered(ID)), [ID], "another file was flushed");
    assert.deepEqual(early(written(ID, "/data/onym.db"), FLUSHED, answered(ID)), [ID], "written to another file");
    assert.deepEqual(early(written(ID), FLUSHED, answered(ID, OTHER)), [OTHER], "one of a batch");
  });

  it("is content with a log that begins anew behind a flush of the file", () => {
    const copied = written(ID, "/data/onym.db");
    const flushed = FLUSHED.replace("-wal", "");
    assert.equal(torn(RESTARTED), 0);
    assert.equal(torn(written(ID), copied, copied, flushed, RESTARTED, copied), 0);
    assert.equal(torn(copied, BEGUN.replace("-wal", ""), RETURNED, RESTARTED), 0);
  });

  it("counts a log that begins anew over pages that are not on disk in the file", () => {
    const copied = written(ID, "/data/onym.db");
    const flushed = FLUSHED.replace("-wal", "");
    assert.equal(torn(copied, RESTARTED, flushed), 1);
    assert.equal(torn(copied, FLUSHED, RESTARTED), 1, "the log was flushed");
    assert.equal(torn(copied, flushed, copied, RESTARTED), 1, "written behind the flush");
    assert.equal(torn(copied, flushed.replace("= 0", "= -1 EIO"), RESTARTED), 1, "the flush failed");
    assert.equal(
      torn(copied, BEGUN.replace("-wal", ""), copied, RETURNED, RESTARTED),
      1,
      "written while the flush ran",
    );
    assert.equal(torn(copied, RESTARTED.replace("= 32", "<unfinished ...>").replace(")", "")), 1, "before it returned");
  });
});
