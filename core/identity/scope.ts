import type { DroppedIdentifier, Identifier } from "../event/event.js";
import type { NamespaceTable } from "./namespaces.js";

/**
 * What a collect-only key may link: what one item says about its own visitor. The key is public, and a second value of a person's
 * namespace would join two people. This looks at what one item says; `graph/rules/violation.ts` at what stands in the profiles.
 */
export interface Scoped {
  readonly identifiers: readonly Identifier[];
  readonly dropped: readonly DroppedIdentifier[];
}

/** A name that nobody has registered yet starts as a person's, so it counts as one. */
export const isPerson = (table: NamespaceTable, namespace: string): boolean => table.get(namespace)?.kind !== "device";

/** At most one value of each namespace of kind `person`: the first. The identifiers come by priority, and keep their order. */
export function withinScope(identifiers: readonly Identifier[], table: NamespaceTable): Scoped {
  const seen = new Set<string>();
  const kept: Identifier[] = [];
  const dropped: DroppedIdentifier[] = [];
  for (const identifier of identifiers) {
    const { namespace } = identifier;
    if (seen.has(namespace) && isPerson(table, namespace)) dropped.push({ identifier, rule: "scope" });
    else kept.push(identifier);
    seen.add(namespace);
  }
  return dropped.length === 0 ? { identifiers, dropped } : { identifiers: kept, dropped };
}

/** An alias links its previous side only if that is anonymous: a device, not a person. */
export const aliasWithinScope = (previous: Identifier, known: Identifier, table: NamespaceTable): Scoped =>
  isPerson(table, previous.namespace)
    ? { identifiers: [known], dropped: [{ identifier: previous, rule: "scope" }] }
    : { identifiers: [previous, known], dropped: [] };
