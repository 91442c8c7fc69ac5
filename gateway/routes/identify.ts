import { Type } from "typebox";
import { alias, identify, type Linked } from "../../commands/link-identifiers.js";
import type { Services } from "../../commands/services.js";
import { AppError } from "../../core/errors.js";
import type { DropRule } from "../../core/event/event.js";
import type { AssertResult, ProfileRef } from "../../core/identity/model.js";
import type { ProfileId } from "../../core/ids.js";
import { problemSchema } from "../http/error-response.js";
import { reply, route, type Context, type Reply, type Route } from "../route.js";
import { DEVICE, EMAIL, USER } from "../shapes/examples.js";
import { SDK_REFUSALS } from "../shapes/answers.js";
import { FLAG, IDENTIFIER, nullable, record, UUID } from "../shapes/fields.js";
import { DROPPED_IDENTIFIER, REF, RULE, showRef } from "../shapes/records.js";

export const LINKED = {
  /** Null when a dry run would make a new profile. */
  profile_id: nullable(UUID),
  outcome: Type.Enum(["created", "linked", "merged", "unchanged", "partial"]),
  merged_profile_ids: Type.Array(UUID),
  dropped: Type.Array(DROPPED_IDENTIFIER),
  change_id: nullable(UUID),
  /** Only in the answer to a dry run. */
  dry_run: Type.Optional(Type.Literal(true)),
  before: Type.Optional(Type.Array(REF)),
  after: Type.Optional(Type.Array(record({ ...REF.properties, profile_id: nullable(UUID) }))),
};

export function identifyRoutes(services: Services): readonly Route[] {
  const { identifiersMax } = services.limits;
  const row = {
    method: "post",
    access: { kind: "role", role: "editor", send: "all" },
    query: { dry_run: FLAG },
    door: "link",
  } as const;
  /** SDKs send other bodies to these two paths, so whoever sends no key at all is taken for one of them. */
  const shared = SDK_REFUSALS;
  return [
    route({
      ...row,
      path: "/v1/identify",
      operationId: "identify",
      tag: "Send",
      summary: "Link identifiers to one profile",
      description: "With `dry_run=true` nothing is written, and the response shows the profiles before and after.",
      example: { body: { identifiers: [EMAIL, USER] } },
      body: record({ identifiers: Type.Array(IDENTIFIER, { minItems: 1, maxItems: identifiersMax }) }),
      responses: { ...shared, 200: record(LINKED) },
      handle: async (context) => {
        const dryRun = mayDryRun(context);
        return showLinked(await identify(services, context, context.body.identifiers, { dryRun }), dryRun);
      },
    }),
    route({
      ...row,
      path: "/v1/alias",
      operationId: "alias",
      tag: "Send",
      summary: "Link an anonymous identifier to a known one",
      description: "409 if a rule of the workspace forbids it. With `dry_run=true` nothing is written.",
      example: { body: { anonymous: DEVICE, known: USER } },
      body: record({ anonymous: IDENTIFIER, known: IDENTIFIER }),
      responses: {
        ...shared,
        200: record(LINKED),
        409: problemSchema(409, {
          rule: nullable(RULE),
          profile_ids: Type.Array(nullable(UUID)),
          change_id: nullable(UUID),
        }),
      },
      handle: async (context) => {
        const dryRun = mayDryRun(context);
        return showLinked(await alias(services, context, context.body, { dryRun }), dryRun);
      },
    }),
  ];
}

/** A dry run shows who is who and leaves no trace, so a sending key must not make one. */
function mayDryRun({ query, key }: Context<unknown, { readonly dry_run: boolean }>): boolean {
  if (query.dry_run && key.send !== null)
    throw new AppError("insufficient_scope", "This key can only send, so it cannot make a dry run.");
  return query.dry_run;
}

function showLinked(linked: Linked, dryRun: boolean): Reply {
  if (linked.kind === "refused") throw refusal(linked.result, linked.profileIds);
  const { result } = linked;
  const shown = {
    profile_id: result.profileId,
    outcome: result.outcome,
    merged_profile_ids: result.mergedProfileIds,
    dropped: result.dropped,
    change_id: result.changeId,
  };
  return reply(200, dryRun ? { ...shown, ...showTrial(result) } : shown);
}

/** What a dry run answers in addition. The id of a profile that does not exist yet is not shown. */
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
  forbidden_pair: "The two are a forbidden pair: see GET /v1/identity/forbidden-pairs.",
  shared_identifier: "One of the two is a shared identifier: see GET /v1/identity/shared-identifiers.",
};

/** With the profiles of both sides, so that the caller can ask why. */
const refusal = ({ rule, changeId }: AssertResult, profileIds: readonly (ProfileId | null)[]): AppError =>
  new AppError("merge_refused", (rule && REFUSED[rule]) ?? "A rule of the workspace forbids it.", {
    members: { rule, profile_ids: profileIds, change_id: changeId },
  });
