import type { Change, ForbiddenPair, ListedLink } from "../../core/identity/model.js";
import type { WalkedProfile } from "../../core/identity/pages.js";
import type { RemovedPair, Taken, UnlinkedMark } from "../../core/identity/api.js";
import {
  firstIdAt,
  madeAt,
  type ChangeId,
  type ForbiddenPairId,
  type ProfileId,
  type Uid,
  type WorkspaceId,
} from "../../core/ids.js";
import type { Services } from "../services.js";
import { CHANGES_PER_READ } from "./changes.js";

export interface ExportedLink extends ListedLink {
  readonly profileId: ProfileId;
}

export type LinkRecord =
  | { readonly kind: "link"; readonly link: ExportedLink; readonly place: WalkPlace | MovedPlace }
  | { readonly kind: "forbidden_pair"; readonly pair: ForbiddenPair }
  | { readonly kind: "removed_link"; readonly link: RemovedPair; readonly place: TakenPlace }
  | { readonly kind: "unlinked"; readonly mark: UnlinkedMark; readonly place: TakenPlace };

/** How far an export of links has come. */
export type LinkPlace =
  | WalkPlace
  | MovedPlace
  | { readonly kind: "forbidden_pair"; readonly forbiddenPairId: ForbiddenPairId }
  | TakenPlace;

/** Among the profiles by id. */
interface WalkPlace {
  readonly kind: "link";
  readonly profileId: ProfileId;
  readonly from: Uid;
  readonly to: Uid;
  /** When the walk began: the newest change, or a later time. */
  readonly since: ChangeId;
}

/** Among the changes since the walk, or the pass before, began, the newest first. */
interface MovedPlace {
  readonly kind: "moved";
  readonly since: ChangeId;
  readonly before: ChangeId | null;
}

/** Through what was taken away by changes of that outcome, the newest first, up to one. */
export interface TakenPlace {
  readonly kind: "taken";
  readonly outcome: (typeof TAKING)[number];
  readonly before: ChangeId | null;
}
/** Nothing else takes anything away. */
export const TAKING = ["unlinked", "reverted"] as const;

const PROFILES_PER_READ = 100;
/** Read at once: on servers each is a call of its own. */
const PROFILES_AT_ONCE = 10;
const ROWS_PER_READ = 500;

type Graph = Pick<Services, "identity">;

/**
 * All active links, by profile, and once more those of profiles that merge or split meanwhile, and of recent undos; then all forbidden pairs; then what was
 * removed and not restored.
 */
export async function* exportLinks(
  services: Graph,
  workspace: WorkspaceId,
  after: LinkPlace | null,
): AsyncGenerator<readonly LinkRecord[], void> {
  if (after === null || after.kind === "link") {
    const since = after === null ? await latest(services, workspace) : after.since;
    yield* activeLinks(services, workspace, after, since);
    yield* movedLinks(services, workspace, { kind: "moved", since, before: null });
  }
  if (after?.kind === "moved") yield* movedLinks(services, workspace, after);
  if (after?.kind !== "taken") yield* forbiddenPairs(services, workspace, after);
  const from = after?.kind === "taken" ? TAKING.indexOf(after.outcome) : 0;
  for (const outcome of TAKING.slice(from)) {
    const before = after?.kind === "taken" && after.outcome === outcome ? after.before : null;
    yield* taken(services, workspace, outcome, before);
  }
}

async function* forbiddenPairs(
  { identity }: Graph,
  workspace: WorkspaceId,
  after: LinkPlace | null,
): AsyncGenerator<readonly LinkRecord[], void> {
  for (let last = after?.kind === "forbidden_pair" ? after.forbiddenPairId : null; ;) {
    const found = await identity.forbiddenPairs(workspace, { limit: ROWS_PER_READ, after: last });
    yield found.map((pair) => ({ kind: "forbidden_pair", pair }));
    if (found.length < ROWS_PER_READ) return;
    last = found.at(-1)!.forbiddenPairId;
  }
}

async function* taken(
  { identity }: Graph,
  workspace: WorkspaceId,
  outcome: TakenPlace["outcome"],
  before: ChangeId | null,
): AsyncGenerator<readonly LinkRecord[], void> {
  for (let last = before; ;) {
    const found = await identity.changes(workspace, outcome, { limit: CHANGES_PER_READ, before: last });
    for (const change of found) {
      for (let after: string | null = null; ;) {
        const some = await identity.takenBy(workspace, change, after);
        yield* recordsOfTaken(some, { kind: "taken", outcome, before: last }, change.changeId);
        if (some.next === null) break;
        after = some.next;
      }
      last = change.changeId;
    }
    if (found.length < CHANGES_PER_READ) return;
  }
}

