import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Identity } from "../../core/identity/api.js";
import type { Change } from "../../core/identity/model.js";
import { newId, type ChangeId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { createIdentity } from "../../graph/identity.js";
import { anEvent } from "../support/identity/erasures.js";
import { aWorkspace, EVIDENCE } from "../support/identity/fixtures.js";
import { aChange } from "../support/identity/plans.js";
import { ann, bob } from "../support/identity/snapshots.js";
import { useEmbeddedGraph } from "../support/identity/use-graph.js";

/** Two profiles, and a link of them that was removed where they come from. */
async function importOf(identity: Identity): Promise<{ workspace: WorkspaceId; send: () => Promise<number> }> {
  const workspace = aWorkspace();
  const uids = [newId<Uid>(), newId<Uid>()].toSorted() as [Uid, Uid];
  const members = [ann, bob].map((identifier, n) => ({ uid: uids[n]!, identifier, isShared: false, seenWith: [] }));
  const linked = aChange({ identifiers: [ann, bob], outcome: "linked", after: [uids[0]] });
  const unlinked: Change = {
    ...linked,
    changeId: newId<ChangeId>(),
    outcome: "unlinked",
    before: [uids[0]],
    after: uids,
  };
  await identity.restore(workspace, { kind: "members", records: members });
  await identity.restore(workspace, { kind: "changes", records: [linked, unlinked] });
  const pair = { from: ann, to: bob, changeId: linked.changeId, by: unlinked.changeId, at: EVIDENCE.at };
  return { workspace, send: () => identity.restore(workspace, { kind: "removed_links", records: [pair] }) };
}

/** Whoever asserted that the two are one is the reason why they are. */
async function isOneWithItsLink(identity: Identity, workspace: WorkspaceId): Promise<void> {
  const [one, other] = await identity.lookup(workspace, [ann, bob]);
  assert.equal(one!.profileId, other!.profileId);
  assert.equal((await identity.links(workspace, one!.profileId, { limit: 10, after: null })).length, 1);
  assert.equal((await identity.explain(workspace, ann, bob)).path?.length, 1);
}

describe("Removed links of an import", () => {
  const graphOf = useEmbeddedGraph();
  const now = EVIDENCE.at + 5_000;

  it("join nobody while they are written: an event that names both ends has a link of its own", async () => {
    const identity = createIdentity({ graph: graphOf(), timeoutMs: 10_000 });
    for (let turns = 0; turns < 8; turns += 1) {
      const { workspace, send } = await importOf(identity);
      const sent = send();
      for (let turn = 0; turn < turns; turn += 1) await nextTurn();
      await identity.assertAll(workspace, [anEvent([ann, bob], now)]);
      await sent;
      await isOneWithItsLink(identity, workspace);
    }
  });

  it("leave no link that stands where an import ends at any step, and are sent again behind an event", async () => {
    for (let last = 0; last < 3; last += 1) {
      const graph = graphOf();
      let left = Infinity;
      const update: IdentityGraph["update"] = async (...asked) => {
        if ((left -= 1) < 0) throw new Error("the process ends");
        return graph.update(...asked);
      };
      const ending = createIdentity({ graph: { ...graph, update }, timeoutMs: 10_000 });
      const { workspace, send } = await importOf(ending);
      left = last;
      await send().catch(() => undefined);
      left = Infinity;
      await ending.assertAll(workspace, [anEvent([ann, bob], now)]);
      await send();
      await isOneWithItsLink(ending, workspace);
    }
  });

  it("are known as removed, and their two ends stay two", async () => {
    const identity = createIdentity({ graph: graphOf(), timeoutMs: 10_000 });
    const { workspace, send } = await importOf(identity);
    for (let times = 0; times < 2; times += 1) assert.equal(await send(), 0);
    const [one, other] = await identity.lookup(workspace, [ann, bob]);
    assert.notEqual(one!.profileId, other!.profileId);
    const [change] = await identity.changes(workspace, "unlinked", { limit: 1, before: null });
    const { links } = await identity.takenBy(workspace, change!, null);
    assert.deepEqual(
      links.map(({ by, at }) => [by, at]),
      [[change!.changeId, EVIDENCE.at]],
    );
  });
});
