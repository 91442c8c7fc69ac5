import type { Namespace } from "../core/catalog/catalog.js";
import { AppError, mismatch, type ErrorItem } from "../core/errors.js";
import type { Identifier } from "../core/event/event.js";
import {
  admit,
  beyondLimits,
  namespaceTable,
  type Admission,
  type GivenIdentifier,
  type NamespaceTable,
  type Unregistered,
} from "../core/identity/namespaces.js";

/** The identifiers of a request must be valid. The body's shape already checked the lengths of values, so an error is about the name. */
export function requireReadable(admissions: readonly Pick<Admission, "errors" | "invalid">[]): void {
  const errors = admissions.flatMap(({ errors, invalid }) => [
    ...errors.map(({ path, message }): ErrorItem => ({ path: `${path}.namespace`, message })),
    ...invalid.map(({ path, message }): ErrorItem => ({ path: `${path}.value`, message })),
  ]);
  if (errors.length > 0) throw mismatch(errors);
}

/**
 * Identifiers of one request: by priority, without blocked ones. At least one must be left, and no namespace may have more values than
 * one profile may have.
 */
export function admitAll(given: readonly GivenIdentifier[], table: NamespaceTable): Admission {
  const admitted = admit(given, table);
  requireReadable([admitted]);
  if (admitted.identifiers.length === 0) throw blocked(given);
  const beyond = beyondLimits(given, table);
  if (beyond.length > 0) throw mismatch(beyond);
  return admitted;
}

export interface Named {
  readonly identifiers: readonly Identifier[];
  /** Namespaces seen for the first time, each once. */
  readonly unregistered: readonly Unregistered[];
  /** Others that nothing named before. */
  readonly unused: readonly Namespace[];
}

/** Each is needed, so none may be blocked. They keep the given order, so that one can tell which is which. */
export function admitEach(given: readonly GivenIdentifier[], table: NamespaceTable): Named {
  const admissions = given.map((one) => admit([one], table));
  requireReadable(admissions);
  const nobodies = given.filter((_, i) => admissions[i]!.dropped.length > 0);
  if (nobodies.length > 0) throw blocked(nobodies);
  const unregistered = new Map<string, Unregistered>();
  for (const one of admissions.flatMap((admission) => admission.unregistered))
    if (!unregistered.has(one.namespace.name)) unregistered.set(one.namespace.name, one);
  return {
    identifiers: admissions.flatMap(({ identifiers }) => identifiers),
    unregistered: [...unregistered.values()],
    unused: [...new Set(admissions.flatMap(({ unused }) => unused))],
  };
}

/** For identifiers that are only named, not linked: they may have been linked before the value was blocked. */
export const withoutBlocked = (stored: readonly Namespace[]): NamespaceTable =>
  namespaceTable(stored.map((namespace) => ({ ...namespace, blocked: [] })));

/** Two different ones. */
export function admitPair(
  sides: readonly [GivenIdentifier, GivenIdentifier],
  table: NamespaceTable,
): Named & { readonly identifiers: readonly [Identifier, Identifier] } {
  const { identifiers, unregistered, unused } = admitEach(sides, table);
  const [first, second] = identifiers as readonly [Identifier, Identifier];
  if (first.namespace === second.namespace && first.value === second.value)
    throw mismatch([{ path: sides[1].path, message: `is the same identifier as ${sides[0].path}` }]);
  return { identifiers: [first, second], unregistered, unused };
}

const blocked = (given: readonly GivenIdentifier[]): AppError =>
  new AppError("blocked_identifier", "These values identify nobody, so they are never linked.", {
    errors: given.map(({ path }) => ({ path, message: "is a blocked value" })),
  });
