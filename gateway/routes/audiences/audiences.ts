import { Type } from "typebox";
import {
  audienceIn,
  changeAudience,
  createAudience,
  deleteAudience,
  type StandingAudience,
} from "../../../commands/audiences/change.js";
import type { Services } from "../../../commands/services.js";
import type { Audience } from "../../../core/audience/audience.js";
import { countingAudiences } from "../../../core/audience/tallies.js";
import { showTime } from "../../../core/event/time.js";
import type { AudienceId, WorkspaceId } from "../../../core/ids.js";
import type { Sizes } from "../../../core/ports/seat-store.js";
import { problemSchema } from "../../http/error-response.js";
import { reply, route, type Reply, type Route } from "../../route.js";
import { etagOf, readIfMatch } from "../../shapes/etag.js";
import { answered } from "../../shapes/examples.js";
import { idOf, record, TIME, UUID } from "../../shapes/fields.js";
import { list } from "../../shapes/page.js";

const NAME = Type.String({ minLength: 1, maxLength: 256 });
const RULE = Type.Object({});
/** What a client gives of it. */
export const AUDIENCE_GIVEN = { name: NAME, rule: RULE };
const COUNT = Type.Integer({ minimum: 0 });
export const STATE = Type.Union([Type.Literal("counting"), Type.Literal("building"), Type.Literal("live")]);
const AUDIENCE = record({
  audience_id: UUID,
  ...AUDIENCE_GIVEN,
  version: Type.Integer({ minimum: 1 }),
  state: STATE,
  size: COUNT,
  as_of_seq: COUNT,
  progress: Type.Optional(record({ profiles: COUNT })),
  created_at: TIME,
});
const IN_PARIS = { "traits.city": "Paris" };

export function audienceRoutes(services: Services): readonly Route[] {
  const read = { kind: "role", role: "viewer" } as const;
  const write = { kind: "role", role: "editor" } as const;
  const params = { id: idOf("audience") };
  // Of a change before it is written: who gets 503 asks again, and would make a second one.
  const sizesOf = (workspace: WorkspaceId): Promise<Sizes> => services.seats.sizes(workspace);
  return [
    route({
      method: "post",
      path: "/v1/audiences",
      operationId: "createAudience",
      tag: "Audiences",
      summary: "Create an audience: a named rule over profiles",
      description: "When you read a profile, `audiences` lists the audiences that it is in.",
      example: { after: ["registerSchema"], body: { name: "Parisians", rule: IN_PARIS } },
      access: write,
      body: record(AUDIENCE_GIVEN),
      hasEtag: true,
      responses: { 201: AUDIENCE },
      handle: async (context) => {
        const sizes = await sizesOf(context.workspace);
        return answer(201, await createAudience(services, context, context.body), sizes);
      },
    }),
    list({
      path: "/v1/audiences",
      operationId: "listAudiences",
      tag: "Audiences",
      summary: "Audiences, oldest first",
      example: {},
      access: read,
      name: "audiences",
      item: AUDIENCE,
      // Its rule is the most of it. A page has room for as many as a workspace may have.
      itemBytes: 18_432,
      read: async ({ workspace }, { limit, after }) => {
        const set = await services.audiences.audiences(workspace);
        const counting = countingAudiences(set);
        const from = after?.[0] ?? "";
        const sizes = await sizesOf(workspace);
        const page = set.audiences.filter(({ audienceId }) => audienceId > from).slice(0, limit);
        return page.map((audience) => ({ audience, sizes, counting }));
      },
      position: ({ audience: { audienceId } }) => [audienceId],
      show: ({ audience, sizes, counting }) => shown(audience, sizes, counting),
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
      hasEtag: true,
      responses: { 200: AUDIENCE },
      handle: async ({ workspace, params: { id } }) => {
        const set = await services.audiences.audiences(workspace);
        const audience = audienceIn(set, id as AudienceId);
        return answer(200, { audience, set }, await sizesOf(workspace));
      },
    }),
    route({
      method: "put",
      path: "/v1/audiences/:id",
      operationId: "putAudience",
      tag: "Audiences",
      summary: "Change an audience; omitted fields stay as they are",
      example: { params: { id: answered("createAudience", "/audience_id") }, body: { name: "People of Paris" } },
      access: write,
      params,
      body: record({ name: Type.Optional(NAME), rule: Type.Optional(RULE) }),
      hasEtag: true,
      responses: { 200: AUDIENCE, 412: problemSchema(412) },
      handle: async ({ workspace, params: { id }, body, ifMatch }) => {
        const mayChange = mayChangeBy(ifMatch);
        const sizes = await sizesOf(workspace);
        return answer(200, await changeAudience(services, workspace, id as AudienceId, body, mayChange), sizes);
      },
    }),
    route({
      method: "delete",
      path: "/v1/audiences/:id",
      operationId: "deleteAudience",
      tag: "Audiences",
      summary: "Delete an audience; 409 if others refer to it",
      example: { params: { id: answered("createAudience", "/audience_id") } },
      access: write,
      params,
      responses: {
        204: null,
        409: problemSchema(409, { audience_ids: Type.Optional(Type.Array(UUID)) }),
        412: problemSchema(412),
      },
      handle: async ({ workspace, params: { id }, ifMatch }) => {
        await deleteAudience(services, workspace, id as AudienceId, mayChangeBy(ifMatch));
        return { status: 204, json: "" };
      },
    }),
  ];
}

function answer(status: number, { audience, set }: StandingAudience, sizes: Sizes): Reply {
  const answered = reply(status, shown(audience, sizes, countingAudiences(set)));
  return { ...answered, headers: { ...answered.headers, ETag: etagOf(definitionOf(audience)) } };
}

/** What a client changes, and so what If-Match compares: sizes change by themselves. */
const definitionOf = ({ audienceId, name, text, version }: Audience): string =>
  JSON.stringify([audienceId, version, name, text]);

function mayChangeBy(ifMatch: string | null): (standing: Audience) => boolean {
  const matches = readIfMatch(ifMatch);
  return (standing) => matches(definitionOf(standing));
}

/** What is still to be done until the stored members are those of the rule. */
export const stateOf = (
  { audienceId, build }: Pick<Audience, "audienceId" | "build">,
  counting: ReadonlySet<AudienceId>,
): "counting" | "building" | "live" => (build === null ? "live" : counting.has(audienceId) ? "counting" : "building");

const shown = (
  { audienceId, name, text, version, createdAt, build }: Audience,
  { sizes, head }: Sizes,
  counting: ReadonlySet<AudienceId>,
) => ({
  audience_id: audienceId,
  name,
  rule: JSON.parse(text) as object,
  version,
  state: stateOf({ audienceId, build }, counting),
  size: sizes.get(audienceId) ?? 0,
  as_of_seq: head,
  ...(build !== null && { progress: { profiles: build.judged } }),
  created_at: showTime(createdAt),
});
