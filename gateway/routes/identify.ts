import { Type } from "typebox";
import type { Namespace } from "../../core/catalog/catalog.js";
import { AppError } from "../../core/errors.js";
import type { DroppedIdentifier, DropRule, Identifier } from "../../core/event/event.js";
import type { Identity } from "../../core/identity/api.js";
import type { ProfileRef, AssertResult } from "../../core/identity/model.js";
import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import { namespaceTable, type Unregistered } from "../../core/identity/namespaces.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import { admitAll, admitPair, IDENTIFIER } from "../shapes/admission.js";
import { showRef } from "../shapes/evidence.js";
import { beyondNamespaces, registerNamespaces } from "./namespaces.js";
import { readFlag } from "../shapes/query.js";
import { reply, type Context, type Reply, type Route } from "../route.js";
import { mismatch, shape } from "../shapes/shape.js";

export interface IdentifyDeps {
  readonly catalog: Pick<CatalogStore, "namespaces" | "registerNamespaces">;
  readonly identity: Pick<Identity, "assert" | "lookup">;
  readonly identifiersMax: number;
  readonly namespacesMax: number;
}

export function identifyRoutes(deps: IdentifyDeps): readonly Route[] {
  const identifyBody = shape(
    Type.Object(
      { identifiers: Type.Array(IDENTIFIER, { minItems: 1, maxItems: deps.identifiersMax }) },
      { additionalProperties: false },
    ),
  );
  const aliasBody = shape(Type.Object({ anonymous: IDENTIFIER, known: IDENTIFIER }, { additionalProperties: false }));
  const access = { kind: "role", role: "editor", ingest: true } as const;
  return [
    {
      method: "post",
      path: "/v1/identify",
      access,
      body: "json",
      query: ["dry_run"],
      handle: async (context) => {
        const dryRun = readDryRun(context);
        const { identifiers } = identifyBody(context.body).value;
        const given = identifiers.map(({ namespace, value }, i) => ({ path: `identifiers.${i}`, namespace, value }));
        const stored = await deps.catalog.namespaces(context.workspace);
        const admitted = admitAll(given, namespaceTable(stored));
        await register(deps, context.workspace, stored, admitted.unregistered, dryRun);
        return assert(deps, context, { source: "identify", dryRun, ...admitted });
      },
    },
    {
      method: "post",
      path: "/v1/alias",
      access,
      body: "json",
      query: ["dry_run"],
      handle: async (context) => {
        const dryRun = readDryRun(context);
        const { anonymous, known } = aliasBody(context.body).value;
        const sides = [
          { path: "anonymous", ...anonymous },
          { path: "known", ...known },
        ] as const;
        const stored = await deps.catalog.namespaces(context.workspace);
        const { identifiers, unregistered } = admitPair(sides, namespaceTable(stored));
        await register(deps, context.workspace, stored, unregistered, dryRun);
        return assert(deps, context, { source: "alias", dryRun, identifiers, dropped: [] });
      },
    },
  ];
}

/** A dry run tells who is who and leaves no trace: not for a key that may read nothing. */
function readDryRun({ query, key }: Context): boolean {
  const dryRun = readFlag(query, "dry_run");
  if (dryRun && key.ingestOnly) throw new AppError("insufficient_scope", "This key may only send: it has no dry run.");
  return dryRun;
}

/** A dry run is refused as the real one would be, and registers nothing. */
async function register(
  deps: IdentifyDeps,
  workspace: WorkspaceId,
  stored: readonly Namespace[],
  unregistered: readonly Unregistered[],
  dryRun: boolean,
): Promise<void> {
  if (!dryRun) return registerNamespaces(deps, workspace, unregistered);
  const errors = beyondNamespaces(stored, unregistered, deps.namespacesMax);
  if (errors.length > 0) throw mismatch(errors);
}

interface Claim {
  readonly source: "identify" | "alias";
  readonly dryRun: boolean;
  readonly identifiers: readonly Identifier[];
  /** Blocked values, which never came to the graph. */
  readonly dropped: readonly DroppedIdentifier[];
}

async function assert(deps: IdentifyDeps, context: Context, claim: Claim): Promise<Reply> {
  const { workspace, key, now } = context;
  const { source, dryRun, identifiers, dropped } = claim;
  const evidence = { source, keyId: key.keyId, at: now };
  const result = await deps.identity.assert(workspace, { identifiers, evidence }, { dryRun });
  if (result.outcome === "refused") throw await refusal(deps, workspace, identifiers, result);
  const shown = showVerdict(result, dropped);
  return reply(200, dryRun ? { ...shown, ...showTrial(result) } : shown);
}

const showVerdict = (result: AssertResult, dropped: readonly DroppedIdentifier[]) => ({
  profile_id: result.profileId,
  outcome: result.outcome,
  merged_profile_ids: result.mergedProfileIds,
  dropped: [...dropped, ...result.dropped],
  change_id: result.changeId,
});

/** What a dry run answers besides. An id that would only be minted names nothing, so it is not told. */
function showTrial({ profileId, before, after }: AssertResult) {
  const known = new Set<ProfileId | null>(before.map((ref) => ref.profileId));
  const showAfter = (ref: ProfileRef) => ({ ...showRef(ref), ...(!known.has(ref.profileId) && { profile_id: null }) });
  return {
    profile_id: known.has(profileId) ? profileId : null,
    dry_run: true,
    before: before.map(showRef),
    after: after.map(showAfter),
  };
}

/** Why, and where the caller can see what stands against it. */
const REFUSED: Readonly<Partial<Record<DropRule, string>>> = {
  limit: "The profile would hold more values of a namespace than the workspace allows.",
  forbidden_pair: "The two are forbidden to be one profile: GET /v1/identity/forbidden-pairs lists such pairs.",
  shared_identifier:
    "One side touches too many people to link: GET /v1/identity/shared-identifiers lists such identifiers.",
};

/** With the profiles of both sides, null where a side is unknown, so that the caller can ask why. */
async function refusal(
  { identity }: IdentifyDeps,
  workspace: WorkspaceId,
  sides: readonly Identifier[],
  { rule, changeId }: AssertResult,
): Promise<AppError> {
  const refs = await identity.lookup(workspace, sides);
  const profileIds = refs.map((ref) => ref?.profileId ?? null);
  return new AppError("merge_refused", (rule && REFUSED[rule]) ?? "A rule of the workspace forbids it.", {
    members: { rule, profile_ids: profileIds, change_id: changeId },
  });
}
