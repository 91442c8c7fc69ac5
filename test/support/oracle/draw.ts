import type { Identifier } from "../../../core/event/event.js";
import type { Scalar } from "../../../core/profile/facet.js";
import { shuffled, type Random } from "../random/random.js";
import { drawAudienceRule, drawCreate, drawDisband, drawReword } from "./audiences/draw.js";
import { drawRule } from "./draw-rule.js";
import {
  WRONGS,
  type Door,
  type IdentityRules,
  type Mode,
  type Pair,
  type Program,
  type SentEvent,
  type Values,
  type Work,
} from "./program.js";

const named = (namespace: string, ...values: readonly string[]): readonly Identifier[] =>
  values.map((value) => ({ namespace, value }));

const SCHEMAS = ["act", "act", "note"] as const;

const NOTES = ["note", "note", "act"] as const;

/** Few, so that they meet. */
export const IDENTIFIERS: readonly Identifier[] = [
  ...named("user_id", "u1", "u2", "u3"),
  ...named("email", "e1@example.com", "e2@example.com"),
  ...named("device_id", "d1", "d2"),
  ...named("cookie_id", "c1"),
];
/** A blocked and an invalid one. */
const NOBODIES: readonly Identifier[] = [...named("user_id", "null"), ...named("email", "nobody")];

const LENGTH = { least: 6, more: 16 };

/** What was drawn so far, for what comes back to it. */
interface Drawing {
  readonly random: Random;
  readonly mode: Mode;
  /** That were named, and named together. */
  readonly named: Identifier[];
  readonly pairs: Pair[];
  events: number;
  keyed: number;
  hasShared: boolean;
  /** So many audiences were drawn. */
  audiences: number;
  /** Its events expire; waiting for that takes time. */
  readonly retains: boolean;
}

export function drawProgram(random: Random): Program {
  const mode = random.pick(["together", "in_turn"] as const);
  const drawing: Drawing = {
    random,
    mode,
    named: [],
    pairs: [],
    events: 0,
    keyed: 0,
    hasShared: false,
    audiences: 0,
    retains: random.below(4) === 0,
  };
  const steps: Work[] = mode === "in_turn" && random.below(4) > 0 ? [drawRules(drawing)] : [];
  if (drawing.retains) steps.push({ kind: "retain", schema: random.pick(SCHEMAS), days: random.pick([1, 5]) });
  for (let first = random.below(3); first > 0; first -= 1) steps.push(drawAudience(drawing));
  for (let left = LENGTH.least + random.below(LENGTH.more); left > 0; left -= 1) steps.push(drawWork(drawing));
  // Whoever is in an audience for a while leaves it then.
  if (drawing.audiences > 0 && random.below(2) === 0) steps.push({ kind: "search", rule: {} }, drawClock(random));
  return { mode, steps: steps.map((work, number) => ({ ...work, number })) };
}

type Draw = (drawing: Drawing) => Work;
type Weighted = readonly (readonly [weight: number, draw: Draw])[];

