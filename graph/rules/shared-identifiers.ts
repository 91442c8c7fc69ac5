import type { Identifier } from "../../core/event/event.js";
import type { IdentifierKey } from "../../core/ids.js";
import { pairKey, type Rules } from "../../core/identity/model.js";
import { workingComponentOf, isLinked, type SeenWith, type WorkingState } from "./working-state.js";
import { isCounted, type Request } from "./read-set.js";

/** Of a request, whom it names. */
interface Naming extends Pick<Request, "keys"> {
  readonly assertion: Pick<Request["assertion"], "identifiers" | "scoped">;
}

/** Positions of the identifiers that were seen with too many people. */
export function sharedIdentifiersOf(working: WorkingState, request: Naming, rules: Rules): ReadonlySet<number> {
  const { limits, sharedIdentifierLimit } = rules;
  const found = new Set<number>();
  if (sharedIdentifierLimit === null || limits.size === 0) return found;
  for (const [position, key] of request.keys.entries()) {
    const seenWith = new Set(seenWithOf(working, key));
    for (const other of peopleBeside(request, position, rules)) seenWith.add(other);
    if (seenWith.size > sharedIdentifierLimit) found.add(position);
  }
  return found;
}

/** Records what the rules kept apart, so that an identifier that is always dropped is recognised as shared too. */
export function recordSeenWith(
  working: WorkingState,
  request: Request,
  rules: Rules,
  sharedIdentifiers: ReadonlySet<number>,
): void {
  const { limits, sharedIdentifierLimit } = rules;
  if (sharedIdentifierLimit === null || limits.size === 0) return;
  for (const [position, key] of request.keys.entries()) {
    const seen = working.snapshot.identifiers.get(key);
    if (seen === undefined && !working.created.has(key)) continue;
    const seenWith = seenWithOf(working, key);
    const news = peopleBeside(request, position, rules).filter((other) => !seenWith.has(other));
    const apart = news.filter((other) => !isLinked(working, pairKey(key, other)));
    const isShared = sharedIdentifiers.has(position);
    // One more than the limit is enough. What a shared identifier is still linked to is noted too: its links are taken back.
    const noted =
      isShared && isHeld(working, key)
        ? [...seenWith, ...apart].slice(0, sharedIdentifierLimit + 1)
        : apart.slice(0, Math.max(sharedIdentifierLimit + 1 - seenWith.size, 0));
    for (const other of news) seenWith.add(other);
    working.seenWith.set(key, seenWith);
    const before = working.seenWithPlans.get(key);
    if (noted.length === 0 && isShared === (before ?? seen)?.isShared) continue;
    if (noted.length === 0 && !isShared && seen === undefined && before === undefined) continue;
    working.seenWithPlans.set(key, { key, seenWith: [...new Set([...(before?.seenWith ?? []), ...noted])], isShared });
  }
}

const NOBODY: ReadonlySet<number> = new Set();

/** Positions of those that belong to nobody by now, whatever the request itself says. */
export function beyondLimit(
  working: WorkingState,
  { keys }: Request,
  { sharedIdentifierLimit: limit }: Rules,
): ReadonlySet<number> {
  if (limit === null) return NOBODY;
  return new Set([...keys.keys()].filter((position) => seenWithOf(working, keys[position]!).size > limit));
}

/** Of those the ones that a link still holds in somebody's profile. */
export const stillLinked = (
  working: WorkingState,
  { assertion: { identifiers }, keys }: Request,
  sharedIdentifiers: ReadonlySet<number>,
): readonly Identifier[] =>
  identifiers.filter((_, position) => sharedIdentifiers.has(position) && isHeld(working, keys[position]!));

/** A link holds it in a profile with others. */
const isHeld = (working: WorkingState, key: IdentifierKey): boolean =>
  (workingComponentOf(working, key)?.size ?? 0) > 1;

/** Its unlink did not come to its end, or was reverted: whether it is shared by the limit of now must be decided anew. */
export const isHeldThoughShared = (working: WorkingState, key: IdentifierKey): boolean =>
  (working.seenWithPlans.get(key) ?? working.snapshot.identifiers.get(key))?.isShared === true && isHeld(working, key);

const seenWithOf = ({ snapshot, seenWith }: WorkingState, key: IdentifierKey): SeenWith =>
  seenWith.get(key) ?? new Set(snapshot.identifiers.get(key)?.seenWith);

/**
 * The people whom the request names beside this one. What a collect-only key says counts for devices alone: everybody can read such a
 * key, and could have a known e-mail address taken from its profile by naming it with logins that are made up.
 */
function peopleBeside({ assertion, keys }: Naming, position: number, rules: Rules): readonly IdentifierKey[] {
  const { identifiers, scoped } = assertion;
  if (scoped === true && rules.isPerson(identifiers[position]!.namespace)) return [];
  return keys.filter((_, other) => other !== position && isCounted(rules, identifiers[other]!.namespace));
}
