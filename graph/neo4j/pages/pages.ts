import { AppError } from "../../../core/errors.js";
import type { ChangeId, KeyId, ProfileId, Uid, WorkspaceId } from "../../../core/ids.js";
import type { ListedLink, Member, Source } from "../../../core/identity/model.js";
import { hasOnlyGrown } from "../../../core/identity/step.js";
import type { WalkedProfile } from "../../../core/identity/pages.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { type Ask, type Client, type Parameters, type Row, type Step, inLock, readLocked, whole } from "../client.js";
import {
  PAGE_OF_LINKS,
  PAGE_OF_MEMBERS,
  LOCATION,
  PART_OF_HISTORY,
  WALK,
  WHOLE_HISTORY,
  WHOLE_LINKS,
  WHOLE_MEMBERS,
} from "../cypher/reads.js";
import { withOneRetry } from "../failure.js";
import { newestChanges, newestOwnChanges } from "./history.js";

/** A page of what a profile holds. */
interface Question {
  /** Reads all members, if there are not too many. */
  readonly whole: string;
  /** By the index, for any number of members. */
  readonly page: (ask: Ask, q: Parameters) => Promise<readonly Row[]>;
  readonly q: Parameters;
  /** Up to this many it is cheap to read all. */
  readonly wholeMax: number;
  /** As many rows as members: so none is missing. */
  readonly isOfMembers: boolean;
  /** A statement that takes too long for a moment in which nobody writes, and whether the caller is still there. */
  readonly long?: { readonly statement: string; readonly isOver: () => boolean };
}

const byOne =
  (statement: string): Question["page"] =>
  async (ask, q) =>
    pageOf(await ask(statement, q));

