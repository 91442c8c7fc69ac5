import { Type } from "typebox";
import type { Services } from "../../commands/services.js";
import type { IdentitySettings } from "../../core/catalog/catalog.js";
import { reply, route, type Route } from "../route.js";
import { integerOrNull, record } from "../shapes/fields.js";

const LIMIT = { shared_identifier_limit: integerOrNull(1, 100) };
const SETTINGS = record({ ...LIMIT, ingest_only_adds_namespaces: Type.Boolean() });

export const identitySettingsRoutes = ({ catalog }: Services): readonly Route[] => [
  route({
    method: "get",
    path: "/v1/identity/settings",
    summary: "What the workspace set for identity",
    access: { kind: "role", role: "viewer" },
    responses: { 200: SETTINGS },
    handle: async ({ workspace }) => reply(200, show(await catalog.identitySettings(workspace))),
  }),
  route({
    method: "put",
    path: "/v1/identity/settings",
    summary: "Set all of it; what may be omitted is then false",
    access: { kind: "role", role: "admin" },
    body: record({ ...LIMIT, ingest_only_adds_namespaces: Type.Optional(Type.Boolean()) }),
    responses: { 200: SETTINGS },
    handle: async ({ workspace, body }) => {
      const settings = {
        sharedIdentifierLimit: body.shared_identifier_limit,
        ingestOnlyAddsNamespaces: body.ingest_only_adds_namespaces ?? false,
      };
      await catalog.putIdentitySettings(workspace, settings);
      return reply(200, show(settings));
    },
  }),
];

const show = ({ sharedIdentifierLimit, ingestOnlyAddsNamespaces }: IdentitySettings) => ({
  shared_identifier_limit: sharedIdentifierLimit,
  ingest_only_adds_namespaces: ingestOnlyAddsNamespaces,
});
