import type { IdentitySettings, Namespace } from "../catalog/catalog.js";
import type { Rules } from "./model.js";
import { namespaceTable } from "./namespaces.js";
import { isPerson } from "./scope.js";

const made = new WeakMap<readonly Namespace[], Rules>();

/** The rules of a workspace for its profiles. The same stored list and settings give the same rules without work. */
export function rulesOf(
  stored: readonly Namespace[],
  { sharedIdentifierLimit }: Pick<IdentitySettings, "sharedIdentifierLimit">,
): Rules {
  const before = made.get(stored);
  if (before !== undefined && before.sharedIdentifierLimit === sharedIdentifierLimit) return before;
  const rules = makeRules(stored, sharedIdentifierLimit);
  made.set(stored, rules);
  return rules;
}

function makeRules(stored: readonly Namespace[], sharedIdentifierLimit: number | null): Rules {
  const table = namespaceTable(stored);
  const limits = new Map<string, number>();
  for (const { name, limit } of table.values()) if (limit !== null) limits.set(name, limit);
  return {
    limits,
    sharedIdentifierLimit,
    priorityOf: (namespace) => table.get(namespace)?.priority ?? 0,
    isPerson: (namespace) => isPerson(table, namespace),
  };
}
