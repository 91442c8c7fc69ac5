import type { Namespace } from "../core/catalog.js";
import { AppError, type ErrorItem } from "../core/errors.js";
import type { WorkspaceId } from "../core/ids.js";
import { namespaceTable, type Unregistered } from "../core/namespaces.js";
import type { CatalogStore } from "../core/ports.js";
import { pageOf, readLimit, type Cursors } from "./cursor.js";
import { reply, type Route } from "./route.js";
import { mismatch } from "./shape.js";

export interface NamespacesDeps {
  readonly catalog: Pick<CatalogStore, "namespaces">;
  readonly cursors: Cursors;
}

export function namespaceRoutes({ catalog, cursors }: NamespacesDeps): readonly Route[] {
  const access = { kind: "role", role: "viewer" } as const;
  return [
    {
      method: "get",
      path: "/v1/namespaces",
      access,
      body: "none",
      query: ["limit", "cursor"],
      handle: async ({ workspace, query }) => {
        const after = cursors.read(workspace, "namespaces", query)?.[0] ?? "";
        const limit = readLimit(query);
        const names = [...namespaceTable(await catalog.namespaces(workspace)).values()]
          .toSorted((a, b) => (a.name < b.name ? -1 : 1))
          .filter(({ name }) => name > after);
        const { items, next_cursor } = pageOf(names, limit, ({ name }) =>
          cursors.write(workspace, "namespaces", [name]),
        );
        return reply(200, { namespaces: items.map(showNamespace), next_cursor });
      },
    },
    {
      method: "get",
      path: "/v1/namespaces/:name",
      access,
      body: "none",
      query: [],
      handle: async ({ workspace, params }) => {
        const namespace = namespaceTable(await catalog.namespaces(workspace)).get(params["name"] ?? "");
        if (namespace === undefined) throw new AppError("not_found", "There is no such namespace.");
        return reply(200, showNamespace(namespace));
      },
    },
  ];
}

const showNamespace = ({ name, kind, normalization, limit, priority, blocked }: Namespace) => ({
  name,
  kind,
  normalization,
  limit,
  priority,
  blocked,
});

/** Makes names seen for the first time known. Throws `validation_failed` when the workspace has too many of its own. */
export async function registerNamespaces(
  {
    catalog,
    namespacesMax,
  }: { readonly catalog: Pick<CatalogStore, "registerNamespaces">; readonly namespacesMax: number },
  workspace: WorkspaceId,
  unregistered: readonly Unregistered[],
): Promise<void> {
  if (unregistered.length === 0) return;
  const names = unregistered.map(({ namespace }) => namespace);
  if (!(await catalog.registerNamespaces(workspace, names, namespacesMax)))
    throw mismatch([limitItem(unregistered[0]!, namespacesMax)]);
}

/** The same answer without registering anything. */
export function beyondNamespaces(
  stored: readonly Namespace[],
  unregistered: readonly Unregistered[],
  max: number,
): readonly ErrorItem[] {
  const own = stored.filter(({ builtIn }) => !builtIn).length;
  return unregistered.length > 0 && own + unregistered.length > max ? [limitItem(unregistered[0]!, max)] : [];
}

const limitItem = ({ path, namespace }: Unregistered, max: number): ErrorItem => ({
  path,
  message: `namespace ${namespace.name} would be beyond the ${max} that a workspace may add by use`,
});
