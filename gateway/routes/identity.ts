import { Type } from "typebox";
import type { Services } from "../../commands/services.js";
import { explainIdentifiers } from "../../commands/unlink-identifiers.js";
import type { IdentitySettings } from "../../core/catalog/catalog.js";
import { LINKS_BYTES_MAX } from "../../core/identity/api.js";
import type { Uid } from "../../core/ids.js";
import { createAtOnce, readsAtOnce } from "../access/at-once.js";
import { problemSchema } from "../http/error-response.js";
import { reply, route, type Context, type Reply, type Route } from "../route.js";
import { EMAIL, USER } from "../shapes/examples.js";
import { IDENTIFIER, integerOrNull, nullable, record, UUID } from "../shapes/fields.js";
import { NEXT_CURSOR, PAGE, wholePage } from "../shapes/page.js";
import { IDENTIFIER_BYTES, LINK, showLink, SHOWN_IDENTIFIER } from "../shapes/records.js";

const LIMIT = { shared_identifier_limit: integerOrNull(1, 100) };
export const IDENTITY_SETTINGS = { ...LIMIT, sending_keys_add_namespaces: Type.Boolean() };
const SETTINGS = record(IDENTITY_SETTINGS);

/** The path and its bridges. */
const EXPLAIN_BYTES = 2 * LINKS_BYTES_MAX;
/** Of large profiles one of a workspace is explained at a time, and the others hold their bytes until it is done. */
const EXPLANATIONS_AT_ONCE = 4;

/** Why two are one person, which identifiers are shared, and what the workspace set. */
export function identityRoutes(services: Services): readonly Route[] {
  const { catalog, identity } = services;
  const access = { kind: "role", role: "viewer" } as const;
  const inTurn = createAtOnce(readsAtOnce(EXPLANATIONS_AT_ONCE, "explanations"));
  return [
    route({
      method: "post",
      path: "/v1/identity/explain",
      operationId: "explain",
      tag: "Identity",
      summary: "Why two identifiers are one person",
      description:
        "The shortest path between them, with the evidence of each link. A long path is cut, and `partial` is true.",
      example: { after: ["identify"], body: { from: EMAIL, to: USER } },
      access,
      body: record({ from: IDENTIFIER, to: IDENTIFIER }),
      isRead: true,
      responses: {
        200: record({
          connected: Type.Boolean(),
          profile_id: nullable(UUID),
          path: nullable(Type.Array(LINK)),
          bridges: nullable(Type.Array(LINK)),
          partial: Type.Optional(Type.Literal(true)),
        }),
        404: problemSchema(404),
      },
      handle: async ({ workspace, body, takeBytesForLong, isGone }) => {
        const explanation = await inTurn({ workspace, isGone }, async () => {
          await takeBytesForLong(EXPLAIN_BYTES);
          return explainIdentifiers(services, workspace, body);
        });
        const { connected, profileId, path, bridges, isPartial } = explanation;
        return reply(200, {
          connected,
          profile_id: profileId,
          path: path?.map(showLink) ?? null,
          bridges: bridges?.map(showLink) ?? null,
          ...(isPartial && { partial: true }),
        });
      },
    }),
    route({
      method: "get",
      path: "/v1/identity/shared-identifiers",
      operationId: "listSharedIdentifiers",
      tag: "Identity",
      summary: "Identifiers that too many people share",
      example: {},
      access,
      query: PAGE,
      responses: {
        200: record({
          shared_identifiers: Type.Array(record({ ...SHOWN_IDENTIFIER.properties, profile_id: nullable(UUID) })),
          next_cursor: NEXT_CURSOR,
        }),
      },
      handle: (context) => wholePage(context, IDENTIFIER_BYTES, () => readShared(identity, context)),
    }),
    route({
      method: "get",
      path: "/v1/identity/settings",
      operationId: "getIdentitySettings",
      tag: "Identity",
      summary: "The identity settings",
      example: {},
      access: { kind: "role", role: "viewer" },
      responses: { 200: SETTINGS },
      handle: async ({ workspace }) => reply(200, showSettings(await catalog.identitySettings(workspace))),
    }),
    route({
      method: "put",
      path: "/v1/identity/settings",
      operationId: "putIdentitySettings",
      tag: "Identity",
      summary: "Replace the identity settings; sending_keys_add_namespaces defaults to false",
      example: { body: { shared_identifier_limit: 5 } },
      access: { kind: "role", role: "admin" },
      body: record({ ...LIMIT, sending_keys_add_namespaces: Type.Optional(Type.Boolean()) }),
      responses: { 200: SETTINGS },
      handle: async ({ workspace, body }) => {
        const settings = {
          sharedIdentifierLimit: body.shared_identifier_limit,
          sendingKeysAddNamespaces: body.sending_keys_add_namespaces ?? false,
        };
        await catalog.putIdentitySettings(workspace, settings);
        return reply(200, showSettings(settings));
      },
    }),
  ];
}

async function readShared(
  identity: Services["identity"],
  { workspace, page: { limit, after, cursorOf } }: Pick<Context, "workspace" | "page">,
): Promise<Reply> {
  const page = { limit, after: (after?.[0] ?? null) as Uid | null };
  const { members, next } = await identity.sharedIdentifiers(workspace, page);
  const identifiers = members.map(({ identifier }) => identifier);
  const refs = await identity.lookup(workspace, identifiers);
  return reply(200, {
    shared_identifiers: identifiers.map(({ namespace, value }, i) => {
      return { namespace, value, profile_id: refs[i]?.profileId ?? null };
    }),
    next_cursor: next === null ? null : cursorOf([next]),
  });
}

const showSettings = ({ sharedIdentifierLimit, sendingKeysAddNamespaces }: IdentitySettings) => ({
  shared_identifier_limit: sharedIdentifierLimit,
  sending_keys_add_namespaces: sendingKeysAddNamespaces,
});