/** Behind the last of all the change is through; who stops before begins it anew. */
function* recordsOfTaken(
  { links, unlinked, next }: Taken,
  before: TakenPlace,
  changeId: ChangeId,
): Generator<readonly LinkRecord[], void> {
  const rows = links.length + unlinked.length;
  const placeOf = (n: number): TakenPlace =>
    next === null && n === rows - 1 ? { ...before, before: changeId } : before;
  const records = [
    ...links.map((link, n): LinkRecord => ({ kind: "removed_link", link, place: placeOf(n) })),
    ...unlinked.map((mark, n): LinkRecord => ({ kind: "unlinked", mark, place: placeOf(links.length + n) })),
  ];
  // An empty part, too: see `linksOfAll`.
  for (let from = 0; from === 0 || from < rows; from += ROWS_PER_READ) yield records.slice(from, from + ROWS_PER_READ);
}

/** Clocks of other processes may be behind; what is older than this is ended, but for undos. */
async function latest({ identity }: Graph, workspace: WorkspaceId): Promise<ChangeId> {
  const recent = firstIdAt<ChangeId>(Date.now() - CLOCKS_MS);
  const [newest] = await identity.changes(workspace, null, { limit: 1, before: null });
  return newest !== undefined && newest.changeId > recent ? newest.changeId : recent;
}
const CLOCKS_MS = 10_000;

async function* activeLinks(
  services: Graph,
  workspace: WorkspaceId,
  after: WalkPlace | null,
  since: ChangeId,
): AsyncGenerator<readonly LinkRecord[], void> {
  const placeOf: PlaceOf = ({ profileId, from, to }) => ({ kind: "link", profileId, from, to, since });
  if (after !== null) yield* linksOf(services, workspace, after.profileId, after, placeOf);
  for (let last = after?.profileId ?? null; ;) {
    const found = await services.identity.walk(workspace, { limit: PROFILES_PER_READ, after: last, membersMax: 0 });
    yield* linksOfAll(services, workspace, found, placeOf);
    if (found.length < PROFILES_PER_READ) return;
    last = found.at(-1)!.profileId;
  }
}

/**
 * Again as long as somebody undoes something meanwhile: a part that a pass has not read may get an id that none of its changes names.
 * What merges meanwhile is read under its old id, too.
 */
async function* movedLinks(
  services: Graph,
  workspace: WorkspaceId,
  place: MovedPlace,
): AsyncGenerator<readonly LinkRecord[], void> {
  for (let next = place, passes = 1; ; passes++) {
    const since = await latest(services, workspace);
    const newest = await newestUndos(services, workspace);
    yield* movedSince(services, workspace, next);
    const isOver = next.before === null && newest === (await newestUndos(services, workspace));
    if (isOver || passes === PASSES_MAX) return;
    // What came before a pass went on is not in it.
    next = { kind: "moved", since: next.before === null ? since : next.since, before: null };
  }
}
const PASSES_MAX = 10;

async function newestUndos({ identity }: Graph, workspace: WorkspaceId): Promise<string> {
  const newest = await Promise.all(
    TAKING.map((outcome) => identity.changes(workspace, outcome, { limit: 1, before: null })),
  );
  return newest.flatMap((found) => found.map(({ changeId }) => changeId)).join();
}

/**
 * The walk does not meet a profile that comes into one which it has passed, nor a part of one that it has read already. The ids of both
 * name where their identifiers are now.
 */
async function* movedSince(
  services: Graph,
  workspace: WorkspaceId,
  { since, before }: MovedPlace,
): AsyncGenerator<readonly LinkRecord[], void> {
  for (let last = before; ;) {
    const place: MovedPlace = { kind: "moved", since, before: last };
    const { found, end } = await newestMoving(services, workspace, place);
    const moving = found.filter((change) => change.before.length > 1 || change.after.length > 1);
    const named = [...new Set(moving.flatMap((change) => change.before.concat(change.after)))];
    const live = await liveProfiles(services, workspace, named);
    yield* linksOfAll(services, workspace, live, () => place);
    if (end === null) return;
    last = end;
  }
}

const isFull = ({ length }: readonly Change[]): boolean => length === CHANGES_PER_READ;

