import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import type { WorkspaceId } from "../../../core/ids.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { readSetOf, readSetOfAll } from "../../../graph/rules/read-set.js";
import { repeatIn } from "../../../graph/rules/repeats.js";
import type { Contract } from "../../support/contract.js";
import { aWorkspace, anAssertion, anIdentifier, step } from "../../support/identity/fixtures.js";
import { aChain, EVERYBODY, giveBack, IN_HALVES, markShared, takeApart } from "../../support/identity/plans.js";
import { ann, bob, cat, dan, hostileValues, idOf } from "../../support/identity/snapshots.js";

/**
 * What it answers, once each is seen to be what the rule says of the same snapshot, with the uid of its set's first identifier, and
 * whether one of the set is marked as shared.
 */
const ask = (port: IdentityGraph, workspace: WorkspaceId, ...sets: readonly (readonly Identifier[])[]) =>
  askWith([], port, workspace, sets);
async function askWith(
  shared: readonly Identifier[],
  port: IdentityGraph,
  workspace: WorkspaceId,
  sets: readonly (readonly Identifier[])[],
) {
  const keys = sets.map((identifiers) => identifiers.map((one) => identifierKey(workspace, one)));
  const snapshot = await port.read(workspace, readSetOfAll(keys.map(readSetOf)));
  const answers = await port.repeats(workspace, keys);
  assert.deepEqual(
    answers,
    keys.map((set) => repeatIn(snapshot, set)),
  );
  return answers.map((found, n) => {
    if (found === null) return null;
    const { facet, isShared, ...profile } = found;
    assert.equal(facet, snapshot.identifiers.get(keys[n]![0]!)?.uid);
    assert.equal(
      isShared,
      sets[n]!.some((one) => shared.includes(one)),
    );
    return profile;
  });
}

