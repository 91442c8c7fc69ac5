import { closeSync, openSync, readSync } from "node:fs";

/** What a thread of this process has used of a processor, without the time for which it waited for one. */
export interface CpuClock {
  /** Milliseconds; null once the thread is gone. */
  read(): number | null;
  close(): void;
}

const SPACE = 0x20;

/** Null where the system does not tell: `schedstat` is of Linux, and its first number is in nanoseconds. */
export function openCpuClock(tid: number): CpuClock | null {
  const text = Buffer.alloc(64);
  let file: number;
  try {
    file = openSync(`/proc/self/task/${tid}/schedstat`, "r");
  } catch {
    return null;
  }
  return {
    read: () => {
      try {
        readSync(file, text, 0, text.length, 0);
        return Number(text.toString("latin1", 0, text.indexOf(SPACE))) / 1e6;
      } catch {
        return null;
      }
    },
    close: () => closeSync(file),
  };
}
