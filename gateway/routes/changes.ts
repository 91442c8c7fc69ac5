import { AppError, invalidParameter } from "../../core/errors.js";
import type { Identity } from "../../core/identity/api.js";
import type { Change } from "../../core/identity/model.js";
import { isUuid, type ChangeId } from "../../core/ids.js";
import { pageOf, readLimit, type Cursors } from "../shapes/cursor.js";
import { showChange } from "../shapes/evidence.js";
import { requireProfile } from "./profiles.js";
import { reply, type Context, type Reply, type Route } from "../route.js";

export interface ChangesDeps {
  readonly identity: Pick<Identity, "changes" | "findChange" | "history" | "resolve">;
  readonly cursors: Cursors;
}

/** A record, so that an outcome that is missing here does not compile. */
const OUTCOMES: Readonly<Record<Change["outcome"], true>> = {
  created: true,
  linked: true,
  merged: true,
  unchanged: true,
  partial: true,
  refused: true,
  unlinked: true,
  forbidden: true,
  reverted: true,
  allowed: true,
};

export function changeRoutes(deps: ChangesDeps): readonly Route[] {
  const access = { kind: "role", role: "viewer" } as const;
  return [
    {
      method: "get",
      path: "/v1/changes",
      access,
      body: "none",
      query: ["limit", "cursor", "outcome"],
      handle: (context) => list(deps, context),
    },
    {
      method: "get",
      path: "/v1/changes/:id",
      access,
      body: "none",
      query: [],
      handle: async ({ workspace, params }) => {
        const id = params["id"] ?? "";
        const change = isUuid(id) ? await deps.identity.findChange(workspace, id as ChangeId) : null;
        if (change === null) throw new AppError("not_found", "There is no such change.");
        return reply(200, showChange(change));
      },
    },
    {
      method: "get",
      path: "/v1/profiles/:id/history",
      access,
      body: "none",
      query: ["limit", "cursor"],
      handle: (context) => history(deps, context),
    },
  ];
}

async function list(deps: ChangesDeps, { workspace, query }: Context): Promise<Reply> {
  const outcome = readOutcome(query["outcome"]);
  const listed = JSON.stringify(["changes", outcome]);
  return page(deps, { workspace, query }, listed, (asked) => deps.identity.changes(workspace, outcome, asked));
}

function readOutcome(given: string | undefined): Change["outcome"] | null {
  if (given === undefined) return null;
  if (!Object.hasOwn(OUTCOMES, given))
    throw invalidParameter("outcome", `must be one of ${Object.keys(OUTCOMES).join(", ")}`);
  return given as Change["outcome"];
}

async function history(deps: ChangesDeps, { workspace, params, query }: Context): Promise<Reply> {
  const profileId = await requireProfile(deps, workspace, params["id"]);
  // Bound to the id as asked: the position is a change, so it stays good when the profile merges.
  const listed = `history:${params["id"]}`;
  return page(deps, { workspace, query }, listed, (asked) => deps.identity.history(workspace, profileId, asked));
}

async function page(
  { cursors }: ChangesDeps,
  { workspace, query }: Pick<Context, "workspace" | "query">,
  listed: string,
  read: (page: { readonly limit: number; readonly before: ChangeId | null }) => Promise<readonly Change[]>,
): Promise<Reply> {
  const before = (cursors.read(workspace, listed, query)?.[0] ?? null) as ChangeId | null;
  const limit = readLimit(query);
  const rows = await read({ limit: limit + 1, before });
  const { items, next_cursor } = pageOf(rows, limit, ({ changeId }) => cursors.write(workspace, listed, [changeId]));
  return reply(200, { changes: items.map(showChange), next_cursor });
}
