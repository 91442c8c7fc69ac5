import { Type, type Static } from "typebox";
import { AppError, type ErrorItem } from "../../core/errors.js";
import type { Identity, PathLink, UndoResult, UnlinkRequest } from "../../core/identity/api.js";
import type { Evidence, ForbiddenPair } from "../../core/identity/model.js";
import { isUuid, type ChangeId, type ForbiddenPairId } from "../../core/ids.js";
import type { NamespaceTable } from "../../core/identity/namespaces.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import { showTime } from "../../core/event/time.js";
import { admitEach, admitPair, IDENTIFIER, withoutBlocked } from "../shapes/admission.js";
import { pageOf, readLimit, type Cursors } from "../shapes/cursor.js";
import { showLink, showRef } from "../shapes/evidence.js";
import { readFlag } from "../shapes/query.js";
import { reply, type Context, type Reply, type Route } from "../route.js";
import { mismatch, shape } from "../shapes/shape.js";

export interface UndoDeps {
  readonly catalog: Pick<CatalogStore, "namespaces">;
  readonly identity: Pick<Identity, "unlink" | "revert" | "forbiddenPairs" | "allow">;
  readonly cursors: Cursors;
}

export function undoRoutes(deps: UndoDeps): readonly Route[] {
  const admin = { kind: "role", role: "admin" } as const;
  return [
    {
      method: "post",
      path: "/v1/identity/unlink",
      access: admin,
      body: "json",
      query: ["dry_run"],
      handle: (context) => unlink(deps, context),
    },
    {
      method: "post",
      path: "/v1/changes/:id/revert",
      access: admin,
      body: "empty",
      query: ["dry_run"],
      handle: (context) => revert(deps, context),
    },
    {
      method: "get",
      path: "/v1/identity/forbidden-pairs",
      access: { kind: "role", role: "viewer" },
      body: "none",
      query: ["limit", "cursor"],
      handle: (context) => forbiddenPairs(deps, context),
    },
    {
      method: "delete",
      path: "/v1/identity/forbidden-pairs/:id",
      access: admin,
      body: "none",
      query: [],
      handle: (context) => allow(deps, context),
    },
  ];
}

const UNLINK = Type.Object(
  {
    identifier: Type.Optional(IDENTIFIER),
    from: Type.Optional(IDENTIFIER),
    to: Type.Optional(IDENTIFIER),
    forbid: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
type UnlinkBody = Static<typeof UNLINK>;
const unlinkBody = shape(UNLINK);

const evidenceOf = (source: "unlink" | "revert" | "allow", { key, now }: Context): Evidence => ({
  source,
  keyId: key.keyId,
  at: now,
});

async function unlink({ catalog, identity }: UndoDeps, context: Context): Promise<Reply> {
  const dryRun = readFlag(context.query, "dry_run");
  const { value } = unlinkBody(context.body);
  const request = requestOf(value, withoutBlocked(await catalog.namespaces(context.workspace)));
  try {
    const undone = await identity.unlink(context.workspace, request, evidenceOf("unlink", context), { dryRun });
    return reply(200, showUndone(undone, dryRun));
  } catch (error) {
    throw showStillJoined(error);
  }
}

function requestOf(body: UnlinkBody, table: NamespaceTable): UnlinkRequest {
  const errors = formErrors(body);
  if (errors.length > 0) throw mismatch(errors);
  if (body.identifier !== undefined) {
    const { identifiers } = admitEach([{ path: "identifier", ...body.identifier }], table);
    return { identifier: identifiers[0]! };
  }
  const sides = [
    { path: "from", ...body.from! },
    { path: "to", ...body.to! },
  ] as const;
  const [from, to] = admitPair(sides, table).identifiers;
  return { from, to, forbid: body.forbid ?? false };
}

/** One identifier from all others, or two from each other: never both, for it would not be clear what is meant. */
function formErrors({ identifier, from, to, forbid }: UnlinkBody): readonly ErrorItem[] {
  const pair = { from, to, forbid };
  const given = Object.entries(pair).flatMap(([path, value]) => (value === undefined ? [] : [path]));
  if (identifier !== undefined) return given.map((path) => ({ path, message: "does not go with identifier" }));
  if (given.length === 0) return [{ path: "identifier", message: "is required, or from and to" }];
  return ["from", "to"].filter((path) => !given.includes(path)).map((path) => ({ path, message: "is required" }));
}

/** The links that hold the two together, in the words of this surface. */
function showStillJoined(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== "still_joined") return error;
  const links = error.members?.["stillJoinedBy"] as readonly PathLink[];
  return new AppError("still_joined", error.message, { members: { still_joined_by: links.map(showLink) } });
}

async function revert({ identity }: UndoDeps, context: Context): Promise<Reply> {
  const dryRun = readFlag(context.query, "dry_run");
  const changeId = context.params["id"] ?? "";
  if (!isUuid(changeId)) throw new AppError("not_found", "There is no such change.");
  const evidence = evidenceOf("revert", context);
  const undone = await identity.revert(context.workspace, changeId as ChangeId, evidence, { dryRun });
  return reply(200, showUndone(undone, dryRun));
}

const showUndone = (undone: UndoResult, dryRun: boolean) => ({
  outcome: undone.outcome,
  profile_ids: undone.profileIds,
  change_id: undone.changeId,
  ...(undone.stillJoinedBy !== null && { still_joined_by: undone.stillJoinedBy.map(showLink) }),
  ...(undone.dropped.length > 0 && { dropped: undone.dropped }),
  ...(dryRun && { dry_run: true, before: undone.before.map(showRef), after: undone.after.map(showRef) }),
});

async function forbiddenPairs({ identity, cursors }: UndoDeps, { workspace, query }: Context): Promise<Reply> {
  const after = (cursors.read(workspace, "forbidden_pairs", query)?.[0] ?? null) as ForbiddenPairId | null;
  const limit = readLimit(query);
  const rows = await identity.forbiddenPairs(workspace, { limit: limit + 1, after });
  const { items, next_cursor } = pageOf(rows, limit, ({ forbiddenPairId }) =>
    cursors.write(workspace, "forbidden_pairs", [forbiddenPairId]),
  );
  return reply(200, { forbidden_pairs: items.map(showForbiddenPair), next_cursor });
}

const showForbiddenPair = ({ forbiddenPairId, from, to, changeId, keyId, at }: ForbiddenPair) => ({
  forbidden_pair_id: forbiddenPairId,
  from,
  to,
  change_id: changeId,
  key_id: keyId,
  at: showTime(at),
});

async function allow({ identity }: UndoDeps, context: Context): Promise<Reply> {
  const forbiddenPairId = context.params["id"] ?? "";
  if (!isUuid(forbiddenPairId)) throw new AppError("not_found", "There is no such forbidden pair.");
  const undone = await identity.allow(
    context.workspace,
    forbiddenPairId as ForbiddenPairId,
    evidenceOf("allow", context),
  );
  return reply(200, showUndone(undone, false));
}
