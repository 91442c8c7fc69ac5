import { durationOf, holds, type Looked } from "../rule.js";

/** An audience that stands. */
export interface TrueAudience {
  readonly audienceId: string;
  readonly name: string;
  /** As it was sent. */
  readonly rule: object;
  readonly version: number;
}

type Audiences = readonly TrueAudience[];

/** A drawn rule refers to `{"$audience": n}`, which counts from the newest and goes round; where none stands, nothing is said of it. */
export const referring = (rule: object, audiences: Audiences): object =>
  JSON.parse(JSON.stringify(rule), (key, value: unknown) =>
    key === "$audience"
      ? audiences[audiences.length - 1 - (Number(value) % Math.max(1, audiences.length))]?.audienceId
      : value,
  ) as object;

export const ruleIn =
  (audiences: Audiences) =>
  (audienceId: string): object =>
    audiences.find((one) => one.audienceId === audienceId)!.rule;

const DEPTH_MAX = 8;

/** How deep the rule is, with those that it refers to in their places. */
const depthIn = (audiences: Audiences, rule: object): number =>
  Object.entries(rule).reduce((most, [key, given]) => {
    if (key === "$audience") return Math.max(most, depthIn(audiences, ruleIn(audiences)(given as string)));
    if (key === "$not") return Math.max(most, 1 + depthIn(audiences, given as object));
    if (key !== "$and" && key !== "$or") return most;
    return Math.max(most, ...(given as readonly object[]).map((part) => 1 + depthIn(audiences, part)));
  }, 1);

export const isTooDeep = (audiences: Audiences, rule: object): boolean => depthIn(audiences, rule) > DEPTH_MAX;

/** Those that the profile is in, as it shows them. */
export const audiencesOf = (audiences: Audiences, looked: Omit<Looked, "ruleOf">) =>
  audiences
    .filter(({ rule }) => holds(rule, { ...looked, ruleOf: ruleIn(audiences) }))
    .map(({ audienceId, name }) => ({ audience_id: audienceId, name }));

const referencesOf = (rule: object): readonly string[] =>
  Array.from(JSON.stringify(rule).matchAll(/"\$audience":"([^"]+)"/g), ([, audienceId]) => audienceId!);

/** Whether the rule comes back to the audience, maybe over others. */
export const leadsTo = (audiences: Audiences, rule: object, self: string): boolean =>
  referencesOf(rule).some((one) => one === self || leadsTo(audiences, ruleIn(audiences)(one), self));

export const referrersOf = (audiences: Audiences, audienceId: string): readonly string[] =>
  audiences.filter(({ rule }) => referencesOf(rule).includes(audienceId)).map((one) => one.audienceId);

/** Whether it hangs on events, maybe by the rule of another one. */
export const looksAtEvents = (audiences: Audiences, rule: object): boolean =>
  JSON.stringify(rule).includes('"$events"') ||
  referencesOf(rule).some((one) => looksAtEvents(audiences, ruleIn(audiences)(one)));

interface Window {
  /** Null: events of any. */
  readonly schemaId: string | null;
  readonly ms: number;
}

/** How far back the rule itself looks. */
function windowsOf(rule: object): readonly Window[] {
  return Object.entries(rule).flatMap(([key, given]): readonly Window[] => {
    if (key === "$and" || key === "$or") return (given as readonly object[]).flatMap(windowsOf);
    if (key === "$not") return windowsOf(given as object);
    if (key !== "$events") return [];
    const { schema_id: schemaId = null, within } = given as { readonly schema_id?: string; readonly within?: string };
    return [{ schemaId, ms: within === undefined ? Infinity : durationOf(within) }];
  });
}

const DAY_MS = 86_400_000;
/** Schema -> days that its events are kept; null: for ever. */
type Kept = ReadonlyMap<string, number | null>;
const msOf = (days: number | null | undefined): number => (days ?? Infinity) * DAY_MS;

/** It looks as far back as events are kept, or further. */
export const looksTooFar = (rule: object, kept: Kept): boolean =>
  windowsOf(rule).some(({ schemaId, ms }) => {
    const end = Math.min(...(schemaId === null ? [...kept.values()].map(msOf) : [msOf(kept.get(schemaId))]));
    return end !== Infinity && ms >= end;
  });

/** Those that look further back than events of the schema would be kept. */
export const needing = (audiences: Audiences, schemaId: string, days: number | null): readonly string[] =>
  audiences.filter(({ rule }) => looksTooFar(rule, new Map([[schemaId, days]]))).map((one) => one.audienceId);
