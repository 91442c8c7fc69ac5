import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { exportChanges } from "../../commands/exports/changes.js";
import type { LinkRecord } from "../../commands/exports/link-records.js";
import { exportLinks } from "../../commands/exports/links.js";
import { identifierKey, type Identifier } from "../../core/event/event.js";
import type { Identity } from "../../core/identity/api.js";
import type { Change } from "../../core/identity/model.js";
import { newId, type ChangeId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { createIdentity, type IdentityDeps } from "../../graph/identity.js";
import { anEvent } from "../support/identity/erasures.js";
import { anAssertion, aWorkspace, EVIDENCE, step } from "../support/identity/fixtures.js";
import { aChange, write } from "../support/identity/plans.js";
import { ann, bob, cat, dan } from "../support/identity/snapshots.js";
import { useEmbeddedGraph } from "../support/identity/use-graph.js";
import { inMemory } from "../support/memory/erasure-log.js";

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

/** What an export reads that comes to the links of a profile in the middle of an undo, and goes on behind it. */
async function exportDuringUndo() {
  const graph = inMemory().erasures;
  const workspace = aWorkspace();
  await step(graph, workspace, ...[bob, cat, dan].map((one) => anAssertion(ann, one)));
  let [isHalf, isMeanwhile] = [false, false];
  const meanwhile = async (): Promise<void> => {
    isMeanwhile = true;
    for await (const some of exportChanges(reading, workspace, null)) changes.push(...some);
    while (links.length === 0) links.push(...((await reads.next()).value ?? []));
  };
  const update: IdentityGraph["update"] = async (...asked) => {
    if (isHalf && !isMeanwhile) await meanwhile();
    return graph.update(...asked);
  };
  const onProgress: IdentityDeps["onProgress"] = ({ what }) => void (isHalf ||= what === "removed links");
  const source = createIdentity({ graph: { ...graph, update }, timeoutMs: 10_000, linksPerStep: 1, onProgress });
  const reading = { identity: createIdentity({ graph, timeoutMs: 10_000 }) };
  const [changes, links]: [Change[], LinkRecord[]] = [[], []];
  const reads = exportLinks(reading, workspace, null);
  const members = await reading.identity.walk(workspace, { limit: 10, after: null, membersMax: 10 });
  await source.unlink(workspace, { identifier: ann }, { ...EVIDENCE, source: "unlink" });
  for await (const some of reads) links.push(...some);
  return { members: members.flatMap((one) => one.members), changes, links };
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

  it("are removed where an import that was cut off left them between two profiles", async () => {
    const graph = graphOf();
    const identity = createIdentity({ graph, timeoutMs: 10_000 });
    const { workspace, send } = await importOf(identity);
    const [{ changeId }] = (await identity.changes(workspace, "linked", { limit: 1, before: null })) as [Change];
    await write(graph, workspace, [ann, bob], () => {
      const [from, to] = [identifierKey(workspace, ann), identifierKey(workspace, bob)];
      return { links: [{ from, to, changeId, evidence: EVIDENCE, revives: false }] };
    });
    assert.equal(await send(), 0);
    const found = await identity.lookup(workspace, [ann, bob]);
    for (const { profileId, size } of found.map((one) => one!)) {
      assert.equal(size, 1);
      assert.deepEqual(await identity.links(workspace, profileId, { limit: 10, after: null }), []);
    }
  });

  it("stay where the export has them as standing, too, and where only they hold a profile together", async () => {
    const { members, changes, links } = await exportDuringUndo();
    const standing = links.flatMap((one) => (one.kind === "link" ? one.link : []));
    const removed = links.flatMap((one) => (one.kind === "removed_link" ? one.link : []));
    assert.ok(standing.length + removed.length > 3, "none was removed behind its line");
    const identity = createIdentity({ graph: graphOf(), timeoutMs: 10_000 });
    const workspace = aWorkspace();
    const records = members.map((one) => Object.assign({ isShared: false, seenWith: [] }, one));
    await identity.restore(workspace, { kind: "members", records });
    await identity.restore(workspace, { kind: "changes", records: changes });
    for (let times = 0; times < 2; times += 1) {
      assert.equal(await identity.restore(workspace, { kind: "links", records: standing }), 0);
      assert.equal(await identity.restore(workspace, { kind: "removed_links", records: removed }), 0);
    }
    const found = await identity.lookup(workspace, [ann, bob, cat, dan]);
    for (const { profileId, size } of found.map((one) => one!))
      assert.equal((await identity.links(workspace, profileId, { limit: 10, after: null })).length, size - 1);
    const sizes = found.map((one) => one!.size);
    assert.deepEqual(
      sizes.toSorted((a, b) => a - b),
      [1, 3, 3, 3],
    );
  });

  it("stand again as a whole, or as two profiles, where an import of a restored one ends at any step", async () => {
    for (let last = 0; last < 3; last += 1) {
      const graph = graphOf();
      let left = Infinity;
      const update: IdentityGraph["update"] = async (...asked) => {
        if ((left -= 1) < 0) throw new Error("the process ends");
        return graph.update(...asked);
      };
      const identity = createIdentity({ graph: { ...graph, update }, timeoutMs: 10_000 });
      const { workspace } = await importOf(identity);
      const [linked] = (await identity.changes(workspace, "linked", { limit: 1, before: null })) as [Change];
      const revert = aChange({ ...linked, changeId: newId<ChangeId>(), outcome: "reverted" });
      await identity.restore(workspace, { kind: "changes", records: [revert] });
      const [a, b] = await identity.lookup(workspace, [ann, bob]);
      const { changeId, evidence } = linked;
      const ends = { from: a!.profileId, to: b!.profileId };
      const record = { ...ends, changeId, evidence, restoredBy: revert.changeId };
      const send = () => identity.restore(workspace, { kind: "links", records: [record] });
      for (let times = 0; times < 2; times += 1) {
        left = last;
        await send().catch(() => undefined);
        left = Infinity;
        const [one, other] = await identity.lookup(workspace, [ann, bob]);
        if (one!.profileId === other!.profileId) await isOneWithItsLink(identity, workspace);
      }
      assert.equal(await send(), 0);
      await isOneWithItsLink(identity, workspace);
      const states = await graph.linksOfChange(workspace, revert);
      assert.deepEqual(
        states.map(({ by, isActive }) => [by, isActive]),
        [[revert.changeId, true]],
      );
    }
  });
});

