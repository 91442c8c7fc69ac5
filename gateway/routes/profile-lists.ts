import { Type } from "typebox";
import { listProfiles } from "../../commands/search/list.js";
import { countProfiles, searchProfiles } from "../../commands/search/search.js";
import { topProfiles } from "../../commands/search/top.js";
import type { Services } from "../../commands/services.js";
import type { ProfileId } from "../../core/ids.js";
import { createAtOnce, readsAtOnce } from "../access/at-once.js";
import { reply, route, type Route } from "../route.js";
import { EMAIL } from "../shapes/examples.js";
import { record } from "../shapes/fields.js";
import { NEXT_CURSOR, PAGE, PAGE_IN_BODY } from "../shapes/page.js";
import { PROFILE, showProfiles } from "./profiles.js";

/** A walk takes a part of each turn of the event loop. */
const WALKS_AT_ONCE = 10;

const LIST = { profiles: Type.Array(record(PROFILE)), next_cursor: NEXT_CURSOR };
const LOOKED_AT = Type.Integer({ minimum: 0 });
const WALKED = { next_cursor: NEXT_CURSOR, looked_at: LOOKED_AT, partial: Type.Optional(Type.Literal(true)) };

export function profileListRoutes(services: Services): readonly Route[] {
  const access = { kind: "role", role: "viewer" } as const;
  const inTurn = createAtOnce(readsAtOnce(WALKS_AT_ONCE, "searches, counts and rankings"));
  return [
    route({
      method: "get",
      path: "/v1/profiles",
      operationId: "listProfiles",
      tag: "Read",
      summary: "All profiles, oldest first",
      description: "A page of large profiles may have fewer than `limit`.",
      example: { after: ["identify"], query: { limit: 10 } },
      access,
      query: PAGE,
      responses: { 200: record(LIST) },
      handle: async ({ workspace, now, page: { limit, after, cursorOf }, takeBytes }) => {
        const page = { limit, after: (after?.[0] ?? null) as ProfileId | null };
        const { profiles, next } = await listProfiles(services, workspace, page, takeBytes);
        return reply(200, {
          profiles: await showProfiles(services, { workspace, now }, profiles),
          next_cursor: next === null ? null : cursorOf([next]),
        });
      },
    }),
    route({
      method: "post",
      path: "/v1/profiles/search",
      operationId: "searchProfiles",
      tag: "Read",
      summary: "The profiles that match a rule",
      description:
        "Checks up to 5,000 profiles, for up to a quarter of a second; `looked_at` says how many. So a page may be short or empty: " +
        "continue until `next_cursor` is null.",
      example: { after: ["identify"], body: { rule: { [`identifiers.${EMAIL.namespace}`]: EMAIL.value }, limit: 10 } },
      access,
      body: record({ rule: Type.Object({}), ...PAGE_IN_BODY }),
      isRead: true,
      responses: { 200: record({ profiles: LIST.profiles, ...WALKED }) },
      handle: async ({ workspace, now, body: { rule }, page: { limit, after, cursorOf }, takeBytes, isGone }) => {
        const asked = { rule, limit, after: (after?.[0] ?? null) as ProfileId | null, now };
        const { profiles, next, lookedAt, isPartial } = await inTurn({ workspace, isGone }, () =>
          searchProfiles(services, workspace, asked, takeBytes),
        );
        return reply(200, {
          profiles: await showProfiles(services, { workspace, now }, profiles),
          next_cursor: next === null ? null : cursorOf([next]),
          looked_at: lookedAt,
          ...(isPartial && { partial: true }),
        });
      },
    }),
    route({
      method: "post",
      path: "/v1/profiles/count",
      operationId: "countProfiles",
      tag: "Read",
      summary: "How many profiles match a rule, or how many there are",
      description:
        "Checks up to 5,000 profiles, for up to a quarter of a second, and counts the matches: continue until `next_cursor` is null, and add up the counts.",
      example: { after: ["identify"], body: {} },
      access,
      body: record({ rule: Type.Optional(Type.Object({})), cursor: PAGE_IN_BODY.cursor }),
      isRead: true,
      responses: { 200: record({ count: LOOKED_AT, ...WALKED }) },
      handle: async ({ workspace, now, body: { rule = {} }, page: { after, cursorOf }, takeBytes, isGone }) => {
        const asked = { rule, after: (after?.[0] ?? null) as ProfileId | null, now };
        const { count, next, lookedAt, isPartial } = await inTurn({ workspace, isGone }, () =>
          countProfiles(services, workspace, asked, takeBytes),
        );
        return reply(200, {
          count,
          next_cursor: next === null ? null : cursorOf([next]),
          looked_at: lookedAt,
          ...(isPartial && { partial: true }),
        });
      },
    }),
    route({
      method: "post",
      path: "/v1/profiles/top",
      operationId: "topProfiles",
      tag: "Read",
      summary: "The profiles with the greatest values of a trait",
      description:
        "Each call reads some of the profiles, and returns the top ones so far. The result is `exact` once `next_cursor` is null. " +
        "A cursor is valid only with the same `trait` and `limit`.",
      example: { after: ["collect", "registerSchema"], body: { trait: "city", limit: 10 } },
      access,
      body: record({ trait: Type.String({ minLength: 1, maxLength: 64 }), ...PAGE_IN_BODY }),
      cursorKeepsLimit: true,
      isRead: true,
      responses: { 200: record({ ...LIST, exact: Type.Boolean(), looked_at: LOOKED_AT }) },
      handle: async ({ workspace, now, body: { trait }, page: { limit, after, cursorOf }, takeBytes, isGone }) => {
        const [last = null, ...best] = (after ?? []) as readonly ProfileId[];
        const asked = { trait, limit, after: last, best };
        const { profiles, next, lookedAt } = await inTurn({ workspace, isGone }, () =>
          topProfiles(services, workspace, asked, takeBytes),
        );
        return reply(200, {
          profiles: await showProfiles(services, { workspace, now }, profiles),
          next_cursor: next === null ? null : cursorOf([next.last, ...next.best]),
          exact: next === null,
          looked_at: lookedAt,
        });
      },
    }),
  ];
}
