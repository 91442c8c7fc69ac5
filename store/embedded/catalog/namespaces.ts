import type { Database } from "../../../core/database.js";
import { DEFAULT_IDENTITY_SETTINGS, type IdentitySettings, type Namespace } from "../../../core/catalog/catalog.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import type { Session } from "../session.js";

type Methods = Pick<
  CatalogStore,
  "namespaces" | "changeNamespace" | "registerNamespaces" | "identitySettings" | "putIdentitySettings"
>;

/** What a workspace registered or changed, and what it set for identity. A name that registered itself goes on counting as such. */
export const createNamespaces = (database: Database, session: Session): Methods => ({
  ...createNames(database, session),
  ...createSettings(database, session),
});

function createNames(
  database: Database,
  session: Session,
): Pick<Methods, "namespaces" | "changeNamespace" | "registerNamespaces"> {
  const all = database.prepare("SELECT namespace, registered_itself FROM namespaces WHERE ws = ? ORDER BY name");
  const find = database.prepare("SELECT namespace, registered_itself FROM namespaces WHERE ws = ? AND name = ?");
  const put = database.prepare(
    `INSERT INTO namespaces (ws, name, registered_itself, namespace) VALUES (?, ?, ?, ?)
     ON CONFLICT (ws, name) DO UPDATE SET namespace = excluded.namespace`,
  );
  const count = database.prepare("SELECT count(*) FROM namespaces WHERE ws = ? AND registered_itself = 1");
  return {
    namespaces: async (workspace) => {
      const rows = await session.read(() => all.all([workspace]));
      return rows.map((row) => toNamespace(row as Row));
    },
    changeNamespace: (workspace, name, change) =>
      session.write(() => {
        const row = find.get([workspace, name]) as Row | undefined;
        const current = row === undefined ? null : toNamespace(row);
        const changed = { ...change(current), name, registeredItself: current?.registeredItself ?? false };
        put.run([workspace, name, Number(changed.registeredItself), JSON.stringify(changed)]);
        return changed;
      }),
    registerNamespaces: (workspace, namespaces, max) =>
      session.write(() => {
        const byName = new Map(namespaces.map((namespace) => [namespace.name, namespace]));
        const added = [...byName.values()].filter(({ name }) => !find.get([workspace, name]));
        if (added.length === 0) return true;
        if ((count.get([workspace])![0] as number) + added.length > max) return false;
        for (const namespace of added) put.run([workspace, namespace.name, 1, JSON.stringify(namespace)]);
        return true;
      }),
  };
}

type Row = readonly [namespace: string, registeredItself: number];
const toNamespace = ([namespace, registeredItself]: Row): Namespace => {
  const { name, kind, normalization, limit, priority, blocked } = JSON.parse(namespace) as Namespace;
  return { name, kind, normalization, limit, priority, blocked, registeredItself: registeredItself === 1 };
};

function createSettings(
  database: Database,
  session: Session,
): Pick<Methods, "identitySettings" | "putIdentitySettings"> {
  const find = database.prepare("SELECT settings FROM identity_settings WHERE ws = ?");
  const put = database.prepare("INSERT OR REPLACE INTO identity_settings (ws, settings) VALUES (?, ?)");
  return {
    identitySettings: async (workspace) => {
      const row = await session.read(() => find.get([workspace]));
      const set = row === undefined ? {} : (JSON.parse(row[0] as string) as Partial<IdentitySettings>);
      return { ...DEFAULT_IDENTITY_SETTINGS, ...set };
    },
    putIdentitySettings: (workspace, settings) =>
      session.write(() => void put.run([workspace, JSON.stringify(settings)])),
  };
}
