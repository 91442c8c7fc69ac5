import type { Identifier } from "../../../core/event/event.js";
import type { Scalar } from "../../../core/profile/facet.js";
import { instantAt, showMicros, sumOfMicros } from "./rule.js";

export type Merge = "latest" | "first" | "min" | "max" | "union" | "sum" | "count";

/** A profile as the API shows it. */
export interface ShownProfile {
  readonly profile_id: string;
  readonly identifiers: readonly Identifier[];
  readonly traits: Readonly<Record<string, unknown>>;
  readonly audiences: readonly unknown[];
  readonly first_seen: string | null;
  readonly last_seen: string | null;
  readonly event_count: number;
  readonly shared_identifiers?: readonly Identifier[];
}

/** A folded event, as far as traits go. */
export interface Said {
  readonly eventId: string;
  /** As it was sent. */
  readonly timestamp: string;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** Which payload member is which trait. */
  readonly merges: Readonly<Record<string, Merge>>;
  readonly payload: Readonly<Record<string, unknown>>;
}

const SKEW_MS = 5 * 60_000;

/** The earlier one of what the event says and five minutes after it was received, with nine digits of a second. */
export function effectiveOf({ timestamp, receivedAt }: Pick<Said, "timestamp" | "receivedAt">): string {
  const [seconds, fraction = ""] = timestamp.slice(0, -1).split(".");
  const said = `${seconds}.${fraction.padEnd(9, "0")}Z`;
  const latest = instantAt(receivedAt + SKEW_MS);
  return said < latest ? said : latest;
}

/** As a profile shows a time. */
const shown = (instant: string): string => {
  const digits = instant.slice(20, 29).replace(/0+$/, "").padEnd(3, "0");
  return `${instant.slice(0, 20)}${digits}Z`;
};

interface Stated {
  readonly order: string;
  readonly values: readonly Scalar[];
}

/** Traits and times of a profile with these events, computed from nothing else. */
export function traitsOf(events: readonly Said[]): Pick<ShownProfile, "traits" | "first_seen" | "last_seen"> {
  const merges = Object.assign({}, ...events.map((event) => event.merges)) as Said["merges"];
  const traits: Record<string, unknown> = {};
  for (const name of Object.keys(merges)) {
    const stated = events.flatMap((event): readonly Stated[] => {
      const value = event.merges[name] === undefined ? undefined : event.payload[name];
      if (value === undefined) return [];
      const values = (Array.isArray(value) ? value : [value]) as readonly Scalar[];
      return values.length === 0 ? [] : [{ order: `${effectiveOf(event)} ${event.eventId}`, values }];
    });
    const value = merged(merges[name]!, stated);
    if (value !== undefined) traits[name] = value;
  }
  const times = events.map(effectiveOf).toSorted();
  return {
    traits,
    first_seen: times.length === 0 ? null : shown(times[0]!),
    last_seen: times.length === 0 ? null : shown(times.at(-1)!),
  };
}

function merged(merge: Merge, stated: readonly Stated[]): unknown {
  if (stated.length === 0) return undefined;
  const inTime = stated.toSorted((a, b) => (a.order < b.order ? -1 : 1));
  if (merge === "latest") return inTime.at(-1)!.values.at(-1);
  if (merge === "first") return inTime[0]!.values.at(-1);
  const values = stated.flatMap((one) => one.values).filter((value) => value !== null);
  if (values.length === 0) return undefined;
  if (merge === "count") return stated.filter((one) => one.values.some((value) => value !== null)).length;
  if (merge === "sum") return Number(showMicros(sumOfMicros(values.map(Number))));
  const sorted = values.toSorted(inOrder);
  if (merge === "min") return sorted[0];
  if (merge === "max") return sorted.at(-1);
  return [...new Set(sorted)].toReversed().slice(0, 100);
}

/** False, true, numbers, texts. */
const rankOf = (value: Scalar): number => ["boolean", "number", "string"].indexOf(typeof value);
export const inOrder = (a: Scalar, b: Scalar): number =>
  rankOf(a) - rankOf(b) || (a === b ? 0 : typeof a === "string" ? compareBytes(a, b as string) : a! < b! ? -1 : 1);
const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
