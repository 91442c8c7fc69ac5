import type { Database } from "../../../core/database.js";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import { newId, type ChangeId, type KeyId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import { pairKey, type Assertion, type Evidence, type AssertResult } from "../../../core/identity/model.js";
import type { RulesReadSet } from "../../../core/identity/snapshot.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { decide, NO_RULES, type Request } from "../../../graph/rules/assert.js";
import { GRAPH_TABLES } from "../../../graph/sqlite/schema.js";
import { readSetOf, readSetOfAll, readSetWith } from "../../../graph/rules/read-set.js";
import { openDatabase } from "../../../store/embedded/database.js";
import { createTables } from "../../../store/embedded/schema.js";

export const aWorkspace = (): WorkspaceId => newId<WorkspaceId>();

/** `user_id:ann` names the identifier; without a namespace it is a `user_id`. */
export const anIdentifier = (value: string, namespace = "user_id"): Identifier => ({ namespace, value });

export const EVIDENCE: Evidence = { source: "identify", keyId: "key0000001" as KeyId, at: 1_700_000_000_000 };

export const anAssertion = (...identifiers: readonly (Identifier | string)[]): Assertion => ({
  identifiers: identifiers.map((one) => (typeof one === "string" ? anIdentifier(one) : one)),
  evidence: EVIDENCE,
});

export const aRequest = (
  workspace: WorkspaceId,
  assertion: Assertion,
  uidOf: (identifier: Identifier) => Uid = () => newId<Uid>(),
): Request => ({
  assertion,
  keys: assertion.identifiers.map((one) => identifierKey(workspace, one)),
  uids: assertion.identifiers.map(uidOf),
  changeId: newId<ChangeId>(),
});

export const wantOfRequests = (requests: readonly Request[]): RulesReadSet =>
  readSetWith(readSetOfAll(requests.map(({ keys }) => readSetOf(keys))), NO_RULES);

/** One step of the graph, decided by the real rules; no workspace has set any. */
export const step = (graph: IdentityGraph, workspace: WorkspaceId, ...assertions: readonly Assertion[]) =>
  stepOf(
    graph,
    workspace,
    assertions.map((assertion) => aRequest(workspace, assertion)),
  );

export const stepOf = (
  graph: IdentityGraph,
  workspace: WorkspaceId,
  requests: readonly Request[],
): Promise<readonly AssertResult[]> =>
  graph.update(workspace, wantOfRequests(requests), (snapshot) => {
    const { plan, results } = decide(snapshot, requests, NO_RULES);
    return { plan, result: results };
  });

export const linkedPair = (workspace: WorkspaceId, one: Identifier, other: Identifier) =>
  pairKey(identifierKey(workspace, one), identifierKey(workspace, other));

/** An embedded store with the graph's tables and nothing else. */
export function openGraphDatabase(file: string): Database {
  const database = openTestDatabase(file);
  createTables(database, GRAPH_TABLES);
  return database;
}

/** Without any tables. */
export const openTestDatabase = (file: string): Database =>
  openDatabase({
    file,
    checkpointMs: 60_000,
    onError: (message, error) => {
      throw new Error(message, { cause: error });
    },
  });

/** `"ab"` names the identifiers a and b. */
export const lettersOf = (letters: string): readonly string[] => letters.split("");
