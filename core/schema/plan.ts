// STAND-IN so that others can run the service while core/schema is being written. Its owner overwrites this file.
import type { Merge } from "../catalog.js";
import type { Scalar } from "../facet.js";
export interface AnnotationPlan { readonly ns?: string; readonly trait?: { name: string; merge: Merge }; readonly props: ReadonlyMap<string, AnnotationPlan>; readonly items: AnnotationPlan | null }
type S = { "x-identity"?: { namespace: string }; "x-trait"?: { name: string; merge?: Merge }; properties?: Record<string, S>; items?: S };
export function compilePlan(schema: object): AnnotationPlan {
  const s = schema as S;
  const props = new Map(Object.entries(s.properties ?? {}).map(([k, v]) => [k, compilePlan(v)]));
  return { ...(s["x-identity"] && { ns: s["x-identity"].namespace }), ...(s["x-trait"] && { trait: { name: s["x-trait"].name, merge: s["x-trait"].merge ?? "latest" } }), props, items: s.items ? compilePlan(s.items) : null };
}
export interface Extracted { readonly identifiers: { path: string; namespace: string; value: string }[]; readonly traits: { name: string; merge: Merge; value: Scalar }[] }
export function extract(plan: AnnotationPlan, payload: unknown): Extracted {
  const out: Extracted = { identifiers: [], traits: [] };
  const walk = (p: AnnotationPlan, v: unknown, path: string): void => {
    if (p.ns !== undefined && (typeof v === "string" || Number.isSafeInteger(v))) out.identifiers.push({ path, namespace: p.ns, value: String(v) });
    if (p.trait && (v === null || typeof v !== "object")) out.traits.push({ ...p.trait, value: v as Scalar });
    if (Array.isArray(v)) { if (p.items) v.forEach((x, i) => walk(p.items!, x, `${path}.${i}`)); }
    else if (typeof v === "object" && v !== null) for (const [k, x] of Object.entries(v)) { const q = p.props.get(k); if (q) walk(q, x, path === "" ? k : `${path}.${k}`); }
  };
  walk(plan, payload, "");
  return out;
}
