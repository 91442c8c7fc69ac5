import { setTimeout as sleep } from "node:timers/promises";
import neo4j, { type Driver } from "neo4j-driver";
import { ConfigError } from "../../core/config.js";
import {
  type Client,
  type ClientOptions,
  DATABASE,
  type Parameters,
  type Row,
  connect,
  createClient,
  readOnce,
  whole,
  writeOnce,
} from "./client.js";
import { codeOf, failureOf, isTooLong, ofDriver } from "./failure.js";
import * as hot from "./cypher/writes.js";
import { AWAIT_SCHEMA, FORMAT, FORMAT_CONSTRAINT, READY_SCHEMA, SCHEMA, TAKE_FORMAT } from "./cypher/writes.js";
import type { WorkspaceId } from "../../core/ids.js";
import { EMPTY_PLAN, EMPTY_SNAPSHOT } from "../rules/working-state.js";
import * as erasure from "./cypher/erasure.js";
import * as tombstones from "./cypher/tombstones.js";
import * as movements from "./cypher/movements.js";
import * as annex from "./cypher/staging.js";
import { writeParameters } from "./parameters.js";
import * as reads from "./cypher/reads.js";
import * as undo from "./cypher/undo.js";

/** A server that says nothing: short enough for a person to wait. */
const LOGIN_MS = 9_500;
/** One that answers may have started just now, on a busy machine: what it has begun for us would begin anew with the next process. */
const PREPARE_MS = 60_000;

const LATE = "NEO4J_URL: the server there did not answer in time";

/** A server that has just started may need seconds to plan; what is not planned by then is planned after the start. */
const READY_MS = 12_500;

/** Connects, logs in and makes the schema; several processes may do so at once. Throws `ConfigError` that names the variable. */
export async function openClient(options: ClientOptions, format = FORMAT): Promise<Client> {
  const driver = connectTo(options);
  try {
    await within(LOGIN_MS, () => driver.verifyConnectivity({ database: DATABASE }));
    await within(PREPARE_MS, () => prepare(driver, format));
  } catch (error) {
    driver.close().catch(() => undefined);
    throw error instanceof ConfigError ? error : explained(ofDriver(error), options);
  }
  // Counted from here: where the schema took long to make, the plans do too, and the first request would not wait for its own.
  await Promise.race([warmUp(driver), sleep(READY_MS, undefined, { ref: false })]);
  void warmRest(driver);
  return createClient(options, driver, (back) => void warmUp(back));
}

async function within(ms: number, work: () => Promise<unknown>): Promise<void> {
  const tooLate = new AbortController();
  const late = sleep(ms, "late" as const, { signal: tooLate.signal, ref: false });
  const outcome = await Promise.race([work(), late]).finally(() => tooLate.abort());
  if (outcome === "late") throw new ConfigError(LATE);
}

function connectTo(options: ClientOptions): Driver {
  try {
    // The driver would ignore it silently.
    if (new URL(options.url).username === "") return connect(options);
  } catch {
    // The error's text repeats the URL.
    throw new ConfigError("NEO4J_URL: is no address of a Neo4j server, like bolt://host:7687");
  }
  throw new ConfigError("NEO4J_URL: must not hold a user or a password; they are NEO4J_USER and NEO4J_PASSWORD");
}

async function prepare(driver: Driver, format: number): Promise<void> {
  await makeOnce(driver, FORMAT_CONSTRAINT);
  const [row] = await makeOnce(driver, TAKE_FORMAT, { format: whole(format) });
  if (row![0] !== format)
    throw new ConfigError(
      `NEO4J_URL: the data there has format ${Number(row![0])}, and this build knows format ${format} alone`,
    );
  const missing = await missingSchema(driver);
  for (const statement of missing) await makeOnce(driver, statement);
  if (missing.length > 0) await readOnce(driver, AWAIT_SCHEMA, {}, PREPARE_MS);
}

async function missingSchema(driver: Driver): Promise<readonly string[]> {
  const rows = await readOnce(driver, READY_SCHEMA, {}, PREPARE_MS);
  const ready = new Set(rows.map(([name, owner]) => `${owner === null ? "INDEX" : "CONSTRAINT"} ${String(name)}`));
  return SCHEMA.filter((statement) => !ready.has(/^CREATE (\w+ \w+)/.exec(statement)![1]!));
}

/** Two processes that create the same at once may conflict; then it exists at the next try. */
const SCHEMA_TRIES = 20;
const BETWEEN_TRIES_MS = 100;

