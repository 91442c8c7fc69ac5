// STAND-IN so that others can run the service while core/schema is being written. Its owner overwrites this file.
import type { Merge } from "../catalog.js";
import { compilePlan, type AnnotationPlan } from "./plan.js";
import type { ValidationThread } from "./validator.js";
export interface ExaminedSchema { readonly linear: boolean; readonly traits: Readonly<Record<string, Merge>> }
export async function examineSchema(schema: unknown, _bytes: number, _thread: ValidationThread): Promise<ExaminedSchema> {
  const traits: Record<string, Merge> = {};
  const walk = (p: AnnotationPlan): void => { if (p.trait) traits[p.trait.name] = p.trait.merge; for (const q of p.props.values()) walk(q); if (p.items) walk(p.items); };
  walk(compilePlan(schema as object));
  return { linear: true, traits };
}
