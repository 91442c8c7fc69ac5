import type { Random } from "../../random/random.js";
import { drawEvents, drawRule } from "../draw-rule.js";
import type { Work } from "../program.js";

/** A rule that stands on its own, or one that refers to another audience. */
export function drawAudienceRule(random: Random): object {
  const own = drawSmallRule(random);
  // Counted from the newest.
  const reference = { $audience: random.below(4) };
  return random.pick([
    own,
    own,
    own,
    { $events: drawEvents(random) },
    drawWindow(random),
    drawWindow(random),
    drawWindow(random),
    { $and: [reference, own] },
    { $or: [own, { $not: reference }] },
    { ...reference, $not: own },
  ]);
}

/** It holds of many for a while, and then of them no more, or the other way round. */
function drawWindow(random: Random): object {
  const within = random.pick(["3h", "2d", "7d", "30d"] as const);
  const window = random.pick([{ $events: { within } }, { last_seen: { $gte: { $now: `-${within}` } } }]);
  return random.below(3) === 0 ? { $not: window } : window;
}

/** So many with those of all that stand are fewer than a rule may have. */
const CONDITIONS_MAX = 8;

function drawSmallRule(random: Random): object {
  for (;;) {
    const rule = drawRule(random, 1);
    if (conditionsIn(rule) <= CONDITIONS_MAX) return rule;
  }
}

/** About: each value that something is compared with. */
const conditionsIn = (rule: unknown): number =>
  typeof rule !== "object" || rule === null
    ? 1
    : Object.values(rule).reduce<number>((sum, one) => sum + conditionsIn(one), 0);

export const drawCreate = (random: Random): Work => ({ kind: "audience", rule: drawAudienceRule(random) });

export const drawReword = (random: Random): Work => ({
  kind: "reword",
  of: random.below(4),
  rule: random.below(5) === 0 ? null : drawAudienceRule(random),
  match: random.pick(["none", "none", "right", "wrong"] as const),
});

export const drawDisband = (random: Random): Work => ({ kind: "disband", of: random.below(4) });
