import assert from "node:assert/strict";
import fs from "node:fs";
import { createLog } from "../../app/logger.js";

const STDERR = 2;

describe("The log", () => {
  const { writeSync } = fs;
  let isFull = false;
  let written: string[] = [];

  /** In the place of stderr, which then fills up. */
  beforeEach(() => {
    written = [];
    isFull = false;
    fs.writeSync = (fd: number, ...rest: readonly unknown[]) => {
      const [chunk] = rest;
      if (fd !== STDERR) return (writeSync as (...all: readonly unknown[]) => number)(fd, ...rest);
      if (isFull) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
      written.push(String(chunk));
      return Buffer.byteLength(String(chunk));
    };
  });
  afterEach(() => {
    fs.writeSync = writeSync;
  });
  const messages = () =>
    written
      .join("")
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { readonly message: string }).message);

  it("throws nothing while its disk is full, keeps 1 MiB of lines, and writes again once there is room", () => {
    const log = createLog("info");
    log.info({}, "before");
    isFull = true;
    const padding = "x".repeat(1_000);
    for (let n = 0; n < 3_000; n += 1) log.warn({ padding }, `full ${n}`);
    isFull = false;
    log.warn({ padding }, "finds room");
    log.warn({ padding }, "after");
    const all = messages();
    assert.deepEqual([...all.slice(0, 2), all.at(-1)], ["before", "full 0", "after"]);
    const bytes = Buffer.byteLength(written.join(""));
    assert.ok(bytes > 900_000 && bytes < 1_100_000, `${bytes} bytes were kept`);
  });
});
