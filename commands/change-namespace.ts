import type { Namespace } from "../core/catalog/catalog.js";
import { AppError, mismatch, type ErrorItem } from "../core/errors.js";
import {
  BLOCKED_BYTES_MAX,
  blockedBytes,
  NAMESPACE_NAME,
  NAMESPACE_NAME_RULE,
  namespaceTable,
  newNamespace,
  type Unregistered,
} from "../core/identity/namespaces.js";
import type { WorkspaceId } from "../core/ids.js";
import type { Services } from "./services.js";

/** Namespaces of a workspace in total, because every event reads all of them. */
const STORED_MAX = 1_000;

export type NamespaceChanges = Partial<Pick<Namespace, "kind" | "normalization" | "limit" | "priority" | "blocked">>;

/**
 * A field that is not given stays as it is. The decision is made on the namespace at the moment of the change, and so is `mayChange`
 * (null: there is no such namespace).
 */
export async function changeNamespace(
  { catalog, identity }: Pick<Services, "catalog" | "identity">,
  workspace: WorkspaceId,
  name: string,
  changes: NamespaceChanges,
  mayChange: (standing: Namespace | null) => boolean,
): Promise<{ readonly namespace: Namespace; readonly isNew: boolean }> {
  if (!NAMESPACE_NAME.test(name)) throw mismatch([{ path: "name", message: NAMESPACE_NAME_RULE }]);
  const stored = await catalog.namespaces(workspace);
  const refusal = await whyNormalizationStays({ identity }, workspace, namespaceTable(stored).get(name), changes);
  let isNew = false;
  const namespace = await catalog.changeNamespace(workspace, name, (current, all) => {
    const standing = current ?? namespaceTable([]).get(name);
    if (!mayChange(standing ?? null))
      throw new AppError(
        "precondition_failed",
        "The namespace has changed since you read it (If-Match). Read it again.",
      );
    if (current === null && all.length >= STORED_MAX) throw beyondStored();
    requireBlockedRoom(current, all, changes);
    if (renormalizes(standing, changes) && refusal !== null) throw new AppError("conflict", refusal);
    isNew = standing === undefined;
    return { ...(standing ?? newNamespace(name)), ...changes };
  });
  return { namespace, isNew };
}

/** One that an export shows, in the place of what stands. What counts against it is what was added in the same way. */
export async function restoreNamespace(
  services: Pick<Services, "catalog" | "identity" | "limits">,
  workspace: WorkspaceId,
  namespace: Namespace,
): Promise<void> {
  const { catalog } = services;
  const { name, registeredItself } = namespace;
  const stored = await catalog.namespaces(workspace);
  const refusal = await whyNormalizationStays(services, workspace, namespaceTable(stored).get(name), namespace);
  // So that one with too many values is not registered without them.
  requireBlockedRoom(stored.find((one) => one.name === name) ?? null, stored, namespace);
  if (registeredItself)
    await registerNamespaces(services, workspace, [{ path: "name", namespace: { ...namespace, blocked: [] } }]);
  await catalog.changeNamespace(workspace, name, (current, all) => {
    const put = all.filter((one) => !one.registeredItself);
    if (current === null && put.length >= STORED_MAX) throw beyondStored();
    requireBlockedRoom(current, all, namespace);
    const standing = current ?? namespaceTable([]).get(name);
    if (renormalizes(standing, namespace) && refusal !== null) throw new AppError("conflict", refusal);
    return namespace;
  });
}

const beyondStored = (): AppError =>
  mismatch([{ path: "name", message: `would exceed the limit of ${STORED_MAX} namespaces per workspace` }]);

/** What makes a list smaller is never refused. */
function requireBlockedRoom(
  current: Namespace | null,
  all: readonly Namespace[],
  { blocked = [] }: NamespaceChanges,
): void {
  const before = blockedBytes(current?.blocked ?? []);
  const others = all.reduce((sum, one) => sum + blockedBytes(one.blocked), -before);
  const bytes = blockedBytes(blocked);
  if (bytes <= before || others + bytes <= BLOCKED_BYTES_MAX) return;
  const message = `would exceed ${BLOCKED_BYTES_MAX} bytes for all blocked values of the workspace (each value counts as its bytes plus 8)`;
  throw mismatch([{ path: "blocked", message }]);
}

/** A new namespace has no normalization yet. */
const renormalizes = (standing: Namespace | undefined, { normalization }: NamespaceChanges): boolean =>
  standing !== undefined && normalization !== undefined && standing.normalization !== normalization;

/** Null when it may change. The graph is asked only if it would change. */
async function whyNormalizationStays(
  { identity }: Pick<Services, "identity">,
  workspace: WorkspaceId,
  known: Namespace | undefined,
  changes: NamespaceChanges,
): Promise<string | null> {
  if (known === undefined || !renormalizes(known, changes))
    return "The namespace was just created, or its normalization was just changed. Read it again.";
  const stays = `normalization: stays ${known.normalization}, because`;
  if (await identity.hasIdentifiers(workspace, known.name)) return `${stays} the namespace already has identifiers.`;
  // An event that is queued, or stored without being folded, keeps its identifiers as they were normalized then.
  return known.registeredItself ? `${stays} the namespace was added by an event or a call that named it.` : null;
}

/** Makes names seen for the first time known. Throws `validation_failed` when the workspace has too many of its own. */
export async function registerNamespaces(
  { catalog, limits: { namespacesMax } }: Pick<Services, "catalog" | "limits">,
  workspace: WorkspaceId,
  unregistered: readonly Unregistered[],
): Promise<void> {
  if (unregistered.length === 0) return;
  const names = unregistered.map(({ namespace }) => namespace);
  if (!(await catalog.registerNamespaces(workspace, names, namespacesMax)))
    throw mismatch([limitItem(unregistered[0]!, namespacesMax)]);
}

/** The same answer without registering anything. */
export function beyondNamespaces(
  stored: readonly Namespace[],
  unregistered: readonly Unregistered[],
  max: number,
): readonly ErrorItem[] {
  const own = stored.filter(({ registeredItself }) => registeredItself).length;
  return unregistered.length > 0 && own + unregistered.length > max ? [limitItem(unregistered[0]!, max)] : [];
}

const limitItem = ({ path, namespace }: Unregistered, max: number): ErrorItem => ({
  path,
  message: `namespace ${namespace.name} would exceed the ${max} namespaces that a workspace may create by first use`,
});
