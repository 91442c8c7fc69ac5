import type { Instant } from "../event/event.js";
import { instantOf, parseTimestamp } from "../event/time.js";
import type { Scalar } from "../profile/facet.js";
import type { Field, Order, Rule, Tally, Test } from "./rule.js";
import { compareTexts } from "../text.js";
import { checkOf, ORDERS, type Value } from "./test.js";

/** What a rule may look at. */
export interface Subject {
  trait(name: string): Scalar | readonly Scalar[] | undefined;
  identifiers(namespace: string): readonly string[] | undefined;
  readonly firstSeen: Instant | null;
  readonly lastSeen: Instant | null;
  readonly eventCount: number;
  /** Null until they are read. */
  readonly events: EventsOf | null;
}

/** A condition that asks for events. */
export type EventCondition = Extract<Rule, { readonly kind: "count" | "sum" }>;

/** What a rule asks of the events of a profile. Only those that a tally counts have a position. */
export interface EventsOf {
  /** Whether what this condition asks was read; else nothing may be concluded from what stands here. */
  has(condition: EventCondition): boolean;
  /** The effective time of the n-th newest one, n from 1; null if there are fewer. */
  nthNewest(tally: Tally, n: number): Instant | null;
  /** Of those younger than the instant (null: of all): the exact sum, and the effective time of the oldest. */
  sumSince(tally: Tally, since: Instant | null): Sum;
}

export interface Sum {
  readonly sum: number;
  readonly oldest: Instant | null;
}

/**
 * `is` is null when it depends on what was not read. On the same data it stays as it is at least until `until`, milliseconds since 1970,
 * Infinity if time changes nothing.
 */
export interface Verdict {
  readonly is: boolean | null;
  readonly until: number;
}

export type Judge = (subject: Subject, now: number) => Verdict;

const YES: Verdict = { is: true, until: Infinity };
const NO: Verdict = { is: false, until: Infinity };
const UNREAD: Verdict = { is: null, until: -Infinity };

/** The rule as a pure function. */
export function compileRule(rule: Rule): Judge {
  switch (rule.kind) {
    case "and":
      return allOf(rule.parts.map(compileRule));
    case "or":
      return negated(allOf(rule.parts.map((part) => negated(compileRule(part)))));
    case "not":
      return negated(compileRule(rule.part));
    case "field":
      return fieldJudge(rule.field, rule.test);
    case "count":
      return countJudge(rule);
    case "sum":
      break;
  }
  return sumJudge(rule);
}

/** Once it is false, it stays so until the last of its false parts may be true. */
const allOf =
  (parts: readonly Judge[]): Judge =>
  (subject, now) => {
    let least = Infinity;
    let falseUntil = -Infinity;
    let isUnread = false;
    for (const part of parts) {
      const { is, until } = part(subject, now);
      if (is === false) {
        if (until === Infinity) return NO;
        falseUntil = Math.max(falseUntil, until);
      } else if (is === null) isUnread = true;
      else least = Math.min(least, until);
    }
    if (falseUntil > -Infinity) return { is: false, until: falseUntil };
    if (isUnread) return UNREAD;
    return least === Infinity ? YES : { is: true, until: least };
  };

const negated =
  (judge: Judge): Judge =>
  (subject, now) => {
    const verdict = judge(subject, now);
    if (verdict.is === null) return verdict;
    if (verdict.until === Infinity) return verdict.is ? NO : YES;
    return { is: !verdict.is, until: verdict.until };
  };

function fieldJudge(field: Field, test: Test): Judge {
  if (field.kind === "event_count") {
    const check = checkOf(timeless(test));
    return ({ eventCount }) => (check(eventCount) ? YES : NO);
  }
  const read = readerOf(field);
  if ("offset" in test) return (subject, now) => judgeInstants(read(subject), test, now);
  const check = checkOf(test);
  return (subject) => (check(read(subject)) ? YES : NO);
}

function timeless(test: Test): Exclude<Test, { readonly offset: number }> {
  if ("offset" in test) throw new Error("Only an instant is compared with the clock.");
  return test;
}

function readerOf(field: Exclude<Field, { readonly kind: "event_count" }>): (subject: Subject) => Value {
  if (field.kind === "trait") return (subject) => subject.trait(field.name);
  if (field.kind === "identifier") return (subject) => subject.identifiers(field.name);
  return field.kind === "first_seen" ? ({ firstSeen }) => firstSeen : ({ lastSeen }) => lastSeen;
}

type Relative = Extract<Test, { readonly offset: number }>;

/** Any of them passes: each flips once at most, when the clock reaches it. */
function judgeInstants(value: Value, test: Relative, now: number): Verdict {
  if (!Array.isArray(value)) return judgeInstant(value, test, now);
  let trueUntil = -Infinity;
  let falseUntil = Infinity;
  for (const one of value) {
    const { is, until } = judgeInstant(one, test, now);
    if (is === true) trueUntil = Math.max(trueUntil, until);
    else falseUntil = Math.min(falseUntil, until);
  }
  return trueUntil > -Infinity ? { is: true, until: trueUntil } : { is: false, until: falseUntil };
}

function judgeInstant(value: unknown, { op, offset }: Relative, now: number): Verdict {
  const instant = typeof value === "string" ? parseTimestamp(value) : null;
  if (instant === null) return NO;
  const is = ORDERS[op](compareTexts(instant, instantOf(now + offset)));
  const flip = firstAfter(instant, PASSES[op]) - offset;
  return { is, until: now < flip ? flip : Infinity };
}

/** Whether the answer changes when the clock passes the instant, not when it reaches it. */
const PASSES: Readonly<Record<Order, boolean>> = { $gt: false, $lte: false, $gte: true, $lt: true };

/** The first millisecond that is not before the instant, or that is after it. */
function firstAfter(instant: Instant, mustPass: boolean): number {
  const ms = Date.parse(`${instant.slice(0, 23)}Z`);
  return mustPass || !instant.endsWith("000000Z") ? ms + 1 : ms;
}

/** The newest events only go: an event is in the window until it is as old as the window is long. */
function countJudge(condition: Extract<Rule, { readonly kind: "count" }>): Judge {
  const { tally, atLeast, within } = condition;
  return ({ events }, now) => {
    if (events?.has(condition) !== true) return UNREAD;
    const nth = events.nthNewest(tally, atLeast);
    if (nth === null) return NO;
    if (within === null) return YES;
    const end = firstAfter(nth, false) + within;
    return now < end ? { is: true, until: end } : NO;
  };
}

function sumJudge(condition: Extract<Rule, { readonly kind: "sum" }>): Judge {
  const { tally, tests, within } = condition;
  const checks = tests.map((test) => checkOf(timeless(test)));
  return ({ events }, now) => {
    if (events?.has(condition) !== true) return UNREAD;
    const { sum, oldest } = events.sumSince(tally, within === null ? null : instantOf(now - within));
    const is = checks.every((check) => check(sum));
    if (within === null || oldest === null) return is ? YES : NO;
    return { is, until: firstAfter(oldest, false) + within };
  };
}