type ProfileReads = Pick<IdentityGraph, "walk" | "members" | "links" | "historyIds">;

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
      const question = { whole: WHOLE_MEMBERS, page: byOne(PAGE_OF_MEMBERS), q, wholeMax, isOfMembers: true };
      return membersOf(await readPage(client, workspace, profileId, question));
    },
    links: async (workspace, profileId, { limit, after }) => {
      const q = { limit: whole(limit), from: after?.from ?? "", to: after?.to ?? "" };
      const question = { whole: WHOLE_LINKS, page: byOne(PAGE_OF_LINKS), q, wholeMax: WHOLE_MAX, isOfMembers: false };
      return (await readPage(client, workspace, profileId, question)).map(linkOf);
    },
    historyIds: async (workspace, profileId, { limit, before, isOwn = false, isOver = () => false }) => {
      const q = { limit: whole(limit), before: before ?? NEWEST };
      if (isOwn) {
        const ask: Ask = (statement, asked) => withOneRetry(() => client.read(statement, asked));
        return idsOf(await newestOwnChanges(ask, { ws: workspace, uid: profileId, limit, before: q.before }));
      }
      const page: Question["page"] = (ask, { hubs }) =>
        newestChanges(ask, { ws: workspace, hubs: hubs as readonly string[], limit, before: q.before });
      const long = { statement: PART_OF_HISTORY, isOver };
      const question = { whole: WHOLE_HISTORY, page, q, wholeMax: WHOLE_MAX, isOfMembers: false, long };
      return idsOf(await readPage(client, workspace, profileId, question));
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

/** All members that it had then are in it still; some may have gone from one of its nodes to another, and a few have come. */
const hasKept = (then: Location, now: Location): boolean =>
  then.rev !== null && now.rev !== null
    ? hasOnlyGrown(then.rev, now.rev) &&
      then.hubs[0] === now.hubs[0] &&
      now.hubs.every((hub) => then.hubs.includes(hub))
    : isSame(then, now);

/** And nobody went from one of its nodes to another. */
const hasStayed = (then: Location, now: Location): boolean =>
  hasKept(then, now) && then.stir === now.stir && then.hubs.join() === now.hubs.join();

const TRIES = 3;
/** Members are moved with pauses; each repeat of a statement reads half as many as the one before, until it fits into a pause. */
const REPEATS = 8;
/** A smaller share of a portion takes no less time than the look before and after it. */
const SHARE_MIN = 1 / 16;

/**
 * A read without a lock may miss what a step moves just then, also while the step becomes visible: that does not happen at once. A
 * profile that is looked at as a whole is proven by the number of its members, and by its `rev` afterwards. Of a larger one the page
 * is read between two moments in which nobody writes, and if that takes long, each statement of it. Whoever has no luck with that reads in
 * such a moment, if that does not take long.
 */
async function readPage(client: Client, ws: WorkspaceId, uid: ProfileId, question: Question): Promise<readonly Row[]> {
  for (let tries = 0; tries < TRIES; tries++) {
    const found = await readWhole(client, ws, uid, question);
    if (found === "large") return readBetween(client, ws, uid, question);
    if (found !== "changed") return found;
  }
  if (question.long !== undefined) return readBetween(client, ws, uid, question);
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
  const locate: Locate = async () => locationOf(await readLocked(client, ws, LOCATION, { uid }));
  const found = await (question.long === undefined ? readAtOnce : readByStatement)(client, locate, question);
  return found ?? inLock(client, ws, (step) => readStill(step, ws, uid, question));
}

/** In a moment in which nobody writes. */
type Locate = () => Promise<Location>;

/** Null when the profile kept changing. */
async function readAtOnce(client: Client, locate: Locate, { page, q }: Question): Promise<readonly Row[] | null> {
  const ask: Ask = (statement, asked) => withOneRetry(() => client.read(statement, asked));
  let before = await locate();
  for (let tries = 0; tries < TRIES; tries++) {
    const found = await page(ask, { ...q, hubs: before.hubs });
    const after = await locate();
    if (isSame(before, after)) return found;
    before = after;
  }
  return null;
}

class Changed extends Error {}

/**
 * Members that came meanwhile may be in the page or not, as if they had come before it or after. While members are moved from one node
 * of the profile to another, only the statement beside which that was done is repeated. Null when the profile kept changing otherwise.
 */
async function readByStatement(
  client: Client,
  locate: Locate,
  { page, q, long }: Question,
): Promise<readonly Row[] | null> {
  let start = await locate();
  let [now, share] = [start, 1];
  const ask: Ask = async (statement, asked) => {
    for (let repeats = 0; repeats < REPEATS; repeats++) {
      if (long!.isOver()) throw givenUp();
      const before = now;
      const found = await withOneRetry(() => client.read(statement, { ...asked, hubs: before.hubs, share }));
      now = await locate();
      if (!hasKept(start, now)) throw new Changed();
      if (hasStayed(before, now)) return found;
      share = Math.max(share / 2, SHARE_MIN);
    }
    throw new Changed();
  };
  for (let tries = 0; tries < TRIES; tries++) {
    try {
      return await page(ask, { ...q, hubs: start.hubs });
    } catch (error) {
      if (!(error instanceof Changed)) throw error;
      start = now;
    }
  }
  return null;
}

/** Under the lock, so that nobody writes. */
async function readStill(
  step: Step,
  ws: WorkspaceId,
  uid: ProfileId,
  { page, q, long }: Question,
): Promise<readonly Row[]> {
  const ask: Ask = async (statement, q) => {
    if (statement === long?.statement) throw givenUp();
    return step.run(statement, q);
  };
  const { hubs } = locationOf(await ask(LOCATION, { ws, uid }));
  return page(ask, { ...q, hubs });
}

const givenUp = () => new AppError("unavailable", "The profile kept changing while it was read.");

type LocationRow = readonly [
  size: number | null,
  rev: number | null,
  stir: number | null,
  hubs: readonly (string | null)[],
];
type WholeRow = readonly [...LocationRow, annexed: boolean | null, seen: number, found: readonly Row[]];

/** Of one that was erased since it was found, there is no row. */
const locationOf = ([row]: readonly Row[]): Location => {
  if (row === undefined) return { size: null, rev: null, stir: null, hubs: [] };
  const [size, rev, stir, hubs] = row as LocationRow;
  return { size, rev, stir, hubs };
};

const pageOf = ([row]: readonly Row[]): readonly Row[] => row![0] as readonly Row[];

const idsOf = (found: readonly Row[]): readonly ChangeId[] => found.map(([changeId]) => changeId as ChangeId);

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
