import { setImmediate as nextTurn } from "node:timers/promises";
import { requireRule } from "./change.js";
import { createDraw, type Draw } from "../../core/audience/draw.js";
import { estimate, type Estimate } from "../../core/audience/estimate.js";
import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import type { Profile } from "../read-profile.js";
import type { TakeBytes } from "../services.js";
import { readIfLive } from "../search/list.js";
import { openRoom, type Room } from "../search/room.js";
import { openRule } from "../search/search.js";
import { walk } from "../search/walk.js";

export interface Preview extends Estimate {
  /** `count` is a count: every profile was looked at, and all that the rule asks for was read. */
  readonly isExact: boolean;
  /** How many there are. */
  readonly profiles: number;
  readonly lookedAt: number;
  /** Some that hold the rule, in random order. */
  readonly sample: readonly Profile[];
}

interface Asked {
  readonly rule: unknown;
  /** So many profiles are shown. */
  readonly sample: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Nobody waits for the answer any more: it is not worked out. */
  readonly isGone?: () => boolean;
}

type PreviewServices = Parameters<typeof openRule>[0];

/** So many are all looked at. Of more, some are drawn. */
const ALL_MAX = 20_000;
const DRAWN_MAX = 2_000;
/** For all of them; if it is not enough, as long again for those that are drawn. */
const WORK_MS = 5_000;
const IDS_PER_READ = 5_000;

type OpenRule = Awaited<ReturnType<typeof openRule>>;

interface Looked {
  readonly held: Draw<ProfileId>;
  readonly lookedAt: number;
  /** More of its events would have to be read to be certain. */
  readonly unsure: number;
}

/** How many profiles would be in an audience of this rule. It stores nothing. */
export async function previewAudience(
  services: PreviewServices,
  workspace: WorkspaceId,
  { rule: given, sample, now, isGone = () => false }: Asked,
  takeBytes: TakeBytes,
  { random = Math.random, clock = () => performance.now(), allMax = ALL_MAX, drawnMax = DRAWN_MAX } = {},
): Promise<Preview> {
  await requireRule(services, workspace, given);
  const open = () => openRule(services, workspace, given, now);
  const rule = await open();
  const room = await openRoom(services, takeBytes, Math.max(1, sample), rule.eventBytes);
  const all = await drawIds(services, workspace, createDraw<ProfileId>(drawnMax, random), isGone);
  const end = { at: clock() + WORK_MS };
  const isLate = (): boolean => isGone() || clock() >= end.at;
  const deps = { services, workspace, room, isLate, random, sample };
  let profiles = all.seen();
  let looked = rule.ids !== null || profiles <= allMax ? await lookAtAll(deps, rule) : null;
  if (looked !== null && rule.ids === null) profiles = looked.lookedAt;
  const isWhole = looked !== null;
  if (looked === null) {
    end.at = clock() + WORK_MS;
    looked = await lookAtDrawn(deps, await open(), all.drawn());
  }
  const { held, lookedAt, unsure } = looked;
  return {
    // Those that no identifier of the rule names do not hold it.
    ...estimate(held.seen(), unsure, isWhole ? profiles : lookedAt, profiles),
    isExact: isWhole && unsure === 0,
    profiles,
    lookedAt,
    sample: await readSample(deps, rule, held.drawn()),
  };
}

/** Of all, without an end: how many there are is a part of the answer. */
async function drawIds(
  { identity }: Pick<PreviewServices, "identity">,
  workspace: WorkspaceId,
  draw: Draw<ProfileId>,
  isGone: () => boolean,
): Promise<Draw<ProfileId>> {
  for (let after: ProfileId | null = null; ;) {
    const page: Awaited<ReturnType<typeof identity.walk>> = await identity.walk(workspace, {
      limit: IDS_PER_READ,
      after,
      membersMax: 0,
    });
    for (const { profileId } of page) draw.add(profileId);
    if (page.length < IDS_PER_READ || isGone()) return draw;
    after = page.at(-1)!.profileId;
  }
}

interface Deps {
  readonly services: PreviewServices;
  readonly workspace: WorkspaceId;
  readonly room: Room;
  readonly isLate: () => boolean;
  readonly random: () => number;
  readonly sample: number;
}

const readAlone = async (
  { services, workspace, room }: Deps,
  rule: OpenRule,
  profileId: ProfileId,
): Promise<boolean> => {
  const unkept = { forOne: room.forOne, keep: () => undefined };
  return (await readIfLive(services, workspace, profileId, unkept, rule.holdsFor)) !== null;
};

/** Null if it takes too long. */
async function lookAtAll(deps: Deps, rule: OpenRule): Promise<Looked | null> {
  const held = createDraw<ProfileId>(deps.sample, deps.random);
  let lookedAt = 0;
  for await (const { profileId, seen } of walk(deps.services, deps.workspace, null, rule.ids)) {
    if (deps.isLate()) return null;
    lookedAt += 1;
    if (rule.holdsForSeen(seen) ?? (await readAlone(deps, rule, profileId))) held.add(profileId);
  }
  return { held, lookedAt, unsure: rule.partial() };
}

/** Those that it comes to in time: they are in random order, so these are drawn too. */
async function lookAtDrawn(deps: Deps, rule: OpenRule, drawn: readonly ProfileId[]): Promise<Looked> {
  const held = createDraw<ProfileId>(deps.sample, deps.random);
  let lookedAt = 0;
  for (const profileId of drawn) {
    if (lookedAt > 0 && deps.isLate()) break;
    lookedAt += 1;
    if (await readAlone(deps, rule, profileId)) held.add(profileId);
    // The embedded store answers at once, and many in one turn of the event loop would hold up everybody.
    await nextTurn();
  }
  return { held, lookedAt, unsure: rule.partial() };
}

/** As they are now: one that holds the rule no more is left out. */
async function readSample(deps: Deps, rule: OpenRule, ids: readonly ProfileId[]): Promise<readonly Profile[]> {
  const profiles: Profile[] = [];
  for (const profileId of ids) {
    if (deps.room.isFull()) break;
    const profile = await readIfLive(deps.services, deps.workspace, profileId, deps.room, rule.holdsFor);
    if (profile !== null) profiles.push(profile);
  }
  return profiles;
}
