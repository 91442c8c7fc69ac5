import { Type } from "typebox";
import { checkErased, type Checked } from "../../../commands/erasures/check.js";
import { erase, previewErasure, type GivenTarget } from "../../../commands/erasures/erase.js";
import { readmit } from "../../../commands/erasures/log.js";
import type { Services } from "../../../commands/services.js";
import { AppError } from "../../../core/errors.js";
import { showTime } from "../../../core/event/time.js";
import type { Erasure } from "../../../core/identity/erasure.js";
import type { ErasureId, ProfileId } from "../../../core/ids.js";
import { problemSchema } from "../../http/error-response.js";
import { reply, route, type Context, type Reply, type Route } from "../../route.js";
import { etagOf, readIfMatch } from "../../shapes/etag.js";
import { answered } from "../../shapes/examples.js";
import { FLAG, IDENTIFIER, idOf, nullable, record, TIME, UUID } from "../../shapes/fields.js";
import { list } from "../../shapes/page.js";
import { SHOWN_IDENTIFIER } from "../../shapes/records.js";

const IDENTIFIERS_MAX = 100;
const COUNT = Type.Integer({ minimum: 0 });
const COUNTS = Type.Record(Type.String(), COUNT, { description: "how many, by namespace" });
const STATUS = Type.Enum(["erasing", "completed"]);

const BEGUN = record({ erasure_id: UUID, status: STATUS, erased_at: TIME });
const PREVIEW = record({
  dry_run: Type.Literal(true),
  profile_id: nullable(UUID),
  identifiers: COUNTS,
  events: COUNT,
  partial: Type.Optional(Type.Literal(true)),
  erased_by: Type.Optional(UUID),
});
const RECEIPT = record({
  erasure_id: UUID,
  status: STATUS,
  erased_at: TIME,
  completed_at: nullable(TIME),
  key_id: Type.String(),
  profile_id: nullable(UUID),
  identifiers: COUNTS,
  removed: record({
    events: COUNT,
    damaged_events: COUNT,
    facets: COUNT,
    links: COUNT,
    changes_redacted: COUNT,
    dead_letters: COUNT,
    memberships: COUNT,
  }),
  late: record({ events: COUNT, last_at: nullable(TIME) }),
  suppress: Type.Boolean(),
  readmitted_at: nullable(TIME),
  remains: Type.Array(Type.String()),
});
const CHECKED = record({
  identifier: SHOWN_IDENTIFIER,
  erasure_id: nullable(UUID),
  erased_at: nullable(TIME),
  suppressed: Type.Boolean(),
  in_profile: Type.Boolean(),
});

const QUERY = { dry_run: FLAG };
const RESPONSES = {
  200: PREVIEW,
  202: BEGUN,
  404: problemSchema(404),
  409: problemSchema(409, { profile_ids: Type.Optional(Type.Array(UUID)) }),
  412: problemSchema(412),
};
const ABOUT =
  "From the response on, no read shows the person. Their data is deleted soon after, and the receipt says when. " +
  "With `suppress`, later events do not bring them back, until `readmit`. With `dry_run=true` nothing is erased: 200 says which identifiers would be erased, and how many events were folded into the profile, with an `ETag`; sent as `If-Match`, 412 if it is something else by then. To erase somebody twice answers the same receipt; by identifiers, what came in since and is in no profile goes too.";

