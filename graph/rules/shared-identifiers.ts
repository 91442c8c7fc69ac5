import type { IdentifierKey } from "../../core/ids.js";
import { pairKey, type Rules } from "../../core/identity/model.js";
import { isLinked, type Draft } from "./working-state.js";
import type { Request } from "./assert.js";

/** Positions of the identifiers that were sent with too many values of limited namespaces. */
export function connectorsOf(draft: Draft, request: Request, { limits, connectorLimit }: Rules): ReadonlySet<number> {
  const found = new Set<number>();
  if (connectorLimit === null || limits.size === 0) return found;
  for (const [position, key] of request.keys.entries()) {
    const touched = new Set(touchedOf(draft, key));
    for (const other of limitedOthers(request, position, limits)) touched.add(other);
    if (touched.size > connectorLimit) found.add(position);
  }
  return found;
}

/** Notes what the rules kept apart, so that an identifier which is always dropped is found out too. */
export function recordTouches(draft: Draft, request: Request, rules: Rules, connectors: ReadonlySet<number>): void {
  const { limits, connectorLimit } = rules;
  if (connectorLimit === null || limits.size === 0) return;
  for (const [position, key] of request.keys.entries()) {
    const seen = draft.picture.identifiers.get(key);
    if (seen === undefined && !draft.created.has(key)) continue;
    const touched = touchedOf(draft, key);
    const news = limitedOthers(request, position, limits).filter((other) => !touched.has(other));
    const apart = news.filter((other) => !isLinked(draft, pairKey(key, other)));
    // One more than the limit is enough to know.
    const noted = apart.slice(0, Math.max(connectorLimit + 1 - touched.size, 0));
    for (const other of news) touched.add(other);
    draft.touched.set(key, touched);
    const before = draft.touches.get(key);
    const isConnector = connectors.has(position);
    if (noted.length === 0 && isConnector === (before ?? seen)?.isConnector) continue;
    if (noted.length === 0 && !isConnector && seen === undefined && before === undefined) continue;
    draft.touches.set(key, { key, touched: [...(before?.touched ?? []), ...noted], isConnector });
  }
}

const touchedOf = ({ picture, touched }: Draft, key: IdentifierKey): Set<IdentifierKey> =>
  touched.get(key) ?? new Set(picture.identifiers.get(key)?.touched);

const limitedOthers = (
  { assertion, keys }: Request,
  position: number,
  limits: Rules["limits"],
): readonly IdentifierKey[] =>
  keys.filter((_, other) => other !== position && limits.has(assertion.identifiers[other]!.namespace));
