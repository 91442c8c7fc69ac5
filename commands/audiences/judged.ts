import { resolvedRules, type Audience, type AudienceSet } from "../../core/audience/audience.js";
import { countingAudiences } from "../../core/audience/tallies.js";
import type { WorkspaceId } from "../../core/ids.js";
import { compileRule, type Judge, type Verdict } from "../../core/rule/judge.js";
import { compileNeeds, type Needs } from "../../core/rule/needs.js";
import { hasFields } from "../../core/rule/rule.js";
import type { Judgeable } from "../read-profile.js";
import { readEventsOfEach, type AskedOfEach, type EventServices } from "../search/events.js";
import { subjectOf } from "../search/subject.js";

/** An audience, ready to judge profiles. */
export interface Compiled {
  readonly audience: Audience;
  readonly judge: Judge;
  readonly needs: Needs;
  /** It looks at events alone. */
  readonly isOfEvents: boolean;
}

/** The audiences of a workspace, as they stood together. */
export interface CompiledSet {
  readonly set: AudienceSet;
  readonly all: readonly Compiled[];
}

/** The store answers the same object as long as nothing changed, so each rule is compiled once. */
const compiled = new WeakMap<AudienceSet, CompiledSet>();

export function compileAudiences(set: AudienceSet): CompiledSet {
  const known = compiled.get(set);
  if (known !== undefined) return known;
  const rules = resolvedRules(set);
  const all = set.audiences.map((audience) => {
    const rule = rules.get(audience.audienceId)!;
    return { audience, judge: compileRule(rule), needs: compileNeeds(rule), isOfEvents: !hasFields(rule) };
  });
  const found: CompiledSet = { set, all };
  compiled.set(set, found);
  return found;
}

const countedSets = new WeakMap<CompiledSet, CompiledSet>();

/** Without those of which a tally is still being filled. */
export function countedOf(by: CompiledSet): CompiledSet {
  const known = countedSets.get(by);
  if (known !== undefined) return known;
  const counting = countingAudiences(by.set);
  const counted = { ...by, all: by.all.filter(({ audience }) => !counting.has(audience.audienceId)) };
  countedSets.set(by, counted);
  return counted;
}

export interface Judgement {
  /** Of each audience, in order. */
  readonly verdicts: readonly Verdict[];
  /** It has more events than were looked at. */
  readonly isPartial: boolean;
}

/** Judges profiles by what was read of them, in order. Rules that depend on events read those only where the rest leaves it open. */
export async function judgeProfiles(
  services: EventServices,
  workspace: WorkspaceId,
  { set, all }: CompiledSet,
  profiles: readonly Judgeable[],
  now: number,
): Promise<readonly Judgement[]> {
  const first = profiles.map((profile): { readonly verdicts: readonly Verdict[]; readonly asked: Asked | null } => {
    const seen = subjectOf(profile, null);
    const verdicts = all.map(({ judge }) => judge(seen, now));
    if (verdicts.every(({ is }) => is !== null)) return { verdicts, asked: null };
    const needs = all.flatMap((one, i) => (verdicts[i]!.is === null ? one.needs(seen, now) : []));
    return { verdicts, asked: { uids: profile.uids, needs } };
  });
  const each = first.flatMap(({ asked }) => asked ?? []);
  const read = (each.length === 0 ? [] : await readEventsOfEach(services, workspace, { set, now, each })).values();
  return first.map(({ verdicts, asked }, n): Judgement => {
    if (asked === null) return { verdicts, isPartial: false };
    const { events, isPartial } = read.next().value!;
    const whole = subjectOf(profiles[n]!, events);
    return {
      verdicts: all.map(({ judge }, i) => (verdicts[i]!.is === null ? judge(whole, now) : verdicts[i]!)),
      isPartial,
    };
  });
}

type Asked = AskedOfEach["each"][number];

export const judgeProfile = async (
  services: EventServices,
  workspace: WorkspaceId,
  by: CompiledSet,
  profile: Judgeable,
  now: number,
): Promise<Judgement> => (await judgeProfiles(services, workspace, by, [profile], now))[0]!;
