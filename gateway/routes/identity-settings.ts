import type { Services } from "../../commands/services.js";
import type { IdentitySettings } from "../../core/catalog/catalog.js";
import { reply, route, type Route } from "../route.js";
import { integerOrNull, record } from "../shapes/fields.js";

const SETTINGS = record({ shared_identifier_limit: integerOrNull(1, 100) });

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
    summary: "Set all of it",
    access: { kind: "role", role: "admin" },
    body: SETTINGS,
    responses: { 200: SETTINGS },
    handle: async ({ workspace, body }) => {
      const settings = { sharedIdentifierLimit: body.shared_identifier_limit };
      await catalog.putIdentitySettings(workspace, settings);
      return reply(200, show(settings));
    },
  }),
];

const show = ({ sharedIdentifierLimit }: IdentitySettings) => ({ shared_identifier_limit: sharedIdentifierLimit });
