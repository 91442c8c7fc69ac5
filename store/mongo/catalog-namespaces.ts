import type { Collection } from "mongodb";
import type { Namespace } from "../../core/catalog.js";
import type { CatalogStore } from "../../core/ports.js";
import type { ChangeCatalog } from "./catalog-change.js";
import type { CatalogDocument, NamespaceRow } from "./catalog-document.js";
import type { Session } from "./session.js";

/** What a workspace registered or changed. A name that registered itself goes on counting as such when it is changed. */
export function createNamespaces({
  catalog,
  session,
  change,
}: {
  readonly catalog: Collection<CatalogDocument>;
  readonly session: Session;
  readonly change: ChangeCatalog;
}): Pick<CatalogStore, "namespaces" | "putNamespace" | "registerNamespaces"> {
  return {
    namespaces: async (workspace) => {
      const found = await session.call(() => catalog.findOne({ _id: workspace }, { projection: { namespaces: 1 } }));
      return (found?.namespaces ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(toNamespace);
    },
    putNamespace: (workspace, namespace) =>
      change(workspace, {
        sections: ["namespaces"],
        decide: ({ namespaces }) => {
          const old = namespaces.find(({ name }) => name === namespace.name);
          const others = namespaces.filter((row) => row !== old);
          const row = toRow(namespace, old?.registered_itself ?? false);
          return { change: { namespaces: [...others, row] }, result: undefined };
        },
      }),
    registerNamespaces: (workspace, given, max) =>
      change(workspace, {
        sections: ["namespaces"],
        decide: ({ namespaces }) => {
          const standing = new Set(namespaces.map(({ name }) => name));
          const byName = new Map(given.map((namespace) => [namespace.name, namespace]));
          const added = [...byName.values()].filter(({ name }) => !standing.has(name));
          if (added.length === 0) return { change: null, result: true };
          const count = namespaces.filter(({ registered_itself }) => registered_itself).length;
          if (count + added.length > max) return { change: null, result: false };
          const rows = added.map((namespace) => toRow(namespace, true));
          return { change: { namespaces: [...namespaces, ...rows] }, result: true };
        },
      }),
  };
}

const toRow = (namespace: Namespace, registersItself: boolean): NamespaceRow => ({
  name: namespace.name,
  kind: namespace.kind,
  normalization: namespace.normalization,
  limit: namespace.limit,
  priority: namespace.priority,
  blocked: namespace.blocked,
  built_in: namespace.builtIn,
  registered_itself: registersItself,
});
const toNamespace = (row: NamespaceRow): Namespace => ({
  name: row.name,
  kind: row.kind,
  normalization: row.normalization,
  limit: row.limit,
  priority: row.priority,
  blocked: row.blocked,
  builtIn: row.built_in,
});
