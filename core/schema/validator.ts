// STAND-IN so that others can run the service while core/schema is being written. Its owner overwrites this file.
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { SchemaVersion } from "../catalog.js";
import type { ErrorItem } from "../errors.js";
import { compilePlan, type AnnotationPlan } from "./plan.js";
export interface ValidationThread { readonly close: () => Promise<void> }
export interface Validator {
  check(schema: SchemaVersion, payload: unknown, bytes: Buffer): readonly ErrorItem[] | Promise<readonly ErrorItem[]>;
  checkAll(schema: SchemaVersion, bytes: Buffer): Promise<readonly ErrorItem[]>;
  plan(schema: SchemaVersion): AnnotationPlan;
  readonly thread: ValidationThread;
  close(): Promise<void>;
}
export function openValidator(_options: { compileMs: number; validationMs: number; cacheMax?: number }): Validator {
  const cache = new Map<string, { f: ValidateFunction; plan: AnnotationPlan }>();
  const get = (s: SchemaVersion) => {
    const k = `${s.workspace}:${s.schemaId}:${s.version}`;
    let c = cache.get(k);
    if (!c) { const schema = JSON.parse(s.schema) as object; c = { f: new Ajv2020({ strict: false, ownProperties: true, validateFormats: false }).compile(schema), plan: compilePlan(schema) }; cache.set(k, c); }
    return c;
  };
  const check = (s: SchemaVersion, p: unknown): readonly ErrorItem[] => { const { f } = get(s); return f(p) ? [] : (f.errors ?? []).map((e) => ({ path: e.instancePath.slice(1).replaceAll("/", "."), message: e.message ?? "" })); };
  return { check, checkAll: async (s, b) => check(s, JSON.parse(b.toString())), plan: (s) => get(s).plan, thread: { close: async () => {} }, close: async () => {} };
}
