import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import { newId, type ChangeId, type ForbiddenPairId, type WorkspaceId } from "../../../core/ids.js";
import type { Member, ForbiddenPair } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { UNLINK_MARKS_MAX } from "../../../graph/rules/unlink-marks.js";
import type { Contract } from "../../support/contract.js";
import { aWorkspace, anAssertion, anIdentifier, EVIDENCE, step } from "../../support/identity/fixtures.js";
import { aChange, forbid, allow, markShared, takeApart, write } from "../../support/identity/plans.js";
import {
  ALL,
  ann,
  bob,
  cat,
  dan,
  hostileValues,
  idOf,
  inPages,
  wanting,
  wantingRules,
} from "../../support/identity/snapshots.js";

const valuesOf = (members: readonly Member[]) => members.map(({ identifier }) => identifier.value);
const byId = (x: ForbiddenPair, y: ForbiddenPair): number => (x.forbiddenPairId < y.forbiddenPairId ? -1 : 1);

/** One change for each of these times; answers their ids. */
async function unlink(
  port: IdentityGraph,
  workspace: WorkspaceId,
  identifier: Identifier,
  ...times: readonly number[]
) {
  const key = identifierKey(workspace, identifier);
  const changes = times.map(() => aChange({ identifiers: [identifier] }));
  const unlinked = times.map((at, n) => ({ key, at, changeId: changes[n]!.changeId }));
  await write(port, workspace, [identifier], () => ({ changes, unlinked }));
  return changes.map(({ changeId }) => changeId);
}

const takeOff = (port: IdentityGraph, workspace: WorkspaceId, identifier: Identifier, changeId: ChangeId) =>
  write(port, workspace, [identifier], () => ({
    changes: [aChange({ identifiers: [identifier] })],
    unlinked: [{ key: identifierKey(workspace, identifier), at: null, changeId }],
  }));

const { at: AT } = EVIDENCE;

/** What stands with identifiers and pairs beside their links. */
export const identityGraphMarks: Contract<IdentityGraph> = {
  "markedAt tells the mark of each unlink until it is taken off, and read the latest of them": async ({
    port,
    reopen,
  }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob));
    const [first] = await unlink(port, workspace, ann, AT + 5);
    // The clock of another process may be behind, and a plan of an import may have several.
    const [latest, second] = await unlink(port, workspace, ann, AT + 9, AT + 7);
    const again = await reopen();
    const marks = [first!, second!, latest!];
    const told = async (identifier = ann) => {
      const key = identifierKey(workspace, identifier);
      const { identifiers } = await again.read(workspace, wantingRules(wanting(workspace, identifier)));
      const times = await Promise.all(marks.map((changeId) => again.markedAt(workspace, key, changeId)));
      return [identifiers.get(key)?.unlinkedAt, ...times];
    };
    assert.deepEqual(await told(), [AT + 9, AT + 5, AT + 7, AT + 9]);
    assert.equal(await again.markedAt(workspace, identifierKey(workspace, ann), newId<ChangeId>()), null);
    assert.deepEqual(await told(bob), [null, null, null, null]);
    assert.deepEqual(await told(cat), [undefined, null, null, null]);
    await takeOff(again, workspace, ann, second!);
    assert.deepEqual(await told(), [AT + 9, AT + 5, null, AT + 9], "from between the others");
    await takeOff(again, workspace, ann, second!);
    await takeOff(again, workspace, ann, latest!);
    assert.deepEqual(await told(), [AT + 5, AT + 5, null, null], "the one before it counts");
    await takeOff(again, workspace, ann, first!);
    assert.deepEqual(await told(), [null, null, null, null], "none is left");
  },

  "an identifier keeps the latest 16 marks": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob));
    const marks: ChangeId[] = [];
    for (let n = 0; n < UNLINK_MARKS_MAX + 1; n++) marks.push(...(await unlink(port, workspace, ann, AT + n)));
    const key = identifierKey(workspace, ann);
    const times = await Promise.all(marks.map((changeId) => port.markedAt(workspace, key, changeId)));
    assert.deepEqual(
      times,
      marks.map((_, n) => (n === 0 ? null : AT + n)),
    );
  },

  "update and read show whether an identifier has the mark that is asked for": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob));
    const [first] = await unlink(port, workspace, ann, AT + 1);
    const [second] = await unlink(port, workspace, ann, AT + 2);
    const shown = async (identifier: Identifier, by: ChangeId) => {
      const want = wantingRules(wanting(workspace, ann, bob, cat));
      const asked = { ...want, rules: { ...want.rules, mark: { key: identifierKey(workspace, identifier), by } } };
      const read = await port.read(workspace, asked);
      const now = await port.update(workspace, asked, (seen) => ({ plan: null, result: seen }));
      assert.deepEqual(now.identifiers, read.identifiers);
      return [ann, bob].map((one) => read.identifiers.get(identifierKey(workspace, one))!.hasMark);
    };
    for (const by of [first!, second!]) {
      assert.deepEqual(await shown(ann, by), [true, undefined]);
      assert.deepEqual(await shown(bob, by), [undefined, undefined]);
      assert.deepEqual(await shown(cat, by), [undefined, undefined]);
    }
    await takeOff(port, workspace, ann, first!);
    assert.deepEqual(await shown(ann, first!), [undefined, undefined]);
    assert.deepEqual(await shown(ann, second!), [true, undefined]);
    const unasked = await port.read(workspace, wantingRules(wanting(workspace, ann)));
    assert.ok(!("hasMark" in unasked.identifiers.get(identifierKey(workspace, ann))!));
  },

  "markedAt keeps workspaces apart": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    for (const workspace of [one, other]) await step(port, workspace, anAssertion(ann));
    const [changeId] = await unlink(port, one, ann, AT);
    for (const [asked, of] of [
      [one, other],
      [other, one],
      [other, other],
    ] as const)
      assert.equal(await port.markedAt(asked, identifierKey(of, ann), changeId!), null);
    assert.equal(await port.markedAt(one, identifierKey(one, ann), changeId!), AT);
  },
};

