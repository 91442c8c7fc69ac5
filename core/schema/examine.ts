import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Merge } from "../catalog/catalog.js";
import { AppError, type ErrorItem } from "../errors.js";
import { compileSchema } from "./validation/engine.js";
import { openDocument } from "./document.js";
import { draftOf, type Draft, type SchemaObject } from "./keywords.js";
import { limitProblems } from "./limits/limits.js";
import { isLinear } from "./limits/linear.js";
import { compilePlan, traitsOf } from "./plan.js";
import { checkSpelling } from "./spelling.js";
import { allProblems } from "./validation/problems.js";

export type Examination =
  | {
      readonly kind: "fine";
      readonly linear: boolean;
      readonly traits: readonly (readonly [string, Merge])[];
      /** Words in it that are no keywords. */
      readonly warnings: readonly ErrorItem[];
    }
  | { readonly kind: "refused"; readonly errors: readonly ErrorItem[] };

const PROBLEMS_MAX = 20;

/** The schema's own examination; runs in the thread. `next` is called between its stages: look, compile, try. */
export function examine(schema: SchemaObject, next: () => void): Examination {
  const { errors: misspelt, warnings } = checkSpelling(openDocument(schema));
  const errors = [...limitProblems(schema), ...misspelt];
  if (errors.length === 0) errors.push(...metaProblems(schema));
  if (errors.length > 0) return { kind: "refused", errors: errors.slice(0, PROBLEMS_MAX) };
  try {
    const traits = Object.entries(traitsOf(compilePlan(schema)));
    const linear = isLinear(schema);
    next();
    const validate = compileSchema(schema);
    next();
    validate({});
    return { kind: "fine", linear, traits, warnings };
  } catch (error) {
    if (error instanceof AppError) return { kind: "refused", errors: error.errors ?? [] };
    return { kind: "refused", errors: [{ path: "schema", message: compileMessage(error) }] };
  }
}

function compileMessage(error: unknown): string {
  if (error instanceof RangeError) return "is nested too deeply, or its references are";
  return `does not compile: ${error instanceof Error ? error.message.slice(0, 200) : "unknown reason"}`;
}

/** The meta-schemas are ours, so an instance of each draft is kept. */
const metaEngines: Record<Draft, Ajv | null> = { "draft-07": null, "2020-12": null };

const OPTIONS = { strict: false, allErrors: true, validateFormats: false, logger: false } as const;

function metaProblems(schema: SchemaObject): readonly ErrorItem[] {
  const draft = draftOf(schema) ?? "2020-12";
  metaEngines[draft] ??= draft === "draft-07" ? new Ajv(OPTIONS) : new Ajv2020(OPTIONS);
  const engine = metaEngines[draft];
  if (engine.validateSchema(schema) === true) return [];
  return allProblems(engine.errors ?? [], PROBLEMS_MAX, "schema");
}