/** All changes since then, and undos that may have gone on then; `end` is the last of them, null if there are no more. */
async function newestMoving(
  { identity }: Graph,
  workspace: WorkspaceId,
  { since, before }: MovedPlace,
): Promise<{ readonly found: readonly Change[]; readonly end: ChangeId | null }> {
  const newest = async (outcome: TakenPlace["outcome"] | null, until: ChangeId): Promise<readonly Change[]> => {
    const found = await identity.changes(workspace, outcome, { limit: CHANGES_PER_READ, before });
    return found.filter(({ changeId }) => changeId > until);
  };
  const newer = await newest(null, since);
  if (isFull(newer)) return { found: newer, end: newer.at(-1)!.changeId };
  const undoing = firstIdAt<ChangeId>(madeAt(since) - UNDO_MS);
  const undos = await Promise.all(TAKING.map((outcome) => newest(outcome, undoing)));
  // Behind it one outcome has more, so the other goes no further.
  const ends = undos.filter(isFull).map((some) => some.at(-1)!.changeId);
  const end = ends.toSorted().at(-1) ?? null;
  return { found: newer.concat(undos.flat().filter(({ changeId }) => end === null || changeId >= end)), end };
}

/** An undo moves profiles step by step under the id that it began with: for ten minutes at most, the longest PROFILE_TIMEOUT_MS. */
const UNDO_MS = 900_000;

async function liveProfiles(
  { identity }: Graph,
  workspace: WorkspaceId,
  named: readonly ProfileId[],
): Promise<readonly WalkedProfile[]> {
  const live = new Map<ProfileId, WalkedProfile>();
  for (let next = 0; next < named.length; next += PROFILES_PER_READ) {
    const found = await identity.resolveAll(workspace, named.slice(next, next + PROFILES_PER_READ), 0);
    for (const one of found) if (one !== null) live.set(one.profileId, one);
  }
  return [...live.values()];
}

type PlaceOf = (link: ExportedLink) => WalkPlace | MovedPlace;

async function* linksOfAll(
  services: Graph,
  workspace: WorkspaceId,
  all: readonly WalkedProfile[],
  placeOf: PlaceOf,
): AsyncGenerator<readonly LinkRecord[], void> {
  const linked = all.filter(({ size }) => size > 1);
  for (let next = 0; next < linked.length; next += PROFILES_AT_ONCE)
    yield* linksOfSome(services, workspace, linked.slice(next, next + PROFILES_AT_ONCE), placeOf);
  // Between two parts an export waits for its turn, and ends if nobody takes it any more: also where there is nothing to write.
  yield [];
}

/** The first links of several profiles together, then what is left of large ones. */
async function* linksOfSome(
  services: Graph,
  workspace: WorkspaceId,
  some: readonly WalkedProfile[],
  placeOf: PlaceOf,
): AsyncGenerator<readonly LinkRecord[], void> {
  const small = some.filter(({ size }) => size <= SMALL_MAX);
  const pages = new Map<ProfileId, readonly ListedLink[]>();
  await Promise.all(
    small.map(async ({ profileId }) => pages.set(profileId, await readLinks(services, workspace, profileId, null))),
  );
  let part: LinkRecord[] = [];
  for (const { profileId } of some) {
    const page = pages.get(profileId);
    if (page !== undefined && page.length < ROWS_PER_READ) {
      part.push(...recordsOf(profileId, page, placeOf));
      continue;
    }
    yield part;
    part = [];
    yield* linksOf(services, workspace, profileId, null, placeOf);
  }
  yield part;
}
const SMALL_MAX = 20;

async function* linksOf(
  services: Graph,
  workspace: WorkspaceId,
  profileId: ProfileId,
  after: { readonly from: Uid; readonly to: Uid } | null,
  placeOf: PlaceOf,
): AsyncGenerator<readonly LinkRecord[], void> {
  for (let last = after; ;) {
    const found = await readLinks(services, workspace, profileId, last);
    yield recordsOf(profileId, found, placeOf);
    if (found.length < ROWS_PER_READ) return;
    last = found.at(-1)!;
  }
}

const readLinks = (
  { identity }: Graph,
  workspace: WorkspaceId,
  profileId: ProfileId,
  after: { readonly from: Uid; readonly to: Uid } | null,
): Promise<readonly ListedLink[]> => identity.links(workspace, profileId, { limit: ROWS_PER_READ, after });

const recordsOf = (profileId: ProfileId, links: readonly ListedLink[], placeOf: PlaceOf): readonly LinkRecord[] =>
  links.map((one) => {
    const link = { ...one, profileId };
    return { kind: "link", link, place: placeOf(link) };
  });
