import { Type } from "typebox";
import { AppError, type ErrorItem } from "../core/errors.js";
import type { DroppedIdentifier, Identifier } from "../core/event.js";
import type { Identity, Verdict } from "../core/identity.js";
import { admit, namespaceTable, type Admission, type GivenIdentifier } from "../core/namespaces.js";
import type { WorkspaceId } from "../core/ids.js";
import type { CatalogStore } from "../core/ports.js";
import { registerNamespaces } from "./namespaces.js";
import { reply, type Context, type Reply, type Route } from "./route.js";
import { mismatch, shape } from "./shape.js";

export interface IdentifyDeps {
  readonly catalog: Pick<CatalogStore, "namespaces" | "registerNamespaces">;
  readonly identity: Pick<Identity, "assert">;
  readonly identifiersMax: number;
  readonly namespacesMax: number;
}

export const IDENTIFIER = Type.Object(
  { namespace: Type.String(), value: Type.String({ minLength: 1, maxLength: 1_024 }) },
  { additionalProperties: false },
);

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
      query: [],
      handle: async (context) => {
        const { identifiers } = identifyBody(context.body).value;
        const given = identifiers.map(({ namespace, value }, i) => ({ path: `identifiers.${i}`, namespace, value }));
        const admitted = await admitAll(deps, context.workspace, given);
        if (admitted.identifiers.length === 0) throw blocked(given);
        return assert(deps, context, "identify", admitted.identifiers, admitted.dropped);
      },
    },
    {
      method: "post",
      path: "/v1/alias",
      access,
      body: "json",
      query: [],
      handle: async (context) => {
        const { anonymous, known } = aliasBody(context.body).value;
        const sides = await admitAlias(deps, context.workspace, [
          { path: "anonymous", ...anonymous },
          { path: "known", ...known },
        ]);
        return assert(deps, context, "alias", sides, []);
      },
    },
  ];
}

/** Both sides are needed, so neither may be blocked and they may not be the same. Kept in order: anonymous, known. */
async function admitAlias(
  deps: IdentifyDeps,
  workspace: WorkspaceId,
  sides: readonly [GivenIdentifier, GivenIdentifier],
): Promise<readonly Identifier[]> {
  // One by one: together the order of priorities would hide which side is which.
  const table = namespaceTable(await deps.catalog.namespaces(workspace));
  const [anonymous, known] = sides.map((side) => admit([side], table)) as [Admission, Admission];
  const errors = [...anonymous.errors, ...known.errors];
  if (errors.length > 0) throw mismatch(errors.map(atNamespace));
  const blockedSides = sides.filter((_, i) => [anonymous, known][i]!.dropped.length > 0);
  if (blockedSides.length > 0) throw blocked(blockedSides);
  const pair = [anonymous.identifiers[0]!, known.identifiers[0]!] as const;
  if (pair[0].namespace === pair[1].namespace && pair[0].value === pair[1].value)
    throw mismatch([{ path: "known", message: "is the same identifier as anonymous" }]);
  await registerNamespaces(deps, workspace, [...anonymous.unregistered, ...known.unregistered]);
  return pair;
}

async function admitAll(
  deps: IdentifyDeps,
  workspace: WorkspaceId,
  given: readonly GivenIdentifier[],
): Promise<Admission> {
  const admitted = admit(given, namespaceTable(await deps.catalog.namespaces(workspace)));
  if (admitted.errors.length > 0) throw mismatch(admitted.errors.map(atNamespace));
  await registerNamespaces(deps, workspace, admitted.unregistered);
  return admitted;
}

/** Value lengths are checked by the body's shape, so what is left is the name. */
export const atNamespace = ({ path, message }: ErrorItem): ErrorItem => ({ path: `${path}.namespace`, message });

const blocked = (given: readonly GivenIdentifier[]): AppError =>
  new AppError("blocked_identifier", "These values stand for nobody and never link.", {
    errors: given.map(({ path }) => ({ path, message: "is a blocked value" })),
  });

async function assert(
  deps: IdentifyDeps,
  { workspace, key, now }: Context,
  source: "identify" | "alias",
  identifiers: readonly Identifier[],
  dropped: readonly DroppedIdentifier[],
): Promise<Reply> {
  const evidence = { source, keyId: key.keyId, at: now };
  const verdict = await deps.identity.assert(workspace, { identifiers, evidence });
  return reply(200, showVerdict(verdict, dropped));
}

const showVerdict = (verdict: Verdict, dropped: readonly DroppedIdentifier[]) => ({
  profile_id: verdict.profileId,
  outcome: verdict.outcome,
  merged_profile_ids: verdict.mergedProfileIds,
  dropped: [...dropped, ...verdict.dropped],
  change_id: verdict.changeId,
});
