import type { Backends } from "../../app/backends.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";

type Reads = Readonly<Record<string, (...given: readonly unknown[]) => Promise<unknown>>>;

/** Wraps the backends of a service: `around` decides when these of the graph's methods are called, and whether. */
export const aroundGraph =
  (names: readonly (keyof IdentityGraph)[], around: <T>(call: () => Promise<T>) => Promise<T>) =>
  (backends: Backends): Backends => {
    const graph = backends.graph as unknown as Reads;
    const wrapped = names.map((name) => [name, (...given: unknown[]) => around(() => graph[name]!(...given))] as const);
    return { ...backends, graph: { ...backends.graph, ...Object.fromEntries(wrapped) } };
  };