describe("Marks of unlinks of an import", () => {
  const graphOf = useEmbeddedGraph();

  it("stand beside that of an unlink that was made here since, each with its own time", async () => {
    const now = { at: EVIDENCE.at + 2_000 };
    const graph = graphOf();
    const identity = createIdentity({ graph, timeoutMs: 10_000, now: () => now.at });
    const { workspace } = await importOf(identity);
    const [imported] = (await identity.changes(workspace, "unlinked", { limit: 1, before: null })) as [Change];
    const send = async (at: number): Promise<void> => {
      const records = [{ identifier: ann, by: imported.changeId, at }];
      assert.equal(await identity.restore(workspace, { kind: "unlinked", records }), 0);
    };
    const ruleFor = async (other: Identifier, at: number): Promise<string | undefined> => {
      const [result] = await identity.assertAll(workspace, [anEvent([other, ann], at)]);
      return result!.dropped[0]?.rule;
    };
    await send(EVIDENCE.at);
    await send(EVIDENCE.at + 100);
    assert.equal(await ruleFor(dan, EVIDENCE.at + 50), "unlinked");
    await identity.assertAll(workspace, [anEvent([ann, cat], now.at)]);
    now.at += 1_000;
    const unlinked = await identity.unlink(workspace, { identifier: ann }, { ...EVIDENCE, source: "unlink" });
    await send(EVIDENCE.at + 100);
    for (const by of [imported.changeId, unlinked.changeId!])
      assert.notEqual(await graph.markedAt(workspace, identifierKey(workspace, ann), by), null);
    assert.equal(await ruleFor(dan, now.at - 500), "unlinked", "received before the newer one");
    const exported = await identity.takenBy(workspace, imported, null);
    assert.deepEqual(exported.unlinked, [{ identifier: ann, by: imported.changeId, at: EVIDENCE.at + 100 }]);
    await identity.revert(workspace, unlinked.changeId!, { ...EVIDENCE, source: "revert" });
    assert.equal(await ruleFor(dan, EVIDENCE.at + 50), "unlinked", "the imported one counts again");
  });
});
