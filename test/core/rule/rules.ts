import assert from "node:assert/strict";
import { parseTimestamp } from "../../../core/event/time.js";
import { addDecimals } from "../../../core/rule/decimal.js";
import { countingOf, rowIn, type Row, type SeenEvent } from "../../../core/rule/events.js";
import { compileRule, type Judge, type Subject } from "../../../core/rule/judge.js";
import { parseRule } from "../../../core/rule/parse.js";
import { resolveRule } from "../../../core/rule/resolve.js";
import type { Rule, Tally } from "../../../core/rule/rule.js";
import type { AudienceWords, Vocabulary } from "../../../core/rule/vocabulary.js";
import type { Scalar } from "../../../core/profile/facet.js";
import { createWords } from "../../../core/schema/words.js";

export const words = createWords({
  type: "object",
  properties: {
    total: { type: "number" },
    currency: { type: ["string", "null"] },
    items: { type: "array", items: { $ref: "#/$defs/item" } },
    list: { type: "array", items: { type: "number" } },
    any: {},
    bag: { type: "array" },
    open: { type: "array", items: {} },
    kind: { enum: ["a", "b"] },
    level: { enum: [1, 2, null] },
    one: { const: 7 },
    either: { anyOf: [{ type: "string" }, { type: "integer" }] },
    neither: { anyOf: [{ type: "string" }, { const: true }] },
    free: { type: "object" },
  },
  $defs: { item: { properties: { sku: { type: "string" }, q: { type: ["integer", "null"] } } } },
});

/** By name, because a test reads better so. */
export const AUDIENCES: Readonly<Record<string, AudienceWords>> = {
  paris: { conditions: 1, depth: 1, isCircular: false },
  large: { conditions: 51, depth: 1, isCircular: false },
  deep: { conditions: 1, depth: 7, isCircular: false },
  itself: { conditions: 1, depth: 1, isCircular: true },
};

/** Traits a-d and city, schema `order`. */
export const VOCABULARY: Vocabulary = {
  isTrait: (name) => ["a", "b", "c", "d", "city"].includes(name),
  namespace: (name) =>
    name === "email"
      ? { normalize: (value) => value.toLowerCase() }
      : name === "x.y"
        ? { normalize: (value) => value }
        : null,
  schema: (schemaId) => (schemaId === "order" ? words : null),
  audience: (audienceId) => AUDIENCES[audienceId] ?? null,
};

export function parsedOf(given: unknown): Rule {
  const parsed = parseRule(given, "rule", VOCABULARY);
  assert.ok("rule" in parsed, JSON.stringify(parsed));
  const rule = resolveRule(parsed.rule, () => null);
  assert.ok(rule !== null);
  return rule;
}

export const ruleOf = (given: unknown): Judge => compileRule(parsedOf(given));

export const errorsOf = (given: unknown) => {
  const parsed = parseRule(given, "rule", VOCABULARY);
  return "errors" in parsed ? parsed.errors.map(({ path, message }) => `${path}: ${message}`) : [];
};

/** A profile as the API shows it. */
export interface Shown {
  readonly traits?: Readonly<Record<string, Scalar | readonly Scalar[]>>;
  readonly identifiers?: Readonly<Record<string, readonly string[]>>;
  readonly first_seen?: string | null;
  readonly last_seen?: string | null;
  readonly event_count?: number;
}

const instant = (text: string | null | undefined) => (text ? parseTimestamp(text) : null);

export const subjectOf = (shown: Shown, events: readonly SeenEvent[] | null = []): Subject => ({
  trait: (name) => shown.traits?.[name],
  identifiers: (namespace) => shown.identifiers?.[namespace],
  firstSeen: instant(shown.first_seen),
  lastSeen: instant(shown.last_seen),
  eventCount: shown.event_count ?? 0,
  events:
    events === null
      ? null
      : {
          has: () => true,
          nthNewest: (tally, n) => rowsOf(tally, events)[n - 1]?.position ?? null,
          sumSince: (tally, since) => {
            const rows = rowsOf(tally, events).filter(({ position }) => since === null || position > since);
            return {
              sum: addDecimals(rows.flatMap(({ amount }) => amount ?? [])),
              oldest: rows.at(-1)?.position ?? null,
            };
          },
        },
});

export function rowsOf(tally: Tally, events: readonly SeenEvent[]): readonly Row[] {
  const counting = countingOf(tally);
  return events.flatMap((event) => rowIn(counting, event) ?? []);
}
