import { Type, type Static } from "typebox";
import type { Namespace } from "../../core/catalog/catalog.js";
import { AppError, type ErrorItem } from "../../core/errors.js";
import type { Identity } from "../../core/identity/api.js";
import type { WorkspaceId } from "../../core/ids.js";
import {
  NAMESPACE_NAME,
  NAMESPACE_NAME_RULE,
  namespaceTable,
  newNamespace,
  type Unregistered,
} from "../../core/identity/namespaces.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import { pageOf, readLimit, type Cursors } from "../shapes/cursor.js";
import { readIfMatch, withEtag } from "../shapes/etag.js";
import { reply, type Context, type Reply, type Route } from "../route.js";
import { mismatch, shape } from "../shapes/shape.js";

export interface NamespacesDeps {
  readonly catalog: Pick<CatalogStore, "namespaces" | "changeNamespace">;
  readonly identity: Pick<Identity, "hasIdentifiers">;
  readonly cursors: Cursors;
}

/** Of those that a workspace named, changed or used, together: each of them is looked at on the way of every event. */
const STORED_MAX = 1_000;

const CHANGES = Type.Object(
  {
    kind: Type.Optional(Type.Enum(["person", "device"])),
    normalization: Type.Optional(Type.Enum(["none", "email", "phone"])),
    limit: Type.Optional(Type.Unsafe<number | null>({ type: ["integer", "null"], minimum: 1, maximum: 1_000 })),
    priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000 })),
    blocked: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 1_024 }), { maxItems: 1_000 })),
  },
  { additionalProperties: false },
);
const changesBody = shape(CHANGES);

export function namespaceRoutes(deps: NamespacesDeps): readonly Route[] {
  const { catalog, cursors } = deps;
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
        return withEtag(reply(200, showNamespace(namespace)));
      },
    },
    {
      method: "put",
      path: "/v1/namespaces/:name",
      access: { kind: "role", role: "admin" },
      body: "json",
      query: [],
      handle: (context) => put(deps, context),
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

const textOf = (namespace: Namespace): string => JSON.stringify(showNamespace(namespace));

/** What is not given stays as it is. All is decided on what stands at the moment of the change. */
async function put(deps: NamespacesDeps, { workspace, params, body, ifMatch }: Context): Promise<Reply> {
  const name = params["name"] ?? "";
  if (!NAMESPACE_NAME.test(name)) throw mismatch([{ path: "name", message: NAMESPACE_NAME_RULE }]);
  const { value } = changesBody(body);
  const mayChange = readIfMatch(ifMatch);
  const stored = await deps.catalog.namespaces(workspace);
  const refusal = await whyNormalizationStays(deps, workspace, namespaceTable(stored).get(name), value);
  let status = 200;
  const changed = await deps.catalog.changeNamespace(workspace, name, (current) => {
    const standing = current ?? namespaceTable([]).get(name);
    if (!mayChange(standing === undefined ? null : textOf(standing)))
      throw new AppError("precondition_failed", "The namespace is not as If-Match says. Read it again.");
    if (current === null && stored.length >= STORED_MAX)
      throw mismatch([{ path: "name", message: `would be beyond the ${STORED_MAX} that a workspace may have` }]);
    if (renormalizes(standing, value) && refusal !== null) throw new AppError("conflict", refusal);
    status = standing === undefined ? 201 : 200;
    return { ...(standing ?? newNamespace(name)), ...value };
  });
  return withEtag(reply(status, showNamespace(changed)));
}

type Changes = Static<typeof CHANGES>;

/** A new name is not normalised in any way yet. */
const renormalizes = (standing: Namespace | undefined, { normalization }: Changes): boolean =>
  standing !== undefined && normalization !== undefined && standing.normalization !== normalization;

/** Null when it may change. The graph is asked only when it would. */
async function whyNormalizationStays(
  { identity }: NamespacesDeps,
  workspace: WorkspaceId,
  known: Namespace | undefined,
  changes: Changes,
): Promise<string | null> {
  if (known === undefined || !renormalizes(known, changes))
    return "The normalization was changed, or the namespace came, at this moment. Read it again.";
  if (!(await identity.hasIdentifiers(workspace, known.name))) return null;
  return `normalization: stays ${known.normalization}, because the namespace has identifiers that were stored so.`;
}

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
  const own = stored.filter(({ registeredItself }) => registeredItself).length;
  return unregistered.length > 0 && own + unregistered.length > max ? [limitItem(unregistered[0]!, max)] : [];
}

const limitItem = ({ path, namespace }: Unregistered, max: number): ErrorItem => ({
  path,
  message: `namespace ${namespace.name} would be beyond the ${max} that a workspace may add by use`,
});
