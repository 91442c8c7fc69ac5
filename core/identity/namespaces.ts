import type { Namespace, NamespaceKind, Normalization } from "../catalog/catalog.js";
import { hasMoreCharacters } from "../characters.js";
import type { ErrorItem } from "../errors.js";
import type { DroppedIdentifier, Identifier } from "../event/event.js";
import { NORMALIZE, unquoted } from "./normalization.js";

export const NAMESPACE_NAME = /^[a-z][a-z0-9_.-]{0,63}$/;
export const NAMESPACE_NAME_RULE = "must be 1-64 characters: a lower-case letter, then a-z 0-9 _ . -";
const VALUE_CHARACTERS_MAX = 1_024;

const builtIn = (name: string, priority: number, kind: NamespaceKind, normalization: Normalization): Namespace => ({
  name,
  kind,
  normalization,
  limit: null,
  priority,
  blocked: [],
  registeredItself: false,
  used: false,
});

/** Priorities leave room between them for those that a workspace sets. */
export const BUILT_IN_NAMESPACES: readonly Namespace[] = [
  builtIn("user_id", 700, "person", "none"),
  builtIn("customer_id", 600, "person", "none"),
  builtIn("email", 500, "person", "email"),
  builtIn("phone", 400, "person", "phone"),
  builtIn("device_id", 300, "device", "none"),
  builtIn("advertising_id", 250, "device", "none"),
  builtIn("anonymous_id", 200, "device", "none"),
  builtIn("cookie_id", 100, "device", "none"),
];

/** What a new name starts from: the lowest priority, no limit. */
export const newNamespace = (name: string): Namespace => ({
  name,
  kind: "person",
  normalization: "none",
  limit: null,
  priority: 0,
  blocked: [],
  registeredItself: false,
  used: false,
});
const selfRegistered = (name: string): Namespace => ({ ...newNamespace(name), registeredItself: true });

export type NamespaceTable = ReadonlyMap<string, Namespace>;

const tables = new WeakMap<readonly Namespace[], NamespaceTable>();

/** Built-ins overlaid with what the workspace stored. The same stored list gives the same table without work. */
export function namespaceTable(stored: readonly Namespace[]): NamespaceTable {
  let table = tables.get(stored);
  if (table === undefined) {
    table = new Map([...BUILT_IN_NAMESPACES, ...stored].map((namespace) => [namespace.name, namespace]));
    tables.set(stored, table);
  }
  return table;
}

/** Values that stand for "nobody": they would join strangers. Compared trimmed, unquoted and without case. */
const JUNK = new Set([
  "",
  "null",
  "(null)",
  "undefined",
  "none",
  "nil",
  "nan",
  "n/a",
  "na",
  "unknown",
  "anonymous",
  "guest",
  "true",
  "false",
  "-1",
  "[]",
  "{}",
  "[object object]",
  "id",
  "email",
  "distinct_id",
  "anonymous_id",
  "user_id",
  "not_authenticated",
]);
/** `0`, `000`, `---`, and the all-zero UUID. */
const ZEROS_AND_DASHES = /^[0-]+$/;
const comparable = (value: string): string => unquoted(value).toLowerCase();

/** Bytes of the blocked values of a workspace, as `blockedBytes` counts them: what they are compared with stays in memory. */
export const BLOCKED_BYTES_MAX = 262_144;
/** A value counts its UTF-8 bytes and 8 more, so that short ones are bounded too. */
const BLOCKED_VALUE_BYTES = 8;

export const blockedBytes = (blocked: readonly string[]): number =>
  blocked.reduce((sum, value) => sum + Buffer.byteLength(value) + BLOCKED_VALUE_BYTES, 0);

const blockedTexts = new WeakMap<Namespace, ReadonlySet<string>>();

/**
 * Reads the blocked values of a namespace once, a value at each turn, because normalizing all of a large list takes long. Those of the
 * same namespace before a change serve again if they did not change.
 */
export function* readBlocked(namespace: Namespace, before?: Namespace): Generator<void, void> {
  if (blockedTexts.has(namespace)) return;
  const known = before === undefined ? undefined : blockedTexts.get(before);
  if (
    known !== undefined &&
    before!.normalization === namespace.normalization &&
    sameList(before!.blocked, namespace.blocked)
  ) {
    blockedTexts.set(namespace, known);
    return;
  }
  const normalize = NORMALIZE[namespace.normalization];
  const texts = new Set<string>();
  for (const value of namespace.blocked) {
    texts.add(comparable(value));
    texts.add(comparable(normalize(unquoted(value)) ?? value));
    yield;
  }
  blockedTexts.set(namespace, texts);
}

const sameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((value, at) => value === b[at]);

function textsOf(namespace: Namespace): ReadonlySet<string> {
  if (!blockedTexts.has(namespace)) for (const _ of readBlocked(namespace));
  return blockedTexts.get(namespace)!;
}

/** Junk, or blocked by the workspace, in whatever spelling. */
function isBlocked(value: string, normalized: string | null, namespace: Namespace): boolean {
  const text = comparable(value);
  if (JUNK.has(text) || ZEROS_AND_DASHES.test(text)) return true;
  if (namespace.blocked.length === 0) return false;
  const texts = textsOf(namespace);
  return texts.has(text) || (normalized !== null && texts.has(comparable(normalized)));
}

