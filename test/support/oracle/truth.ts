import type { Identifier } from "../../../core/event/event.js";
import type { ChangeId, Uid } from "../../../core/ids.js";
import { BUILT_IN_NAMESPACES } from "../../../core/identity/namespaces.js";
import { NO_RULES } from "../../../graph/rules/violation.js";
import { afterwards, claim, takeBack, type Claim, type ExpectedVerdict } from "../trust/assertions.js";
import {
  copyOf,
  createTrustState,
  identifierOfName,
  membersOf,
  nameOf,
  type Name,
  type TrustState,
} from "../trust/model.js";
import type { TrueAudience } from "./audiences/model.js";
import { hideGone, judge, takeOut, type Judged, type TrueErasure } from "./erasures.js";
import { traitsOf, type Said } from "./profile.js";
import type { IdentityRules } from "./program.js";

/** An accepted event. */
export interface TrueEvent extends Omit<Said, "receivedAt"> {
  readonly schemaId: string;
  /** The request that was accepted, byte by byte; null: it has no Idempotency-Key. */
  readonly sent: { readonly key: string; readonly body: string } | null;
  /** Those that are left, by priority; the first that is not shared is its facet's. */
  readonly identifiers: readonly Name[];
  readonly dropped: readonly string[];
  /** Null: it is stored and never folds. */
  readonly facet: Name | null;
  readonly reason: "not_unified" | "no_identifier" | null;
  /** The first request began then, and was answered before the second, by the clock of the workspace. */
  readonly between: readonly [number, number];
  /** When it was accepted, as steps go. */
  readonly time: number;
}

/** All that was accepted, and the links, rules and undos as a model keeps them that computes everything anew. */
export interface Truth {
  readonly trust: TrustState;
  readonly events: Map<string, TrueEvent>;
  readonly blocked: Set<Name>;
  /** How many days the events of a schema are kept; null: for ever. */
  readonly kept: Map<string, number | null>;
  /** Schemas whose events are folded. */
  readonly unified: Set<string>;
  /** Why an event is gone. What it did stays. */
  readonly gone: Map<string, "expired" | "erased">;
  readonly erasures: TrueErasure[];
  /** Profiles that were erased. */
  readonly erasedIds: string[];
  /** By age. */
  readonly audiences: TrueAudience[];
  /** Those that were deleted. */
  readonly disbanded: string[];
  /** One more with each step: what is compared is only what came before. */
  time: number;
  /** How far the clock of the workspace is ahead, milliseconds. */
  ahead: number;
  /** So many changes were recorded. */
  changes: number;
  /** So many identifiers were given a place in the order of uids. */
  uids: number;
  readonly orderOf: Map<Name, number>;
}

export function createTruth(): Truth {
  const orderOf = new Map<Name, number>();
  const uidOf = (name: Name): Uid => `uid ${String(orderOf.get(name) ?? 0).padStart(6, "0")}` as Uid;
  return {
    trust: createTrustState(uidOf, { ...NO_RULES, priorityOf: builtInPriority, isPerson }),
    events: new Map(),
    blocked: new Set(),
    kept: new Map(),
    unified: new Set(),
    gone: new Map(),
    erasures: [],
    erasedIds: [],
    audiences: [],
    disbanded: [],
    time: 0,
    ahead: 0,
    changes: 0,
    uids: 0,
    orderOf,
  };
}

export const nowOf = ({ ahead }: Truth): number => Date.now() + ahead;

const builtInPriority = (name: string): number => BUILT_IN_NAMESPACES.find((one) => one.name === name)?.priority ?? 0;
const isPerson = (name: string): boolean => name === "user_id" || name === "email";

export function setRules({ trust }: Truth, { limits, shared, priorities }: IdentityRules): void {
  trust.rules = {
    limits: new Map(Object.entries(limits)),
    sharedIdentifierLimit: shared,
    priorityOf: (namespace) => priorities[namespace] ?? builtInPriority(namespace),
    isPerson,
  };
}

export interface Admitted {
  readonly names: readonly Name[];
  /** `namespace:value rule` as it was written. */
  readonly dropped: readonly string[];
}

