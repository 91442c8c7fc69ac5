import type { Identifier } from "../../../core/event/event.js";
import type { EventId } from "../../../core/ids.js";
import type { Rules } from "../../../core/identity/model.js";
import { shuffled, type Random } from "../random/random.js";
import type { Claim } from "./assertions.js";
import { nameOf } from "./model.js";

export const IDENTIFIERS: readonly Identifier[] = [
  ["user_id", "u1"],
  ["user_id", "u2"],
  ["user_id", "u3"],
  ["email", "e1"],
  ["email", "e2"],
  ["device_id", "d1"],
  ["device_id", "d2"],
  ["cookie_id", "c1"],
].map(([namespace, value]) => ({ namespace: namespace!, value: value! }));

/** What an operation does; `number` is its place in the program that was drawn, `time` the clock while it runs. */
export type Operation = { readonly number: number; readonly time: number } & (
  | { readonly kind: "claim"; readonly claim: Claim; readonly dryRun: boolean }
  | { readonly kind: "claims"; readonly claims: readonly Claim[] }
  | { readonly kind: "unlink"; readonly identifier: Identifier; readonly dryRun: boolean }
  | { readonly kind: "part"; readonly pair: IdentifierPair; readonly forbid: boolean; readonly dryRun: boolean }
  | { readonly kind: "allow"; readonly pair: IdentifierPair }
  /** Of the last change that came to stand with the operation `of` or before it. */
  | { readonly kind: "revert"; readonly of: number; readonly dryRun: boolean }
  | { readonly kind: "rules"; readonly rules: Rules }
  | { readonly kind: "explain"; readonly pair: IdentifierPair }
);
export type IdentifierPair = readonly [Identifier, Identifier];
export type Program = readonly Operation[];

const LENGTH = { least: 20, more: 11 };
/** A busy gateway's clock is ahead of another one's. */
const AHEAD = 2;
const BEHIND = 6;

export function drawProgram(random: Random): Program {
  const past: Past = { events: [], forbidden: [] };
  let time = 1_000;
  return Array.from({ length: LENGTH.least + random.below(LENGTH.more) }, (_, number): Operation => {
    time += random.below(3);
    return { number, time, ...drawWork(random, number, time, past) };
  });
}

type Work = Operation extends infer Kind ? (Kind extends Operation ? Omit<Kind, "number" | "time"> : never) : never;

/** What was drawn so far, for what comes back to it. */
interface Past {
  readonly events: Claim[];
  readonly forbidden: IdentifierPair[];
}

function drawWork(random: Random, number: number, time: number, past: Past): Work {
  const chance = random.below(100);
  const dryRun = random.below(6) === 0;
  if (chance < 48) return { kind: "claim", claim: drawClaim(random, time, past), dryRun };
  if (chance < 57) return { kind: "claims", claims: drawClaims(random, time, past) };
  if (chance < 64) return { kind: "unlink", identifier: random.pick(IDENTIFIERS), dryRun };
  if (chance < 72) return { kind: "part", pair: drawPair(random), forbid: false, dryRun };
  if (chance < 79) return { kind: "part", pair: drawForbidden(random, past), forbid: true, dryRun };
  if (chance < 83) return { kind: "allow", pair: random.pick([drawPair(random), ...past.forbidden]) };
  if (chance < 93) return { kind: "revert", of: drawOlder(random, number), dryRun };
  if (chance < 97) return { kind: "rules", rules: drawRules(random) };
  return { kind: "explain", pair: drawPair(random) };
}

function drawPair(random: Random): IdentifierPair {
  const [one, other] = drawSome(random, 2);
  return [one!, other!];
}
function drawForbidden(random: Random, { forbidden }: Past): IdentifierPair {
  const pair = drawPair(random);
  forbidden.push(pair);
  return pair;
}
/** Half of them are not old: what they did stands more often. */
const drawOlder = (random: Random, number: number): number =>
  random.below(2) === 0 ? random.below(number + 1) : number - random.below(4);
const drawSome = (random: Random, count: number): readonly Identifier[] =>
  shuffled(IDENTIFIERS, random).slice(0, count);

const drawClaims = (random: Random, time: number, past: Past): readonly Claim[] =>
  Array.from({ length: 2 + random.below(3) }, () => drawClaim(random, time, past));

/** One in four events was delivered before. */
function drawClaim(random: Random, time: number, { events }: Past): Claim {
  const kind = random.pick(["identify", "alias", "event", "event"]);
  if (kind === "alias") return { identifiers: drawPair(random), source: "alias", at: time - random.below(2) };
  const identifiers = drawSome(random, random.pick([1, 2, 2, 2, 3, 4]));
  if (kind === "identify") return { identifiers, source: "identify", at: time - random.below(2) };
  if (events.length > 0 && random.below(4) === 0) return random.pick(events);
  const source = `00000000-0000-7000-8000-${String(events.length).padStart(12, "0")}` as EventId;
  const at = time + AHEAD - random.below(AHEAD + BEHIND);
  const event: Claim = { identifiers, source, at, scoped: random.below(2) === 0 };
  events.push(event);
  return event;
}

const NAMESPACES = ["user_id", "email", "device_id", "cookie_id"] as const;

const isPerson = (namespace: string): boolean => namespace === "user_id" || namespace === "email";

export function drawRules(random: Random): Rules {
  const limits = NAMESPACES.filter(() => random.below(2) === 0).map((name) => [name, 1 + random.below(2)] as const);
  const ranks = new Map(shuffled(NAMESPACES, random).map((name, rank) => [name as string, rank]));
  return {
    limits: new Map(limits),
    sharedIdentifierLimit: random.below(3) === 0 ? 1 + random.below(3) : null,
    // Of some it is the same, so that names decide.
    priorityOf: (namespace) => Math.floor((ranks.get(namespace) ?? 0) / 2),
    isPerson,
  };
}

export const showProgram = (program: Program): string => program.map(showOperation).join("\n");

function showOperation(operation: Operation): string {
  const { number, time, ...work } = operation;
  return `${number} at ${time}: ${"dryRun" in work && work.dryRun ? "try " : ""}${showWork(work)}`;
}

function showWork(work: Work): string {
  if (work.kind === "claim") return showClaim(work.claim);
  if (work.kind === "claims") return work.claims.map(showClaim).join(", then ");
  if (work.kind === "unlink") return `unlink ${nameOf(work.identifier)}`;
  if (work.kind === "revert") return `revert the last change up to ${work.of}`;
  if (work.kind === "rules") return `rules ${showRules(work.rules)}`;
  const isForGood = work.kind === "part" && work.forbid;
  return `${work.kind} ${work.pair.map(nameOf).join(" ")}${isForGood ? " for good" : ""}`;
}

const showClaim = ({ identifiers, source, at, scoped }: Claim): string =>
  `${scoped === true ? "scoped " : ""}${source} of ${at} ${identifiers.map(nameOf).join(" ")}`;

const showRules = ({ limits, sharedIdentifierLimit, priorityOf }: Rules): string =>
  JSON.stringify({
    limits: Object.fromEntries(limits),
    sharedIdentifierLimit,
    priorities: Object.fromEntries(NAMESPACES.map((name) => [name, priorityOf(name)])),
  });
