import { resolvedRules, type Audience, type AudienceSet } from "../../core/audience/audience.js";
import type { WorkspaceId } from "../../core/ids.js";
import { compileRule, type Judge } from "../../core/rule/judge.js";
import { talliesOf, type Tally } from "../../core/rule/rule.js";
import type { Profile } from "../read-profile.js";
import { readEvents } from "../search/events.js";
import { subjectOf } from "../search/subject.js";
import type { Services } from "../services.js";

interface Compiled {
  readonly audience: Audience;
  readonly judge: Judge;
  readonly tallies: readonly Tally[];
}

/** The store answers the same object as long as nothing changed, so each rule is compiled once. */
const compiled = new WeakMap<AudienceSet, readonly Compiled[]>();

function compile(set: AudienceSet): readonly Compiled[] {
  const known = compiled.get(set);
  if (known !== undefined) return known;
  const rules = resolvedRules(set);
  const all = set.audiences.map((audience) => {
    const rule = rules.get(audience.audienceId)!;
    return { audience, judge: compileRule(rule), tallies: talliesOf(rule) };
  });
  compiled.set(set, all);
  return all;
}

/** The audiences that a profile is in. */
export interface Memberships {
  readonly audiences: readonly Audience[];
  /** It has more events than were looked at. */
  readonly isPartial: boolean;
}

const NONE: Memberships = { audiences: [], isPartial: false };

/** Judges profiles by what was read of them. Rules that depend on events read those only where the rest leaves it open. */
export async function openMemberships(
  services: Pick<Services, "audiences" | "events">,
  workspace: WorkspaceId,
  now: number,
): Promise<(profile: Profile) => Promise<Memberships>> {
  const all = compile(await services.audiences.audiences(workspace));
  if (all.length === 0) return () => Promise.resolve(NONE);
  return async (profile) => {
    const seen = subjectOf(profile, null);
    const verdicts = all.map(({ judge }) => judge(seen, now).is);
    const open = all.filter((_, i) => verdicts[i] === null);
    if (open.length === 0) return { audiences: holding(all, verdicts), isPartial: false };
    const tallies = open.flatMap((one) => one.tallies);
    const { events, isPartial } = await readEvents(services, workspace, profile.uids, tallies);
    const whole = subjectOf(profile, events);
    const judged = all.map(({ judge }, i) => verdicts[i] ?? judge(whole, now).is);
    return { audiences: holding(all, judged), isPartial };
  };
}

const holding = (all: readonly Compiled[], verdicts: readonly (boolean | null)[]): readonly Audience[] =>
  all.flatMap(({ audience }, i) => (verdicts[i] === true ? [audience] : []));
