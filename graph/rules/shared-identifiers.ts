import type { Identifier } from "../../core/event/event.js";
import type { IdentifierKey } from "../../core/ids.js";
import { pairKey, type Rules } from "../../core/identity/model.js";
import { groupOf, isLinked, type Draft } from "./working-state.js";
import type { Request } from "./read-set.js";

/** Positions of the identifiers that were seen with too many values of limited namespaces. */
export function sharedIdentifiersOf(
  draft: Draft,
  request: Request,
  { limits, sharedIdentifierLimit }: Rules,
): ReadonlySet<number> {
  const found = new Set<number>();
  if (sharedIdentifierLimit === null || limits.size === 0) return found;
  for (const [position, key] of request.keys.entries()) {
    const touched = new Set(touchedOf(draft, key));
    for (const other of limitedOthers(request, position, limits)) touched.add(other);
    if (touched.size > sharedIdentifierLimit) found.add(position);
  }
  return found;
}

/** Records what the rules kept apart, so that an identifier that is always dropped is recognised as shared too. */
export function recordTouches(
  draft: Draft,
  request: Request,
  rules: Rules,
  sharedIdentifiers: ReadonlySet<number>,
): void {
  const { limits, sharedIdentifierLimit } = rules;
  if (sharedIdentifierLimit === null || limits.size === 0) return;
  for (const [position, key] of request.keys.entries()) {
    const seen = draft.snapshot.identifiers.get(key);
    if (seen === undefined && !draft.created.has(key)) continue;
    const touched = touchedOf(draft, key);
    const news = limitedOthers(request, position, limits).filter((other) => !touched.has(other));
    const apart = news.filter((other) => !isLinked(draft, pairKey(key, other)));
    const isShared = sharedIdentifiers.has(position);
    // One more than the limit is enough. What a shared identifier is still linked to is noted too: its links are taken back.
    const noted =
      isShared && isHeld(draft, key)
        ? [...touched, ...apart].slice(0, sharedIdentifierLimit + 1)
        : apart.slice(0, Math.max(sharedIdentifierLimit + 1 - touched.size, 0));
    for (const other of news) touched.add(other);
    draft.touched.set(key, touched);
    const before = draft.touches.get(key);
    if (noted.length === 0 && isShared === (before ?? seen)?.isShared) continue;
    if (noted.length === 0 && !isShared && seen === undefined && before === undefined) continue;
    draft.touches.set(key, { key, touched: [...new Set([...(before?.touched ?? []), ...noted])], isShared });
  }
}

const NOBODY: ReadonlySet<number> = new Set();

/** Positions of those that belong to nobody by now, whatever the request itself says. */
export function beyondLimit(
  draft: Draft,
  { keys }: Request,
  { sharedIdentifierLimit: limit }: Rules,
): ReadonlySet<number> {
  if (limit === null) return NOBODY;
  return new Set([...keys.keys()].filter((position) => touchedOf(draft, keys[position]!).size > limit));
}

/** Of those the ones that a link still holds in somebody's profile. */
export const stillLinked = (
  draft: Draft,
  { assertion: { identifiers }, keys }: Request,
  sharedIdentifiers: ReadonlySet<number>,
): readonly Identifier[] =>
  identifiers.filter((_, position) => sharedIdentifiers.has(position) && isHeld(draft, keys[position]!));

/** A link holds it in a profile with others. */
const isHeld = (draft: Draft, key: IdentifierKey): boolean => (groupOf(draft, key)?.size ?? 0) > 1;

const touchedOf = ({ snapshot, touched }: Draft, key: IdentifierKey): Set<IdentifierKey> =>
  touched.get(key) ?? new Set(snapshot.identifiers.get(key)?.touched);

const limitedOthers = (
  { assertion, keys }: Request,
  position: number,
  limits: Rules["limits"],
): readonly IdentifierKey[] =>
  keys.filter((_, other) => other !== position && limits.has(assertion.identifiers[other]!.namespace));