/** Which identifiers are left of those that somebody wrote, by priority. */
export function admitted({ blocked, trust }: Truth, who: readonly Identifier[]): Admitted {
  const dropped = who.flatMap((one) => {
    const rule = ruleAgainst(blocked, one);
    return rule === null ? [] : [`${nameOf(one)} ${rule}`];
  });
  const names = [...new Set(who.filter((one) => ruleAgainst(blocked, one) === null).map(nameOf))];
  const { priorityOf } = trust.rules;
  const rank = (name: Name): number => priorityOf(identifierOfName(name).namespace);
  return { names: names.toSorted((a, b) => rank(b) - rank(a) || (a < b ? -1 : 1)), dropped };
}

function ruleAgainst(blocked: ReadonlySet<Name>, one: Identifier): "blocked" | "invalid" | null {
  if (one.value === "null" || blocked.has(nameOf(one))) return "blocked";
  return one.namespace === "email" && !one.value.includes("@") ? "invalid" : null;
}

export type Asked = Omit<Claim, "identifiers" | "at"> & { readonly names: readonly Name[] };

const claimOf = ({ names, source, scoped }: Asked, at: number): Claim => ({
  identifiers: names.map(identifierOfName),
  source,
  at,
  ...(scoped !== undefined && { scoped }),
});

/** Uids are given in the order in which identifiers are seen first. */
function order(truth: Truth, names: readonly Name[]): void {
  const { trust, orderOf } = truth;
  for (const name of names) if (!trust.seen.has(name)) orderOf.set(name, (truth.uids += 1));
}

const nextChange = (truth: Truth): ChangeId => `change ${(truth.changes += 1)}` as ChangeId;

/** What is answered, and what then stands. */
export function assertion(truth: Truth, asked: Asked): ExpectedVerdict {
  order(truth, asked.names);
  const recorded = truth.trust.changes.length;
  const expected = claim(truth.trust, claimOf(asked, truth.time), nextChange(truth));
  hideGone(truth, recorded);
  return unlinkShared(truth) === 0 ? expected : afterwards(truth.trust, expected);
}

/** What the step came upon as shared is unlinked at its end. Answers how many. */
function unlinkShared(truth: Truth): number {
  const { trust, time } = truth;
  const notes = new Map([...trust.judged].map(([name, sentWith]) => [name, notedOf(trust, name, sentWith)]));
  const taken = takeBack(trust, {
    changeIdOf: () => nextChange(truth),
    notedOf: (name) => notes.get(name)!,
    at: time,
  });
  return taken.length;
}

const notedOf = ({ seenWith }: TrustState, name: Name, sentWith: ReadonlySet<Name>): readonly Name[] => [
  ...new Set([...(seenWith.get(name) ?? []), ...sentWith]),
];

/** The answer to a dry run. */
export function trial(truth: Truth, asked: Asked): ExpectedVerdict {
  order(truth, asked.names);
  return claim(copyOf(truth.trust), claimOf(asked, truth.time), "none" as ChangeId);
}

/** Accepts an event; the worker links and folds it before anything else happens. */
export function acceptEvent(
  truth: Truth,
  eventId: string,
  event: Omit<TrueEvent, "identifiers" | "dropped" | "facet" | "reason" | "eventId" | "time"> & {
    readonly who: readonly Identifier[];
  },
): void {
  if (truth.events.has(eventId)) return;
  const { who, ...rest } = event;
  const folds = truth.unified.has(event.schemaId);
  const { names, dropped } = admitted(truth, who);
  const reason = folds ? (names.length === 0 ? "no_identifier" : null) : "not_unified";
  const stored = { ...rest, eventId, identifiers: names, dropped, time: truth.time };
  truth.events.set(eventId, { ...stored, facet: null, reason });
  if (reason === null) foldAll(truth, [eventId]);
  else if (names.length > 0) forget(truth, eventId, judge(truth, names, timesOf(stored)));
}

/** By what was sent: what was received before an erasure happened before it, too. */
function timesOf({ timestamp, between: [, receivedAt] }: Pick<TrueEvent, "timestamp" | "between">) {
  return { receivedAt, effectiveAt: Date.parse(timestamp) };
}

/** It came too late. */
function forget({ gone }: Truth, eventId: string, { refusedBy }: Judged): void {
  if (refusedBy === null) return;
  refusedBy.late += 1;
  gone.set(eventId, "erased");
}

