import { identifierKey, type Identifier } from "../../../core/event/event.js";
import type { EventId, KeyId, ProfileId, Uid, WorkspaceId } from "../../../core/ids.js";
import { newId } from "../../../core/ids.js";
import type { Erasure, ErasureRequest, ErasureTarget } from "../../../core/identity/erasure.js";
import type { Assertion } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { anAssertion, anIdentifier, aWorkspace, EVIDENCE, step } from "./fixtures.js";
import { ALL, ann, NEWEST, standing } from "./snapshots.js";

export const NOW = EVIDENCE.at + 1_000;
export const ERASER = "key0000007" as KeyId;

export const anErasure = (target: ErasureTarget, parts: Partial<ErasureRequest> = {}): ErasureRequest => ({
  target,
  keyId: ERASER,
  now: () => NOW,
  suppress: false,
  revision: null,
  ...parts,
});

/** Erases, and answers the record; whatever is left is taken apart by others. */
export async function erase(
  graph: IdentityGraph,
  workspace: WorkspaceId,
  target: ErasureTarget | Identifier,
  parts: Partial<ErasureRequest> = {},
): Promise<Erasure> {
  const asked = "value" in target ? { identifiers: [target] } : target;
  const result = await graph.erase(workspace, anErasure(asked, parts));
  if (result.kind !== "erased") throw new Error(`not erased: ${result.kind}`);
  return result.erasure;
}

/** Takes apart what is left, so much at a time. */
export async function finish(
  graph: IdentityGraph,
  { workspace, erasureId }: Pick<Erasure, "workspace" | "erasureId">,
  max = 500,
): Promise<Erasure> {
  for (let calls = 0; calls < 10_000; calls++) {
    const erasure = await graph.continueErasure(workspace, erasureId, max);
    if (erasure === null) throw new Error("no such erasure");
    if (erasure.isGone) return erasure;
  }
  throw new Error("it never ends");
}

/** An event, received and happened at these times. */
export const anEvent = (
  identifiers: readonly Identifier[],
  receivedAt = EVIDENCE.at,
  effectiveAt = receivedAt,
): Assertion => ({
  identifiers,
  effectiveAt,
  evidence: { source: newId<EventId>(), keyId: EVIDENCE.keyId, at: receivedAt },
});

/** All that the reads show of a workspace and of these. */
export async function everything(
  graph: IdentityGraph,
  workspace: WorkspaceId,
  identifiers: readonly Identifier[],
  ids: readonly ProfileId[],
) {
  const keys = identifiers.map((one) => identifierKey(workspace, one));
  const { profiles, linked, removed } = await standing(graph, workspace, ...identifiers);
  const each = <T>(read: (id: ProfileId) => Promise<T>): Promise<readonly T[]> => Promise.all(ids.map(read));
  return {
    profiles,
    linked,
    removed,
    repeats: await graph.repeats(
      workspace,
      keys.map((key) => [key]),
    ),
    resolved: await each((id) => graph.resolve(workspace, id)),
    members: await each((id) => graph.members(workspace, id, ALL)),
    links: await each((id) => graph.links(workspace, id, { limit: 100, after: null })),
    history: await each((id) => graph.history(workspace, id, NEWEST)),
    found: await each(async (id) => graph.findChanges(workspace, await graph.historyIds(workspace, id, NEWEST))),
    own: await each((id) => graph.history(workspace, id, { ...NEWEST, isOwn: true })),
    walked: await graph.walk(workspace, { ...ALL, membersMax: 100 }),
    shared: await graph.sharedIdentifiers(workspace, ALL),
    pairs: await graph.forbiddenPairs(workspace, ALL),
    namespaces: await Promise.all(
      [...new Set(identifiers.map(({ namespace }) => namespace))].map((one) => graph.hasIdentifiers(workspace, one)),
    ),
  };
}

/** The uid of each of these that is in a profile. */
export async function uidsOf(
  graph: IdentityGraph,
  workspace: WorkspaceId,
  ...identifiers: readonly Identifier[]
): Promise<readonly Uid[]> {
  return (await standing(graph, workspace, ...identifiers)).profiles.map(([, { uid }]) => uid);
}

/** Ann with so many spokes. */
export async function aStar(port: IdentityGraph, size: number) {
  const workspace = aWorkspace();
  const spokes = Array.from({ length: size }, (_, i) => anIdentifier(`spoke${i}`));
  await step(port, workspace, ...spokes.map((spoke) => anAssertion(ann, spoke)));
  return { workspace, spokes };
}
