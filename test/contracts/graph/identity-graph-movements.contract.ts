import assert from "node:assert/strict";
import type { Identity } from "../../../core/identity/api.js";
import { newId, type MovedId, type ProfileId, type WorkspaceId } from "../../../core/ids.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import type { Contract } from "../../support/contract.js";
import { erase } from "../../support/identity/erasures.js";
import { aWorkspace, anAssertion, anIdentifier, EVIDENCE, step } from "../../support/identity/fixtures.js";
import { aChain, IN_HALVES, takeApart } from "../../support/identity/plans.js";
import { ann, bob, cat, dan, idOf } from "../../support/identity/snapshots.js";
import { createRandom, SEED, shuffled } from "../../support/random/random.js";

const MANY = 1_000;

async function watched(port: IdentityGraph): Promise<WorkspaceId> {
  const workspace = aWorkspace();
  await port.watch(workspace);
  return workspace;
}

/** The notes since the last time, as cause and profiles; they are cleared. */
async function take(port: IdentityGraph, workspace: WorkspaceId) {
  const moved = await port.moved(workspace, MANY);
  await port.clearMoved(
    workspace,
    moved.map(({ movedId }) => movedId),
  );
  return moved.map(({ cause, profileIds }) => [cause, profileIds] as const);
}

/** Each profile with its members. */
async function membershipOf(port: IdentityGraph, workspace: WorkspaceId): Promise<ReadonlyMap<ProfileId, string>> {
  const membership = new Map<ProfileId, string>();
  for (const { profileId } of await port.walk(workspace, { limit: MANY, after: null, membersMax: 0 })) {
    const members = await port.members(workspace, profileId, { limit: MANY, after: null });
    membership.set(profileId, members.map(({ uid }) => uid).join(" "));
  }
  return membership;
}

const NAMES = ["a", "b", "c", "d", "e", "f", "g"];

/** One call that may change who is whom. */
async function act(
  identity: Identity,
  port: IdentityGraph,
  workspace: WorkspaceId,
  random: ReturnType<typeof createRandom>,
) {
  const [from, to] = shuffled(NAMES, random).map((value) => anIdentifier(value));
  const kind = random.below(9);
  if (kind < 5) return identity.assert(workspace, anAssertion(from!, to!));
  if (kind === 5) return identity.unlink(workspace, { identifier: from! }, EVIDENCE);
  if (kind < 8) return identity.unlink(workspace, { from: from!, to: to!, forbid: false }, EVIDENCE);
  const changes = await port.changes(workspace, null, { limit: 20, before: null });
  if (changes.length === 0) return identity.assert(workspace, anAssertion(from!, to!));
  return identity.revert(workspace, random.pick(changes).changeId, EVIDENCE);
}

export const identityGraphMovements: Contract<IdentityGraph> = {
  "moved answers nothing where nobody watches": async ({ port }) => {
    const workspace = await aChain(port);
    assert.deepEqual(await port.moved(workspace, MANY), []);
    await port.watch(workspace);
    assert.deepEqual(await port.moved(workspace, MANY), []);
    await step(port, workspace, anAssertion(ann, dan));
    assert.deepEqual(await port.moved(workspace, MANY), [], "a link within a profile moves nobody");
  },

  "tells what is new, what merged and what fell apart, with the ids before and after": async ({ port }) => {
    const workspace = await watched(port);
    await step(port, workspace, anAssertion(ann, bob));
    const first = await idOf(port, workspace, ann);
    assert.deepEqual(await take(port, workspace), [["changed", [first]]]);
    await step(port, workspace, anAssertion(cat, dan));
    const second = await idOf(port, workspace, cat);
    assert.deepEqual(await take(port, workspace), [["changed", [second]]]);
    await step(port, workspace, anAssertion(bob, cat));
    assert.deepEqual(await take(port, workspace), [["merged", [first, second].toSorted()]]);
    await takeApart(port, workspace, ...IN_HALVES);
    assert.deepEqual(await take(port, workspace), [["split", [first, second].toSorted()]]);
    await erase(port, workspace, ann);
    assert.deepEqual(await take(port, workspace), [], "whoever erases knows whom");
    await step(port, workspace, anAssertion(ann));
    assert.deepEqual(await take(port, workspace), [["changed", [await idOf(port, workspace, ann)]]]);
  },

  "notes stand until they are cleared, the oldest first, also across close and reopen": async ({ port, reopen }) => {
    const workspace = await watched(port);
    await port.watch(workspace);
    for (const one of [ann, bob, cat]) await step(port, workspace, anAssertion(one));
    const all = await port.moved(workspace, MANY);
    assert.equal(all.length, 3);
    assert.deepEqual(await port.moved(workspace, 2), all.slice(0, 2));
    await port.clearMoved(workspace, [all[1]!.movedId, newId<MovedId>()]);
    const again = await reopen();
    assert.deepEqual(await again.moved(workspace, MANY), [all[0], all[2]]);
    await step(again, workspace, anAssertion(dan));
    assert.equal((await again.moved(workspace, MANY)).length, 3, "it is still watched");
  },

  [`names each profile whose identifiers a step changed (seed ${SEED})`]: async ({ port }) => {
    const random = createRandom(SEED);
    const workspace = await watched(port);
    const identity = createIdentity({ graph: port, timeoutMs: 60_000, linksPerStep: 2 });
    let before = await membershipOf(port, workspace);
    for (let n = 0; n < 80; n += 1) {
      await act(identity, port, workspace, random).catch((error: { readonly code?: string }) => {
        if (error.code !== "not_found" && error.code !== "conflict") throw error;
      });
      const after = await membershipOf(port, workspace);
      const noted = new Set((await take(port, workspace)).flatMap(([, profileIds]) => profileIds));
      const ids = [...new Set([...before.keys(), ...after.keys()])];
      const changed = ids.filter((profileId) => before.get(profileId) !== after.get(profileId));
      assert.deepEqual(
        changed.filter((profileId) => !noted.has(profileId)),
        [],
        `after ${n} calls`,
      );
      before = after;
    }
  },

  "watch, moved and clearMoved keep workspaces apart": async ({ port }) => {
    const [a, b, quiet] = [await watched(port), await watched(port), aWorkspace()];
    for (const workspace of [a, b, quiet]) await step(port, workspace, anAssertion(ann));
    const [inA] = await port.moved(a, MANY);
    assert.deepEqual(inA!.profileIds, [await idOf(port, a, ann)]);
    assert.deepEqual(await port.moved(quiet, MANY), []);
    await port.clearMoved(b, [inA!.movedId]);
    assert.equal((await port.moved(a, MANY)).length, 1);
    assert.equal((await port.moved(b, MANY)).length, 1);
  },
};
