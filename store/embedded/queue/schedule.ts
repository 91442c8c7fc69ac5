import type { QueueRow } from "./rows.js";

/** Where the next batch comes from: rows after the cursor, rows whose delay is over, or one row that a process crashed on. */
export type Source =
  | { readonly kind: "fresh"; readonly after: number }
  | { readonly kind: "again"; readonly seqs: readonly number[] }
  | { readonly kind: "alone"; readonly seqs: readonly [number] };

export interface Later {
  readonly seq: number;
  /** On the clock of `now`. */
  readonly dueAt: number;
  /** A process crashed on it: it is delivered alone, so that another crash concerns no other message. */
  readonly alone: boolean;
}

/** With more than this many waiting for a retry, no new message is taken: so memory is bounded. */
const LATER_MAX = 10_000;
const KINDS = ["fresh", "again", "alone"] as const satisfies readonly Source["kind"][];

/** Milliseconds on the monotonic clock. */
export const now = (): number => performance.now();

/** Decides what is delivered when. Holds positions only, never messages. */
export function createSchedule(batchMax: number, suspects: readonly number[]) {
  let later: readonly Later[] = suspects.map((seq) => ({ seq, dueAt: 0, alone: true }));
  let cursor = 0;
  let pausedUntil = 0;
  let lastKind: Source["kind"] = "alone";

  const due = (at: number, alone: boolean): readonly number[] =>
    later.filter((item) => item.alone === alone && item.dueAt <= at).map(({ seq }) => seq);
  const candidate = (kind: Source["kind"], at: number, tail: number): Source | null => {
    if (kind === "fresh") return cursor < tail && later.length < LATER_MAX ? { kind, after: cursor } : null;
    const seqs = due(at, kind === "alone");
    if (seqs.length === 0) return null;
    return kind === "alone" ? { kind, seqs: [seqs[0]!] } : { kind, seqs: seqs.slice(0, batchMax) };
  };

  return {
    /** The next source, taking turns so that none starves; null when nothing is due. `tail`: the last position published. */
    next: (tail: number): Source | null => {
      const at = now();
      if (at < pausedUntil) return null;
      const first = KINDS.indexOf(lastKind) + 1;
      for (let step = 0; step < KINDS.length; step += 1) {
        const source = candidate(KINDS[(first + step) % KINDS.length]!, at, tail);
        if (source) return source;
      }
      return null;
    },
    /** The source was delivered as `rows`; with `tail` as `next` saw it. */
    taken: (source: Source, rows: readonly QueueRow[], tail: number): void => {
      lastKind = source.kind;
      const last = rows.at(-1)?.seq ?? 0;
      if (source.kind === "fresh") {
        cursor = rows.length < batchMax ? Math.max(tail, last) : last;
        return;
      }
      const gone = new Set<number>(source.seqs);
      later = later.filter(({ seq }) => !gone.has(seq));
    },
    putBack: (items: readonly Later[]): void => {
      if (items.length > 0) later = [...later, ...items];
    },
    /** Delays everything: a whole batch was postponed because a dependency is away. */
    pause: (delayMs: number): void => {
      pausedUntil = now() + delayMs;
    },
    /** Milliseconds until something may be due; null when only a publish can change that. */
    idleMs: (): number | null => {
      const at = now();
      if (at < pausedUntil) return pausedUntil - at;
      if (later.length === 0) return null;
      return Math.max(0, later.reduce((first, { dueAt }) => Math.min(first, dueAt), Infinity) - at);
    },
  };
}
export type Schedule = ReturnType<typeof createSchedule>;
