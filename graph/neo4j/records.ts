import { identifierKey } from "../../core/event/event.js";
import type { ChangeId, IdentifierKey, KeyId, ForbiddenPairId, WorkspaceId } from "../../core/ids.js";
import { pairKey, type Change, type LinkState, type ForbiddenPair, type PairKey } from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { changesOf } from "./changes.js";
import { whole, type Client, type Parameters, type Row } from "./client.js";
import { linkKey } from "./snapshot.js";
import { membersOf, NEWEST } from "./pages.js";
import {
  ANY_OF_NAMESPACE,
  CHANGES,
  FIND_FORBIDDEN_PAIRS,
  LINKS_OF_ONE,
  LINKS_OF_PAIRS,
  ONE_CHANGE,
  PAGE_OF_CONNECTORS,
  PAGE_OF_FORBIDDEN_PAIRS,
  UNLINKED_BY,
} from "./cypher/reads.js";
import { withOneRetry } from "./retry.js";

type Records = Pick<
  IdentityGraph,
  | "linksOfChange"
  | "isUnlinkedBy"
  | "findForbiddenPairs"
  | "forbiddenPairs"
  | "findChange"
  | "changes"
  | "sharedIdentifiers"
  | "hasIdentifiers"
>;

/** What is read one by one or listed, without a lock: nothing of it ever moves. */
export function createRecords(client: Client): Records {
  const read = (statement: string, q: Parameters) => withOneRetry(() => client.read(statement, q));
  const list = async (statement: string, q: Parameters) => (await read(statement, q))[0]![0] as readonly Row[];
  return {
    linksOfChange: async (ws, change) => {
      const [statement, q] = traceOf(ws, change);
      return ((await read(statement, q)) as unknown as StateRow[]).map(stateOf);
    },
    isUnlinkedBy: async (ws, key, change) => (await read(UNLINKED_BY, { ws, key, change })).length > 0,
    findForbiddenPairs: async (ws, forbiddenPairs) =>
      forbiddenPairsOf(await list(FIND_FORBIDDEN_PAIRS, { ws, forbiddenPairs })),
    forbiddenPairs: async (ws, { limit, after }) =>
      forbiddenPairsOf(await list(PAGE_OF_FORBIDDEN_PAIRS, { ws, limit: whole(limit), after: after ?? "" })),
    findChange: async (ws, change) => changesOf(await list(ONE_CHANGE, { ws, change }))[0] ?? null,
    changes: async (ws, outcome, { limit, before }) => {
      const outcomes = outcome === null ? OUTCOMES : [outcome];
      return changesOf(await list(CHANGES, { ws, outcomes, limit: whole(limit), before: before ?? NEWEST }));
    },
    sharedIdentifiers: async (ws, { limit, after }) =>
      membersOf(await list(PAGE_OF_CONNECTORS, { ws, limit: whole(limit), after: after ?? "" })),
    hasIdentifiers: async (ws, namespace) =>
      (await read(ANY_OF_NAMESPACE, { prefix: identifierKey(ws, { namespace, value: "" }) })).length > 0,
  };
}

/** A list with every outcome in it: one that is missing here would never be listed. */
const OUTCOMES = Object.keys({
  created: true,
  linked: true,
  merged: true,
  unchanged: true,
  partial: true,
  refused: true,
  unlinked: true,
  forbidden: true,
  reverted: true,
  allowed: true,
} satisfies Record<Change["outcome"], true>);

/** A change of several identifiers has its links among them, one of a single identifier has them around it. */
function traceOf(ws: WorkspaceId, { changeId: change, identifiers }: Change): readonly [string, Parameters] {
  const keys = identifiers.map((identifier) => identifierKey(ws, identifier));
  return keys.length === 1
    ? [LINKS_OF_ONE, { ws, change, key: keys[0] }]
    : [LINKS_OF_PAIRS, { ws, change, pairs: pairsOf(keys).map(linkKey) }];
}

const pairsOf = (keys: readonly IdentifierKey[]): readonly PairKey[] =>
  keys.flatMap((one, i) => keys.slice(i + 1).map((other) => pairKey(one, other)));

type StateRow = readonly [from: IdentifierKey, to: IdentifierKey, changeId: ChangeId, by: ChangeId, isActive: boolean];

const stateOf = ([from, to, changeId, by, isActive]: StateRow): LinkState => ({
  pair: [from, to],
  changeId,
  by,
  isActive,
});

type ForbiddenPairRow = readonly [
  forbiddenPairId: ForbiddenPairId,
  fromNamespace: string,
  fromValue: string,
  toNamespace: string,
  toValue: string,
  changeId: ChangeId,
  keyId: KeyId,
  at: number,
];

const forbiddenPairsOf = (found: readonly Row[]): readonly ForbiddenPair[] =>
  (found as unknown as ForbiddenPairRow[]).map(
    ([forbiddenPairId, fromNamespace, fromValue, toNamespace, toValue, ...rest]) => {
      const [changeId, keyId, at] = rest;
      const from = { namespace: fromNamespace, value: fromValue };
      return { forbiddenPairId, from, to: { namespace: toNamespace, value: toValue }, changeId, keyId, at };
    },
  );