export const identityGraphForbiddenPairs: Contract<IdentityGraph> = {
  "findForbiddenPairs and forbiddenPairs tell a forbidden pair as it was forbidden, until it is allowed again": async ({
    port,
    reopen,
  }) => {
    const workspace = aWorkspace();
    const strange = hostileValues(aWorkspace()).map((value) => anIdentifier(value, "a.b"));
    await step(port, workspace, ...[ann, bob, ...strange].map((one) => anAssertion(one)));
    const forbiddenPairs = [await forbid(port, workspace, [bob, ann])];
    for (const one of strange) forbiddenPairs.push(await forbid(port, workspace, [one, bob]));
    const ids = forbiddenPairs.map(({ forbiddenPairId }) => forbiddenPairId);
    const again = await reopen();
    assert.deepEqual(await again.forbiddenPairs(workspace, ALL), forbiddenPairs.toSorted(byId));
    assert.deepEqual((await again.findForbiddenPairs(workspace, ids)).toSorted(byId), forbiddenPairs.toSorted(byId));
    assert.deepEqual(await again.findForbiddenPairs(workspace, [ids[3]!, newId<ForbiddenPairId>()]), [
      forbiddenPairs[3],
    ]);
    assert.deepEqual(await again.findForbiddenPairs(workspace, []), []);
    await allow(again, workspace, forbiddenPairs[3]!);
    assert.deepEqual(await again.findForbiddenPairs(workspace, [ids[3]!]), []);
    assert.deepEqual(
      await again.forbiddenPairs(workspace, ALL),
      forbiddenPairs.filter((_, i) => i !== 3).toSorted(byId),
    );
    await forbid(again, workspace, [bob, strange[2]!]);
    assert.equal(
      (await again.findForbiddenPairs(workspace, [ids[3]!]))[0]!.to.value,
      strange[2]!.value,
      "forbidden anew",
    );
  },

  "forbiddenPairs come by id, in pages, each once": async ({ port }) => {
    const workspace = aWorkspace();
    const people = Array.from({ length: 7 }, (_, i) => anIdentifier(`p${i}`));
    await step(port, workspace, anAssertion(ann), ...people.map((one) => anAssertion(one)));
    const forbiddenPairs: ForbiddenPair[] = [];
    for (const one of people) forbiddenPairs.push(await forbid(port, workspace, [ann, one]));
    for (const size of [1, 3, 7]) {
      const found = await inPages(size, forbiddenPairs.length, (last: ForbiddenPair | undefined) =>
        port.forbiddenPairs(workspace, { limit: size, after: last?.forbiddenPairId ?? null }),
      );
      assert.deepEqual(found, forbiddenPairs.toSorted(byId), `pages of ${size}`);
    }
  },

  "findForbiddenPairs and forbiddenPairs keep workspaces apart": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    const forbiddenPairs: ForbiddenPair[] = [];
    for (const workspace of [one, other]) {
      await step(port, workspace, anAssertion(ann), anAssertion(bob));
      forbiddenPairs.push(await forbid(port, workspace, [ann, bob]));
    }
    const ids = forbiddenPairs.map(({ forbiddenPairId }) => forbiddenPairId);
    for (const [i, workspace] of [one, other].entries()) {
      assert.deepEqual(await port.forbiddenPairs(workspace, ALL), [forbiddenPairs[i]]);
      assert.deepEqual(await port.findForbiddenPairs(workspace, ids), [forbiddenPairs[i]]);
    }
  },
};

