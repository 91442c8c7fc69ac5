import type { Identifier } from "../../../core/event/event.js";
import { newId, type KeyId, type ProfileId, type WorkspaceId } from "../../../core/ids.js";
import type { Assertion, Evidence, Source } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { chainLinks, inSlices, type Pair, type Side } from "./side.js";

/** Assertions of one call while a bench is being prepared. */
const SLICE = 500;

const identifierOf = (number: number): Identifier => ({ namespace: "device_id", value: `device-${number}` });
const evidenceOf = (source: Source): Evidence => ({ source, keyId: "bench00001" as KeyId, at: Date.now() });
const assertionOf = (source: "identify" | "alias", ...numbers: readonly number[]): Assertion => ({
  identifiers: numbers.map(identifierOf),
  evidence: evidenceOf(source),
});

/** By the face that the gateway uses, one call after the other. Each `make` takes a workspace of its own. */
export function createOurs(
  graph: IdentityGraph,
  rest = async (): Promise<void> => undefined,
): { readonly side: Side; readonly workspaces: readonly WorkspaceId[] } {
  const identity = createIdentity({ graph, timeoutMs: 60_000, longTimeoutMs: 60_000 });
  const workspaces: WorkspaceId[] = [];
  const workspace = (): WorkspaceId => workspaces.at(-1)!;
  let numbers = new Map<ProfileId | null, number>();

  const side: Side = {
    make: async (chains, length) => {
      workspaces.push(newId<WorkspaceId>());
      numbers = new Map();
      const all = Array.from({ length: chains * length }, (_, number) => number);
      await inSlices(all, SLICE, async (slice) => {
        const results = await identity.assertAll(
          workspace(),
          slice.map((number) => assertionOf("identify", number)),
        );
        for (const [i, { profileId }] of results.entries()) numbers.set(profileId, slice[i]!);
      });
      const links = chainLinks(chains, length).map((pair) => assertionOf("alias", ...pair));
      await inSlices(links, SLICE, (slice) => identity.assertAll(workspace(), slice));
    },
    join: async (pair) => {
      const { outcome } = await identity.assert(workspace(), assertionOf("alias", ...pair));
      if (outcome !== "merged") throw new Error(`an alias that merges was ${outcome}`);
    },
    part: async ([one, other]: Pair) => {
      const asked = { from: identifierOf(one), to: identifierOf(other), forbid: false };
      const { outcome, profileIds } = await identity.unlink(workspace(), asked, evidenceOf("unlink"));
      if (outcome !== "unlinked" || profileIds.length !== 2) throw new Error(`an unlink that splits was ${outcome}`);
    },
    rest,
    profileOf: async (number) => {
      const [found] = await identity.lookup(workspace(), [identifierOf(number)]);
      const { profileId, size } = found!;
      return { size, oldest: numbers.get(profileId)! };
    },
  };
  return { side, workspaces };
}
