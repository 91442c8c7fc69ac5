import { Type } from "typebox";
import type { Identity } from "../../core/identity/api.js";
import type { Member } from "../../core/identity/model.js";
import type { Uid } from "../../core/ids.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import { admitEach, IDENTIFIER, withoutBlocked } from "../shapes/admission.js";
import { pageOf, readLimit, type Cursors } from "../shapes/cursor.js";
import { showLink } from "../shapes/evidence.js";
import { reply, type Context, type Reply, type Route } from "../route.js";
import { shape } from "../shapes/shape.js";

export interface ExplainDeps {
  readonly catalog: Pick<CatalogStore, "namespaces">;
  readonly identity: Pick<Identity, "explain" | "sharedIdentifiers" | "lookup">;
  readonly cursors: Cursors;
}

const explainBody = shape(Type.Object({ from: IDENTIFIER, to: IDENTIFIER }, { additionalProperties: false }));

export function explainRoutes(deps: ExplainDeps): readonly Route[] {
  const access = { kind: "role", role: "viewer" } as const;
  return [
    {
      method: "post",
      path: "/v1/identity/explain",
      access,
      body: "json",
      query: [],
      handle: (context) => explain(deps, context),
    },
    {
      method: "get",
      path: "/v1/identity/shared-identifiers",
      access,
      body: "none",
      query: ["limit", "cursor"],
      handle: (context) => sharedIdentifiers(deps, context),
    },
  ];
}

async function explain({ catalog, identity }: ExplainDeps, { workspace, body }: Context): Promise<Reply> {
  const { from, to } = explainBody(body).value;
  const named = [
    { path: "from", ...from },
    { path: "to", ...to },
  ];
  const { identifiers } = admitEach(named, withoutBlocked(await catalog.namespaces(workspace)));
  const { connected, profileId, path, bridges } = await identity.explain(workspace, identifiers[0]!, identifiers[1]!);
  return reply(200, {
    connected,
    profile_id: profileId,
    path: path?.map(showLink) ?? null,
    bridges: bridges?.map(showLink) ?? null,
    ...(connected && path === null && { partial: true }),
  });
}

async function sharedIdentifiers({ identity, cursors }: ExplainDeps, { workspace, query }: Context): Promise<Reply> {
  const after = (cursors.read(workspace, "shared_identifiers", query)?.[0] ?? null) as Uid | null;
  const limit = readLimit(query);
  const rows = await identity.sharedIdentifiers(workspace, { limit: limit + 1, after });
  const { items, next_cursor } = pageOf(rows, limit, ({ uid }) =>
    cursors.write(workspace, "shared_identifiers", [uid]),
  );
  const refs = await identity.lookup(
    workspace,
    items.map(({ identifier }) => identifier),
  );
  const shown = items.map(({ identifier: { namespace, value } }: Member, i) => ({
    namespace,
    value,
    profile_id: refs[i]?.profileId ?? null,
  }));
  return reply(200, { shared_identifiers: shown, next_cursor });
}
