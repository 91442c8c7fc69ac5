import type { Namespace } from "../core/catalog/catalog.js";
import { AppError, mismatch, type ErrorItem } from "../core/errors.js";
import {
  BLOCKED_BYTES_MAX,
  blockedBytes,
  NAMESPACE_NAME,
  NAMESPACE_NAME_RULE,
  BUILT_IN_NAMESPACES,
  namespaceTable,
  newNamespace,
  type Admission,
  type Unregistered,
} from "../core/identity/namespaces.js";
import type { WorkspaceId } from "../core/ids.js";
import { namespacesOf } from "../core/rule/rule.js";
import type { Services } from "./services.js";

/** Namespaces of a workspace besides the built-in ones and those that registered themselves, because every event reads all of them. */
const STORED_MAX = 1_000;
const BUILT_IN = new Set(BUILT_IN_NAMESPACES.map(({ name }) => name));

export type NamespaceChanges = Partial<Pick<Namespace, "kind" | "normalization" | "limit" | "priority" | "blocked">>;

/**
 * A field that is not given stays as it is. The decision is made on the namespace at the moment of the change, and so is `mayChange`
 * (null: there is no such namespace).
 */
export async function changeNamespace(
  services: Pick<Services, "catalog" | "identity" | "audiences">,
  workspace: WorkspaceId,
  name: string,
  changes: NamespaceChanges,
  mayChange: (standing: Namespace | null) => boolean,
): Promise<{ readonly namespace: Namespace; readonly isNew: boolean }> {
  if (!NAMESPACE_NAME.test(name)) throw mismatch([{ path: "name", message: NAMESPACE_NAME_RULE }]);
  const { catalog } = services;
  const stored = await catalog.namespaces(workspace);
  const refusal = await whyNormalizationStays(services, workspace, namespaceTable(stored).get(name), changes);
  let isNew = false;
  const namespace = await catalog.changeNamespace(workspace, name, (current, all) => {
    const standing = current ?? namespaceTable([]).get(name);
    if (!mayChange(standing ?? null))
      throw new AppError(
        "precondition_failed",
        "The namespace has changed since you read it (If-Match). Read it again.",
      );
    if (current === null) requireStoredRoom(name, all);
    requireBlockedRoom(current, all, changes);
    if (renormalizes(standing, changes)) requireMayRenormalize(standing, refusal);
    isNew = standing === undefined;
    return { ...(standing ?? newNamespace(name)), ...changes };
  });
  return { namespace, isNew };
}

/** One that an export shows, in the place of what stands. What counts against it is what was added in the same way. */
export async function restoreNamespace(
  services: Pick<Services, "catalog" | "identity" | "audiences" | "limits">,
  workspace: WorkspaceId,
  namespace: Namespace,
): Promise<void> {
  const { catalog } = services;
  const { name, registeredItself } = namespace;
  const stored = await catalog.namespaces(workspace);
  const refusal = await whyNormalizationStays(services, workspace, namespaceTable(stored).get(name), namespace);
  // So that one with too many values is not registered without them.
  requireBlockedRoom(stored.find((one) => one.name === name) ?? null, stored, namespace);
  if (registeredItself && !namespaceTable(stored).has(name))
    await registerNamespaces(services, workspace, {
      unregistered: [{ path: "name", namespace: { ...namespace, blocked: [] } }],
      unused: [],
    });
  await catalog.changeNamespace(workspace, name, (current, all) => {
    if (current === null) requireStoredRoom(name, all);
    requireBlockedRoom(current, all, namespace);
    const standing = current ?? namespaceTable([]).get(name);
    if (renormalizes(standing, namespace)) requireMayRenormalize(standing, refusal);
    return { ...namespace, used: namespace.used || standing?.used === true };
  });
}

function requireStoredRoom(name: string, stored: readonly Namespace[]): void {
  const counts = (one: Namespace): boolean => !BUILT_IN.has(one.name) && !one.registeredItself;
  if (BUILT_IN.has(name) || stored.filter(counts).length < STORED_MAX) return;
  throw mismatch([{ path: "name", message: `would exceed the limit of ${STORED_MAX} namespaces per workspace` }]);
}

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
const renormalizes = (standing: Namespace | undefined, { normalization }: NamespaceChanges): standing is Namespace =>
  standing !== undefined && normalization !== undefined && standing.normalization !== normalization;

const stays = ({ normalization }: Namespace): string => `normalization: stays ${normalization}, because`;

/** `refusal`: what was found before. An event that is queued, or stored without being folded, keeps its identifiers as they were normalized then. */
function requireMayRenormalize(standing: Namespace, refusal: string | null): void {
  if (refusal !== null) throw new AppError("conflict", refusal);
  if (standing.used || standing.registeredItself)
    throw new AppError("conflict", `${stays(standing)} an event or a call has named the namespace.`);
}

/** Null when neither the graph nor an audience has anything against it. They are asked only if the normalization would change. */
async function whyNormalizationStays(
  { identity, audiences }: Pick<Services, "identity" | "audiences">,
  workspace: WorkspaceId,
  known: Namespace | undefined,
  changes: NamespaceChanges,
): Promise<string | null> {
  if (known === undefined || !renormalizes(known, changes))
    return "The namespace was just created, or its normalization was just changed. Read it again.";
  if (await identity.hasIdentifiers(workspace, known.name))
    return `${stays(known)} the namespace already has identifiers.`;
  // A rule that is stored holds its values as they were normalized then.
  const set = await audiences.audiences(workspace);
  const naming = set.audiences.find(({ rule }) => namespacesOf(rule).includes(known.name));
  return naming === undefined ? null : `${stays(known)} the rule of audience ${naming.audienceId} names the namespace.`;
}

/**
 * Notes what is named for the first time, so that nobody changes its normalization any more. Throws `validation_failed` when the
 * workspace has too many names of its own.
 */
export async function registerNamespaces(
  { catalog, limits: { namespacesMax } }: Pick<Services, "catalog" | "limits">,
  workspace: WorkspaceId,
  { unregistered, unused }: Pick<Admission, "unregistered" | "unused">,
): Promise<void> {
  if (unregistered.length + unused.length === 0) return;
  const names = [...unregistered.map(({ namespace }) => namespace), ...unused];
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
