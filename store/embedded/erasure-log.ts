import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { ErasureLog } from "../../core/ports/erasure-log.js";
import { fromLogText, toLogText } from "../../core/identity/logged-erasure.js";

/** A file of lines beside the store. It is no part of the store: who restores a backup keeps this file. */
export function createErasureFile(file: string): ErasureLog {
  let last: Promise<unknown> = Promise.resolve();

  const write = async (line: string): Promise<void> => {
    const opened = await open(file, "a", 0o600);
    try {
      // Behind a line that a crash cut short, so that it spoils no other.
      await opened.appendFile(`\n${line}\n`);
      await opened.datasync();
    } finally {
      await opened.close();
    }
  };

  return {
    append: (logged) => {
      const written = last.then(() => write(toLogText(logged)));
      last = written.catch(() => undefined);
      return written;
    },
    entries: async function* () {
      const stream = createReadStream(file);
      const lines = createInterface({ input: stream, crlfDelay: Infinity });
      try {
        for await (const line of lines) if (isWhole(line)) yield fromLogText(line);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      } finally {
        lines.close();
        stream.destroy();
      }
    },
  };
}

/** One that a crash cut short was never answered. */
function isWhole(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
