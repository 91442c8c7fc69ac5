import { DEFAULT_IDENTITY_SETTINGS, type Namespace } from "../../../core/catalog/catalog.js";
import { registerNamespaces } from "../../../core/identity/register-namespaces.js";
import type { WorkspaceId } from "../../../core/ids.js";
import type { NamespaceMethods as Methods } from "../../../core/ports/catalog-store.js";
import type { CatalogDeps } from "./change.js";
import type { NamespaceRow } from "./document.js";

/** What a workspace registered or changed, and what it set for identity. A name that registered itself goes on counting as such. */
export const createNamespaces = (deps: CatalogDeps): Methods => ({ ...createNames(deps), ...createSettings(deps) });

function createNames({
  catalog,
  session,
  change,
}: CatalogDeps): Pick<Methods, "namespaces" | "changeNamespace" | "registerNamespaces"> {
  /** The `rev` of the document that a list was read from: any change of the workspace's catalog raises it. */
  const revs = new WeakMap<readonly Namespace[], readonly [WorkspaceId, number]>();
  const find = (workspace: WorkspaceId, projection: Readonly<Record<string, 1>>) =>
    session.call(() => catalog.findOne({ _id: workspace }, { projection }));
  const isLatest = async (workspace: WorkspaceId, known: readonly Namespace[]): Promise<boolean> => {
    const [of, rev] = revs.get(known) ?? [];
    return of === workspace && rev === ((await find(workspace, { rev: 1 }))?.rev ?? 0);
  };
  return {
    namespaces: async (workspace, known) => {
      if (known !== undefined && (await isLatest(workspace, known))) return known;
      const found = await find(workspace, { rev: 1, namespaces: 1 });
      const list = (found?.namespaces ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(toNamespace);
      revs.set(list, [workspace, found?.rev ?? 0]);
      return list;
    },
    changeNamespace: (workspace, name, make) =>
      change(workspace, {
        sections: ["namespaces"],
        decide: ({ namespaces }) => {
          const old = namespaces.find((row) => row.name === name);
          const made = make(old === undefined ? null : toNamespace(old), namespaces.map(toNamespace));
          const row = toRow({ ...made, name, registeredItself: old?.registered_itself ?? false });
          const others = namespaces.filter((other) => other !== old);
          return { change: { namespaces: [...others, row] }, result: toNamespace(row) };
        },
      }),
    registerNamespaces: (workspace, given, max) =>
      change(workspace, {
        sections: ["namespaces"],
        decide: ({ namespaces }) => {
          const changed = registerNamespaces(namespaces.map(toNamespace), given, max);
          if (changed === null || changed.length === 0) return { change: null, result: changed !== null };
          const names = new Set(changed.map(({ name }) => name));
          const others = namespaces.filter(({ name }) => !names.has(name));
          return { change: { namespaces: [...others, ...changed.map(toRow)] }, result: true };
        },
      }),
  };
}

const toRow = (namespace: Namespace): NamespaceRow => ({
  name: namespace.name,
  kind: namespace.kind,
  normalization: namespace.normalization,
  limit: namespace.limit,
  priority: namespace.priority,
  blocked: namespace.blocked,
  registered_itself: namespace.registeredItself,
  used: namespace.used,
});
const toNamespace = (row: NamespaceRow): Namespace => ({
  name: row.name,
  kind: row.kind,
  normalization: row.normalization,
  limit: row.limit,
  priority: row.priority,
  blocked: row.blocked,
  registeredItself: row.registered_itself,
  used: row.used,
});

const createSettings = ({
  catalog,
  session,
  change,
}: CatalogDeps): Pick<Methods, "identitySettings" | "putIdentitySettings"> => ({
  identitySettings: async (workspace) => {
    const projection = { identity_settings: 1 };
    const found = await session.call(() => catalog.findOne({ _id: workspace }, { projection }));
    const row = found?.identity_settings ?? null;
    if (row === null) return DEFAULT_IDENTITY_SETTINGS;
    return {
      sharedIdentifierLimit: row.shared_identifier_limit,
      sendingKeysAddNamespaces: row.sending_keys_add_namespaces,
    };
  },
  putIdentitySettings: (workspace, { sharedIdentifierLimit, sendingKeysAddNamespaces }) =>
    change(workspace, {
      sections: ["identity_settings"],
      decide: () => ({
        change: {
          identity_settings: {
            shared_identifier_limit: sharedIdentifierLimit,
            sending_keys_add_namespaces: sendingKeysAddNamespaces,
          },
        },
        result: undefined,
      }),
    }),
});