/** In both modes. */
const ALWAYS: Weighted = [
  [34, (drawing) => drawSend(drawing)],
  [6, (drawing) => ({ kind: "again", of: drawOlder(drawing) })],
  [3, (drawing) => ({ kind: "clash", of: drawOlder(drawing) })],
  [2, (drawing) => ({ kind: "die", events: drawEvents(drawing), replays: 1 + drawing.random.below(3) })],
  [3, ({ random }) => ({ kind: "wrong", what: random.pick(WRONGS) })],
  [16, (drawing) => ({ kind: "identify", who: drawWho(drawing), dryRun: drawDryRun(drawing) })],
  [5, (drawing) => ({ kind: "alias", pair: drawPair(drawing), dryRun: drawDryRun(drawing) })],
  [4, (drawing) => ({ kind: "unlink", who: drawOne(drawing), dryRun: drawDryRun(drawing) })],
  [5, (drawing) => ({ kind: "part", pair: drawKnownPair(drawing), forbid: false, dryRun: drawDryRun(drawing) })],
  [3, ({ random }) => ({ kind: "block", who: random.pick(IDENTIFIERS) })],
  [6, ({ random }) => drawClock(random)],
  [
    3,
    ({ random, retains }) =>
      retains
        ? { kind: "retain", schema: random.pick(SCHEMAS), days: random.pick([1, 5, 5, 25, null]) }
        : drawClock(random),
  ],
  [3, ({ random }) => ({ kind: "enable", schema: random.pick(NOTES), isOn: random.below(3) > 0 })],
  [3, ({ random }) => ({ kind: "backfill", schema: random.pick(NOTES), enables: random.below(4) > 0 })],
  [4, (drawing) => drawErase(drawing)],
  [2, ({ random }) => ({ kind: "readmit", of: random.below(2) })],
  [2, (drawing) => (drawing.hasShared ? drawClock(drawing.random) : { kind: "move" })],
  [5, ({ random }) => ({ kind: "look", who: shuffled(IDENTIFIERS, random).slice(0, 1 + random.below(4)) })],
  [5, ({ random }) => ({ kind: "search", rule: drawSearched(random) })],
  [6, (drawing) => drawAudience(drawing)],
  [6, (drawing) => (drawing.audiences > 0 ? drawReword(drawing.random) : drawAudience(drawing))],
  [2, (drawing) => (drawing.audiences > 0 ? drawDisband(drawing.random) : drawAudience(drawing))],
];
/** It may name an audience. */
const drawSearched = (random: Random): object => (random.below(3) === 0 ? drawAudienceRule(random) : drawRule(random));

const IN_TURN: Weighted = [
  ...ALWAYS,
  [9, (drawing) => ({ kind: "part", pair: drawForbidden(drawing), forbid: true, dryRun: drawDryRun(drawing) })],
  [6, (drawing) => ({ kind: "allow", of: drawing.random.below(2), pair: drawPair(drawing) })],
  [9, (drawing) => ({ kind: "revert", of: drawing.random.below(5), dryRun: drawDryRun(drawing) })],
  [3, (drawing) => drawRules(drawing)],
];
/** Which change asserted a link depends on the order there, so only undos are reverted. */
const TOGETHER: Weighted = [...ALWAYS, [5, ({ random }) => ({ kind: "revert", of: random.below(2), dryRun: false })]];

function drawWork(drawing: Drawing): Work {
  const weighted = drawing.mode === "in_turn" ? IN_TURN : TOGETHER;
  let chance = drawing.random.below(weighted.reduce((sum, [weight]) => sum + weight, 0));
  for (const [weight, draw] of weighted) {
    if (chance < weight) return draw(drawing);
    chance -= weight;
  }
  throw new Error("beyond the weights");
}

function drawAudience(drawing: Drawing): Work {
  drawing.audiences += 1;
  return drawCreate(drawing.random);
}

const drawErase = (drawing: Drawing): Work => ({
  kind: "erase",
  who: drawOne(drawing),
  byId: drawing.random.below(2) === 0,
  suppress: drawing.random.below(3) === 0,
  dryRun: drawing.random.below(6) === 0,
});

const drawClock = (random: Random): Work => ({
  kind: "clock",
  minutes: random.pick([6 * 60, 3 * 1_440, 20 * 1_440]) + 7,
});

/** Of the events with an Idempotency-Key, from the newest. */
const drawOlder = ({ random, keyed }: Drawing): number => random.below(Math.max(1, Math.min(6, keyed)));

const drawDryRun = ({ random, mode }: Drawing): boolean => mode === "in_turn" && random.below(6) === 0;

function drawPair({ random }: Drawing): Pair {
  const [one, other] = shuffled(IDENTIFIERS, random);
  return [one!, other!];
}
/** Mostly one that something was said about. */
const drawOne = ({ random, named }: Drawing): Identifier =>
  random.pick(named.length === 0 || random.below(6) === 0 ? IDENTIFIERS : named);
const drawKnownPair = (drawing: Drawing): Pair =>
  drawing.pairs.length === 0 || drawing.random.below(6) === 0 ? drawPair(drawing) : drawing.random.pick(drawing.pairs);

function drawForbidden(drawing: Drawing): Pair {
  return drawing.random.below(4) > 0 ? drawKnownPair(drawing) : drawPair(drawing);
}

