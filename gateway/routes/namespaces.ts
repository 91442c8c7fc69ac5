import { Type } from "typebox";
import { changeNamespace } from "../../commands/change-namespace.js";
import type { Services } from "../../commands/services.js";
import type { Namespace } from "../../core/catalog/catalog.js";
import { AppError } from "../../core/errors.js";
import { namespaceTable } from "../../core/identity/namespaces.js";
import type { WorkspaceId } from "../../core/ids.js";
import { problemSchema } from "../http/error-response.js";
import { reply, route, type Route } from "../route.js";
import { readIfMatch, withEtag } from "../shapes/etag.js";
import { USER } from "../shapes/examples.js";
import { integerOrNull, nameOf, record } from "../shapes/fields.js";
import { list } from "../shapes/page.js";

export const NAMESPACE_SETTINGS = {
  kind: Type.Enum(["person", "device"]),
  normalization: Type.Enum(["none", "email", "phone"]),
  limit: integerOrNull(1, 1_000),
  priority: Type.Integer({ minimum: 0, maximum: 1_000 }),
  blocked: Type.Array(Type.String({ minLength: 1, maxLength: 1_024 }), { maxItems: 1_000 }),
};
const NAMESPACE = record({ name: Type.String(), ...NAMESPACE_SETTINGS });

export function namespaceRoutes(services: Pick<Services, "catalog" | "identity" | "audiences">): readonly Route[] {
  const access = { kind: "role", role: "viewer" } as const;
  const params = { name: nameOf("namespace") };
  const tableOf = async (workspace: WorkspaceId) => namespaceTable(await services.catalog.namespaces(workspace));
  return [
    list({
      path: "/v1/namespaces",
      operationId: "listNamespaces",
      tag: "Identity",
      summary: "Built-in and own namespaces, by name",
      example: {},
      access,
      name: "namespaces",
      item: NAMESPACE,
      read: async ({ workspace }, { limit, after }) =>
        [...(await tableOf(workspace)).values()]
          .toSorted((a, b) => (a.name < b.name ? -1 : 1))
          .filter(({ name }) => name > (after?.[0] ?? ""))
          .slice(0, limit),
      position: ({ name }) => [name],
      show,
    }),
    route({
      method: "get",
      path: "/v1/namespaces/:name",
      operationId: "getNamespace",
      tag: "Identity",
      summary: "One namespace",
      example: { params: { name: USER.namespace } },
      access,
      params,
      hasEtag: true,
      responses: { 200: NAMESPACE },
      handle: async ({ workspace, params: { name } }) => {
        const namespace = (await tableOf(workspace)).get(name);
        if (namespace === undefined) throw new AppError("not_found", "There is no such namespace.");
        return withEtag(reply(200, show(namespace)));
      },
    }),
    route({
      method: "put",
      path: "/v1/namespaces/:name",
      operationId: "putNamespace",
      tag: "Identity",
      summary: "Create or change a namespace; omitted settings stay as they are",
      description: "With `limit: 1` a profile never gets a second value of it.",
      example: { params: { name: USER.namespace }, body: { limit: 1 } },
      access: { kind: "role", role: "admin" },
      params,
      body: Type.Partial(record(NAMESPACE_SETTINGS), { additionalProperties: false }),
      hasEtag: true,
      responses: { 200: NAMESPACE, 201: NAMESPACE, 409: problemSchema(409), 412: problemSchema(412) },
      handle: async ({ workspace, params: { name }, body, ifMatch }) => {
        const matches = readIfMatch(ifMatch);
        const mayChange = (standing: Namespace | null): boolean =>
          matches(standing === null ? null : JSON.stringify(show(standing)));
        const { namespace, isNew } = await changeNamespace(services, workspace, name, body, mayChange);
        return withEtag(reply(isNew ? 201 : 200, show(namespace)));
      },
    }),
  ];
}

const show = ({ name, kind, normalization, limit, priority, blocked }: Namespace) => ({
  name,
  kind,
  normalization,
  limit,
  priority,
  blocked,
});
