import type { Namespace } from "../catalog/catalog.js";
import { AppError } from "../errors.js";
import { BUILT_IN_NAMESPACES } from "./namespaces.js";

/**
 * How those of `given` that change are to stand: new ones as registered by themselves, others as used; null when more than `max` would
 * then have registered themselves. Throws `unavailable` if one stands with another normalization: what was read by the old one must
 * not be stored.
 */
export function registerNamespaces(
  standing: readonly Namespace[],
  given: readonly Namespace[],
  max: number,
): readonly Namespace[] | null {
  const known = new Map([...BUILT_IN_NAMESPACES, ...standing].map((namespace) => [namespace.name, namespace]));
  const added = new Map<string, Namespace>();
  const marked = new Map<string, Namespace>();
  for (const namespace of given) {
    const { name, normalization } = namespace;
    const there = known.get(name);
    if (there === undefined) added.set(name, { ...namespace, registeredItself: true });
    else if (there.normalization !== normalization) throw renormalized(name);
    else if (!there.registeredItself && !there.used) marked.set(name, { ...there, used: true });
  }
  const count = standing.filter(({ registeredItself }) => registeredItself).length;
  return added.size > 0 && count + added.size > max ? null : [...added.values(), ...marked.values()];
}

const renormalized = (name: string): AppError =>
  new AppError("unavailable", `The normalization of namespace ${name} has just changed; try again.`);
