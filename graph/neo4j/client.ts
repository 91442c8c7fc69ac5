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

/** JavaScript's numbers are sent as floats otherwise, and a time must be an integer. */
export const whole = (value: number): Integer => neo4j.int(value);

export type Ask = (statement: string, q: Parameters) => Promise<readonly Row[]>;

/** A transaction; ended by `commit` or `rollback`, also after an error. */
export interface Step {
  readonly run: (statement: string, q: Parameters) => Promise<readonly Row[]>;
  readonly commit: () => Promise<void>;
  readonly rollback: () => Promise<void>;
}

/** The connections to one server. Errors are the driver's own, except `unavailable` when no answer came in time. */
export interface Client {
  /** One statement without a lock, in one round trip. */
  readonly read: (statement: string, q: Parameters) => Promise<readonly Row[]>;
  /** One statement, committed when it is answered, in one round trip. */
  readonly write: (statement: string, q: Parameters) => Promise<readonly Row[]>;
  /** The server ends it after this time; the default is a few seconds. */
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
/** The server should have ended it before; this much later it counts as silent. */
const SILENCE_MS = 500;
/** For a question that costs nothing. */
const ANSWER_MS = 1_000;
/** While the server is silent, one call in this time tries; the others are refused at once. */
const PROBE_EVERY_MS = 500;

/** Always named: without it each session asks the server first. Community has only this one. */
export const DATABASE = "neo4j";

export const connect = ({ url, user, password }: ClientOptions): Driver =>
  neo4j.driver(url, neo4j.auth.basic(user, password), {
    // Counts and positions are small; objects for them would cost more than the rows.
    disableLosslessIntegers: true,
    // The server works on few statements at once whatever is sent; by default 100 connections.
    maxConnectionPoolSize: 16,
    // The defaults are 60 s and 30 s: longer than a caller waits.
    connectionAcquisitionTimeout: 3_000,
    connectionTimeout: 3_000,
    maxConnectionLifetime: 3_600_000,
    // Off by default: a connection that a proxy dropped while idle would fail a caller's statement.
    connectionLivenessCheckTimeout: 60_000,
    // A result comes in one or few pieces; each statement bounds its result.
    fetchSize: 10_000,
    notificationFilter: { minimumSeverityLevel: "OFF" },
    telemetryDisabled: true,
    userAgent: "onym",
  });

/** Logs an outage once, and its end. A server that fell silent counts as away until it answers again. */
export function createClient(options: ClientOptions, first: Driver, onReturn: (driver: Driver) => void): Client {
  const within = deadlineOf(STEP_MS);
  let driver = first;
  /** When the current outage was logged; null when there is none. */
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
    // An older question may have been answered before and only read now, so it proves nothing.
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
    // The only way to end what waits on a silent connection.
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
    write: (statement, q) => ask(within, (driver) => writeOnce(driver, statement, q)),
    begin: (timeoutMs = STEP_MS) =>
      ask(within, async (driver, call) => {
        const deadline = timeoutMs === STEP_MS ? within : deadlineOf(timeoutMs);
        const session = driver.session({ database: DATABASE, defaultAccessMode: neo4j.session.WRITE });
        const transaction = await begun(session, timeoutMs);
        // Nobody else is left to end it.
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

/** Whether the server answers at all. */
async function answers(driver: Driver): Promise<boolean> {
  const answer = readOnce(driver, PING, {}).then(
    () => true,
    () => false,
  );
  return Promise.race([answer, sleep(ANSWER_MS, false, { ref: false })]);
}

/** The server ends it after `timeout` milliseconds. */
export async function readOnce(
  driver: Driver,
  statement: string,
  q: Parameters,
  timeout = READ_MS,
): Promise<readonly Row[]> {
  const session = driver.session({ database: DATABASE, defaultAccessMode: neo4j.session.READ });
  try {
    return rowsOf((await stackless(() => session.run(statement, { q }, { timeout }))).records);
  } finally {
    free(session);
  }
}

/** The server ends it after `timeout` milliseconds. */
export async function writeOnce(
  driver: Driver,
  statement: string,
  q: Parameters,
  timeout = STEP_MS,
): Promise<readonly Row[]> {
  const session = driver.session({ database: DATABASE, defaultAccessMode: neo4j.session.WRITE });
  try {
    return rowsOf((await stackless(() => session.run(statement, { q }, { timeout }))).records);
  } finally {
    free(session);
  }
}

/** The driver records the caller's stack for an error that may never come; with source maps this is a large part of a statement's cost. */
function stackless<T>(run: () => T): T {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return run();
  } finally {
    Error.stackTraceLimit = limit;
  }
}

type Sending = <T>(work: () => Promise<T>) => Promise<T>;

function stepOf(session: Session, transaction: Transaction, ask: Sending): Step {
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

/** The connection is free once the answer has arrived; on a dead one nobody waits for more. */
const free = (session: Session): void => void session.close().catch(() => undefined);

const rowsOf = (records: readonly DriverRecord[]): readonly Row[] => records.map((record) => [...record.values()]);

/** One transaction. What the work did not commit is rolled back. */
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
    // Nothing is left to roll back when the connection is gone.
    if (!isCommitted) await begun.rollback().catch(() => undefined);
  }
}

/** One transaction that is committed when the work is done: behind the lock of the workspace, if one is given. */
export const inWrite = <T>(client: Client, ws: WorkspaceId | null, work: (step: Step) => Promise<T>): Promise<T> =>
  inStep(client, async (step) => {
    if (ws !== null) await step.run(LOCK, { ws });
    const result = await work(step);
    await step.commit();
    return result;
  });

/** Reads under the workspace's lock, to settle a doubt; changes nothing. */
export const inLock = <T>(client: Client, ws: WorkspaceId, work: (step: Step) => Promise<T>): Promise<T> =>
  withOneRetryLocked(() =>
    inStep(client, async (step) => {
      await step.run(LOCK, { ws });
      return work(step);
    }),
  );

export const readLocked = (client: Client, ws: WorkspaceId, statement: string, q: object): Promise<readonly Row[]> =>
  inLock(client, ws, (step) => step.run(statement, { ...q, ws }));
