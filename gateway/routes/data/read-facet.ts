import { hasMoreCharacters } from "../../../core/characters.js";
import { mismatch } from "../../../core/errors.js";
import { parseTimestamp } from "../../../core/event/time.js";
import { isUuid } from "../../../core/ids.js";
import type { Scalar } from "../../../core/profile/facet.js";
import { facetOf, type FacetJson } from "../../../core/profile/facet-json.js";
import type { Folded } from "../../../core/profile/fold-events.js";
import { isUnion } from "../../../core/profile/fold.js";
import { TRAIT_NAME } from "../../../core/schema/annotations.js";
import { TRAIT_CHARACTERS_MAX } from "../../../core/schema/extract.js";

/** What a store reads is believed, for it wrote it; what somebody sends as a facet is looked at first, as it stays in a profile for ever. */

/** More than a workspace may have: those that its schemas declare, and those by first use. */
const TRAITS_MAX = 11_000;
/** More than a facet keeps: it is rid of those that are marked before. */
const PENDING_MAX = 10_000;
/** As `facetToJson` writes them. An amount has 306 digits at most, and so many more has the number of events. */
const UNITS = /^(?:0|-?[1-9]\d{0,321})$/;

/** Throws what could not be what `facetToJson` wrote. */
export function readFacet(given: unknown, path: string): Folded {
  if (isFacetJson(given)) return facetOf(given);
  throw mismatch([{ path, message: "does not have the form of an export" }]);
}

function isFacetJson(given: unknown): given is FacetJson {
  if (!Array.isArray(given) || given.length < 4 || given.length > 5) return false;
  const [firstSeen, lastSeen, eventCount, traits, pending = []] = given as readonly unknown[];
  return (
    [firstSeen, lastSeen].every((one) => one === null || isInstant(one)) &&
    isCount(eventCount) &&
    areTraits(traits) &&
    Array.isArray(pending) &&
    pending.length <= PENDING_MAX &&
    pending.every(isEventId)
  );
}

const isInstant = (one: unknown): boolean => typeof one === "string" && parseTimestamp(one) === one;
const isCount = (one: unknown): boolean => Number.isSafeInteger(one) && (one as number) >= 0;
const isEventId = (one: unknown): boolean => typeof one === "string" && isUuid(one);
const isScalar = (one: unknown): one is Scalar =>
  typeof one === "string"
    ? !hasMoreCharacters(one, TRAIT_CHARACTERS_MAX)
    : one === null || typeof one === "boolean" || Number.isFinite(one);

const areTraits = (given: unknown): boolean =>
  Array.isArray(given) &&
  given.length <= TRAITS_MAX &&
  given.every(isTrait) &&
  new Set(given.map(([name]) => name)).size === given.length;

function isTrait(given: unknown): given is readonly [string, ...unknown[]] {
  if (!Array.isArray(given)) return false;
  const [name, merge, value, ts, eventId] = given as readonly unknown[];
  if (typeof name !== "string" || !TRAIT_NAME.test(name)) return false;
  if (merge === "latest" || merge === "first")
    return given.length === 5 && isScalar(value) && isInstant(ts) && isEventId(eventId);
  if (given.length !== 3) return false;
  switch (merge) {
    case "min":
    case "max":
      return value !== null && isScalar(value);
    case "union":
      return Array.isArray(value) && value.every((one) => one !== null && isScalar(one)) && isUnion(value);
    case "sum":
      return typeof value === "string" && UNITS.test(value);
    case "count":
      return isCount(value);
    default:
      return false;
  }
}
