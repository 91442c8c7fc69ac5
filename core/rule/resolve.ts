import type { AudienceId } from "../ids.js";
import type { Rule, WrittenRule } from "./rule.js";

/** The audiences that the rule refers to, each once. */
export function referencesOf(rule: WrittenRule): ReadonlySet<AudienceId> {
  if (rule.kind === "audience") return new Set([rule.audienceId]);
  if (rule.kind === "not") return referencesOf(rule.part);
  return new Set("parts" in rule ? rule.parts.flatMap((part) => [...referencesOf(part)]) : []);
}

/**
 * The rule with that of each audience in the place of its reference. Null when a reference leads to an audience that is not there, or
 * back to itself.
 */
export function resolveRule(
  rule: WrittenRule,
  ruleOf: (audienceId: AudienceId) => WrittenRule | null,
  within: readonly AudienceId[] = [],
): Rule | null {
  switch (rule.kind) {
    case "audience": {
      const { audienceId } = rule;
      const meant = within.includes(audienceId) ? null : ruleOf(audienceId);
      return meant === null ? null : resolveRule(meant, ruleOf, [...within, audienceId]);
    }
    case "not": {
      const part = resolveRule(rule.part, ruleOf, within);
      return part === null ? null : { kind: "not", part };
    }
    case "and":
    case "or": {
      const parts: Rule[] = [];
      for (const one of rule.parts) {
        const part = resolveRule(one, ruleOf, within);
        if (part === null) return null;
        parts.push(part);
      }
      return { kind: rule.kind, parts };
    }
    case "field":
    case "count":
    case "sum":
      break;
  }
  return rule;
}
