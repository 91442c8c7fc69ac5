import type { Identifier } from "../../../core/event/event.js";
import { sharedIn } from "../trust/assertions.js";
import { membersOf, nameOf, namespaceOf, type ModelChange, type Name, type TrustState } from "../trust/model.js";
import type { Truth } from "./truth.js";

/** One that was answered 202. */
export interface TrueErasure {
  readonly erasureId: string;
  /** Milliseconds since 1970, as the receipt says: later once it was asked for again. */
  erasedAt: number;
  readonly names: ReadonlySet<Name>;
  isSuppressed: boolean;
  /** Events that went, and those that came too late. */
  events: number;
  readonly memberships: number;
  late: number;
}

interface Tombstone {
  readonly erasure: TrueErasure;
  readonly erasedAt: number;
  readonly isSuppressed: boolean;
}

/** What an identifier that was erased leaves: the latest erasure, and whether any suppresses it. */
export function tombOf({ erasures }: Pick<Truth, "erasures">, name: Name): Tombstone | null {
  const all = erasures.filter(({ names }) => names.has(name));
  const erasure = all.at(-1);
  if (erasure === undefined) return null;
  const erasedAt = Math.max(...all.map((one) => one.erasedAt));
  return { erasure, erasedAt, isSuppressed: all.some((one) => one.isSuppressed) };
}

/** Of an event, milliseconds since 1970; null for a request, which is always new. */
type Times = { readonly receivedAt: number; readonly effectiveAt: number } | null;

export type Judged =
  | { readonly refusedBy: TrueErasure }
  /** What is left of the names, and what was left out, with its rule. */
  | { readonly refusedBy: null; readonly names: readonly Name[]; readonly dropped: readonly string[] };

/** What erasures leave of what names these, in this order. */
export function judge(truth: Truth, names: readonly Name[], times: Times): Judged {
  const { trust } = truth;
  const held = names.filter((name) => {
    const tomb = tombOf(truth, name);
    if (tomb === null) return false;
    return tomb.isSuppressed || (times !== null && Math.min(times.receivedAt, times.effectiveAt) <= tomb.erasedAt);
  });
  const left = names.filter((name) => !held.includes(name));
  const dropped = held.map((name) => `${name} ${tombOf(truth, name)!.isSuppressed ? "suppressed" : "erased"}`);
  if (held.length === 0 || times === null) return { refusedBy: null, names: left, dropped };
  const shared = sharedIn(trust, { names });
  const facet = names.find((name) => !shared.has(name)) ?? names[0]!;
  const refusing = held.includes(facet)
    ? facet
    : trust.seen.has(facet)
      ? undefined
      : held.find((name) => trust.rules.isPerson(namespaceOf(name)));
  if (refusing !== undefined) return { refusedBy: tombOf(truth, refusing)!.erasure };
  return { refusedBy: null, names: left, dropped };
}

/** Who goes when this one is erased: all of the profile, or it alone if it is in none. */
export const goingWith = ({ trust }: Truth, who: Identifier): ReadonlySet<Name> =>
  trust.seen.has(nameOf(who)) ? membersOf(trust, nameOf(who)) : new Set([nameOf(who)]);

/** In place of a name in a record. */
export const redacted = (name: Name): Name => `${namespaceOf(name)}:(erased)`;

/** Takes them out of the graph, and their names out of the records. */
export function takeOut(trust: TrustState, names: ReadonlySet<Name>): void {
  for (const [pair, { sides }] of trust.links) if (sides.some((name) => names.has(name))) trust.links.delete(pair);
  for (const [pair, sides] of trust.forbiddenPairs)
    if (sides.some((name) => names.has(name))) trust.forbiddenPairs.delete(pair);
  for (const name of names) {
    trust.seen.delete(name);
    trust.unlinked.delete(name);
    trust.seenWith.delete(name);
    trust.sharedIdentifiers.delete(name);
  }
  for (const [i, change] of trust.changes.entries()) trust.changes[i] = redact(change, names);
}

/** Records from this one on keep no name that was erased and has not come back, as of a refusal. */
export function hideGone(truth: Truth, from: number): void {
  const { trust } = truth;
  const isGone = (name: string): boolean => tombOf(truth, name) !== null && !trust.seen.has(name);
  for (const [i, change] of trust.changes.entries()) {
    if (i < from) continue;
    const named = [...change.names, ...change.dropped.flatMap((one) => one.split(" "))];
    trust.changes[i] = redact(change, new Set(named.filter(isGone)));
  }
}

function redact(change: ModelChange, names: ReadonlySet<Name>): ModelChange {
  const hide = (name: string): string => (names.has(name) ? redacted(name) : name);
  // One identifier, or the two sides of a pair in the order of their names, and then the rule.
  const hideIn = (dropped: string): string => {
    const words = dropped.split(" ");
    return [...words.slice(0, -1).map(hide).toSorted(), words.at(-1)].join(" ");
  };
  return {
    ...change,
    names: change.names.map(hide),
    dropped: change.dropped.map(hideIn).toSorted(),
  };
}
