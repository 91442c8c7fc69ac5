import type { KeyRecord, Namespace } from "../core/catalog/catalog.js";
import { AppError, mismatch } from "../core/errors.js";
import { identifierKey, type DroppedIdentifier, type Identifier } from "../core/event/event.js";
import type { AssertResult } from "../core/identity/model.js";
import { namespaceTable, type NamespaceTable, type Unregistered } from "../core/identity/namespaces.js";
import type { ProfileId, WorkspaceId } from "../core/ids.js";
import { admitAll, admitPair } from "./admit-identifiers.js";
import { beyondNamespaces, registerNamespaces } from "./change-namespace.js";
import type { Caller, Services } from "./services.js";

type LinkServices = Pick<Services, "catalog" | "identity" | "limits" | "erasures">;
type LinkCaller = Caller & { readonly key: Pick<KeyRecord, "send"> };

/** What is to be linked. A dry run makes the same decision or refusal and leaves no trace. */
interface Claim {
  readonly identifiers: readonly Identifier[];
  /** Values that never reach the graph. */
  readonly dropped: readonly DroppedIdentifier[];
  readonly unregistered: readonly Unregistered[];
  readonly unused: readonly Namespace[];
}

/** `profileIds` of a refusal: of both sides, null where a side is unknown. */
export type Linked =
  | { readonly kind: "linked"; readonly result: AssertResult }
  | { readonly kind: "refused"; readonly result: AssertResult; readonly profileIds: readonly (ProfileId | null)[] };

/** Links all identifiers to one profile. */
export async function identify(
  services: LinkServices,
  caller: LinkCaller,
  identifiers: readonly Identifier[],
  options: { readonly dryRun: boolean },
): Promise<Linked> {
  const given = identifiers.map(({ namespace, value }, i) => ({ path: `identifiers.${i}`, namespace, value }));
  return link(services, caller, "identify", options, (table) => admitAll(given, table));
}

/** Links the anonymous identifier to the known one; it holds as a whole or is refused. */
export async function alias(
  services: LinkServices,
  caller: LinkCaller,
  { anonymous, known }: Readonly<Record<"anonymous" | "known", Identifier>>,
  options: { readonly dryRun: boolean },
): Promise<Linked> {
  const sides = [
    { path: "anonymous", ...anonymous },
    { path: "known", ...known },
  ] as const;
  return link(services, caller, "alias", options, (table) => ({ dropped: [], ...admitPair(sides, table) }));
}

async function link(
  services: LinkServices,
  { workspace, keyId, key, now }: LinkCaller,
  source: "identify" | "alias",
  options: { readonly dryRun: boolean },
  claim: (table: NamespaceTable) => Claim,
): Promise<Linked> {
  const { catalog, identity, limits } = services;
  const stored = await catalog.namespaces(workspace);
  const { identifiers, dropped, unregistered, unused } = claim(namespaceTable(stored));
  if (unregistered.length > 0 && key.send !== null) await requireMayAdd(services, workspace, unregistered);
  if (options.dryRun) {
    const errors = beyondNamespaces(stored, unregistered, limits.namespacesMax);
    if (errors.length > 0) throw mismatch(errors);
  } else await registerNamespaces(services, workspace, { unregistered, unused });
  const evidence = { source, keyId, at: now };
  const result = await identity.assert(workspace, { identifiers, evidence }, options);
  if (result.outcome !== "refused") {
    const isWhole = dropped.length === 0;
    return { kind: "linked", result: isWhole ? result : { ...result, dropped: [...dropped, ...result.dropped] } };
  }
  if (result.rule === "suppressed") throw await suppressed(services, workspace, source, identifiers);
  const refs = await identity.lookup(workspace, identifiers);
  return { kind: "refused", result, profileIds: refs.map((ref) => ref?.profileId ?? null) };
}

/**
 * A sending key gets around, and whoever has it could use up the names that a workspace may add. An event may add one with any
 * key, because its names stand in the schema.
 */
async function requireMayAdd(
  { catalog }: LinkServices,
  workspace: WorkspaceId,
  unregistered: readonly Unregistered[],
): Promise<void> {
  if ((await catalog.identitySettings(workspace)).sendingKeysAddNamespaces) return;
  const message =
    "is not a namespace of the workspace, and a sending key cannot add it; use PUT /v1/namespaces/{name} with an admin key";
  throw mismatch(unregistered.map(({ path }) => ({ path: `${path}.namespace`, message })));
}

/** Nobody says which person it was: only that these are not linked, as if they were blocked. */
async function suppressed(
  { erasures }: LinkServices,
  workspace: WorkspaceId,
  source: "identify" | "alias",
  identifiers: readonly Identifier[],
): Promise<AppError> {
  const keys = identifiers.map((one) => identifierKey(workspace, one));
  const tombstones = await erasures.tombstones(workspace, keys);
  const errors = identifiers.flatMap(({ namespace }, n) => {
    if (tombstones.get(keys[n]!)?.isSuppressed !== true) return [];
    const path = source === "alias" ? ALIAS_PATHS[n]! : "identifiers";
    return [{ path, message: `${namespace} is suppressed by an erasure` }];
  });
  return new AppError(
    "blocked_identifier",
    "These identifiers were erased and are suppressed, so they are not linked.",
    {
      errors,
    },
  );
}
const ALIAS_PATHS = ["anonymous", "known"];
