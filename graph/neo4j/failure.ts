import neo4j from "neo4j-driver";
import { AppError, isUnavailable } from "../../core/errors.js";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * What an error of the driver means. `conflict`: the server undid the step and says that another try may go through. `away`: no
 * server, no connection or no time. `refused`: the server looked at it and said no, as it would again.
 */
export type Failure = "conflict" | "away" | "refused";

/** The server ended a step because it took too long; a second try would take as long. */
const TOO_LONG = /\.Transaction\.(TransactionTimedOut|TransactionTimedOutClientConfiguration|Terminated)$/;
/** The statement itself is wrong, whenever it is sent. All other errors come from the server, which may be starting or stopping. */
const OURS = /^Neo\.ClientError\.(Statement|Procedure|Schema\.Constraint)/;
/** A read without a lock met something that a step had just removed. */
const GONE = "Neo.ClientError.Statement.EntityNotFound";

/** Codes of the server begin with "Neo."; all others are the driver's own, of connections. */
const isOfServer = (code: string): boolean => code.startsWith("Neo.");

export const codeOf = (error: unknown): string => (error instanceof neo4j.Neo4jError ? error.code : "");

export function failureOf(error: unknown): Failure {
  if (isUnavailable(error)) return "away";
  if (!(error instanceof neo4j.Neo4jError)) return "refused";
  if (!isOfServer(error.code) || TOO_LONG.test(error.code)) return "away";
  if (neo4j.isRetryableError(error) || error.code === GONE) return "conflict";
  return OURS.test(error.code) ? "refused" : "away";
}

/** Errors inside the driver. A connection that dies while it is being made can end in any error of the runtime. */
export function ofDriver(error: unknown): unknown {
  if (error instanceof neo4j.Neo4jError || isUnavailable(error)) return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  return new neo4j.Neo4jError(`The connection broke: ${cause.message}`, "ServiceUnavailable", "", "", undefined, cause);
}

/** Something that the step relied on has changed. */
export const changedMeanwhile = (): Error =>
  new neo4j.Neo4jError("The profile changed meanwhile.", "Neo.TransientError.Transaction.Outdated", "", "");

export const isTooLong = (error: unknown): boolean => TOO_LONG.test(codeOf(error));

/** Something that must be unique exists already. */
export const isConstraint = (error: unknown): boolean =>
  codeOf(error) === "Neo.ClientError.Schema.ConstraintValidationFailed";

/** Of what an import brings along. The text may go on with a value, so that only the first name in it counts. */
const TAKEN = /^[^`]*label `(?:Identifier|Profile|Change)` and property `(?:uid|id)`/;

/** An id that comes with what is written is another's. */
export const isTaken = (error: unknown): boolean => isConstraint(error) && TAKEN.test((error as Error).message);

export const isOutOfMemory = (error: unknown): boolean => /OutOfMemory|MemoryLimit/.test(codeOf(error));

/** What callers see. The server's own text can quote an identifier, so only the code of a refusal is kept. */
export function translated(error: unknown): unknown {
  if (isUnavailable(error) || !(error instanceof neo4j.Neo4jError)) return error;
  return failureOf(error) === "refused" ? new Error(`The graph refused: ${error.code}`) : away(error);
}

export const away = (cause?: unknown): AppError =>
  new AppError("unavailable", "The identity graph is not available.", { cause });

export interface RetryOptions {
  /** Number of tries while the server is away. A step that the server only rolled back is tried until the time is up. */
  readonly awayMax: number;
  readonly isOver: () => boolean;
}

const PAUSE_MS_MAX = 200;
/** Below the 3 s after which the driver gives up a connection: a second wait of that kind would be too long. */
const SLOW_MS = 2_500;

/** Again after a conflict or a lost connection, from a few milliseconds on: the driver's own retries begin with a second. */
export async function withRetries<T>(attempt: () => Promise<T>, { awayMax, isOver }: RetryOptions): Promise<T> {
  for (let tries = 1; ; tries++) {
    const begun = performance.now();
    try {
      return await attempt();
    } catch (error) {
      const failure = failureOf(error);
      // A lost connection shows at once. What took longer has used up its time, as `unavailable` says.
      const hadItsTime = isUnavailable(error) || performance.now() - begun > SLOW_MS;
      const isHopeless = failure === "refused" || (failure === "away" && (hadItsTime || tries >= awayMax));
      if (isHopeless || isOver()) throw translated(error);
    }
    await sleep(Math.min(2 ** tries, PAUSE_MS_MAX) * (0.5 + Math.random()));
  }
}

/** Below the time that a caller of `Identity` waits, with a last try on top. */
const READ_MS = 2_000;
/** Many may wait for the lock, and the server ends each wait after 2 s. */
const LOCKED_READ_MS = 5_500;

/** A connection that died silently is noticed at its first use. */
const withOneRetryWithin =
  (limitMs: number) =>
  <T>(attempt: () => Promise<T>): Promise<T> => {
    const due = performance.now() + limitMs;
    return withRetries(attempt, { awayMax: 2, isOver: () => performance.now() > due });
  };

/** For a read without a lock. */
export const withOneRetry = withOneRetryWithin(READ_MS);
/** For a read that waits for the lock. */
export const withOneRetryLocked = withOneRetryWithin(LOCKED_READ_MS);
