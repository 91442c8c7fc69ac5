import { AppError, mismatch } from "../../core/errors.js";
import { identifierKey, type Identifier } from "../../core/event/event.js";
import type { Erasure, ErasurePreview, ErasureTarget } from "../../core/identity/erasure.js";
import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import { admitEach, withoutBlocked } from "../admit-identifiers.js";
import { memberUids } from "../read-profile.js";
import { facetsOf } from "../search/facets.js";
import type { Caller, Services } from "../services.js";
import { logErasure, logRecord, type LogServices } from "./log.js";

/** Whom to erase, in one of the two ways. */
export interface GivenTarget {
  readonly profileId?: ProfileId | undefined;
  readonly identifiers?: readonly Identifier[] | undefined;
}

export interface EraseOptions {
  readonly suppress: boolean;
  /** Whether what would go is still what the caller has seen: the check of its If-Match, or null. */
  readonly isAsSeen: ((revision: string) => boolean) | null;
}

type EraseServices = Pick<Services, "catalog" | "identity">;

export interface Previewed {
  readonly preview: ErasurePreview;
  /** Folded into the profile. */
  readonly events: number;
  /** Only a part of its identifiers was looked at for that. */
  readonly isPartial: boolean;
}

/** What would go; `not_found` for a profile that never was. */
export async function previewErasure(
  services: EraseServices & Pick<Services, "profiles" | "limits">,
  { workspace }: Pick<Caller, "workspace">,
  given: GivenTarget,
): Promise<Previewed> {
  const preview = await services.identity.previewErasure(workspace, await targetOf(services, workspace, given));
  if (preview === null) throw noProfile();
  if (preview.profileId === null) return { preview, events: 0, isPartial: false };
  const { uids, isPartial } = await memberUids(services, workspace, preview.profileId);
  let events = 0;
  for await (const { found } of facetsOf(services, workspace, uids))
    for (const { facet } of found.values()) events += facet.eventCount;
  return { preview, events, isPartial };
}

/**
 * Erases a person: once it resolves, nothing shows them, and the keeper removes what is left. To erase them again answers the erasure that
 * did it, and the keeper removes what came in since.
 */
export async function erase(
  services: EraseServices & LogServices,
  { workspace, keyId }: Caller,
  given: GivenTarget,
  { suppress, isAsSeen }: EraseOptions,
): Promise<Erasure> {
  const target = await targetOf(services, workspace, given);
  const revision = isAsSeen === null ? null : await revisionOf(services, workspace, target, isAsSeen);
  const result = await services.identity.erase(workspace, { target, keyId, suppress, revision });
  if (result.kind === "unknown") throw noProfile();
  if (result.kind === "changed") throw changed();
  if (result.kind === "several") throw several(result.profileIds);
  // It must outlive a store that is lost right now. A large profile is written once the graph has taken it apart.
  if (result.kind === "erased" && result.erasure.isGone) await logErasure(services, result.erasure);
  if (result.kind === "repeated") for (const one of result.changed) if (one.isGone) await logRecord(services, one);
  return result.erasure;
}

async function revisionOf(
  { identity }: EraseServices,
  workspace: WorkspaceId,
  target: ErasureTarget,
  isAsSeen: NonNullable<EraseOptions["isAsSeen"]>,
): Promise<string> {
  const preview = await identity.previewErasure(workspace, target);
  if (preview === null) throw noProfile();
  if (!isAsSeen(preview.revision)) throw changed();
  return preview.revision;
}

async function targetOf(
  { catalog }: Pick<Services, "catalog">,
  workspace: WorkspaceId,
  { profileId, identifiers }: GivenTarget,
): Promise<ErasureTarget> {
  if (profileId !== undefined && identifiers !== undefined)
    throw mismatch([{ path: "identifiers", message: "is not allowed together with profile_id" }]);
  if (profileId !== undefined) return { profileId };
  if (identifiers === undefined)
    throw mismatch([{ path: "profile_id", message: "is required, unless you send identifiers" }]);
  const read = await readIdentifiers({ catalog }, workspace, identifiers);
  return { identifiers: [...new Map(read.map((one) => [identifierKey(workspace, one), one])).values()] };
}

/** As they are stored, in order. A value that was blocked later is one too. */
export async function readIdentifiers(
  { catalog }: Pick<Services, "catalog">,
  workspace: WorkspaceId,
  identifiers: readonly Identifier[],
): Promise<readonly Identifier[]> {
  const given = identifiers.map((one, i) => ({ path: `identifiers.${i}`, ...one }));
  return admitEach(given, withoutBlocked(await catalog.namespaces(workspace))).identifiers;
}

const noProfile = (): AppError => new AppError("not_found", "There is no such profile.");
const changed = (): AppError =>
  new AppError("precondition_failed", "The profile has changed since you read it (If-Match). Read it again.");
const several = (profileIds: readonly ProfileId[]): AppError =>
  new AppError("conflict", "The identifiers are in several profiles: erase each by its profile_id.", {
    errors: [{ path: "identifiers", message: "are in several profiles" }],
    members: { profile_ids: profileIds },
  });