export const identityGraphSharedIdentifiers: Contract<IdentityGraph> = {
  "shared identifiers are those that a plan marked and none unmarked since, by uid, in pages": async ({
    port,
    reopen,
  }) => {
    const workspace = aWorkspace();
    const strange = hostileValues(aWorkspace()).map((value) => anIdentifier(value, "device_id"));
    for (const one of [ann, ...strange, bob]) await step(port, workspace, anAssertion(one, cat));
    for (const one of [...strange, ann, bob, cat].toReversed()) await markShared(port, workspace, one, true);
    await markShared(port, workspace, cat, false);
    const again = await reopen();
    const all = await again.sharedIdentifiers(workspace, ALL);
    assert.deepEqual(
      all.map(({ identifier }) => identifier),
      [ann, ...strange, bob],
    );
    assert.ok(all.every(({ isShared }) => isShared));
    for (const size of [1, 4]) {
      const found = await inPages(size, all.length, (last: Member | undefined) =>
        again.sharedIdentifiers(workspace, { limit: size, after: last?.uid ?? null }),
      );
      assert.deepEqual(found, all, `pages of ${size}`);
    }
  },

  "members say who is a shared identifier, wherever it goes": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob), anAssertion(cat, dan));
    await markShared(port, workspace, bob, true);
    const found = async (identifier: Identifier) =>
      (await port.members(workspace, await idOf(port, workspace, identifier), ALL))
        .filter(({ isShared }) => isShared)
        .map(({ identifier: { value } }) => value);
    assert.deepEqual([await found(ann), await found(cat)], [["bob"], []]);
    await step(port, workspace, anAssertion(ann, cat));
    assert.deepEqual(await found(dan), ["bob"]);
    await takeApart(port, workspace, [[ann, bob]], [[ann, cat, dan], [bob]]);
    assert.deepEqual([await found(dan), await found(bob)], [[], ["bob"]]);
  },

  "sharedIdentifiers keeps workspaces apart": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    for (const workspace of [one, other]) await step(port, workspace, anAssertion(ann), anAssertion(bob));
    await markShared(port, one, ann, true);
    await markShared(port, other, bob, true);
    assert.deepEqual(valuesOf(await port.sharedIdentifiers(one, ALL)), ["ann"]);
    assert.deepEqual(valuesOf(await port.sharedIdentifiers(other, ALL)), ["bob"]);
  },

  "hasIdentifiers tells whether any identifier of the namespace stands, not of one whose name begins like it": async ({
    port,
    reopen,
  }) => {
    const workspace = aWorkspace();
    for (const namespace of ["b", "b.c", "bb", "b-c", "b_c", "b0"]) {
      assert.equal(await port.hasIdentifiers(workspace, namespace), false, `${namespace} before`);
      for (const value of ["", ":", "\0", "\u{10ffff}"])
        await step(port, workspace, anAssertion(anIdentifier(`${value}x`, namespace)));
      assert.equal(await port.hasIdentifiers(workspace, namespace), true, namespace);
    }
    const again = await reopen();
    for (const namespace of ["a", "c", "b.", "b.c.d", "bc", "user_id"])
      assert.equal(await again.hasIdentifiers(workspace, namespace), false, namespace);
  },

  "hasIdentifiers keeps workspaces apart": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    await step(port, one, anAssertion(anIdentifier("x", "b")));
    await step(port, other, anAssertion(anIdentifier("x", "c")));
    const told = (workspace: WorkspaceId) =>
      Promise.all(["b", "c"].map((namespace) => port.hasIdentifiers(workspace, namespace)));
    assert.deepEqual(
      [await told(one), await told(other)],
      [
        [true, false],
        [false, true],
      ],
    );
  },
};
