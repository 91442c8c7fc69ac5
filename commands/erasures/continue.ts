import { NO_AUDIENCES } from "../../core/audience/audience.js";
import { originOf, type Entry } from "../../core/audience/seat.js";
import { isSuppressing, type Erasure, type ErasureAdvance } from "../../core/identity/erasure.js";
import { holds } from "../../core/identity/tombstone.js";
import {
  newId,
  type ClaimId,
  type DeadLetterId,
  type ErasureId,
  type EventId,
  type ProfileId,
  type Tomb,
  type Uid,
  type WorkspaceId,
} from "../../core/ids.js";
import type { Naming } from "../../core/ports/event-store.js";
import { lookAtProfiles, type LookServices } from "../audiences/look.js";
import { publishAll } from "../audiences/publish.js";
import { facetsOf } from "../search/facets.js";
import type { Services } from "../services.js";
import { findErased, forget, type ForgetServices } from "./forget.js";
import { timesOf } from "./judge.js";
import { logErasure, type LogServices } from "./log.js";

export type ContinueServices = ForgetServices &
  LogServices &
  LookServices &
  Pick<Services, "now"> & {
    readonly events: Pick<Services["events"], "foldedInto" | "naming">;
    readonly profiles: Pick<Services["profiles"], "findSome" | "remove">;
  };

/** What is removed where, in this order. `files`: all is deleted, and its bytes are to go from the files. */
type Stage = "log" | "seats" | "names" | "facets" | "files";

/** How far it has come: the erasure's own record keeps it, so any process goes on where another one ended. */
interface Cursor {
  readonly stage: Stage;
  /** Of what the erasure buried: up to here all is done. */
  readonly after: Tomb | null;
  /** Within the next page of that, in the names. */
  readonly naming: string | null;
  /** What the erasure covered when this began: one that covers more by now begins anew. */
  readonly covers?: string;
  /** Dead uids under which a late event found something: it goes before anything else. */
  readonly handed?: readonly Uid[];
  /** Counted as removed, and then removed: whoever finds it here removes it again, and counts nothing twice. */
  readonly claimed: Claimed | null;
}

interface Claimed {
  readonly events: readonly EventId[];
  /** So many of the events were damaged. */
  readonly damaged?: number;
  readonly facets: readonly Uid[];
  readonly letters: readonly DeadLetterId[];
  /** Leaves its audiences. */
  readonly profile: ProfileId | null;
  readonly memberships: number;
}

const BEGIN: Cursor = { stage: "log", after: null, naming: null, claimed: null };
const NOTHING: Claimed = { events: [], facets: [], letters: [], profile: null, memberships: 0 };

const BURIED_PER_PIECE = 100;
const EVENTS_PER_PIECE = 100;
/** Each is read with its payload. */
const NAMED_PER_PIECE = 32;

/** All is deleted, and only the files are left. */
export const isDeleted = (erasure: Erasure): boolean => {
  const { stage, handed = [], claimed } = cursorOf(erasure);
  return erasure.isGone && stage === "files" && handed.length === 0 && claimed === null;
};

/** It has counted what it has still to remove: another erasure of the same person would count that, too. */
export const isRemoving = (erasure: Erasure): boolean => cursorOf(erasure).claimed !== null;

/** Removes a piece of what is left of an erased person. Answers the record after it; null if another process has gone on meanwhile. */
export async function continueErasure(services: ContinueServices, erasure: Erasure): Promise<Erasure | null> {
  const { workspace, erasureId } = erasure;
  if (!erasure.isGone) return services.identity.continueErasure(workspace, erasureId);
  const cursor = cursorOf(erasure);
  if (cursor.claimed !== null) {
    await remove(services, erasure, cursor.claimed);
    return save(services, erasure, { ...cursor, claimed: null });
  }
  const { handed = [] } = cursor;
  if (handed.length > 0) {
    const claimed = await claimUnder(services, workspace, handed);
    return save(
      services,
      erasure,
      claimed?.events.length ? { ...cursor, claimed } : { ...cursor, handed: [], claimed },
    );
  }
  if (cursor.stage === "files") return erasure;
  return save(services, erasure, await PIECES[cursor.stage](services, erasure, cursor));
}

