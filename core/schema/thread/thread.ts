import { LRUCache } from "lru-cache";
import type { ErrorItem } from "../../errors.js";
import type { Examination } from "../examine.js";
import { createJobTable, type Task } from "./jobs.js";
import { createLine, type Line } from "./queue.js";
import type { Answer } from "./protocol.js";

export interface ThreadOptions {
  /** Milliseconds for compiling a schema. */
  readonly compileMs: number;
  /** Milliseconds for one validation. */
  readonly validationMs: number;
  /** Milliseconds that a job may wait in addition. */
  readonly waitMs?: number | undefined;
}

export interface ValidationRequest {
  /** The workspace that it is for; see `ValidationThread`. */
  readonly owner?: string;
  /** Names the schema for ever: the same key never stands for another text. */
  readonly key: string;
  /** JSON text. */
  readonly schema: string;
  /** JSON, UTF-8; copied. */
  readonly payload: Buffer;
  /** Every problem (at most so many and one item that says that there are more) instead of the first one. */
  readonly all: number | null;
}

/**
 * A thread for everything that a client's schema could make slow. It starts at first need and is killed when a job has used up its
 * time; jobs that waited behind it are run again by its successor. Idle, it does not keep the process alive.
 * Owners take turns by what they use of the thread, however many jobs they have waiting. Without an owner a job shares the turns of
 * all those that have none. Schemas are examined and compared by a second thread, and whoever had a slow job validates there too for
 * a minute: the others never wait for such a job to end, nor for a start: a third one stands by in place of the first.
 * The time of a job is that of the processor, where the system tells it. All reject with `schema_too_expensive` beyond it, with
 * `unavailable` when too much waits, or waits too long, or the machine is too slow, and with `rate_limited` when too much of its
 * owner waits.
 */
export interface ValidationThread {
  /** Examines the JSON text of a schema that has passed `shapeProblems`. */
  examine(schema: string, owner?: string): Promise<Examination>;
  /** What `incompatibilities` says of the JSON texts of two schemas that have been examined. */
  compare(previous: string, next: string, owner?: string): Promise<readonly ErrorItem[]>;
  validate(request: ValidationRequest): Promise<readonly ErrorItem[]>;
  /** Refuses waiting jobs and ends the thread. */
  close(): Promise<void>;
}

/** Time to try a new schema on the empty object. */
const TRIAL_MS = 50;
/** Time to look at a new schema, and the same to compare it with another: our own code, which only hostile ones make slow. */
const LOOK_MS = 2_000;
const WAIT_MS = 3_000;
/** The longest that a job of one owner may hold up the others. */
const SLOW_MS = 50;
const SLOW_OWNERS_MAX = 10_000;
const SLOW_FOR_MS = 60_000;

export function openValidationThread({ compileMs, validationMs, waitMs = WAIT_MS }: ThreadOptions): ValidationThread {
  const jobs = createJobTable();
  const slowOwners = new LRUCache<string, true>({ max: SLOW_OWNERS_MAX, ttl: SLOW_FOR_MS });
  const note = (owner: string, ms: number): void => {
    if (ms <= SLOW_MS) return;
    slowOwners.set(owner, true);
    for (const job of quick.remove(owner)) slow.enter(job);
  };
  const quick = createLine(jobs, { onCost: note, hasSpare: true });
  const slow = createLine(jobs, { onCost: note, hasSpare: false });
  const runIn = (line: Line, task: Task): Promise<Answer> => jobs.submit(task, (job) => line.enter(job));

  const examination = (schema: string, owner: string): Task => ({
    owner,
    bytes: schema.length,
    patienceMs: waitMs + compileMs,
    prepare: (id) => ({
      request: { id, kind: "examine", schema },
      transfer: [],
      stages: [LOOK_MS, compileMs, TRIAL_MS],
    }),
  });

  const comparison = (previous: string, next: string, owner: string): Task => ({
    owner,
    bytes: previous.length + next.length,
    patienceMs: waitMs,
    prepare: (id) => ({ request: { id, kind: "compare", previous, next }, transfer: [], stages: [LOOK_MS] }),
  });

  const validation = ({ owner = "", key, schema, payload, all }: ValidationRequest): Task => ({
    owner,
    bytes: payload.length,
    patienceMs: waitMs + compileMs + validationMs,
    prepare: (id, tell) => {
      const name = all === null ? key : `${key}:all`;
      const isTold = tell(name);
      const copy = new Uint8Array(payload);
      return {
        request: { id, kind: "validate", name, schema: isTold ? null : schema, payload: copy, all },
        transfer: [copy.buffer],
        stages: isTold ? [validationMs] : [compileMs, validationMs],
      };
    },
  });

  return {
    examine: async (schema, owner = "") =>
      expectKind(await runIn(slow, examination(schema, owner)), "examined").examination,
    compare: async (previous, next, owner = "") =>
      expectKind(await runIn(slow, comparison(previous, next, owner)), "compared").errors,
    validate: async (request) => {
      const line = slowOwners.has(request.owner ?? "") ? slow : quick;
      return expectKind(await runIn(line, validation(request)), "validated").errors;
    },
    close: async () => void (await Promise.all([quick.close(), slow.close()])),
  };
}

function expectKind<Kind extends Answer["kind"]>(answer: Answer, kind: Kind): Extract<Answer, { kind: Kind }> {
  if (answer.kind !== kind) throw new Error(`the validation thread answered ${answer.kind} instead of ${kind}`);
  return answer as Extract<Answer, { kind: Kind }>;
}
