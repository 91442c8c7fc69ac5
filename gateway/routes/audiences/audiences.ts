import { Type } from "typebox";
import { changeAudience, createAudience, deleteAudience, requireAudience } from "../../../commands/audiences/change.js";
import type { Services } from "../../../commands/services.js";
import type { Audience } from "../../../core/audience/audience.js";
import { showTime } from "../../../core/event/time.js";
import type { AudienceId } from "../../../core/ids.js";
import { problemSchema } from "../../http/error-response.js";
import { reply, route, type Route } from "../../route.js";
import { readIfMatch, withEtag } from "../../shapes/etag.js";
import { answered } from "../../shapes/examples.js";
import { idOf, record, TIME, UUID } from "../../shapes/fields.js";
import { list } from "../../shapes/page.js";

const NAME = Type.String({ minLength: 1, maxLength: 256 });
const RULE = Type.Object({});
const AUDIENCE = record({
  audience_id: UUID,
  name: NAME,
  rule: RULE,
  version: Type.Integer({ minimum: 1 }),
  created_at: TIME,
});
const IN_PARIS = { "traits.city": "Paris" };

export function audienceRoutes(services: Services): readonly Route[] {
  const read = { kind: "role", role: "viewer" } as const;
  const write = { kind: "role", role: "editor" } as const;
  const params = { id: idOf("audience") };
  return [
    route({
      method: "post",
      path: "/v1/audiences",
      operationId: "createAudience",
      tag: "Audiences",
      summary: "Create an audience: a named rule over profiles",
      description: "Each profile that is read says in which audiences it is.",
      example: { after: ["registerSchema"], body: { name: "Parisians", rule: IN_PARIS } },
      access: write,
      body: record({ name: NAME, rule: RULE }),
      responses: { 201: AUDIENCE },
      handle: async (context) => withEtag(reply(201, show(await createAudience(services, context, context.body)))),
    }),
    list({
      path: "/v1/audiences",
      operationId: "listAudiences",
      tag: "Audiences",
      summary: "Audiences, by age",
      example: {},
      access: read,
      name: "audiences",
      item: AUDIENCE,
      read: async ({ workspace }, { limit, after }) => {
        const { audiences } = await services.audiences.audiences(workspace);
        const from = after?.[0] ?? "";
        return audiences.filter(({ audienceId }) => audienceId > from).slice(0, limit);
      },
      position: ({ audienceId }) => [audienceId],
      show,
    }),
    route({
      method: "get",
      path: "/v1/audiences/:id",
      operationId: "getAudience",
      tag: "Audiences",
      summary: "One audience",
      example: { params: { id: answered("createAudience", "/audience_id") } },
      access: read,
      params,
      responses: { 200: AUDIENCE },
      handle: async ({ workspace, params: { id } }) =>
        withEtag(reply(200, show(await requireAudience(services, workspace, id as AudienceId)))),
    }),
    route({
      method: "put",
      path: "/v1/audiences/:id",
      operationId: "putAudience",
      tag: "Audiences",
      summary: "Change an audience; what is not given stays",
      example: { params: { id: answered("createAudience", "/audience_id") }, body: { name: "People of Paris" } },
      access: write,
      params,
      body: record({ name: Type.Optional(NAME), rule: Type.Optional(RULE) }),
      responses: { 200: AUDIENCE, 412: problemSchema(412) },
      handle: async ({ workspace, params: { id }, body, ifMatch }) => {
        const matches = readIfMatch(ifMatch);
        const mayChange = (standing: Audience): boolean => matches(JSON.stringify(show(standing)));
        return withEtag(reply(200, show(await changeAudience(services, workspace, id as AudienceId, body, mayChange))));
      },
    }),
    route({
      method: "delete",
      path: "/v1/audiences/:id",
      operationId: "deleteAudience",
      tag: "Audiences",
      summary: "Delete an audience that no other refers to",
      example: { params: { id: answered("createAudience", "/audience_id") } },
      access: write,
      params,
      responses: { 204: null, 409: problemSchema(409, { audience_ids: Type.Optional(Type.Array(UUID)) }) },
      handle: async ({ workspace, params: { id } }) => {
        await deleteAudience(services, workspace, id as AudienceId);
        return { status: 204, json: "" };
      },
    }),
  ];
}

const show = ({ audienceId, name, text, version, createdAt }: Audience) => ({
  audience_id: audienceId,
  name,
  rule: JSON.parse(text) as object,
  version,
  created_at: showTime(createdAt),
});
