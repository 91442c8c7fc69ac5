/** A rule as a person builds it. Text fields hold what was typed, also while it is no number yet. */
export type Join = "all" | "any" | "none" | "not_all";

export interface Group {
  readonly id: number;
  readonly kind: "group";
  readonly join: Join;
  readonly parts: readonly Part[];
}

export interface FieldPart {
  readonly id: number;
  readonly kind: "field";
  /** `traits.city`, `identifiers.email`, `last_seen`. */
  readonly field: string;
  readonly test: Test;
}

export interface EventsPart {
  readonly id: number;
  readonly kind: "events";
  /** Empty: of any schema. */
  readonly schemaId: string;
  readonly where: readonly Where[];
  readonly measure: "count" | "sum";
  readonly atLeast: string;
  /** The path of the number that is added up. */
  readonly sum: string;
  readonly is: Test;
  /** Null: ever. */
  readonly within: Span | null;
}

export interface Where {
  readonly id: number;
  readonly path: string;
  readonly test: Test;
}

export interface ReferencePart {
  readonly id: number;
  readonly kind: "audience";
  readonly audienceId: string;
}

/** What the builder has no fields for. */
export interface JsonPart {
  readonly id: number;
  readonly kind: "json";
  readonly text: string;
}

export type Part = Group | FieldPart | EventsPart | ReferencePart | JsonPart;

export type Unit = "m" | "h" | "d";
export interface Span {
  readonly n: string;
  readonly unit: Unit;
}

export type Value =
  | { readonly as: "text" | "number"; readonly text: string }
  | { readonly as: "boolean"; readonly is: boolean }
  | { readonly as: "null" }
  /** So long before or after the moment at which it is judged. */
  | ({ readonly as: "now"; readonly isAgo: boolean } & Span)
  /** One on each line. */
  | { readonly as: "texts" | "numbers"; readonly text: string };

export const OPS = [
  "$eq",
  "$ne",
  "$gt",
  "$gte",
  "$lt",
  "$lte",
  "$in",
  "$nin",
  "$exists",
  "$starts",
  "$ends",
  "$contains",
] as const;
export type Op = (typeof OPS)[number];
export const isOp = (text: string): text is Op => OPS.includes(text as Op);

export interface Test {
  readonly op: Op;
  readonly value: Value;
}

let made = 0;
export const newId = (): number => ++made;

export const JOINS: readonly (readonly [Join, string])[] = [
  ["all", "All of these hold"],
  ["any", "At least one of these holds"],
  ["none", "None of these holds"],
  ["not_all", "Not all of these hold"],
];

const TEXT: Value = { as: "text", text: "" };

export const newGroup = (join: Join = "all", parts: readonly Part[] = []): Group => ({
  id: newId(),
  kind: "group",
  join,
  parts,
});
export const newField = (field = ""): FieldPart => ({
  id: newId(),
  kind: "field",
  field,
  test: { op: "$eq", value: TEXT },
});
export const newWhere = (): Where => ({ id: newId(), path: "", test: { op: "$eq", value: TEXT } });
export const newEvents = (): EventsPart => ({
  id: newId(),
  kind: "events",
  schemaId: "",
  where: [],
  measure: "count",
  atLeast: "1",
  sum: "",
  is: { op: "$gte", value: { as: "number", text: "" } },
  within: { n: "30", unit: "d" },
});
export const newReference = (): ReferencePart => ({ id: newId(), kind: "audience", audienceId: "" });

/** What the values of a field can be. */
export type FieldKind = "any" | "instant" | "number" | "text" | "payload" | "sum";

export function kindOf(field: string): FieldKind {
  if (field === "first_seen" || field === "last_seen") return "instant";
  if (field === "event_count") return "number";
  return field.startsWith("identifiers.") ? "text" : "any";
}

const ORDERED: ReadonlySet<Op> = new Set(["$gt", "$gte", "$lt", "$lte"]);
const IN_TEXT: ReadonlySet<Op> = new Set(["$starts", "$ends", "$contains"]);
export const isOrder = (op: Op): boolean => ORDERED.has(op);

export function opsOf(kind: FieldKind): readonly Op[] {
  if (kind === "sum") return ["$gte", "$gt", "$lte", "$lt", "$eq", "$ne"];
  const takesText = kind === "any" || kind === "text" || kind === "payload";
  return OPS.filter((op) => takesText || !IN_TEXT.has(op));
}

export function valuesOf(op: Op, kind: FieldKind): readonly Value["as"][] {
  if (op === "$exists") return ["boolean"];
  if (IN_TEXT.has(op)) return ["text"];
  const isList = op === "$in" || op === "$nin";
  if (kind === "sum" || kind === "number") return [isList ? "numbers" : "number"];
  if (isList) return kind === "any" || kind === "payload" ? ["texts", "numbers"] : ["texts"];
  if (isOrder(op)) {
    if (kind === "instant") return ["now", "text"];
    return kind === "text" ? ["text"] : kind === "payload" ? ["number", "text"] : ["number", "text", "now"];
  }
  if (kind === "instant" || kind === "text") return ["text", "null"];
  return ["text", "number", "boolean", "null"];
}

const textIn = (value: Value): string => ("text" in value ? value.text : "");

/** The value in another form, with what was typed as far as it fits. */
export function as(form: Value["as"], value: Value): Value {
  if (form === value.as) return value;
  switch (form) {
    case "boolean":
      return { as: form, is: true };
    case "null":
      return { as: form };
    case "now":
      return { as: form, isAgo: true, n: "7", unit: "d" };
    case "text":
    case "number":
    case "texts":
    case "numbers":
    default:
      return { as: form, text: textIn(value) };
  }
}

/** The test with an operator and a value that go with the field. */
export function fit(test: Test, kind: FieldKind): Test {
  const ops = opsOf(kind);
  const op = ops.includes(test.op) ? test.op : ops[0]!;
  const forms = valuesOf(op, kind);
  return { op, value: forms.includes(test.value.as) ? test.value : as(forms[0]!, test.value) };
}
