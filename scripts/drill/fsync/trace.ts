/** What the system calls of a service show of its promise: an event is on disk before its 202 leaves. */
export interface Judged {
  /** Answers with a 202, and the events that they accept. */
  answers: number;
  events: number;
  /** Returned flushes of the store's log. */
  flushes: number;
  /** Events whose 202 left before a flush that began behind their write. */
  readonly early: string[];
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
/** As strace prints them: of a message in the store, and in an answer. */
const STORED_ID = /\\"id\\":\\"([0-9a-f-]{36})\\"/g;
const ANSWERED_ID = /\\"event_id\\":\\"([0-9a-f-]{36})\\"/g;

export function createJudge(): Judge {
  const judged: Judged = { answers: 0, events: 0, flushes: 0, early: [] };
  const flushed = new Set<string>();
  let written = new Set<string>();
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
  const answer = (ids: readonly string[]): void => {
    judged.answers += 1;
    judged.events += ids.length;
    judged.early.push(...ids.filter((id) => !flushed.has(id)));
  };
  /** What the call does when it returns; an answer counts from its beginning. */
  const begin = (name: string, path: string, text: string): (() => void) | null => {
    if (name === "fsync" || name === "fdatasync") return LOG.test(path) ? flush() : null;
    if (name === "pwrite64") return LOG.test(path) ? write(idsIn(text, STORED_ID)) : null;
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
