import { Type } from "typebox";
import type { Services } from "../../commands/services.js";
import { unlinkIdentifiers } from "../../commands/unlink-identifiers.js";
import { AppError } from "../../core/errors.js";
import { showTime } from "../../core/event/time.js";
import type { PathLink, UndoResult } from "../../core/identity/api.js";
import type { Evidence } from "../../core/identity/model.js";
import type { ChangeId, ForbiddenPairId } from "../../core/ids.js";
import { problemSchema } from "../http/error-response.js";
import { reply, route, type Context, type Route } from "../route.js";
import { answered, DEVICE, USER } from "../shapes/examples.js";
import { FLAG, IDENTIFIER, idOf, nullable, record, TIME, UUID } from "../shapes/fields.js";
import { list } from "../shapes/page.js";
import { DROPPED_LINK, IDENTIFIER_BYTES, LINK, REF, showLink, showRef, SHOWN_IDENTIFIER } from "../shapes/records.js";

/** `partial`: the path goes on, or there are more dropped links. */
const STILL_JOINED = {
  still_joined_by: Type.Optional(Type.Array(LINK)),
  partial: Type.Optional(Type.Literal(true)),
};

const UNDONE = record({
  outcome: Type.Enum(["unlinked", "forbidden", "reverted", "allowed", "unchanged"]),
  profile_ids: Type.Array(UUID),
  change_id: nullable(UUID),
  ...STILL_JOINED,
  dropped: Type.Optional(Type.Array(DROPPED_LINK)),
  /** Only in the answer to a dry run. */
  dry_run: Type.Optional(Type.Literal(true)),
  before: Type.Optional(Type.Array(REF)),
  after: Type.Optional(Type.Array(REF)),
  profiles_before: Type.Optional(Type.Integer()),
  profiles_after: Type.Optional(Type.Integer()),
});

export function undoRoutes(services: Services): readonly Route[] {
  const { identity } = services;
  const access = { kind: "role", role: "admin" } as const;
  return [
    route({
      method: "post",
      path: "/v1/identity/unlink",
      operationId: "unlink",
      tag: "Identity",
      summary: "Unlink an identifier from all others, or two identifiers from each other",
      description: "With `forbid`, the two may not be joined again. With `dry_run=true` nothing is written.",
      example: { after: ["alias"], body: { from: DEVICE, to: USER, forbid: true } },
      access,
      query: { dry_run: FLAG },
      body: record({
        identifier: Type.Optional(IDENTIFIER),
        from: Type.Optional(IDENTIFIER),
        to: Type.Optional(IDENTIFIER),
        forbid: Type.Optional(Type.Boolean()),
      }),
      responses: {
        200: UNDONE,
        404: problemSchema(404),
        409: problemSchema(409, STILL_JOINED),
      },
      handle: async (context) => {
        const dryRun = context.query.dry_run;
        try {
          return reply(200, showUndone(await unlinkIdentifiers(services, context, context.body, { dryRun }), dryRun));
        } catch (error) {
          throw showStillJoined(error);
        }
      },
    }),
    route({
      method: "post",
      path: "/v1/changes/:id/revert",
      operationId: "revertChange",
      tag: "Identity",
      summary: "Revert a change",
      description: "With `dry_run=true` nothing is written.",
      example: { params: { id: answered("identify", "/change_id") } },
      access,
      params: { id: idOf("change") },
      query: { dry_run: FLAG },
      body: record({}),
      bodyIs: "optional",
      responses: { 200: UNDONE, 409: problemSchema(409) },
      handle: async (context) => {
        const dryRun = context.query.dry_run;
        const evidence = evidenceOf("revert", context);
        const changeId = context.params.id as ChangeId;
        return reply(200, showUndone(await identity.revert(context.workspace, changeId, evidence, { dryRun }), dryRun));
      },
    }),
    list({
      path: "/v1/identity/forbidden-pairs",
      operationId: "listForbiddenPairs",
      tag: "Identity",
      summary: "Pairs of identifiers that may not be in one profile",
      example: { after: ["unlink"] },
      access: { kind: "role", role: "viewer" },
      name: "forbidden_pairs",
      item: record({
        forbidden_pair_id: UUID,
        from: SHOWN_IDENTIFIER,
        to: SHOWN_IDENTIFIER,
        change_id: UUID,
        key_id: Type.String(),
        at: TIME,
      }),
      itemBytes: 2 * IDENTIFIER_BYTES,
      read: ({ workspace }, { limit, after }) =>
        identity.forbiddenPairs(workspace, { limit, after: (after?.[0] ?? null) as ForbiddenPairId | null }),
      position: ({ forbiddenPairId }) => [forbiddenPairId],
      show: ({ forbiddenPairId, from, to, changeId, keyId, at }) => ({
        forbidden_pair_id: forbiddenPairId,
        from,
        to,
        change_id: changeId,
        key_id: keyId,
        at: showTime(at),
      }),
    }),
    route({
      method: "delete",
      path: "/v1/identity/forbidden-pairs/:id",
      operationId: "allowPair",
      tag: "Identity",
      summary: "Allow a forbidden pair again",
      example: { params: { id: answered("listForbiddenPairs", "/forbidden_pairs/0/forbidden_pair_id") } },
      access,
      params: { id: idOf("forbidden pair") },
      responses: { 200: UNDONE },
      handle: async (context) => {
        const pairId = context.params.id as ForbiddenPairId;
        const undone = await identity.allow(context.workspace, pairId, evidenceOf("allow", context));
        return reply(200, showUndone(undone, false));
      },
    }),
  ];
}

const evidenceOf = (source: "revert" | "allow", { keyId, now }: Pick<Context, "keyId" | "now">): Evidence => ({
  source,
  keyId,
  at: now,
});

/** The links that connect the two, in the form of the API. */
function showStillJoined(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== "still_joined") return error;
  const links = error.members?.["stillJoinedBy"] as readonly PathLink[];
  const isPartial = error.members?.["isPartial"] === true;
  return new AppError("still_joined", error.message, { members: showPath(links, isPartial) });
}

const showPath = (links: readonly PathLink[], isPartial: boolean) => ({
  still_joined_by: links.map(showLink),
  ...(isPartial && { partial: true }),
});

const showUndone = (undone: UndoResult, dryRun: boolean) => ({
  outcome: undone.outcome,
  profile_ids: undone.profileIds,
  change_id: undone.changeId,
  ...(undone.stillJoinedBy !== null && { still_joined_by: undone.stillJoinedBy.map(showLink) }),
  ...(undone.dropped.length > 0 && { dropped: undone.dropped }),
  ...(undone.isPartial && { partial: true }),
  ...(dryRun && {
    dry_run: true,
    before: undone.before.map(showRef),
    after: undone.after.map(showRef),
    profiles_before: undone.profilesBefore,
    profiles_after: undone.profilesAfter,
  }),
});
