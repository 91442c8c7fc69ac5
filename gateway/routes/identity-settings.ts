import { Type } from "typebox";
import type { IdentitySettings } from "../../core/catalog/catalog.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import { reply, type Route } from "../route.js";
import { shape } from "../shapes/shape.js";

export interface IdentitySettingsDeps {
  readonly catalog: Pick<CatalogStore, "identitySettings" | "putIdentitySettings">;
}

const settingsBody = shape(
  Type.Object(
    { shared_identifier_limit: Type.Unsafe<number | null>({ type: ["integer", "null"], minimum: 1, maximum: 100 }) },
    { additionalProperties: false },
  ),
);

export function identitySettingsRoutes({ catalog }: IdentitySettingsDeps): readonly Route[] {
  return [
    {
      method: "get",
      path: "/v1/identity/settings",
      access: { kind: "role", role: "viewer" },
      body: "none",
      query: [],
      handle: async ({ workspace }) => reply(200, shown(await catalog.identitySettings(workspace))),
    },
    {
      method: "put",
      path: "/v1/identity/settings",
      access: { kind: "role", role: "admin" },
      body: "json",
      query: [],
      handle: async ({ workspace, body }) => {
        const settings = { sharedIdentifierLimit: settingsBody(body).value.shared_identifier_limit };
        await catalog.putIdentitySettings(workspace, settings);
        return reply(200, shown(settings));
      },
    },
  ];
}

const shown = ({ sharedIdentifierLimit }: IdentitySettings) => ({ shared_identifier_limit: sharedIdentifierLimit });
