import type { Database } from "../../../core/database.js";
import { DEFAULT_IDENTITY_SETTINGS, type IdentitySettings, type Namespace } from "../../../core/catalog/catalog.js";
import { registerNamespaces } from "../../../core/identity/register-namespaces.js";
import type { NamespaceMethods as Methods } from "../../../core/ports/catalog-store.js";
import type { WorkspaceId } from "../../../core/ids.js";
import type { Session } from "../session.js";

/** What a workspace registered or changed, and what it set for identity. A name that registered itself goes on counting as such. */
export const createNamespaces = (database: Database, session: Session): Methods => ({
  ...createNames(database, session),
  ...createSettings(database, session),
});

function createNames(
  database: Database,
  session: Session,
): Pick<Methods, "namespaces" | "changeNamespace" | "registerNamespaces"> {
  const all = database.prepare("SELECT namespace FROM namespaces WHERE ws = ? ORDER BY name");
  const put = database.prepare(
    `INSERT INTO namespaces (ws, name, namespace) VALUES (?, ?, ?)
     ON CONFLICT (ws, name) DO UPDATE SET namespace = excluded.namespace`,
  );
  const namespacesOf = (workspace: WorkspaceId): readonly Namespace[] =>
    all.all([workspace]).map((row) => toNamespace(row as Row));
  const versions = createVersions();
  return {
    namespaces: (workspace, known) =>
      session.read(() =>
        known !== undefined && versions.isLatest(workspace, known)
          ? known
          : versions.read(workspace, () => namespacesOf(workspace)),
      ),
    changeNamespace: (workspace, name, change) =>
      versions.changing(session, workspace, () => {
        const standing = namespacesOf(workspace);
        const current = standing.find((one) => one.name === name) ?? null;
        const changed = { ...change(current, standing), name, registeredItself: current?.registeredItself ?? false };
        put.run([workspace, name, JSON.stringify(changed)]);
        return changed;
      }),
    registerNamespaces: (workspace, namespaces, max) =>
      versions.changing(session, workspace, () => {
        const changed = registerNamespaces(namespacesOf(workspace), namespaces, max);
        for (const namespace of changed ?? []) put.run([workspace, namespace.name, JSON.stringify(namespace)]);
        return changed !== null;
      }),
  };
}

/** How often this process changed a workspace's namespaces. No other process writes to the file. */
function createVersions() {
  const versions = new Map<WorkspaceId, number>();
  const read = new WeakMap<readonly Namespace[], readonly [WorkspaceId, number]>();
  const versionOf = (workspace: WorkspaceId): number => versions.get(workspace) ?? 0;
  const raise = (workspace: WorkspaceId): void => void versions.set(workspace, versionOf(workspace) + 1);
  return {
    isLatest: (workspace: WorkspaceId, list: readonly Namespace[]): boolean => {
      const [of, version] = read.get(list) ?? [];
      return of === workspace && version === versionOf(workspace);
    },
    read: (workspace: WorkspaceId, look: () => readonly Namespace[]): readonly Namespace[] => {
      const list = look();
      read.set(list, [workspace, versionOf(workspace)]);
      return list;
    },
    /** Raised again after the commit: what is read before it is already old. */
    changing: <T>(session: Session, workspace: WorkspaceId, work: () => T): Promise<T> => {
      raise(workspace);
      return session.write(work).finally(() => raise(workspace));
    },
  };
}

type Row = readonly [namespace: string];
const toNamespace = ([namespace]: Row): Namespace => JSON.parse(namespace) as Namespace;

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
