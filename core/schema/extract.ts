import { hasMoreCharacters } from "../characters.js";
import type { ErrorItem } from "../errors.js";
import type { Merge } from "../catalog/catalog.js";
import { mayHoldLongNumber } from "../json/number.js";
import { elementsOf, membersOf, trimmed, type Span } from "../json/spans.js";
import { AMOUNT_RULE, isAmount } from "../profile/amount.js";
import type { Scalar } from "../profile/facet.js";
import { TRAIT_NAME } from "./annotations.js";
import type { SchemaObject } from "./keywords.js";
import type { AnnotationPlan } from "./plan.js";

export interface FoundIdentifier {
  /** Dotted, array positions as numbers, long keys cut: as `validator` names a problem. */
  readonly path: string;
  readonly namespace: string;
  readonly value: string;
}

export interface FoundTrait {
  readonly path: string;
  readonly name: string;
  readonly merge: Merge;
  readonly value: Scalar;
  /** The schema does not name it: it is a member of an object with `x-traits`. */
  readonly open: boolean;
}

export interface Extract {
  readonly identifiers: readonly FoundIdentifier[];
  readonly traits: readonly FoundTrait[];
  /** Members of objects with `x-traits` that cannot be traits, although their names could: the first 100. */
  readonly leftOut: readonly ErrorItem[];
  /** How many of the traits are open. */
  readonly openTraits: number;
  /** Of each value that no event may hold, at most 101: then there are more than are shown. These values are left out here. */
  readonly refused: readonly ErrorItem[];
}

/** A few bytes of an array can yield as many values as its items have annotations, so the number of values has its own limit. */
const IDENTIFIERS_FOUND_MAX = 1_000;
const TRAITS_FOUND_MAX = 10_000;
export const TRAIT_CHARACTERS_MAX = 1_024;
const OPEN_TRAITS_MAX = 200;
const LEFT_OUT_MAX = 100;
const REFUSED_MAX = 101;
const KEY_CHARACTERS_MAX = 128;

/**
 * What the payload says by the plan, in document order (as JSON.parse keeps it: names that are whole numbers first). Values that are
 * absent or of another type are left out; integers become decimal text as identifiers, and those beyond 2^53 - 1 are refused. `bytes` are
 * the payload's own, which say how many digits were sent of a number that is added up; null: it has no more than its double.
 */
export function extract(plan: AnnotationPlan, payload: unknown, bytes: Buffer | null): Extract {
  const found: Found = { identifiers: [], traits: [], leftOut: [], refused: [], openTraits: 0, isFull: false, bytes };
  // Few payloads have so long a number, and the others need not be looked through.
  const isLong = plan.adds && bytes !== null && mayHoldLongNumber(bytes);
  collect(plan, payload, isLong ? trimmed(bytes) : null, "", found);
  return found;
}

interface Found {
  readonly bytes: Buffer | null;
  readonly identifiers: FoundIdentifier[];
  readonly traits: FoundTrait[];
  readonly leftOut: ErrorItem[];
  readonly refused: ErrorItem[];
  openTraits: number;
  /** There are too many values: reading stopped. */
  isFull: boolean;
}

/** `span`: where the value stands in the bytes; null: nobody has to know. */
function collect(plan: AnnotationPlan, value: unknown, span: Span | null, path: string, found: Found): void {
  if (found.isFull) return;
  const bytes = span !== null && plan.adds ? found.bytes : null;
  if (typeof value !== "object" || value === null) {
    collectScalar(plan, value as Scalar, bytes?.toString("latin1", span!.start, span!.end) ?? null, path, found);
  } else if (Array.isArray(value)) {
    if (plan.elements === null) return;
    const spans = bytes === null ? null : elementsOf(bytes, span!, value.length);
    for (let at = 0; at < value.length; at += 1)
      collect(plan.elements, value[at], spans?.[at] ?? null, below(path, String(at)), found);
  } else if (plan.members !== null || plan.open) {
    const spans = bytes === null ? null : new Map(membersOf(bytes, span!)?.map((one) => [one.name, one]));
    for (const name of Object.keys(value)) {
      const member = plan.members?.get(name);
      const held = (value as SchemaObject)[name];
      if (member !== undefined) collect(member, held, spans?.get(name) ?? null, below(path, name), found);
      // What says of itself which trait it is, is no other one.
      if (plan.open && (member === undefined || member.traits.length === 0)) collectOpen(name, held, path, found);
    }
  }
}

const below = (path: string, name: string): string => {
  const key = name.length > KEY_CHARACTERS_MAX ? name.slice(0, KEY_CHARACTERS_MAX) : name;
  return path === "" ? key : `${path}.${key}`;
};

/** `literal`: as it was sent; null: as the value is printed. */
function collectScalar(plan: AnnotationPlan, value: Scalar, literal: string | null, path: string, found: Found): void {
  const isIdentifier = typeof value === "string" || Number.isInteger(value);
  const namespaces = isIdentifier ? plan.namespaces : [];
  if (
    found.identifiers.length + namespaces.length > IDENTIFIERS_FOUND_MAX ||
    found.traits.length + plan.traits.length > TRAITS_FOUND_MAX
  ) {
    found.isFull = true;
    refuse(found, path, "is beyond the identifiers and traits that one event may hold");
    return;
  }
  const message = refusal(namespaces.length, plan.traits, value, literal);
  if (message !== null) {
    refuse(found, path, message);
    return;
  }
  for (const namespace of namespaces) found.identifiers.push({ path, namespace, value: String(value) });
  for (const { name, merge } of plan.traits) found.traits.push({ path, name, merge, value, open: false });
}

function refuse({ refused }: Found, path: string, message: string): void {
  if (refused.length < REFUSED_MAX) refused.push({ path, message });
}

const TOO_LONG = `must have at most ${TRAIT_CHARACTERS_MAX} characters to be a trait`;

function refusal(
  identifiers: number,
  traits: AnnotationPlan["traits"],
  value: Scalar,
  literal: string | null,
): string | null {
  // Beyond, writers spell one number in several ways (1e20 and 100000000000000000000), and each would be another person.
  if (identifiers > 0 && typeof value === "number" && !Number.isSafeInteger(value))
    return `must be within ±${Number.MAX_SAFE_INTEGER} to be an identifier; send it as a string`;
  if (typeof value === "number")
    return traits.some(({ merge }) => merge === "sum") && !isAmount(literal ?? String(value)) ? AMOUNT_RULE : null;
  // A profile keeps traits for ever, so their size is bounded where they come in.
  return traits.length > 0 && isTooLong(value) ? TOO_LONG : null;
}

const isTooLong = (value: Scalar): boolean =>
  typeof value === "string" && hasMoreCharacters(value, TRAIT_CHARACTERS_MAX);

/** Nobody chose these members one by one, so one that cannot be a trait is no fault of the event. */
function collectOpen(name: string, value: unknown, above: string, found: Found): void {
  if ((typeof value === "object" && value !== null) || !TRAIT_NAME.test(name)) return;
  const path = below(above, name);
  const isFull = found.openTraits === OPEN_TRAITS_MAX || found.traits.length === TRAITS_FOUND_MAX;
  const message = isFull
    ? `is beyond the ${OPEN_TRAITS_MAX} traits that one event may name itself`
    : isTooLong(value as Scalar)
      ? TOO_LONG
      : null;
  if (message === null) {
    found.openTraits += 1;
    found.traits.push({ path, name, merge: "latest", value: value as Scalar, open: true });
  } else if (found.leftOut.length < LEFT_OUT_MAX) found.leftOut.push({ path, message });
}