/** What `repeats` promises. */
export const identityGraphRepeats: Contract<IdentityGraph> = {
  "repeats names the profile of a set of which each two are linked, whichever way round, and of one that stands alone":
    async ({ port }) => {
      const workspace = aWorkspace();
      const profileId = await idOf(port, workspace, bob, ann, cat);
      const alone = await idOf(port, workspace, dan);
      const all = { profileId, size: 3 };
      assert.deepEqual(await ask(port, workspace, [ann, bob]), [all]);
      assert.deepEqual(await ask(port, workspace, [bob, ann], [cat], [ann, cat, bob]), [all, all, all]);
      assert.deepEqual(await ask(port, workspace, [dan]), [{ profileId: alone, size: 1 }]);
    },

  "repeats answers each set by itself and in order, whatever the others are": async ({ port }) => {
    const workspace = aWorkspace();
    const one = { profileId: await idOf(port, workspace, ann, bob), size: 2 };
    const other = { profileId: await idOf(port, workspace, cat), size: 1 };
    const sets = [[cat], [ann, dan], [ann, bob], [cat, ann], [ann], [dan, cat, bob], [bob, ann], [dan], [cat]];
    assert.deepEqual(await ask(port, workspace, ...sets), [other, null, one, null, one, null, one, null, other]);
    assert.deepEqual(await ask(port, workspace), []);
  },

  "repeats leaves out at most what is behind the first that is none, if it is told so": async ({ port }) => {
    const workspace = aWorkspace();
    await idOf(port, workspace, ann, bob);
    const [pair, none] = [
      [ann, bob],
      [ann, dan],
    ].map((set) => set.map((one) => identifierKey(workspace, one)));
    const many = Array.from({ length: 30 }, () => pair!);
    for (const sets of [[none!], [pair!, none!, pair!], many, [...many, none!, pair!]]) {
      const all = await port.repeats(workspace, sets);
      const some = await port.repeats(workspace, sets, { untilNone: true });
      assert.deepEqual(some, all.slice(0, some.length));
      assert.ok(some.length === sets.length || some.includes(null));
    }
  },

  "repeats answers null where two of a set are not linked, though one profile holds them": async ({ port }) => {
    const workspace = await aChain(port);
    const sets = [
      [ann, cat],
      [ann, bob, cat],
      [ann, dan],
    ];
    assert.deepEqual(await ask(port, workspace, ...sets), [null, null, null]);
  },

  "repeats follows a merge, and a link that is taken back and given back": async ({ port }) => {
    const workspace = await aChain(port);
    const whole = { profileId: await idOf(port, workspace, ann), size: 4 };
    const sets = [
      [ann, bob],
      [cat, bob],
      [cat, dan],
    ];
    assert.deepEqual(await ask(port, workspace, ...sets), [whole, whole, whole]);
    await takeApart(port, workspace, ...IN_HALVES);
    const [first, none, last] = await ask(port, workspace, ...sets);
    assert.deepEqual([first, none], [{ ...whole, size: 2 }, null]);
    assert.equal(last!.size, 2);
    assert.notEqual(last!.profileId, whole.profileId);
    await giveBack(port, workspace, [bob, cat]);
    assert.deepEqual(await ask(port, workspace, ...sets), [whole, whole, whole]);
  },

  "repeats answers null for a link that is taken back though its profile stays one": async ({ port }) => {
    const workspace = await aChain(port);
    await step(port, workspace, anAssertion(ann, cat));
    await takeApart(port, workspace, [[bob, cat]], [EVERYBODY]);
    const [removed, kept] = await ask(port, workspace, [bob, cat], [ann, cat]);
    assert.deepEqual([removed, kept?.size], [null, 4]);
  },

  "repeats tells sets with an identifier that is marked as shared": async ({ port }) => {
    const workspace = await aChain(port);
    await step(port, workspace, anAssertion(ann, cat));
    const sets = [[ann], [ann, bob], [bob, ann], [ann, bob, cat], [cat, dan], [dan]];
    await markShared(port, workspace, ann, true);
    assert.ok((await askWith([ann], port, workspace, sets)).every((found) => found?.size === 4));
    await markShared(port, workspace, ann, false);
    await markShared(port, workspace, dan, true);
    assert.ok((await askWith([dan], port, workspace, sets)).every((found) => found?.size === 4));
  },

  "repeats keeps identifiers apart that differ in one character, whatever it is": async ({ port }) => {
    const [workspace, other] = [aWorkspace(), aWorkspace()];
    const values = hostileValues(other).map((value) => anIdentifier(value));
    const ids = [];
    for (const one of values) ids.push(await idOf(port, workspace, one, anIdentifier(`with ${one.value}`, "email")));
    const found = await ask(port, workspace, ...values.map((one) => [anIdentifier(`with ${one.value}`, "email"), one]));
    assert.deepEqual(
      found,
      ids.map((profileId) => ({ profileId, size: 2 })),
    );
    const crossed = values.map((one, n) => [one, anIdentifier(`with ${values.at(n - 1)!.value}`, "email")]);
    assert.deepEqual(
      await ask(port, workspace, ...crossed),
      crossed.map(() => null),
    );
  },

  "repeats keeps workspaces apart": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    const profileId = await idOf(port, one, ann, bob);
    assert.deepEqual(await ask(port, other, [ann, bob], [ann]), [null, null]);
    await step(port, other, anAssertion(ann, bob, cat));
    const mine = { profileId, size: 2 };
    assert.deepEqual(await ask(port, one, [ann, bob], [bob]), [mine, mine]);
    // Keys of the one asked in the name of the other.
    const keys = [ann, bob].map((identifier) => identifierKey(one, identifier));
    assert.deepEqual(await port.repeats(other, [keys, keys.slice(1)]), [null, null]);
    const mixed = [keys[0]!, identifierKey(other, bob)];
    assert.deepEqual(await port.repeats(other, [mixed]), [null]);
  },
};
