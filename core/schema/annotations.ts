import { AppError } from "../errors.js";
import type { Merge } from "../catalog/catalog.js";
import { isObject, type SchemaObject } from "./keywords.js";

/** What one schema object says beyond JSON Schema. */
export interface Annotations {
  readonly path: string;
  readonly namespace: string | null;
  readonly trait: { readonly name: string; readonly merge: Merge } | null;
  /** Each scalar member with a simple name is a trait. */
  readonly open: boolean;
}

const NAMESPACE = /^[a-z][a-z0-9_.-]{0,63}$/;
/** A simple name. */
export const TRAIT_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
export const TRAIT_NAME_RULE = "must be 1-64 characters: a letter, then A-Z a-z 0-9 _ -";
export const MERGES = ["latest", "first", "min", "max", "union", "sum", "count"] as const satisfies readonly Merge[];

/** Null without annotations; throws `invalid_schema` when they are malformed. */
export function annotationsOf(schema: SchemaObject, path: string): Annotations | null {
  const { "x-identity": identity, "x-trait": trait, "x-traits": traits } = schema;
  if (identity === undefined && trait === undefined && traits === undefined) return null;
  if (traits !== undefined && traits !== true) throw refused(`${path}.x-traits`, "must be true");
  return {
    path,
    namespace: identity === undefined ? null : namespaceOf(identity, `${path}.x-identity`),
    trait: trait === undefined ? null : traitOf(trait, `${path}.x-trait`),
    open: traits === true,
  };
}

const refused = (path: string, message: string): AppError =>
  new AppError("invalid_schema", `${path}: ${message}`, { errors: [{ path, message }] });

function namespaceOf(value: unknown, path: string): string {
  requireKeys(value, path, ["namespace"]);
  const { namespace } = value;
  if (typeof namespace !== "string" || !NAMESPACE.test(namespace))
    throw refused(`${path}.namespace`, `must match ${NAMESPACE.source}`);
  return namespace;
}

function traitOf(value: unknown, path: string): Annotations["trait"] {
  requireKeys(value, path, ["name", "merge"]);
  const { name, merge = "latest" } = value;
  if (typeof name !== "string" || !TRAIT_NAME.test(name))
    throw refused(`${path}.name`, `must match ${TRAIT_NAME.source}`);
  const known = MERGES.find((one) => one === merge);
  if (known === undefined) throw refused(`${path}.merge`, `must be one of ${MERGES.join(", ")}`);
  return { name, merge: known };
}

function requireKeys(value: unknown, path: string, known: readonly string[]): asserts value is SchemaObject {
  if (!isObject(value)) throw refused(path, `must be an object with ${known.join(" and ")}`);
  for (const key of Object.keys(value))
    if (!known.includes(key))
      throw refused(`${path}.${key}`, `is not allowed here; allowed are ${known.join(" and ")}`);
}
