import assert from "node:assert/strict";
import { createFindings } from "../../app/verify/findings.js";
import { verifyFacet } from "../../app/verify/facets.js";
import type { EventRecord } from "../../core/event/event.js";
import { newId, type EventId, type Uid, type WorkspaceId } from "../../core/ids.js";
import { addFacets, emptyFacet } from "../../core/profile/fold.js";
import { aFold, anEvent, aUidOf } from "../support/builders.js";
import type { Contract } from "../support/contract.js";
import type { FoldPlace } from "./events/fold.contract.js";

/** What verify says of the facet. */
async function check(
  port: FoldPlace,
  workspace: WorkspaceId,
  uid: Uid,
  { isRepair = true, isExpiring = false } = {},
): Promise<readonly string[]> {
  const findings = createFindings();
  const gainOf = async (event: EventRecord) => aFold(event).gain;
  await verifyFacet(
    { backends: port, gainOf, findings, isRepair, mayHaveExpired: async () => isExpiring },
    workspace,
    uid,
  );
  return findings.lines();
}

async function read({ profiles }: FoldPlace, workspace: WorkspaceId, uid: Uid) {
  const { facet, pending = [], rev = 0 } = (await profiles.find(workspace, [uid])).get(uid) ?? {};
  return { eventCount: facet?.eventCount ?? 0, facet: facet ?? emptyFacet, pending, rev };
}

/** Stores the facet as a backup has it: with these events in it, and these of them pending. */
async function put(port: FoldPlace, uid: Uid, counted: readonly EventRecord[], pending: readonly EventId[]) {
  const { workspace } = counted[0]!;
  const { rev } = await read(port, workspace, uid);
  const facet = counted.reduce((sum, event) => addFacets(sum, aFold(event).gain), emptyFacet);
  assert.deepEqual(await port.profiles.save(workspace, [{ uid, facet, pending, expectedRev: rev }]), [true]);
}

/** An event that is folded, and one of the same person that the copy of the events does not have. */
async function restored({ events }: FoldPlace) {
  const workspace = newId<WorkspaceId>();
  const [known, lost] = [anEvent({ workspace }), anEvent({ workspace })];
  await events.insert(workspace, [known]);
  await events.fold(workspace, [aFold(known)]);
  return { workspace, known, lost, uid: aFold(known).facet };
}

async function send({ events }: FoldPlace, event: EventRecord): Promise<void> {
  await events.insert(event.workspace, [event]);
  await events.fold(event.workspace, [aFold(event)]);
}

export const verifyFacetsContract: Contract<FoldPlace> = {
  "an event that a repaired facet was copied with, and the events without, counts when it comes again": async ({
    port,
  }) => {
    const { workspace, known, lost, uid } = await restored(port);
    await put(port, uid, [known, lost], [lost.eventId]);
    assert.match((await check(port, workspace, uid)).join("\n"), /^wrong_facets: 1 [^\n]*; 1 mended [^\n]*$/);
    assert.equal((await read(port, workspace, uid)).eventCount, 1);
    await send(port, lost);
    assert.equal((await read(port, workspace, uid)).eventCount, 2);
    assert.deepEqual(await check(port, workspace, uid), []);
  },

  "so does one that a facet names and does not have, also where events expire": async ({ port }) => {
    const { workspace, known, lost, uid } = await restored(port);
    // As a repair left it that took away what the event added, and not its name.
    await put(port, uid, [known], [lost.eventId]);
    const isExpiring = true;
    assert.match((await check(port, workspace, uid, { isRepair: false })).join("\n"), /^wrong_facets: 1 /);
    assert.match((await check(port, workspace, uid, { isExpiring })).join("\n"), /^wrong_facets: 1 .*; 1 mended/);
    await send(port, lost);
    assert.equal((await read(port, workspace, uid)).eventCount, 2);
  },

  "an event that went into another facet is in that one alone": async ({ port }) => {
    const { workspace, known, lost, uid } = await restored(port);
    const other = aUidOf(workspace, "bob");
    await put(port, uid, [known, lost], [lost.eventId]);
    await port.events.insert(workspace, [lost]);
    await port.events.fold(workspace, [aFold(lost, { facet: other })]);
    assert.match((await check(port, workspace, uid)).join("\n"), /^wrong_facets: 1 .*; 1 mended/);
    assert.deepEqual(await check(port, workspace, other), []);
    const [mine, its] = [await read(port, workspace, uid), await read(port, workspace, other)];
    assert.deepEqual([mine.eventCount, its.eventCount], [1, 1]);
    assert.ok(!mine.pending.includes(lost.eventId));
  },

  "an event that is stored and named, and not marked yet, is as it should be": async ({ port }) => {
    const { workspace, known, lost, uid } = await restored(port);
    await port.events.insert(workspace, [lost]);
    await put(port, uid, [known, lost], [lost.eventId]);
    assert.deepEqual(await check(port, workspace, uid), []);
    // Also where the facet is wrong for another reason.
    await put(port, uid, [known, known, lost], [lost.eventId]);
    assert.match((await check(port, workspace, uid)).join("\n"), /^wrong_facets: 1 .*; 1 mended/);
    await send(port, lost);
    assert.equal((await read(port, workspace, uid)).eventCount, 2);
  },

  "one that was dropped is nothing to be mended": async ({ port }) => {
    const { workspace, known, lost, uid } = await restored(port);
    await port.events.insert(workspace, [lost]);
    await port.events.drop(workspace, [lost.eventId], "erased");
    await put(port, uid, [known], [lost.eventId]);
    assert.deepEqual(await check(port, workspace, uid), []);
  },
};
