import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import { identifiersIn } from "../../core/rule/find.js";
import { compileRule } from "../../core/rule/judge.js";
import { compileNeeds } from "../../core/rule/needs.js";
import { talliesOf, type Rule } from "../../core/rule/rule.js";
import type { Profile } from "../read-profile.js";
import type { Services, TakeBytes } from "../services.js";
import { EVENT_BYTES_PER_READ, readEvents, type EventServices } from "./events.js";
import { readIfLive, type ListServices, type ProfileList } from "./list.js";
import { openRoom } from "./room.js";
import { readRule, type RuleServices } from "./rule.js";
import { subjectOf } from "./subject.js";
import { createBudget, walk, type Budget, type Seen } from "./walk.js";

export interface Found extends ProfileList {
  readonly lookedAt: number;
  /** A profile has more events than were looked at. */
  readonly isPartial: boolean;
}

interface Asked {
  readonly rule: unknown;
  readonly limit: number;
  readonly after: ProfileId | null;
  /** Milliseconds since 1970. */
  readonly now: number;
}

type SearchServices = ListServices & RuleServices & EventServices;

/** A rule that was read, and who may hold it: those of these ids, or all. */
export async function openRule(services: SearchServices, workspace: WorkspaceId, given: unknown, now: number) {
  const { rule, set } = await readRule(services, workspace, given);
  const judge = compileRule(rule);
  const needsOf = compileNeeds(rule);
  let partial = 0;
  return {
    ids: await idsOf(services, workspace, rule),
    /** For the events that are read of one profile. */
    eventBytes: talliesOf(rule).length === 0 ? 0 : EVENT_BYTES_PER_READ + services.limits.payloadBytesMax,
    /** Null where that is not enough to tell. */
    holdsForSeen: (seen: Seen | null): boolean | null => (seen === null ? null : judge(subjectOf(seen, null), now).is),
    holdsFor: async (profile: Profile): Promise<boolean> => {
      const seen = subjectOf(profile, null);
      const { is } = judge(seen, now);
      if (is !== null) return is;
      const asked = { uids: profile.uids, needs: needsOf(seen, now), now, set };
      const read = await readEvents(services, workspace, asked);
      if (read.isPartial) partial += 1;
      return judge(subjectOf(profile, read.events), now).is === true;
    },
    /** A profile has more events than were looked at. */
    isPartial: () => partial > 0,
    /** How many of those that were asked for have. */
    partial: () => partial,
  };
}

/**
 * The profiles that the rule holds for, by id. Each is judged by what the answer shows of it; the many others by their facets alone,
 * read together.
 */
export async function searchProfiles(
  services: SearchServices,
  workspace: WorkspaceId,
  { rule: given, limit, after, now }: Asked,
  takeBytes: TakeBytes,
  budget: Budget = createBudget(),
): Promise<Found> {
  const rule = await openRule(services, workspace, given, now);
  const room = await openRoom(services, takeBytes, limit, rule.eventBytes);
  const profiles: Profile[] = [];
  const found = (next: ProfileId | null): Found => ({
    profiles,
    next,
    lookedAt: budget.lookedAt(),
    isPartial: rule.isPartial(),
  });
  let last = after;
  for await (const { profileId, seen } of walk(services, workspace, after, rule.ids)) {
    if (profiles.length === limit || room.isFull() || budget.isSpent()) return found(last);
    budget.spend();
    if (rule.holdsForSeen(seen) !== false) {
      const profile = await readIfLive(services, workspace, profileId, room, rule.holdsFor).catch(room.orFull);
      if (profile !== null) profiles.push(profile);
      else if (room.isFull()) return found(last);
    }
    last = profileId;
  }
  return found(null);
}

export interface Counted extends Pick<Found, "next" | "lookedAt" | "isPartial"> {
  /** Among those that were looked at. */
  readonly count: number;
}

/** How many profiles the rule holds for, a part at each call. Only those are read alone that their facets do not decide. */
export async function countProfiles(
  services: SearchServices,
  workspace: WorkspaceId,
  { rule: given, after, now }: Omit<Asked, "limit">,
  takeBytes: TakeBytes,
  budget: Budget = createBudget(),
): Promise<Counted> {
  const rule = await openRule(services, workspace, given, now);
  const room = await openRoom(services, takeBytes, 1, rule.eventBytes);
  const unkept = { forOne: room.forOne, keep: () => undefined };
  let count = 0;
  let last = after;
  for await (const { profileId, seen } of walk(services, workspace, after, rule.ids)) {
    if (budget.isSpent()) return { count, next: last, lookedAt: budget.lookedAt(), isPartial: rule.isPartial() };
    budget.spend();
    last = profileId;
    const holds =
      rule.holdsForSeen(seen) ?? (await readIfLive(services, workspace, profileId, unkept, rule.holdsFor)) !== null;
    if (holds) count += 1;
  }
  return { count, next: null, lookedAt: budget.lookedAt(), isPartial: rule.isPartial() };
}

/** Of the profiles that have an identifier which the rule asks for; null if it asks for none. */
async function idsOf(
  { identity }: Pick<Services, "identity">,
  workspace: WorkspaceId,
  rule: Rule,
): Promise<readonly ProfileId[] | null> {
  const identifiers = identifiersIn(rule);
  if (identifiers === null) return null;
  const found = await identity.lookup(workspace, identifiers);
  return found.flatMap((ref) => (ref === null ? [] : [ref.profileId]));
}
