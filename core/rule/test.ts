import type { Scalar } from "../profile/facet.js";
import { compareTexts } from "../text.js";
import type { Order, Test } from "./rule.js";

/** A value as a profile or a payload has it; undefined: it has none. */
export type Value = Scalar | readonly unknown[] | undefined;

/** What stands at a path through a list without objects: nothing that is anything, so neither null nor missing. */
export const NOWHERE: readonly unknown[] = [];

/** A test that does not look at the clock, ready to be run. */
export type Check = (value: Value) => boolean;

/** Means what MongoDB means: no comparison across types, an array passes by any of its elements, and null is also what is missing. */
export function checkOf(test: Exclude<Test, { readonly offset: number }>): Check {
  switch (test.op) {
    case "$eq":
      return isEqual(test.value);
    case "$ne":
      return negated(isEqual(test.value));
    case "$in":
      return isAmong(test.values);
    case "$nin":
      return negated(isAmong(test.values));
    case "$exists":
      return (value) => (value !== undefined && value !== NOWHERE) === test.value;
    case "$starts":
      return byAny((one) => typeof one === "string" && one.startsWith(test.value));
    case "$ends":
      return byAny((one) => typeof one === "string" && one.endsWith(test.value));
    case "$contains":
      return byAny((one) => typeof one === "string" && one.includes(test.value));
    case "$gt":
    case "$gte":
    case "$lt":
    case "$lte":
      break;
  }
  return byAny(inOrder(test.op, test.value));
}

const negated =
  (check: Check): Check =>
  (value) =>
    !check(value);

const byAny =
  (passes: (one: unknown) => boolean): Check =>
  (value) =>
    Array.isArray(value) ? value.some(passes) : passes(value);

const isEqual = (wanted: Scalar): Check =>
  byAny(wanted === null ? (one) => one === null || one === undefined : (one) => one === wanted);

function isAmong(wanted: readonly Scalar[]): Check {
  // A set finds -0 by 0, as `===` does.
  const all = new Set<unknown>(wanted);
  return byAny(all.has(null) ? (one) => one === undefined || all.has(one) : (one) => one !== undefined && all.has(one));
}

export const ORDERS: Readonly<Record<Order, (sign: number) => boolean>> = {
  $gt: (sign) => sign > 0,
  $gte: (sign) => sign >= 0,
  $lt: (sign) => sign < 0,
  $lte: (sign) => sign <= 0,
};

function inOrder(op: Order, than: string | number | boolean): (one: unknown) => boolean {
  const passes = ORDERS[op];
  if (typeof than === "string") return (one) => typeof one === "string" && passes(compareTexts(one, than));
  return (one) => typeof one === typeof than && passes(Number(one) - Number(than));
}
