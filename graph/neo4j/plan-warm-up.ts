import neo4j, { type Driver } from "neo4j-driver";
import type { WorkspaceId } from "../../core/ids.js";
import type { Snapshot } from "../../core/identity/model.js";
import { EMPTY_PLAN } from "../rules/working-state.js";
import * as annex from "./cypher/staging.js";
import { DATABASE, type Parameters } from "./client.js";
import { writeParameters } from "./parameters.js";
import * as reads from "./cypher/reads.js";
import * as hot from "./cypher/writes.js";
import * as undo from "./cypher/undo.js";

/** Nobody waits for it, and planning takes long on a busy machine. */
const PLAN_MS = 60_000;
const NOWHERE = "warm-up" as WorkspaceId;

const NO_PICTURE: Snapshot = {
  identifiers: new Map(),
  components: new Map(),
  linked: new Set(),
  removed: new Map(),
};

const NOTHING = {
  ...writeParameters(NOWHERE, EMPTY_PLAN, NO_PICTURE, []),
  keys: [],
  pairs: [],
  touching: [],
  limited: [],
  touchedMax: 0,
  ids: [],
  uids: [],
  uid: "",
  change: "",
  hubs: [],
  limit: 1,
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
  touches: [],
  forbids: [],
  allows: [],
  named: [],
} satisfies Parameters;

/** What makes the schema has no plan. */
const queriesOf = (...texts: readonly Readonly<Record<string, unknown>>[]): readonly string[] =>
  texts
    .flatMap((all) => Object.values(all))
    .filter((text): text is string => typeof text === "string" && text.startsWith("CYPHER"));

/** What nearly every request says, and what few do. */
const HOT = [...queriesOf(hot), reads.WHOLE_MEMBERS, reads.SEAT];
const REST = queriesOf(reads, undo, annex).filter((text) => !HOT.includes(text));

/**
 * Has the server plan each statement once, on nothing, and takes it back. A server that was started just now needs seconds for
 * that on a busy machine, longer than a caller's transaction may last; each try of his would begin anew. Never rejects.
 */
export const warmUp = (driver: Driver): Promise<void> => planAll(driver, HOT);

/** The same for what can wait. */
export const warmRest = (driver: Driver): Promise<void> => planAll(driver, REST);

async function planAll(driver: Driver, statements: readonly string[]): Promise<void> {
  const session = driver.session({ database: DATABASE, defaultAccessMode: neo4j.session.WRITE });
  try {
    for (const statement of statements) {
      const transaction = await session.beginTransaction({ timeout: PLAN_MS });
      await transaction.run(statement, { q: NOTHING });
      await transaction.rollback();
    }
  } catch {
    // Those who ask find out what is wrong, and their tries plan too.
  } finally {
    await session.close().catch(() => undefined);
  }
}
