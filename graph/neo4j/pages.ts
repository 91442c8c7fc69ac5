import type { ChangeId, ForbiddenPairId, IdentifierKey, KeyId, ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import {
  OUTCOMES,
  type Change,
  type ForbiddenPair,
  type ListedLink,
  type LinkState,
  type Member,
  type PairKey,
  type Source,
  pairKey,
} from "../../core/identity/model.js";
import type { WalkedProfile } from "../../core/identity/pages.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { changesOf } from "./changes.js";
import { type Client, type Parameters, type Row, type Step, inLock, readLocked, whole } from "./client.js";
import {
  ANY_OF_NAMESPACE,
  CHANGES,
  FIND_FORBIDDEN_PAIRS,
  IDENTIFIERS_OF,
  LINKS_OF_ONE,
  LINKS_OF_PAIRS,
  ONE_CHANGE,
  PAGE_OF_SHARED_IDENTIFIERS,
  PAGE_OF_FORBIDDEN_PAIRS,
  PAGE_OF_HISTORY,
  PAGE_OF_LINKS,
  PAGE_OF_MEMBERS,
  PAGE_OF_REMOVED,
  LOCATION,
  UNLINKED_BY,
  WALK,
  WHOLE_HISTORY,
  WHOLE_LINKS,
  WHOLE_MEMBERS,
} from "./cypher/reads.js";
import { withOneRetry } from "./failure.js";
import { identifierKey } from "../../core/event/event.js";
import { isNamed } from "../../core/identity/names.js";
import { linkKey } from "./snapshot.js";

/** A page of what a profile holds. */
interface Question {
  /** Reads all members, if there are not too many. */
  readonly whole: string;
  /** By the index, for any number of members. */
  readonly page: string;
  readonly q: Parameters;
  /** Up to this many it is cheap to read all. */
  readonly wholeMax: number;
  /** As many rows as members: so none is missing. */
  readonly isOfMembers: boolean;
}

type ProfileReads = Pick<IdentityGraph, "walk" | "members" | "links" | "history">;

/** Reading all members costs less than a second round trip. */
const WHOLE_MAX = 1_000;
/** This few are read so quickly that nobody writes twice meanwhile. */
const SURELY_MAX = 100;

export function createProfileReads(client: Client): ProfileReads {
  return {
    // In a moment in which nobody writes: a merge takes a profile from one node to another, and would be missed half way.
    walk: async (ws, { limit, after, membersMax }) => {
      const q = { limit: whole(limit), after: after ?? "", membersMax: whole(membersMax) };
      return pageOf(await readLocked(client, ws, WALK, q)).map((row) => walkedOf(row as WalkedRow));
    },
    members: async (workspace, profileId, { limit, after }) => {
      const q = { limit: whole(limit), after: after ?? "" };
      const wholeMax = after === null ? Math.max(limit, WHOLE_MAX) : WHOLE_MAX;
      const question = { whole: WHOLE_MEMBERS, page: PAGE_OF_MEMBERS, q, wholeMax, isOfMembers: true };
      return membersOf(await readPage(client, workspace, profileId, question));
    },
    links: async (workspace, profileId, { limit, after }) => {
      const q = { limit: whole(limit), from: after?.from ?? "", to: after?.to ?? "" };
      const question = { whole: WHOLE_LINKS, page: PAGE_OF_LINKS, q, wholeMax: WHOLE_MAX, isOfMembers: false };
      return (await readPage(client, workspace, profileId, question)).map(linkOf);
    },
    history: async (workspace, profileId, { limit, before }) => {
      const q = { limit: whole(limit), before: before ?? NEWEST };
      const question = { whole: WHOLE_HISTORY, page: PAGE_OF_HISTORY, q, wholeMax: WHOLE_MAX, isOfMembers: false };
      return changesOf(await readPage(client, workspace, profileId, question));
    },
  };
}

/** Greater than every id. */
export const NEWEST = "~";

/** What tells a profile from all that it was before; it is in no place while a step takes the identifier away. */
interface Location {
  readonly size: number | null;
  readonly rev: number | null;
  readonly stir: number | null;
  /** Names of the nodes that hold its members. */
  readonly hubs: readonly (string | null)[];
}

const isSame = (a: Location, b: Location): boolean =>
  a.size === b.size && a.rev === b.rev && a.stir === b.stir && a.hubs.join() === b.hubs.join();

const TRIES = 3;

/**
 * A read without a lock may miss what a step moves just then, also while the step becomes visible: that does not happen at once. A
 * profile that is looked at as a whole is proven by the number of its members, and by its `rev` afterwards. Of a larger one the page
 * is read between two moments in which nobody writes. Whoever has no luck with that reads in such a moment.
 */
async function readPage(client: Client, ws: WorkspaceId, uid: ProfileId, question: Question): Promise<readonly Row[]> {
  for (let tries = 0; tries < TRIES; tries++) {
    const found = await readWhole(client, ws, uid, question);
    if (found === "large") return readBetween(client, ws, uid, question);
    if (found !== "changed") return found;
  }
  return inLock(client, ws, (step) => readStill(step, ws, uid, question));
}

async function readWhole(
  client: Client,
  ws: WorkspaceId,
  uid: ProfileId,
  { whole: statement, q, wholeMax, isOfMembers }: Question,
): Promise<readonly Row[] | "large" | "changed"> {
  const [row] = await withOneRetry(() => client.read(statement, { ...q, ws, uid, wholeMax: whole(wholeMax) }));
  // No identifier has this uid, and an identifier never loses its uid.
  if (row === undefined) return [];
  const [size, rev, stir, hubs, annexed, seen, found] = row as WholeRow;
  if (annexed === true || (size !== null && size > wholeMax)) return "large";
  if (size !== seen) return "changed";
  if (isOfMembers && found.length === size && size <= SURELY_MAX) return found;
  const after = locationOf(await withOneRetry(() => client.read(LOCATION, { ws, uid })));
  return isSame({ size, rev, stir, hubs }, after) ? found : "changed";
}

async function readBetween(
  client: Client,
  ws: WorkspaceId,
  uid: ProfileId,
  question: Question,
): Promise<readonly Row[]> {
  let before = locationOf(await readLocked(client, ws, LOCATION, { uid }));
  for (let tries = 0; tries < TRIES; tries++) {
    const q = { ...question.q, hubs: before.hubs };
    const found = pageOf(await withOneRetry(() => client.read(question.page, q)));
    const after = locationOf(await readLocked(client, ws, LOCATION, { uid }));
    if (isSame(before, after)) return found;
    before = after;
  }
  return inLock(client, ws, (step) => readStill(step, ws, uid, question));
}

/** Under the lock, so that nobody writes. */
async function readStill(step: Step, ws: WorkspaceId, uid: ProfileId, { page, q }: Question): Promise<readonly Row[]> {
  const { hubs } = locationOf(await step.run(LOCATION, { ws, uid }));
  return pageOf(await step.run(page, { ...q, hubs }));
}

type LocationRow = readonly [
  size: number | null,
  rev: number | null,
  stir: number | null,
  hubs: readonly (string | null)[],
];
type WholeRow = readonly [...LocationRow, annexed: boolean | null, seen: number, found: readonly Row[]];

const locationOf = ([row]: readonly Row[]): Location => {
  const [size, rev, stir, hubs] = row as LocationRow;
  return { size, rev, stir, hubs };
};

const pageOf = ([row]: readonly Row[]): readonly Row[] => row![0] as readonly Row[];

type MemberRow = readonly [uid: Uid, ns: string, value: string, isShared: boolean];

export const membersOf = (found: readonly Row[]): readonly Member[] => (found as unknown as MemberRow[]).map(memberOf);

const memberOf = ([uid, namespace, value, isShared]: MemberRow): Member => ({
  uid,
  identifier: { namespace, value },
  isShared,
});

type WalkedRow = readonly [profileId: ProfileId, size: number, members: readonly Row[]];

/** None stand for those that were not read: a profile has at least one. */
const walkedOf = ([profileId, size, members]: WalkedRow): WalkedProfile => ({
  profileId,
  size,
  members: members.length === 0 ? null : membersOf(members),
});

type LinkRow = readonly [
  from: Uid,
  to: Uid,
  changeId: ChangeId,
  source: Source,
  keyId: KeyId,
  at: number,
  by: ChangeId | null,
];

const linkOf = (row: Row): ListedLink => {
  const [from, to, changeId, source, keyId, at, restoredBy] = row as LinkRow;
  return { from, to, changeId, evidence: { source, keyId, at }, restoredBy };
};

type Records = Pick<
  IdentityGraph,
  | "linksOfChange"
  | "linksRemovedBy"
  | "isUnlinkedBy"
  | "findForbiddenPairs"
  | "forbiddenPairs"
  | "findChange"
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
