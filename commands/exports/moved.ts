import type { Change } from "../../core/identity/model.js";
import type { WalkedProfile } from "../../core/identity/pages.js";
import { firstIdAt, madeAt, type ChangeId, type ProfileId, type WorkspaceId } from "../../core/ids.js";
import { readChanges } from "./changes.js";
import {
  linksOfAll,
  PROFILES_PER_READ,
  TAKING,
  type Graph,
  type LinkRecord,
  type MovedPlace,
  type TakenPlace,
} from "./link-records.js";

/** Clocks of other processes may be behind; what is older than this is ended, but for undos. */
export async function latest({ identity }: Graph, workspace: WorkspaceId): Promise<ChangeId> {
  const recent = firstIdAt<ChangeId>(Date.now() - CLOCKS_MS);
  const [newest] = await identity.changes(workspace, null, { limit: 1, before: null });
  return newest !== undefined && newest.changeId > recent ? newest.changeId : recent;
}
const CLOCKS_MS = 10_000;

/**
 * Again as long as somebody undoes something meanwhile: a part that a pass has not read may get an id that none of its changes names.
 * What merges meanwhile is read under its old id, too.
 */
export async function* movedLinks(
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
    const { found, end } = yield* newestMoving(services, workspace, place);
    const moving = found.filter((change) => change.before.length > 1 || change.after.length > 1);
    const named = [...new Set(moving.flatMap((change) => change.before.concat(change.after)))];
    const live = await liveProfiles(services, workspace, named);
    yield* linksOfAll(services, workspace, live, () => place);
    if (end === null) return;
    last = end;
  }
}

/** What a change says about where profiles went. Only this is held of so many. */
type Moved = Pick<Change, "changeId" | "before" | "after">;
const CHANGES_PER_LOOK = 200;

const isFull = ({ length }: readonly Moved[]): boolean => length >= CHANGES_PER_LOOK;

/** All changes since then, and undos that may have gone on then; `end` is the last of them, null if there are no more. */
async function* newestMoving(
  services: Graph,
  workspace: WorkspaceId,
  { since, before }: MovedPlace,
): AsyncGenerator<readonly LinkRecord[], { readonly found: readonly Moved[]; readonly end: ChangeId | null }> {
  const newer = yield* newest(services, workspace, null, { before, until: since });
  if (isFull(newer)) return { found: newer, end: newer.at(-1)!.changeId };
  const until = firstIdAt<ChangeId>(madeAt(since) - UNDO_MS);
  const undos: (readonly Moved[])[] = [];
  for (const outcome of TAKING) undos.push(yield* newest(services, workspace, outcome, { before, until }));
  // Behind it one outcome has more, so the other goes no further.
  const ends = undos.filter(isFull).map((some) => some.at(-1)!.changeId);
  const end = ends.toSorted().at(-1) ?? null;
  return { found: newer.concat(undos.flat().filter(({ changeId }) => end === null || changeId >= end)), end };
}

/** Those of the outcome down to one, or as many as one look has. An empty part between two reads: see `linksOfAll`. */
async function* newest(
  services: Graph,
  workspace: WorkspaceId,
  outcome: TakenPlace["outcome"] | null,
  { before, until }: { readonly before: ChangeId | null; readonly until: ChangeId },
): AsyncGenerator<readonly LinkRecord[], readonly Moved[]> {
  const all: Moved[] = [];
  for await (const found of readChanges(services, workspace, outcome, before)) {
    const some = found.filter(({ changeId }) => changeId > until);
    for (const { changeId, before, after } of some) all.push({ changeId, before, after });
    if (some.length < found.length || isFull(all)) break;
    yield [];
  }
  return all;
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