/** Opens it again: parts of what it buried may have come behind where the removal was, so all of it is looked at anew. */
export async function beginAgain(
  { erasures }: Pick<Services, "erasures">,
  workspace: WorkspaceId,
  erasureId: ErasureId,
): Promise<void> {
  for (;;) {
    const erasure = await erasures.findErasure(workspace, erasureId);
    if (erasure === null || (erasure.cursor === null && erasure.completedAt === null)) return;
    const { rev, removed } = erasure;
    const { handed = [], claimed } = cursorOf(erasure);
    // What was claimed is counted already, so it goes first.
    const isNew = claimed === null && handed.length === 0;
    const cursor = isNew ? null : JSON.stringify({ ...BEGIN, handed, claimed, covers: coversOf(erasure) });
    const advanced = await erasures.advanceErasure(workspace, erasureId, rev, { removed, cursor, completedAt: null });
    if (advanced !== null) return;
  }
}

/**
 * What still stands under these uids is left to the erasure, because its receipt counts what it removes. False if it is completed: then
 * whoever asks removes it. Safe to repeat.
 */
export async function handOver(
  services: Pick<Services, "erasures"> & UnderServices,
  workspace: WorkspaceId,
  erasureId: ErasureId,
  uids: readonly Uid[],
): Promise<boolean> {
  for (;;) {
    const erasure = await services.erasures.findErasure(workspace, erasureId);
    if (erasure === null || erasure.completedAt !== null) return false;
    if ((await claimUnder(services, workspace, uids)) === null) return true;
    const cursor = cursorOf(erasure);
    const handed = [...new Set([...(cursor.handed ?? []), ...uids])];
    // Also where they are handed already: whoever has looked there before must not save that nothing is left.
    if ((await save(services, erasure, { ...cursor, handed })) !== null) return true;
  }
}

/** Its bytes are gone from the files, too. */
export async function completeErasure(
  { erasures }: Pick<Services, "erasures">,
  { workspace, erasureId, rev, removed }: Erasure,
  completedAt: number,
): Promise<void> {
  await erasures.advanceErasure(workspace, erasureId, rev, { removed, cursor: null, completedAt });
}

const PIECES: Readonly<
  Record<Exclude<Stage, "files">, (services: ContinueServices, erasure: Erasure, cursor: Cursor) => Promise<Cursor>>
> = {
  log: async (services, erasure) => {
    await logErasure(services, erasure);
    return { ...BEGIN, stage: "seats" };
  },
  seats: async (services, { workspace, profileId }) => {
    // The letters before the events: an event takes its letters with it, uncounted.
    const next: Cursor = { ...BEGIN, stage: "names" };
    if (profileId === null) return next;
    const memberships = await membershipsOf(services, workspace, profileId);
    return { ...next, claimed: { ...NOTHING, profile: profileId, memberships } };
  },
  facets: async (services, { workspace, erasureId }, cursor) => {
    const page = await services.erasures.buried(workspace, erasureId, { limit: BURIED_PER_PIECE, after: cursor.after });
    if (page.length === 0) return { ...BEGIN, stage: "files" };
    const uids = page.flatMap(({ uid }) => uid ?? []);
    const claimed = await claimUnder(services, workspace, uids);
    return { ...cursor, after: claimed?.events.length ? cursor.after : page.at(-1)!.tomb, claimed };
  },
  names: async (services, erasure, cursor) => {
    const { workspace, erasureId } = erasure;
    const page = await services.erasures.buried(workspace, erasureId, { limit: BURIED_PER_PIECE, after: cursor.after });
    if (page.length === 0) return { ...BEGIN, stage: "facets" };
    const tombs = page.map(({ tomb }) => tomb);
    const { found, next } = await services.events.naming(workspace, tombs, {
      limit: NAMED_PER_PIECE,
      after: cursor.naming,
    });
    const going = [...(await findErased(services, workspace, found)).values()];
    const named = damagedOf(erasure, found);
    const damaged = [...named, ...going.flatMap(({ damaged }) => Array.from(damaged))];
    for (const eventId of damaged)
      services.log.error({ workspace, erasureId, eventId }, "an erasure deletes a damaged event unread");
    const events = [...going.flatMap(({ events }) => Array.from(events)), ...named];
    const letters = going.flatMap(({ letters }) => Array.from(letters));
    const isOver = next === null;
    return {
      ...cursor,
      after: isOver ? tombs.at(-1)! : cursor.after,
      naming: next,
      claimed: events.length + letters.length === 0 ? null : { ...NOTHING, events, letters, damaged: damaged.length },
    };
  },
};

type UnderServices = {
  readonly events: Pick<Services["events"], "foldedInto">;
  readonly profiles: Pick<Services["profiles"], "findSome">;
};