async function makeOnce(driver: Driver, statement: string, q: Parameters = {}): Promise<readonly Row[]> {
  for (let tries = 1; ; tries++)
    try {
      return await writeOnce(driver, statement, q, PREPARE_MS);
    } catch (error) {
      const isRace = failureOf(error) === "conflict" || codeOf(error).startsWith("Neo.ClientError.Schema.");
      if (!isRace || tries === SCHEMA_TRIES) throw error;
      await sleep(BETWEEN_TRIES_MS);
    }
}

/** One line for the operator, which names the variable and never shows a password. */
function explained(error: unknown, { url, user }: ClientOptions): unknown {
  if (!(error instanceof neo4j.Neo4jError)) return error;
  const { code } = error;
  if (code.endsWith(".CredentialsExpired"))
    return new ConfigError(`NEO4J_PASSWORD: user ${JSON.stringify(user)} must change the first password before use`);
  if (/\.Security\.(Unauthorized|AuthenticationRateLimit)$/.test(code))
    return new ConfigError(`NEO4J_PASSWORD: the server refused user ${JSON.stringify(user)} with this password`);
  if (code.startsWith("Neo.ClientError.Security."))
    return new ConfigError(`NEO4J_USER: user ${JSON.stringify(user)} may not do what is needed (${code})`);
  if (!code.startsWith("Neo."))
    return new ConfigError(`NEO4J_URL: no Neo4j server answers at ${new URL(url).host} by Bolt`);
  if (isTooLong(error)) return new ConfigError(LATE);
  return new ConfigError(`NEO4J_URL: the server is there but cannot be used (${code})`);
}

/** Nobody waits for it, and planning is slow on a busy machine. */
const PLAN_MS = 60_000;
const NOWHERE = "warm-up" as WorkspaceId;

const NOTHING = {
  ...writeParameters(NOWHERE, EMPTY_PLAN, EMPTY_SNAPSHOT, []),
  keys: [],
  pairs: [],
  asked: [],
  limited: [],
  seenWithMax: 0,
  ids: [],
  uids: [],
  uid: "",
  change: "",
  hubs: [],
  limit: 1,
  looked: 1,
  most: 1,
  members: 1,
  share: 1,
  wholeMax: 1,
  after: "",
  from: "",
  to: "",
  before: "",
  outcomes: [],
  forbiddenPairs: [],
  key: "",
  prefix: "",
  rev: 0,
  ms: 0,
  stays: [],
  parts: [],
  leaves: [],
  removes: [],
  restores: [],
  unlinked: [],
  seenWith: [],
  forbids: [],
  allows: [],
  named: [],
  id: "",
  tombs: [],
  buried: [],
  taken: [],
  records: [],
  mentions: [],
  profile: "",
  max: 1,
  at: 0,
  events: 0,
  erased_at: whole(0),
  completed_at: null,
  strangers: [],
  sets: [],
  graph: "",
} satisfies Parameters;

/** Statements that change the schema have no plan. */
const queriesOf = (...texts: readonly Readonly<Record<string, unknown>>[]): readonly string[] =>
  texts
    .flatMap((all) => Object.values(all))
    .filter((text): text is string => typeof text === "string" && text.startsWith("CYPHER"));

/** Statements of nearly every request, and statements of few. */
const HOT = [...queriesOf(hot), reads.WHOLE_MEMBERS, reads.LOCATION];
const REST = queriesOf(reads, undo, annex, erasure, tombstones, movements).filter((text) => !HOT.includes(text));

/**
 * Has the server plan each statement once, on nothing, and takes it back. A server that was started just now needs seconds for
 * that on a busy machine, longer than a caller's transaction may last; each try of his would begin anew. Never rejects: answers what
 * could not be planned, with the reason.
 */
export const warmUp = (driver: Driver): Promise<readonly string[]> => planAll(driver, HOT);

/** The same for statements that can wait. */
export const warmRest = (driver: Driver): Promise<readonly string[]> => planAll(driver, REST);

async function planAll(driver: Driver, statements: readonly string[]): Promise<readonly string[]> {
  const session = driver.session({ database: DATABASE, defaultAccessMode: neo4j.session.WRITE });
  const failed: string[] = [];
  for (const statement of statements)
    try {
      const transaction = await session.beginTransaction({ timeout: PLAN_MS });
      await transaction.run(statement, { q: NOTHING });
      await transaction.rollback();
    } catch (error) {
      // A caller will see the error, and its statement is planned then. An outage ends the others as well.
      failed.push(`${codeOf(error)} ${statement}`);
      if (failureOf(ofDriver(error)) === "away") break;
    }
  await session.close().catch(() => undefined);
  return failed;
}
