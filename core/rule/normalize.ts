import type { Rule, Test } from "./rule.js";

/** A value of a namespace as it is stored there. */
export type Normalize = (namespace: string, value: string) => string;

/** The rule with each value of an identifier as its namespace has it now. A text to begin or end with is no value. */
export function normalizeRule(rule: Rule, normalize: Normalize): Rule {
  if (rule.kind === "not") return { kind: "not", part: normalizeRule(rule.part, normalize) };
  if (rule.kind === "and" || rule.kind === "or")
    return { kind: rule.kind, parts: rule.parts.map((part) => normalizeRule(part, normalize)) };
  if (rule.kind !== "field" || rule.field.kind !== "identifier") return rule;
  const { name } = rule.field;
  const read = <V>(value: V): V | string => (typeof value === "string" ? normalize(name, value) : value);
  return { ...rule, test: readTest(rule.test, read) };
}

function readTest(test: Test, read: <V>(value: V) => V | string): Test {
  switch (test.op) {
    case "$in":
    case "$nin":
      return { ...test, values: test.values.map(read) };
    case "$eq":
    case "$ne":
      return { ...test, value: read(test.value) };
    case "$gt":
    case "$gte":
    case "$lt":
    case "$lte":
      return "offset" in test ? test : { ...test, value: read(test.value) };
    case "$exists":
    case "$starts":
    case "$ends":
    case "$contains":
      break;
  }
  return test;
}