/** Events under these uids, and once there is none, the facets; null if there is nothing. */
async function claimUnder(
  { events, profiles }: UnderServices,
  workspace: WorkspaceId,
  uids: readonly Uid[],
): Promise<Claimed | null> {
  const folded = uids.length === 0 ? [] : await events.foldedInto(workspace, uids, EVENTS_PER_PIECE);
  if (folded.length > 0) return { ...NOTHING, events: folded };
  const facets: Uid[] = [];
  for await (const { found } of facetsOf({ profiles }, workspace, uids)) facets.push(...found.keys());
  return facets.length === 0 ? null : { ...NOTHING, facets };
}

/**
 * What names the person, was there before the erasure, and can never be read: whose it is nobody can tell any more, and nobody loses
 * anything by it but the person, whose data would stay.
 */
function damagedOf(erasure: Erasure, found: readonly Naming[]): readonly EventId[] {
  const covers = { erasedAt: erasure.erasedAt, isSuppressed: isSuppressing(erasure) };
  return found.flatMap((one) => (one.kind === "damaged" && holds(covers, timesOf(one)) ? one.eventId : []));
}

async function remove(
  services: ContinueServices,
  { workspace }: Erasure,
  { events, facets, letters, profile }: Claimed,
): Promise<void> {
  if (profile !== null) await leaveAudiences(services, workspace, profile);
  await forget(services, workspace, { events: new Set(events), letters: new Set(letters) });
  if (facets.length > 0) await services.profiles.remove(workspace, facets);
}

/** As its seat says. The claim is that of no look: the one that follows takes its place. */
async function membershipsOf(
  services: ContinueServices,
  workspace: WorkspaceId,
  profileId: ProfileId,
): Promise<number> {
  if (!(await hasSeats(services, workspace))) return 0;
  const [seat] = await services.seats.claim(workspace, newId<ClaimId>(), [profileId]);
  return seat!.memberships.length;
}

/** It leaves all audiences, and then the feed says that it is no more: nothing about it comes afterwards. */
async function leaveAudiences(services: ContinueServices, workspace: WorkspaceId, profileId: ProfileId): Promise<void> {
  const at = services.now(workspace);
  if (await hasSeats(services, workspace)) {
    const causes = new Map([[profileId, "erased" as const]]);
    while (!(await lookAtProfiles(services, workspace, causes, at)).has(profileId));
    await publishAll(services, workspace);
  }
  const entry: Entry = { type: "profile_erased", at, profileId };
  await services.seats.append(workspace, originOf(entry)!, [entry]);
}

const hasSeats = async ({ audiences }: Pick<Services, "audiences">, workspace: WorkspaceId): Promise<boolean> =>
  (await audiences.audiences(workspace)).version !== NO_AUDIENCES.version;

async function save(
  { erasures }: Pick<Services, "erasures">,
  erasure: Erasure,
  cursor: Cursor,
): Promise<Erasure | null> {
  const { workspace, erasureId, rev, completedAt } = erasure;
  const before = cursorOf(erasure).claimed;
  const removed = before === null && cursor.claimed !== null ? add(erasure.removed, cursor.claimed) : erasure.removed;
  return erasures.advanceErasure(workspace, erasureId, rev, {
    removed,
    cursor: JSON.stringify({ ...cursor, covers: coversOf(erasure) }),
    completedAt,
  });
}

function cursorOf(erasure: Erasure): Cursor {
  if (erasure.cursor === null) return BEGIN;
  const cursor = JSON.parse(erasure.cursor) as Cursor;
  // What was claimed is counted already, so it goes first.
  const isOlder = cursor.covers !== undefined && cursor.covers !== coversOf(erasure);
  return isOlder ? { ...BEGIN, handed: cursor.handed ?? [], claimed: cursor.claimed } : cursor;
}

const coversOf = (erasure: Erasure): string => `${erasure.erasedAt}${isSuppressing(erasure) ? " and later" : ""}`;

const add = (
  removed: ErasureAdvance["removed"],
  { events, damaged = 0, facets, letters, memberships }: Claimed,
): ErasureAdvance["removed"] => ({
  ...removed,
  events: (removed["events"] ?? 0) + events.length,
  damaged: (removed["damaged"] ?? 0) + damaged,
  facets: (removed["facets"] ?? 0) + facets.length,
  letters: (removed["letters"] ?? 0) + letters.length,
  memberships: (removed["memberships"] ?? 0) + memberships,
});
