import { setTimeout as sleep } from "node:timers/promises";
import neo4j, {
  type Driver,
  type Integer,
  type Record as DriverRecord,
  type Session,
  type Transaction,
} from "neo4j-driver";
import { AppError } from "../../core/errors.js";
import { type Deadline, createDeadline } from "../scheduling/deadline.js";
import type { Call } from "../workspace-queue.js";
import { away, failureOf, ofDriver, withOneRetryLocked } from "./failure.js";
import { LOCK, PING } from "./cypher/writes.js";
import type { WorkspaceId } from "../../core/ids.js";

/** Values in the order of the statement's RETURN. */
export type Row = readonly unknown[];
/** The one map `$q`. */
export type Parameters = Readonly<Record<string, unknown>>;

/** JavaScript's numbers travel as floats otherwise, and a time must be whole. */
export const whole = (value: number): Integer => neo4j.int(value);

/** A transaction; ended by `commit` or `rollback`, also after an error. */
export interface Step {
  readonly run: (statement: string, q: Parameters) => Promise<readonly Row[]>;
  readonly commit: () => Promise<void>;
  readonly rollback: () => Promise<void>;
}

/** The connections to one server. All errors are the driver's own, but `unavailable` when no answer came in time. */
export interface Client {
  /** One statement without a lock, in one round trip. */
  readonly read: (statement: string, q: Parameters) => Promise<readonly Row[]>;
  /** One statement that stands once it is answered, in one round trip. */
  readonly write: (statement: string, q: Parameters) => Promise<void>;
  /** The server ends it after that time, by default a few seconds. */
  readonly begin: (timeoutMs?: number) => Promise<Step>;
  readonly close: () => Promise<void>;
}

export interface ClientOptions {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly onError: (message: string, error: unknown) => void;
}

/** The server ends what takes longer, and frees its locks. */
const READ_MS = 4_000;
export const STEP_MS = 5_000;
/** The server was to end it before, so this much later it is silent. */
const SILENCE_MS = 500;
/** Of a question that costs nothing. */
const ANSWER_MS = 1_000;
/** While it is silent one call in this time tries; the others are refused at once. */
const PROBE_EVERY_MS = 500;

/** Named always: without it each session asks the server first. Community has this one alone. */
export const DATABASE = "neo4j";

export const connect = ({ url, user, password }: ClientOptions): Driver =>
  neo4j.driver(url, neo4j.auth.basic(user, password), {
    // Counts and positions are small; objects for them would cost more than the rows.
    disableLosslessIntegers: true,
    // The server works on few statements at once whatever is sent; by default 100 connections.
    maxConnectionPoolSize: 16,
    // By default a minute and half a minute: longer than a caller waits.
    connectionAcquisitionTimeout: 3_000,
    connectionTimeout: 3_000,
    maxConnectionLifetime: 3_600_000,
    // Off by default: what a proxy dropped in a quiet hour would fail a caller's statement.
    connectionLivenessCheckTimeout: 60_000,
    // A result comes in one piece or in few; all are bounded by the statement.
    fetchSize: 10_000,
    notificationFilter: { minimumSeverityLevel: "OFF" },
    telemetryDisabled: true,
    userAgent: "onym",
  });

/** Tells of an outage once, and of its end; takes a server that fell silent for gone until it answers again. */
export function createClient(options: ClientOptions, first: Driver, onReturn: (driver: Driver) => void): Client {
  const within = deadlineOf(STEP_MS);
  let driver = first;
  /** When the outage was told that goes on; null when there is none. */
  let toldAt: number | null = null;
  let isInDoubt = false;
  let nextProbe: number | null = null;

  const refuseWhileSilent = (): void => {
    if (nextProbe === null) return;
    const now = performance.now();
    if (now < nextProbe) throw away();
    nextProbe = now + PROBE_EVERY_MS;
  };
  const onAnswer = (used: Driver, askedAt: number): void => {
    nextProbe = null;
    // What was asked before may have been answered before, and only read now.
    if (toldAt === null || askedAt < toldAt) return;
    toldAt = null;
    onReturn(used);
  };
  const onFailure = (used: Driver, error: unknown): void => {
    if (failureOf(error) !== "away") return;
    if (toldAt === null) options.onError("The identity graph is not available.", error);
    toldAt ??= performance.now();
    if (error instanceof AppError) void onLate(used);
  };
  /** One step may take long, a merge of very large profiles for example, while the server answers all others. */
  const onLate = async (used: Driver): Promise<void> => {
    if (used !== driver || isInDoubt) return;
    isInDoubt = true;
    const isAlive = await answers(used);
    isInDoubt = false;
    if (isAlive || used !== driver) return;
    nextProbe = performance.now() + PROBE_EVERY_MS;
    // The only way to take back what waits on a silent connection.
    driver = connect(options);
    used.close().catch(() => undefined);
  };
  const ask = async <T>(deadline: Deadline, work: (driver: Driver, call: Call) => Promise<T>): Promise<T> => {
    refuseWhileSilent();
    const used = driver;
    const askedAt = performance.now();
    try {
      const answer = await deadline((call) => work(used, call));
      onAnswer(used, askedAt);
      return answer;
    } catch (raised) {
      const error = ofDriver(raised);
      onFailure(used, error);
      throw error;
    }
  };

  return {
    read: (statement, q) => ask(within, (driver) => readOnce(driver, statement, q)),
    write: (statement, q) => ask(within, async (driver) => void (await writeOnce(driver, statement, q))),
    begin: (timeoutMs = STEP_MS) =>
      ask(within, async (driver, call) => {
        const deadline = timeoutMs === STEP_MS ? within : deadlineOf(timeoutMs);
        const session = driver.session({ database: DATABASE, defaultAccessMode: neo4j.session.WRITE });
        const transaction = await begun(session, timeoutMs);
        // Nobody is left to end it.
        if (call.expired) free(session);
        return stepOf(session, transaction, (work) => ask(deadline, work));
      }),
    close: () => driver.close(),
  };
}