/** The value as it is kept, or why it is not. */
type Reading = { readonly value: string } | { readonly rule: "blocked" | "invalid" };

function read(value: string, namespace: Namespace): Reading {
  const normalized = NORMALIZE[namespace.normalization](value);
  if (isBlocked(value, normalized, namespace)) return { rule: "blocked" };
  return normalized === null ? { rule: "invalid" } : { value: normalized };
}

export interface GivenIdentifier {
  /** Where it stood in the request or payload, for the error. */
  readonly path: string;
  readonly namespace: string;
  readonly value: string;
}

export interface Unregistered {
  readonly path: string;
  readonly namespace: Namespace;
}

export interface Admission {
  /** Normalised, each once, without dropped ones, by (priority, namespace, value): the first names the facet. */
  readonly identifiers: readonly Identifier[];
  /** Blocked and invalid ones. */
  readonly dropped: readonly DroppedIdentifier[];
  /** Of each invalid one, for where it may not just be dropped. */
  readonly invalid: readonly ErrorItem[];
  /** Namespaces seen for the first time, and where; they are registered before anything is stored. */
  readonly unregistered: readonly Unregistered[];
  /** Others that nothing named before, which is noted before anything is stored. */
  readonly unused: readonly Namespace[];
  readonly errors: readonly ErrorItem[];
}

const NOT_ONE: Readonly<Record<Normalization, string>> = {
  none: "cannot be read",
  email: "is not an e-mail address",
  phone: "is not a phone number",
};

/** Pure: what becomes of the identifiers that a request or an event holds. */
export function admit(given: readonly GivenIdentifier[], table: NamespaceTable): Admission {
  const kept: { readonly identifier: Identifier; readonly priority: number }[] = [];
  const seen = new Set<string>();
  const dropped: DroppedIdentifier[] = [];
  const unregistered = new Map<string, Unregistered>();
  const unused = new Set<Namespace>();
  const invalid: ErrorItem[] = [];
  const errors: ErrorItem[] = [];
  for (const { path, namespace: name, value } of given) {
    if (!NAMESPACE_NAME.test(name)) {
      errors.push({ path, message: NAMESPACE_NAME_RULE });
      continue;
    }
    if (hasMoreCharacters(value, VALUE_CHARACTERS_MAX)) {
      errors.push({ path, message: `must have at most ${VALUE_CHARACTERS_MAX} characters to be an identifier` });
      continue;
    }
    const namespace = table.get(name) ?? unregistered.get(name)?.namespace ?? selfRegistered(name);
    const reading = read(value, namespace);
    if ("rule" in reading) {
      dropped.push({ identifier: { namespace: name, value }, rule: reading.rule });
      if (reading.rule === "invalid") invalid.push({ path, message: NOT_ONE[namespace.normalization] });
      continue;
    }
    if (!table.has(name) && !unregistered.has(name)) unregistered.set(name, { path, namespace });
    if (!namespace.used && !namespace.registeredItself) unused.add(namespace);
    const identifier = { namespace: name, value: reading.value };
    const once = `${name}:${identifier.value}`;
    if (seen.has(once)) continue;
    seen.add(once);
    kept.push({ identifier, priority: namespace.priority });
  }
  if (kept.length > 1) kept.sort((a, b) => b.priority - a.priority || compare(a.identifier, b.identifier));
  return {
    identifiers: kept.map(({ identifier }) => identifier),
    dropped,
    invalid,
    unregistered: [...unregistered.values()],
    unused: [...unused],
    errors,
  };
}

/** Each identifier that is kept, in the order in which they were given, and where it stood first. */
export function placesOf(
  given: readonly GivenIdentifier[],
  table: NamespaceTable,
): readonly { readonly path: string; readonly identifier: Identifier }[] {
  const seen = new Set<string>();
  return given.flatMap((one) => {
    const [identifier] = admit([one], table).identifiers;
    if (identifier === undefined) return [];
    const isNew = seen.size < seen.add(`${identifier.namespace}:${identifier.value}`).size;
    return isNew ? [{ path: one.path, identifier }] : [];
  });
}

/**
 * The values with which a request has more of a namespace than one profile may have: without them it would be within the limits.
 * A value counts once, however it is written; a blocked or invalid one does not count.
 */
export function beyondLimits(given: readonly GivenIdentifier[], table: NamespaceTable): readonly ErrorItem[] {
  const within = new Map<string, Set<string>>();
  return given.flatMap(({ path, namespace: name, value }) => {
    const namespace = table.get(name);
    if (namespace === undefined || namespace.limit === null) return [];
    const reading = read(value, namespace);
    if ("rule" in reading) return [];
    const values = within.get(name) ?? new Set();
    within.set(name, values);
    if (!values.has(reading.value) && values.size >= namespace.limit)
      return [{ path, message: `exceeds the limit of namespace ${name}: ${namespace.limit} per profile` }];
    values.add(reading.value);
    return [];
  });
}

const compare = (a: Identifier, b: Identifier): number =>
  a.namespace === b.namespace ? order(a.value, b.value) : order(a.namespace, b.namespace);
const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
