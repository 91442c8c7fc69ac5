import assert from "node:assert/strict";
import { takeOut } from "../../../commands/erasures/restore.js";
import type { Identity } from "../../../core/identity/api.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { inMemory } from "../memory/erasure-log.js";
import { anEvent, erase, NOW, uidsOf } from "./erasures.js";
import { anAssertion, anIdentifier, aWorkspace, EVIDENCE, step } from "./fixtures.js";
import { ann } from "./snapshots.js";

/** A person of two parts, whom links to two others hold together: each part goes whole, and the others stay as they are. */
export async function checkTakenOut(graph: IdentityGraph): Promise<void> {
  const workspace = aWorkspace();
  const own = Array.from({ length: 30 }, (_, n) => anIdentifier(`own${n}`));
  const [other, friend, late] = ["other", "friend", "late"].map((name) => anIdentifier(name)) as [
    typeof ann,
    typeof ann,
    typeof ann,
  ];
  for (const [n, one] of own.slice(2).entries()) await step(graph, workspace, anAssertion(own[n + 1]!, one));
  await step(graph, workspace, anAssertion(other, friend));
  for (const n of [0, 1, 5, 6, 7, 8, 9, 15, 20, 29]) await step(graph, workspace, anAssertion(other, own[n]!));
  await step(graph, workspace, anAssertion(friend, own[3]!));
  const uids = new Set(await uidsOf(graph, workspace, ...own));
  const erasure = await erase(inMemory().erasures, workspace, ann);
  const identity = createIdentity({ graph, timeoutMs: 60_000, now: () => NOW, linksPerStep: 4 });
  let unlinks = 0;
  const unlink: Identity["unlink"] = (...asked) => {
    unlinks += 1;
    return identity.unlink(...asked);
  };
  await takeOut({ erasures: graph, identity: { ...identity, unlink }, now: () => NOW }, erasure, uids);
  assert.equal(unlinks, 1);
  assert.equal((await graph.livingUids(workspace, [...uids])).size, 0);
  const receipts = await graph.erasures(workspace, { limit: 100, before: null });
  const sizes = receipts.map(({ identifiers }) => [...identifiers.values()].reduce((sum, one) => sum + one, 0));
  assert.deepEqual(
    sizes.toSorted((a, b) => a - b),
    [1, 29],
  );
  // What the others sent before counts as it did: nobody unlinked them.
  await identity.assertAll(workspace, [anEvent([other, late], EVIDENCE.at)]);
  const found = await identity.lookup(workspace, [other, friend, late, own[0]!]);
  const { profileId } = found[0]!;
  assert.deepEqual(
    found.map((one) => one && [one.profileId, one.size]),
    [[profileId, 3], [profileId, 3], [profileId, 3], null],
  );
}
