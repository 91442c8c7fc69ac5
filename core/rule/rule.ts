import type { AudienceId, SchemaId } from "../ids.js";
import type { Scalar } from "../profile/facet.js";

/** What a condition looks at. */
export type Field =
  | { readonly kind: "trait"; readonly name: string }
  | { readonly kind: "identifier"; readonly name: string }
  | { readonly kind: (typeof TIMED)[number] }
  | { readonly kind: "event_count" };

/** Fields that are instants. */
export const TIMED = ["first_seen", "last_seen"] as const;

export type Order = "$gt" | "$gte" | "$lt" | "$lte";

/** One operator of a condition. `offset`: against the instant so many milliseconds after now. */
export type Test =
  | { readonly op: "$eq" | "$ne"; readonly value: Scalar }
  | { readonly op: "$in" | "$nin"; readonly values: readonly Scalar[] }
  | { readonly op: Order; readonly value: string | number | boolean }
  | { readonly op: Order; readonly offset: number }
  | { readonly op: "$exists"; readonly value: boolean }
  | { readonly op: "$starts" | "$ends" | "$contains"; readonly value: string };

/** Names in the objects of a payload, from the outside in. */
export interface PathTest {
  readonly path: readonly string[];
  readonly test: Test;
}

/** Which events of a profile count. It says nothing about the time, so whether an event counts never changes. */
export interface Tally {
  /** Null: of any schema. */
  readonly schemaId: SchemaId | null;
  readonly where: readonly PathTest[];
  /** Of the number to add up; null: only counted. */
  readonly sum: readonly string[] | null;
}

/** `Leaf`: what else may stand where a rule can stand. */
type RuleOf<Leaf> =
  | { readonly kind: "and" | "or"; readonly parts: readonly RuleOf<Leaf>[] }
  | { readonly kind: "not"; readonly part: RuleOf<Leaf> }
  | { readonly kind: "field"; readonly field: Field; readonly test: Test }
  /** At least so many of the tally's events are younger than `within` milliseconds; null: ever. */
  | { readonly kind: "count"; readonly tally: Tally; readonly atLeast: number; readonly within: number | null }
  | { readonly kind: "sum"; readonly tally: Tally; readonly tests: readonly Test[]; readonly within: number | null }
  | Leaf;

/** Stands for the rule of another audience, whatever that is at the moment. */
export interface AudienceReference {
  readonly kind: "audience";
  readonly audienceId: AudienceId;
}

/** A rule that can be judged. */
export type Rule = RuleOf<never>;
/** A rule as it was written: it may refer to audiences. */
export type WrittenRule = RuleOf<AudienceReference>;

/** How far back the rule itself looks at events of which schema (null: of any), milliseconds; null: ever. */
export function windowsOf(
  rule: WrittenRule,
): readonly { readonly schemaId: SchemaId | null; readonly within: number | null }[] {
  if (rule.kind === "not") return windowsOf(rule.part);
  if ("parts" in rule) return rule.parts.flatMap(windowsOf);
  return "tally" in rule ? [{ schemaId: rule.tally.schemaId, within: rule.within }] : [];
}

/** Whether time alone may change what the rule says of somebody. */
export function isTimed(rule: Rule): boolean {
  if (rule.kind === "not") return isTimed(rule.part);
  if ("parts" in rule) return rule.parts.some(isTimed);
  return rule.kind === "field" ? "offset" in rule.test : rule.within !== null;
}

/** Whether the rule looks at anything but events. */
export function hasFields(rule: Rule): boolean {
  if (rule.kind === "not") return hasFields(rule.part);
  return "parts" in rule ? rule.parts.some(hasFields) : rule.kind === "field";
}

/** The namespaces whose identifiers the rule itself looks at. */
export function namespacesOf(rule: WrittenRule): readonly string[] {
  if (rule.kind === "not") return namespacesOf(rule.part);
  if ("parts" in rule) return rule.parts.flatMap(namespacesOf);
  return rule.kind === "field" && rule.field.kind === "identifier" ? [rule.field.name] : [];
}

/** The event conditions of the rule. */
export function talliesOf(rule: Rule): readonly Tally[] {
  if (rule.kind === "field") return [];
  if (rule.kind === "not") return talliesOf(rule.part);
  return "parts" in rule ? rule.parts.flatMap(talliesOf) : [rule.tally];
}
