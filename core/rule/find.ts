import type { Identifier } from "../event/event.js";
import type { Rule } from "./rule.js";

/** Identifiers of which every profile that the rule holds for has one; null if the rule names none such. */
export function identifiersIn(rule: Rule): readonly Identifier[] | null {
  if (rule.kind === "and") {
    const found = rule.parts.map(identifiersIn).filter((identifiers) => identifiers !== null);
    return found.toSorted((a, b) => a.length - b.length)[0] ?? null;
  }
  if (rule.kind !== "field" || rule.field.kind !== "identifier") return null;
  const { field, test } = rule;
  const values = test.op === "$eq" ? [test.value] : test.op === "$in" ? test.values : [null];
  const texts = values.filter((value) => typeof value === "string");
  // Null also means those that have none.
  return values.includes(null) ? null : texts.map((value) => ({ namespace: field.name, value }));
}
