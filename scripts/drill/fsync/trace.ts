/** What the system calls of a service show of its promise: an event is on disk before its 202 leaves. */
export interface Judged {
  /** Answers with a 202, and the events that they accept. */
  answers: number;
  events: number;
  /** Returned flushes of the store's log. */
  flushes: number;
  /** Events whose 202 left before a flush that began behind their write. */
  readonly early: string[];
  /** Times at which the log began anew, over what stood in it. */
  restarts: number;
  /** Those of them at which a page of the file was written and not yet flushed: the log was all that held it. */
  torn: number;
}

export interface Judge {
  /** Takes the next line of `strace -f -y`. */
  readonly line: (text: string) => void;
  readonly judged: Judged;
}

const CALL = /^(\d+)\s+(pwrite64|fsync|fdatasync|write|writev|sendmsg)\(\d+<([^>]*)>/;
const RESUMED = /^(\d+)\s+<\.\.\. (\w+) resumed>/;
const UNFINISHED = "<unfinished ...>";
const FAILED = / = -1 /;
const LOG = /-wal$/;
const FILE = /\.db$/;
const AT_BEGIN = /, 0(\) += | <unfinished)/;
/** As strace prints them: of a message in the store, and in an answer. */
const STORED_ID = /\\"id\\":\\"([0-9a-f-]{36})\\"/g;
const ANSWERED_ID = /\\"event_id\\":\\"([0-9a-f-]{36})\\"/g;

export function createJudge(): Judge {
  const judged: Judged = { answers: 0, events: 0, flushes: 0, early: [], restarts: 0, torn: 0 };
  const flushed = new Set<string>();
  let written = new Set<string>();
  /** Writes to the file that no flush covers. */
  let unflushed = 0;
  /** Calls that have not returned, by thread: what follows their return. */
  const open = new Map<string, () => void>();

  const write = (ids: readonly string[]) => (): void => {
    for (const id of ids) written.add(id);
  };
  /** What is written while it runs is none of its own. */
  const flush = (): (() => void) => {
    const covered = written;
    written = new Set();
    return () => {
      judged.flushes += 1;
      for (const id of covered) flushed.add(id);
    };
  };
  const flushFile = (): (() => void) => {
    const covered = unflushed;
    return () => {
      unflushed -= covered;
    };
  };
  const restart = (): void => {
    judged.restarts += 1;
    if (unflushed > 0) judged.torn += 1;
  };
  const answer = (ids: readonly string[]): void => {
    judged.answers += 1;
    judged.events += ids.length;
    judged.early.push(...ids.filter((id) => !flushed.has(id)));
  };
  /** What the call does when it returns; an answer, a restart and a write to the file count from their beginning. */
  const begin = (name: string, path: string, text: string): (() => void) | null => {
    if (name === "fsync" || name === "fdatasync") {
      if (LOG.test(path)) return flush();
      return FILE.test(path) ? flushFile() : null;
    }
    if (name === "pwrite64") {
      if (FILE.test(path)) unflushed += 1;
      if (!LOG.test(path)) return null;
      if (AT_BEGIN.test(text)) restart();
      return write(idsIn(text, STORED_ID));
    }
    if (/^(socket|TCP)/.test(path) && text.includes("HTTP/1.1 202")) answer(idsIn(text, ANSWERED_ID));
    return null;
  };

  return {
    judged,
    line: (text) => {
      const [, resumed] = RESUMED.exec(text) ?? [];
      if (resumed !== undefined) {
        if (!FAILED.test(text)) open.get(resumed)?.();
        open.delete(resumed);
        return;
      }
      const [, thread, name, path] = CALL.exec(text) ?? [];
      if (thread === undefined) return;
      const end = begin(name!, path!, text);
      if (end === null) return;
      if (text.includes(UNFINISHED)) open.set(thread, end);
      else if (!FAILED.test(text)) end();
    },
  };
}

const idsIn = (text: string, pattern: RegExp): readonly string[] => [...text.matchAll(pattern)].map(([, id]) => id!);