/** In this order and in one step. */
function foldAll(truth: Truth, eventIds: readonly string[]): number {
  const { trust, events } = truth;
  const recorded = trust.changes.length;
  const folded: string[] = [];
  for (const eventId of eventIds) {
    const event = events.get(eventId)!;
    const judged = judge(truth, event.identifiers, timesOf(event));
    forget(truth, eventId, judged);
    if (judged.refusedBy !== null) continue;
    const { names, dropped } = judged;
    order(truth, names);
    const expected = claim(
      trust,
      claimOf({ names, source: eventId as Asked["source"] }, event.time),
      nextChange(truth),
    );
    const all = [...event.dropped, ...dropped, ...expected.dropped];
    events.set(eventId, { ...event, facet: expected.kept[0]!, dropped: all, reason: null });
    folded.push(eventId);
  }
  hideGone(truth, recorded);
  unlinkShared(truth);
  return folded.length;
}

/** Events that were stored and never folded are folded, in this order; what they name is linked as of when they came. */
export function foldLate(truth: Truth, eventIds: readonly string[]): number {
  const late = eventIds
    .map((eventId) => truth.events.get(eventId)!)
    .filter(({ eventId, facet, identifiers }) => facet === null && identifiers.length > 0 && !truth.gone.has(eventId));
  for (let from = 0; from < late.length; from += LATE_AT_ONCE)
    foldAll(
      truth,
      late.slice(from, from + LATE_AT_ONCE).map(({ eventId }) => eventId),
    );
  return late.length;
}
/** So many are linked in one step. */
const LATE_AT_ONCE = 16;

/** The profiles that stand, each as its members. */
export function componentsOf({ trust }: Truth): readonly (readonly Name[])[] {
  const told = new Set<Name>();
  return [...trust.seen].flatMap((name) => {
    if (told.has(name)) return [];
    const members = [...membersOf(trust, name)];
    for (const member of members) told.add(member);
    return [members];
  });
}

const DAY_MS = 86_400_000;

/** The events whose time is over go. Moves of the clock are no whole days, so a second more or less changes nothing. */
export function expire({ events, kept, gone, ahead }: Truth): void {
  for (const { eventId, schemaId, between } of events.values()) {
    const days = kept.get(schemaId) ?? null;
    if (days !== null && between[0] + days * DAY_MS < Date.now() + ahead && !gone.has(eventId))
      gone.set(eventId, "expired");
  }
}

/** What was folded into them, also of events that are gone. */
export const eventsOf = ({ events }: Truth, members: readonly Name[]): readonly TrueEvent[] =>
  [...events.values()].filter(({ facet }) => facet !== null && members.includes(facet));

/** When the service says that it received the event. */
export type ReceivedAt = (eventId: string) => number;

export const saidBy = (event: TrueEvent, receivedAt: ReceivedAt): Said => ({
  ...event,
  receivedAt: receivedAt(event.eventId),
});

export const profileOf = (truth: Truth, members: readonly Name[], receivedAt: ReceivedAt) => {
  const events = eventsOf(truth, members).map((event) => saidBy(event, receivedAt));
  return { ...traitsOf(events), event_count: events.length };
};

/** From now on nothing shows them. */
export function erase(truth: Truth, erasure: TrueErasure): void {
  const { trust, events, gone, erasures } = truth;
  takeOut(trust, erasure.names);
  erasures.push(erasure);
  for (const event of events.values()) {
    if (event.facet === null || !erasure.names.has(event.facet)) continue;
    events.set(event.eventId, { ...event, facet: null });
    if (gone.has(event.eventId)) continue;
    gone.set(event.eventId, "erased");
    erasure.events += 1;
  }
  takeWaiting(truth, erasure);
}

/** What it refuses of those that never folded; again, if it was asked for again. */
export function takeWaiting(truth: Truth, erasure: TrueErasure): void {
  const { events, gone } = truth;
  for (const event of events.values()) {
    if (event.facet !== null || event.identifiers.length === 0 || gone.has(event.eventId)) continue;
    const { refusedBy } = judge({ ...truth, erasures: [erasure] }, event.identifiers, timesOf(event));
    if (refusedBy === null) continue;
    gone.set(event.eventId, "erased");
    erasure.events += 1;
  }
}