function drawWho({ random, named, pairs }: Drawing): readonly Identifier[] {
  const some = shuffled(IDENTIFIERS, random).slice(0, random.pick([1, 2, 2, 2, 3, 4]));
  named.push(...some);
  if (some.length > 1) pairs.push([some[0]!, some[1]!]);
  return random.below(12) === 0 ? [...some.slice(1), random.pick(NOBODIES)] : some;
}

const DOORS: readonly Door[] = ["batch", "lines", "atomic", "batch_with_wrong", "atomic_with_wrong"];

/** In turn there is one event at a time: two workers would fold several in any order. */
function drawSend(drawing: Drawing): Work {
  const { random } = drawing;
  const door = random.below(3) > 0 ? "collect" : random.pick(DOORS);
  return { kind: "send", door, events: door === "collect" ? [drawEvent(drawing)] : drawEvents(drawing) };
}

const drawEvents = (drawing: Drawing): readonly SentEvent[] =>
  Array.from({ length: drawing.mode === "in_turn" ? 1 : 1 + drawing.random.below(5) }, () => drawEvent(drawing));

const HOUR = 60;
const DAY = 24 * HOUR;
/** Half an hour off the windows of rules, so that no answer hangs on the second in which it is given. */
const AGES = [0, 0, 1, 5, 26, 50, 10 * 24, 35 * 24, 100 * 24].map((hours) => hours * HOUR + 30);

function drawEvent(drawing: Drawing): SentEvent {
  const { random } = drawing;
  drawing.events += 1;
  const isKeyed = random.below(2) === 0;
  if (isKeyed) drawing.keyed += 1;
  return {
    n: drawing.events,
    schema: random.below(4) === 0 ? "note" : "act",
    who: random.below(15) === 0 ? [] : drawWho(drawing),
    age: random.below(8) === 0 ? random.pick([-3, -2 * HOUR - 10]) : random.pick(AGES) + random.pick([0, 0, DAY]),
    values: drawValues(random),
    isKeyed,
  };
}

const CITIES: readonly Scalar[] = ["Paris", "Lyon", "Köln", null];
const NUMBERS: readonly Scalar[] = [0, -1, 2.5, 10, 10, 19.99, 1_000_000, 0.1, 0.000001, -0.25];
const TAGS: readonly Scalar[] = ["a", "b", "z\uFF5A", "z\u{1F600}", 1, true];

function drawValues(random: Random): Values {
  const values: Record<string, Scalar | readonly Scalar[]> = {};
  const perhaps = (name: string, draw: () => Scalar | readonly Scalar[]): void => {
    if (random.below(2) === 0) values[name] = draw();
  };
  for (const name of ["city", "ref"]) perhaps(name, () => random.pick(CITIES));
  for (const name of ["low", "high"]) perhaps(name, () => random.pick(NUMBERS));
  perhaps("spent", () => random.pick([...NUMBERS, null, 999_999_999.999999]));
  perhaps("items", () => random.pick([1, 2, null]));
  perhaps("tags", () => Array.from({ length: random.below(4) }, () => random.pick(TAGS)));
  return values;
}

const NAMESPACES = ["user_id", "email", "device_id", "cookie_id"] as const;

/**
 * What an identifier was seen with is noted up to the limit of the time, so a limit of shared identifiers stays what it is: once it is
 * set, it only ends, and no other rule changes.
 */
function drawRules(drawing: Drawing): Work {
  const { random } = drawing;
  if (drawing.hasShared) return { kind: "rules", rules: { limits: {}, shared: null, priorities: {} } };
  drawing.hasShared = random.below(3) === 0;
  const limits = NAMESPACES.filter(() => random.below(2) === 0).map((name) => [name, 1 + random.below(2)] as const);
  const ranks = shuffled(NAMESPACES, random).map((name, rank) => [name, 100 * (1 + Math.floor(rank / 2))] as const);
  const rules: IdentityRules = {
    limits: Object.fromEntries(limits),
    shared: drawing.hasShared ? 1 + random.below(3) : null,
    priorities: random.below(2) === 0 ? Object.fromEntries(ranks) : {},
  };
  return { kind: "rules", rules };
}
