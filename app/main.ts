import { readFileSync } from "node:fs";

/** Loading the modules of the service opens many files at a time, and every connection is one more. */
const OPEN_FILES_MIN = 256;

/** Infinity where the system does not tell. */
function openFilesMax(): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}

const max = openFilesMax();
if (max < OPEN_FILES_MIN) {
  process.stderr.write(
    `onym: ulimit -n: ${max} open files are too few; the service needs at least ${OPEN_FILES_MIN}\n`,
  );
  process.exit(2);
}
// Only now: with fewer, loading it would fail without a word that helps.
await import("./start/serve.js");
