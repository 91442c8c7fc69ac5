import { Type } from "typebox";
import { PAGE_BYTES_MAX } from "../../commands/read-event.js";
import { requireProfile } from "../../commands/read-profile.js";
import type { Services } from "../../commands/services.js";
import { AppError } from "../../core/errors.js";
import { OUTCOMES, type Change } from "../../core/identity/model.js";
import type { ChangeId } from "../../core/ids.js";
import { reply, route, type Context, type Page, type Route } from "../route.js";
import { answered } from "../shapes/examples.js";
import { idOf } from "../shapes/fields.js";
import { list } from "../shapes/page.js";
import { CHANGE, CHANGE_BYTES, showChange } from "../shapes/records.js";

const HISTORY = "/v1/profiles/:id/history";

export function changeRoutes(services: Services): readonly Route[] {
  const { identity } = services;
  const access = { kind: "role", role: "viewer" } as const;
  const changes = {
    access,
    name: "changes",
    item: CHANGE,
    itemBytes: CHANGE_BYTES,
    position: ({ changeId }: Change) => [changeId],
    show: showChange,
  };
  /** Of the pages that are being made: all members of a profile are looked at once for all portions of a page. */
  const idsOfPages = new WeakMap<Page, readonly ChangeId[]>();
  const idsOfPage = async ({ workspace, page, takeTurn }: Context, id: string): Promise<readonly ChangeId[]> => {
    const known = idsOfPages.get(page);
    if (known !== undefined) return known;
    const profileId = await requireProfile(services, workspace, id);
    const before = (page.after?.[0] ?? null) as ChangeId | null;
    const ids = await identity.historyIds(workspace, profileId, { limit: page.limit + 1, before });
    idsOfPages.set(page, ids);
    // Others may have been looking at their members too, and are not to read their records in the same turn.
    const items = Math.min(Math.ceil(PAGE_BYTES_MAX / CHANGE_BYTES), page.limit);
    await takeTurn({ bytes: items * CHANGE_BYTES, of: { list: HISTORY, items } });
    return ids;
  };
  return [
    list({
      ...changes,
      path: "/v1/changes",
      operationId: "listChanges",
      tag: "Identity",
      summary: "All changes of links, newest first",
      example: { after: ["identify"] },
      query: { outcome: Type.Optional(Type.Enum(OUTCOMES)) },
      read: ({ workspace, query }, { limit, after }) =>
        identity.changes(workspace, query.outcome ?? null, { limit, before: (after?.[0] ?? null) as ChangeId | null }),
    }),
    route({
      method: "get",
      path: "/v1/changes/:id",
      operationId: "getChange",
      tag: "Identity",
      summary: "One change",
      example: { params: { id: answered("identify", "/change_id") } },
      access,
      params: { id: idOf("change") },
      responses: { 200: CHANGE },
      handle: async ({ workspace, params }) => {
        const change = await identity.findChange(workspace, params.id as ChangeId);
        if (change === null) throw new AppError("not_found", "There is no such change.");
        return reply(200, showChange(change));
      },
    }),
    list({
      ...changes,
      path: HISTORY,
      operationId: "listProfileHistory",
      tag: "Read",
      summary: "Changes of one profile, newest first",
      example: { params: { id: answered("identify", "/profile_id") } },
      params: { id: idOf("profile") },
      read: async (context, { limit, after }) => {
        const ids = await idsOfPage(context, context.params.id);
        const rest = ids.slice(ids.indexOf(after?.[0] as ChangeId) + 1);
        return identity.findChanges(context.workspace, rest.slice(0, limit));
      },
    }),
  ];
}
