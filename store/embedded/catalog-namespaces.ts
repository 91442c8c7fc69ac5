import type { Database } from "../../core/database.js";
import type { Namespace } from "../../core/catalog.js";
import type { CatalogStore } from "../../core/ports.js";
import type { Session } from "./session.js";

/** What a workspace registered or changed. A name that registered itself goes on counting as such when it is changed. */
export function createNamespaces(
  database: Database,
  session: Session,
): Pick<CatalogStore, "namespaces" | "putNamespace" | "registerNamespaces"> {
  const all = database.prepare("SELECT namespace FROM namespaces WHERE ws = ? ORDER BY name");
  const put = database.prepare(
    `INSERT INTO namespaces (ws, name, registered_itself, namespace) VALUES (?, ?, 0, ?)
     ON CONFLICT (ws, name) DO UPDATE SET namespace = excluded.namespace`,
  );
  const register = database.prepare(
    "INSERT INTO namespaces (ws, name, registered_itself, namespace) VALUES (?, ?, 1, ?)",
  );
  const find = database.prepare("SELECT 1 FROM namespaces WHERE ws = ? AND name = ?");
  const count = database.prepare("SELECT count(*) FROM namespaces WHERE ws = ? AND registered_itself = 1");
  return {
    namespaces: async (workspace) => {
      const rows = await session.read(() => all.all([workspace]));
      return rows.map(([namespace]) => JSON.parse(namespace as string) as Namespace);
    },
    putNamespace: (workspace, namespace) =>
      session.write(() => void put.run([workspace, namespace.name, JSON.stringify(namespace)])),
    registerNamespaces: (workspace, namespaces, max) =>
      session.write(() => {
        const byName = new Map(namespaces.map((namespace) => [namespace.name, namespace]));
        const added = [...byName.values()].filter(({ name }) => !find.get([workspace, name]));
        if (added.length === 0) return true;
        if ((count.get([workspace])![0] as number) + added.length > max) return false;
        for (const namespace of added) register.run([workspace, namespace.name, JSON.stringify(namespace)]);
        return true;
      }),
  };
}
