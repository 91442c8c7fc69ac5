export interface Annotations {
  /** Namespaces. */
  readonly identities: readonly string[];
  readonly traits: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null;

const DEPTH_MAX = 40;

/** What a schema names for profiles. Only to be shown: the service itself decides what an annotation is. */
export function annotationsOf(schema: unknown): Annotations {
  const identities = new Set<string>();
  const traits = new Set<string>();
  const walk = (value: unknown, depth: number): void => {
    if (!isObject(value) || depth > DEPTH_MAX) return;
    const { "x-identity": identity, "x-trait": trait } = value;
    if (isObject(identity) && typeof identity["namespace"] === "string") identities.add(identity["namespace"]);
    if (isObject(trait) && typeof trait["name"] === "string") traits.add(trait["name"]);
    for (const inner of Object.values(value)) walk(inner, depth + 1);
  };
  walk(schema, 0);
  return { identities: [...identities], traits: [...traits] };
}

/** An event that the schema would take, to begin with: one value for each property of the first levels. */
export function sampleOf(schema: unknown, depth = 0): unknown {
  if (!isObject(schema) || depth > 4) return null;
  const { type, enum: values, const: only, examples, format } = schema;
  if (only !== undefined) return only;
  if (Array.isArray(values) && values.length > 0) return values[0] as unknown;
  if (Array.isArray(examples) && examples.length > 0) return examples[0] as unknown;
  const kind: unknown = Array.isArray(type) ? type.find((one) => one !== "null") : type;
  if (kind === "object" || isObject(schema["properties"])) {
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
    return Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, sampleOf(inner, depth + 1)]));
  }
  if (kind === "array") return [sampleOf(schema["items"], depth + 1)];
  if (kind === "integer" || kind === "number") return typeof schema["minimum"] === "number" ? schema["minimum"] : 1;
  if (kind === "boolean") return true;
  if (kind === "string") return textOf(format);
  return null;
}

function textOf(format: unknown): string {
  if (format === "email") return "ada@example.com";
  if (format === "date-time") return new Date().toISOString();
  if (format === "date") return new Date().toISOString().slice(0, 10);
  if (format === "uri") return "https://example.com/";
  return "text";
}