export function erasureRoutes(services: Services): readonly Route[] {
  const access = { kind: "role", role: "admin" } as const;
  const show = (erasure: Erasure) => showReceipt(erasure, services.remains);
  const answer = async (
    context: Context<unknown, { readonly dry_run: boolean }>,
    target: GivenTarget,
    suppress: boolean,
  ): Promise<Reply> => {
    if (context.query.dry_run) {
      const { preview, events, isPartial } = await previewErasure(services, context, target);
      const shown = {
        dry_run: true,
        profile_id: preview.profileId,
        identifiers: Object.fromEntries(preview.identifiers),
        events,
        ...(isPartial && { partial: true }),
        ...(preview.erasure !== null && { erased_by: preview.erasure.erasureId }),
      };
      return { ...reply(200, shown), headers: { ETag: etagOf(preview.revision) } };
    }
    const isTag = context.ifMatch === null ? null : readIfMatch(context.ifMatch);
    const isAsSeen = isTag && ((revision: string) => isTag(revision));
    const erasure = await erase(services, context, target, { suppress, isAsSeen });
    services.live.forget(context.workspace);
    return reply(202, showBegun(erasure));
  };
  return [
    route({
      method: "post",
      path: "/v1/erasures",
      operationId: "erase",
      tag: "Erase",
      summary: "Erase a person, by profile id or by identifiers",
      description: `${ABOUT} Identifiers that are in no profile can be erased too: older events with them are then dropped when they arrive.`,
      example: { body: { identifiers: [{ namespace: "email", value: "gone@example.com" }] } },
      access,
      query: QUERY,
      body: record({
        profile_id: Type.Optional(UUID),
        identifiers: Type.Optional(Type.Array(IDENTIFIER, { minItems: 1, maxItems: IDENTIFIERS_MAX })),
        suppress: Type.Optional(Type.Boolean({ default: false })),
      }),
      hasEtag: true,
      responses: RESPONSES,
      handle: (context) => {
        const { profile_id: profileId, identifiers, suppress = false } = context.body;
        return answer(context, { profileId: profileId as ProfileId | undefined, identifiers }, suppress);
      },
    }),
    route({
      method: "delete",
      path: "/v1/profiles/:id",
      operationId: "deleteProfile",
      tag: "Erase",
      summary: "Erase a person by profile id",
      description: ABOUT,
      example: { params: { id: answered("identify", "/profile_id") }, query: { dry_run: true } },
      access,
      params: { id: idOf("profile") },
      query: { ...QUERY, suppress: FLAG },
      hasEtag: true,
      responses: RESPONSES,
      handle: (context) => answer(context, { profileId: context.params.id as ProfileId }, context.query.suppress),
    }),
    list({
      path: "/v1/erasures",
      operationId: "listErasures",
      tag: "Erase",
      summary: "The receipts of all erasures, newest first",
      example: { after: ["erase"] },
      access,
      name: "erasures",
      item: RECEIPT,
      read: ({ workspace }, { limit, after }) =>
        services.erasures.erasures(workspace, { limit, before: (after?.[0] ?? null) as ErasureId | null }),
      position: ({ erasureId }) => [erasureId],
      show,
    }),
    // Before the route with an id: a path is its first route's.
    route({
      method: "post",
      path: "/v1/erasures/check",
      operationId: "checkErased",
      tag: "Erase",
      summary: "Which erasure covers each identifier, and since when",
      example: {
        after: ["erase"],
        body: { identifiers: [{ namespace: "email", value: "gone@example.com" }] },
      },
      access,
      isRead: true,
      body: record({ identifiers: Type.Array(IDENTIFIER, { minItems: 1, maxItems: IDENTIFIERS_MAX }) }),
      responses: { 200: record({ identifiers: Type.Array(CHECKED) }) },
      handle: async ({ workspace, body }) =>
        reply(200, { identifiers: (await checkErased(services, workspace, body.identifiers)).map(showChecked) }),
    }),
    route({
      method: "get",
      path: "/v1/erasures/:id",
      operationId: "getErasure",
      tag: "Erase",
      summary: "The receipt of an erasure",
      description: "It holds no personal data. `remains` names what an erasure cannot delete.",
      example: { params: { id: answered("erase", "/erasure_id") } },
      access,
      params: { id: idOf("erasure") },
      responses: { 200: RECEIPT },
      handle: async ({ workspace, params: { id } }) =>
        reply(200, show(found(await services.erasures.findErasure(workspace, id as ErasureId)))),
    }),
    route({
      method: "post",
      path: "/v1/erasures/:id/readmit",
      operationId: "readmit",
      tag: "Erase",
      summary: "End the suppression of an erasure: new events of the person create a new profile",
      example: { params: { id: answered("erase", "/erasure_id") } },
      access,
      params: { id: idOf("erasure") },
      body: record({}),
      bodyIs: "optional",
      responses: { 200: RECEIPT },
      handle: async ({ workspace, params: { id }, now }) =>
        reply(200, show(found(await readmit(services, workspace, id as ErasureId, now)))),
    }),
  ];
}

function found(erasure: Erasure | null): Erasure {
  if (erasure === null) throw new AppError("not_found", "There is no such erasure.");
  return erasure;
}

const showBegun = ({ erasureId, completedAt, erasedAt }: Erasure) => ({
  erasure_id: erasureId,
  status: completedAt === null ? "erasing" : "completed",
  erased_at: showTime(erasedAt),
});

const showReceipt = (erasure: Erasure, remains: readonly string[]) => ({
  ...showBegun(erasure),
  completed_at: erasure.completedAt && showTime(erasure.completedAt),
  key_id: erasure.keyId,
  profile_id: erasure.profileId,
  identifiers: Object.fromEntries(erasure.identifiers),
  removed: {
    events: erasure.removed["events"] ?? 0,
    damaged_events: erasure.removed["damaged"] ?? 0,
    facets: erasure.removed["facets"] ?? 0,
    links: erasure.links,
    changes_redacted: erasure.changes,
    dead_letters: erasure.removed["letters"] ?? 0,
    memberships: erasure.removed["memberships"] ?? 0,
  },
  late: { events: erasure.late.events, last_at: erasure.late.lastAt && showTime(erasure.late.lastAt) },
  suppress: erasure.suppress,
  readmitted_at: erasure.readmittedAt && showTime(erasure.readmittedAt),
  remains,
});

const showChecked = ({ identifier, tombstone, isKnown }: Checked) => ({
  identifier,
  erasure_id: tombstone?.erasureId ?? null,
  erased_at: tombstone && showTime(tombstone.erasedAt),
  suppressed: tombstone?.isSuppressed ?? false,
  in_profile: isKnown,
});