const deadlineOf = (serverMs: number): Deadline =>
  createDeadline(serverMs + SILENCE_MS, "The identity graph did not answer in time.");

async function begun(session: Session, timeout: number): Promise<Transaction> {
  try {
    return await session.beginTransaction({ timeout });
  } catch (error) {
    free(session);
    throw error;
  }
}

/** Whether the server says anything at all. */
async function answers(driver: Driver): Promise<boolean> {
  const answer = readOnce(driver, PING, {}).then(
    () => true,
    () => false,
  );
  return Promise.race([answer, sleep(ANSWER_MS, false, { ref: false })]);
}

export async function readOnce(driver: Driver, statement: string, q: Parameters): Promise<readonly Row[]> {
  const session = driver.session({ database: DATABASE, defaultAccessMode: neo4j.session.READ });
  try {
    return rowsOf((await stackless(() => session.run(statement, { q }, { timeout: READ_MS }))).records);
  } finally {
    free(session);
  }
}

export async function writeOnce(driver: Driver, statement: string, q: Parameters): Promise<readonly Row[]> {
  const session = driver.session({ database: DATABASE, defaultAccessMode: neo4j.session.WRITE });
  try {
    return rowsOf((await stackless(() => session.run(statement, { q }, { timeout: STEP_MS }))).records);
  } finally {
    free(session);
  }
}

/** The driver notes the stack of whoever asks, for an error that may never come: with source maps a large part of a statement's cost. */
function stackless<T>(run: () => T): T {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return run();
  } finally {
    Error.stackTraceLimit = limit;
  }
}

type Ask = <T>(work: () => Promise<T>) => Promise<T>;

function stepOf(session: Session, transaction: Transaction, ask: Ask): Step {
  const end = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } finally {
      free(session);
    }
  };
  return {
    run: (statement, q) => ask(async () => rowsOf((await stackless(() => transaction.run(statement, { q }))).records)),
    commit: () => end(() => ask(() => transaction.commit())),
    // No answer of the server: on a dead connection it succeeds too. What waits on a silent one ends with its driver.
    rollback: () => end(() => Promise.race([transaction.rollback(), sleep(ANSWER_MS, undefined, { ref: false })])),
  };
}

/** The connection is free once the answer is in; on a dead one nobody waits for more. */
const free = (session: Session): void => void session.close().catch(() => undefined);

const rowsOf = (records: readonly DriverRecord[]): readonly Row[] => records.map((record) => [...record.values()]);

/** One transaction. Whatever the work did not commit is undone. */
export async function inStep<T>(client: Client, work: (step: Step) => Promise<T>, timeoutMs?: number): Promise<T> {
  const begun = await client.begin(timeoutMs);
  let isCommitted = false;
  const commit = async (): Promise<void> => {
    await begun.commit();
    isCommitted = true;
  };
  try {
    return await work({ ...begun, commit });
  } finally {
    // Nothing is left to undo when the connection is gone.
    if (!isCommitted) await begun.rollback().catch(() => undefined);
  }
}

/** What is read while nobody writes in the workspace: the answer to a doubt, which changes nothing. */
export const inLock = <T>(client: Client, ws: WorkspaceId, work: (step: Step) => Promise<T>): Promise<T> =>
  withOneRetryLocked(() =>
    inStep(client, async (step) => {
      await step.run(LOCK, { ws });
      return work(step);
    }),
  );

export const readLocked = (client: Client, ws: WorkspaceId, statement: string, q: object): Promise<readonly Row[]> =>
  inLock(client, ws, (step) => step.run(statement, { ...q, ws }));
