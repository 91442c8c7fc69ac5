import type { IdentifierKey, Uid } from "../ids.js";
import type { Component, Plan } from "./model.js";
import type { Snapshot } from "./snapshot.js";

/** What a removal raises a `rev` by, beyond all that growth can: so it tells whether a profile lost anything since. */
export const REMOVAL_REV = 2 ** 26;

/** Whether all links and members that the profile had then are there still. */
export const hasOnlyGrown = (then: number, now: number): boolean =>
  Math.floor(then / REMOVAL_REV) === Math.floor(now / REMOVAL_REV);

/** Decides on what a step sees; `border` is null until it asks for one. */
export type Decide<T> = (snapshot: Snapshot, border: Border | null) => StepDecision<T>;

/** Runs a transaction when it is its turn. Between two turns of one update others' changes go in. */
export type Turn = <T>(transaction: () => Promise<T>) => Promise<T>;
export const atOnce: Turn = (transaction) => transaction();

/** What is decided. */
export interface StepDecision<T> {
  /** Null: nothing is written. */
  readonly plan: Plan | null;
  readonly result: T;
  /**
   * Sets of identifiers that are to leave their profile. When they are named, it is asked again in the same step, and told the
   * links that lead out of them.
   */
  readonly border?: readonly (readonly IdentifierKey[])[];
}

/** An active link from a member of a set to somebody outside of it. */
export interface BorderLink {
  /** Position in `StepDecision.border`. */
  readonly set: number;
  readonly fromUid: Uid;
  readonly to: IdentifierKey;
  readonly uid: Uid;
}

export interface Border {
  readonly links: readonly BorderLink[];
  /** Of each profile that a set is in, the smallest uid that is in none of them. */
  readonly firstOutside: ReadonlyMap<Component, Uid>;
}
