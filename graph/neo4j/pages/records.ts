import type { ChangeId, ForbiddenPairId, IdentifierKey, KeyId, Uid, WorkspaceId } from "../../../core/ids.js";
import { identifierKey } from "../../../core/event/event.js";
import {
  OUTCOMES,
  type Change,
  type ForbiddenPair,
  type LinkState,
  type PairKey,
  pairKey,
} from "../../../core/identity/model.js";
import { isNamed } from "../../../core/identity/names.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { changesOf } from "../changes.js";
import { type Client, type Parameters, type Row, whole } from "../client.js";
import {
  ANY_OF_NAMESPACE,
  CHANGES,
  CHANGES_BY_ID,
  FIND_FORBIDDEN_PAIRS,
  IDENTIFIERS_OF,
  LINKS_OF_ONE,
  LINKS_OF_PAIRS,
  MARKS_OF,
  PAGE_OF_FORBIDDEN_PAIRS,
  PAGE_OF_REMOVED,
  PAGE_OF_SHARED_IDENTIFIERS,
} from "../cypher/reads.js";
import { withOneRetry } from "../failure.js";
import { marksOf, type MarkColumns } from "../marks.js";
import { linkKey } from "../snapshot.js";
import { membersOf, NEWEST } from "./pages.js";

type Records = Pick<
  IdentityGraph,
  | "linksOfChange"
  | "linksRemovedBy"
  | "markedAt"
  | "findForbiddenPairs"
  | "forbiddenPairs"
  | "findChanges"
  | "changes"
  | "sharedIdentifiers"
  | "identifiersOf"
  | "hasIdentifiers"
>;

/** Records and lists, read without a lock: they never change their place. */
export function createRecords(client: Client): Records {
  const read = (statement: string, q: Parameters) => withOneRetry(() => client.read(statement, q));
  const list = async (statement: string, q: Parameters) => (await read(statement, q))[0]![0] as readonly Row[];
  const linksOfChange: Records["linksOfChange"] = async (ws, change) => {
    const [statement, q] = traceOf(ws, change);
    return ((await read(statement, q)) as unknown as StateRow[]).map(stateOf);
  };
  return {
    linksOfChange,
    linksRemovedBy: async (ws, change, { limit, after }) => {
      const { changeId, identifiers } = change;
      if (identifiers.length > 1) {
        const links = await linksOfChange(ws, change);
        return { links: links.filter(({ isActive, by }) => !isActive && by === changeId), next: null };
      }
      const [key = ""] = keysIn(ws, change);
      const q = { ws, change: changeId, key, limit: whole(limit), after: after ?? "" };
      const found = (await read(PAGE_OF_REMOVED, q)) as unknown as readonly RemovedRow[];
      const next = found.length < limit ? null : found.at(-1)![LINK_KEY];
      return { links: found.filter((row) => row[IS_SHOWN]).map(stateOf), next };
    },
    markedAt: async (ws, key, change) => {
      const [row] = await read(MARKS_OF, { ws, key });
      const marks = row === undefined ? [] : marksOf(row as MarkColumns);
      return marks.find(({ by }) => by === change)?.at ?? null;
    },
    findForbiddenPairs: async (ws, forbiddenPairs) =>
      forbiddenPairsOf(await list(FIND_FORBIDDEN_PAIRS, { ws, forbiddenPairs })),
    forbiddenPairs: async (ws, { limit, after }) =>
      forbiddenPairsOf(await list(PAGE_OF_FORBIDDEN_PAIRS, { ws, limit: whole(limit), after: after ?? "" })),
    findChanges: async (ws, changes) => {
      const found = new Map(
        changesOf(await list(CHANGES_BY_ID, { ws, changes })).map((change) => [change.changeId, change]),
      );
      return changes.flatMap((changeId) => found.get(changeId) ?? []);
    },
    changes: async (ws, outcome, { limit, before }) => {
      const outcomes = outcome === null ? OUTCOMES : [outcome];
      return changesOf(await list(CHANGES, { ws, outcomes, limit: whole(limit), before: before ?? NEWEST }));
    },
    sharedIdentifiers: async (ws, { limit, after }) =>
      membersOf(await list(PAGE_OF_SHARED_IDENTIFIERS, { ws, limit: whole(limit), after: after ?? "" })),
    identifiersOf: async (ws, uids) => {
      const found = (await list(IDENTIFIERS_OF, { ws, uids })) as unknown as readonly (readonly [
        Uid,
        string,
        string,
      ])[];
      return new Map(found.map(([uid, namespace, value]) => [uid, { namespace, value }]));
    },
    hasIdentifiers: async (ws, namespace) =>
      (await read(ANY_OF_NAMESPACE, { prefix: identifierKey(ws, { namespace, value: "" }) })).length > 0,
  };
}

/** A change of several identifiers has its links among them, one of a single identifier has them around it. */
function traceOf(ws: WorkspaceId, asked: Change): readonly [string, Parameters] {
  const { changeId: change } = asked;
  const keys = keysIn(ws, asked);
  return asked.identifiers.length === 1
    ? [LINKS_OF_ONE, { ws, change, key: keys[0] ?? "" }]
    : [LINKS_OF_PAIRS, { ws, change, pairs: pairsOf(keys).map(linkKey) }];
}

const keysIn = (ws: WorkspaceId, { identifiers }: Change): readonly IdentifierKey[] =>
  identifiers.filter(isNamed).map((identifier) => identifierKey(ws, identifier));

const pairsOf = (keys: readonly IdentifierKey[]): readonly PairKey[] =>
  keys.flatMap((one, i) => keys.slice(i + 1).map((other) => pairKey(one, other)));

type StateRow = readonly [from: IdentifierKey, to: IdentifierKey, changeId: ChangeId, by: ChangeId, isActive: boolean];

type RemovedRow = readonly [...StateRow, linkKey: string, isShown: boolean];
const [LINK_KEY, IS_SHOWN] = [5, 6] as const;

const stateOf = ([from, to, changeId, by, isActive]: StateRow | RemovedRow): LinkState => ({
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
