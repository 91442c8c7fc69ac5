import assert from "node:assert/strict";
import type { AppError } from "../../../core/errors.js";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import type { IdentifierKey, WorkspaceId } from "../../../core/ids.js";
import { pairKey, type HiddenKey } from "../../../core/identity/model.js";
import type { RulesReadSet } from "../../../core/identity/snapshot.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { createHiddenKeys } from "../../../graph/rules/hidden-keys.js";
import { tombOf } from "../../support/builders.js";
import { FORBIDDEN_PAIRS_MAX } from "../../../graph/undo/allow.js";
import type { Contract } from "../../support/contract.js";
import { aWorkspace, anAssertion, anIdentifier, EVIDENCE, step } from "../../support/identity/fixtures.js";
import { aChange, forbid, forbidAll, keysOf, takeApart, write } from "../../support/identity/plans.js";
import { ann, bob, cat, dan, hostileValues, wanting, wantingRules } from "../../support/identity/snapshots.js";

const mail = (value: string): Identifier => anIdentifier(value, "email");
const cookie = (value: string): Identifier => anIdentifier(value, "cookie_id");

/** What the rules see of one identifier. */
async function sightOf(
  port: IdentityGraph,
  workspace: WorkspaceId,
  identifier: Identifier,
  want?: RulesReadSet["rules"],
) {
  const rules = want ?? { limited: [], seenWithMax: 0 };
  const snapshot = await port.read(workspace, { ...wanting(workspace, identifier), rules });
  const seen = snapshot.identifiers.get(identifierKey(workspace, identifier))!;
  return { ...seen, ...snapshot.components.get(seen.component)! };
}
const seenWithOf = async (
  port: IdentityGraph,
  workspace: WorkspaceId,
  identifier: Identifier,
  limited = ["user_id", "email"],
  seenWithMax = 100,
) => (await sightOf(port, workspace, identifier, { limited, seenWithMax })).seenWith.toSorted();

const keys = (workspace: WorkspaceId, ...identifiers: readonly Identifier[]) =>
  identifiers.map((one) => identifierKey(workspace, one)).toSorted();

/** Each as it is stored. */
const hidden = (seenWith: readonly (IdentifierKey | HiddenKey)[]) => seenWith.map(hide).toSorted();
const { hide } = createHiddenKeys(tombOf);

/** What `read` shows to the rules. */
export const identityGraphRules: Contract<IdentityGraph> = {
  "read shows who is marked as shared, and nothing that only the rules need unless it is asked for": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob), anAssertion(bob, cat));
    await takeApart(port, workspace, [[bob, cat]], [[ann, bob], [cat]]);
    await forbid(port, workspace, [ann, cat]);
    await write(port, workspace, [ann], () => {
      const [key, change] = [identifierKey(workspace, ann), aChange()];
      return {
        changes: [change],
        unlinked: [{ key, at: EVIDENCE.at, changeId: change.changeId }],
        seenWith: [{ key, seenWith: keys(workspace, dan), isShared: true }],
      };
    });
    // Two at once, one alone, and pairs that share an identifier.
    const want = wanting(workspace, ann, bob, cat);
    const snapshot = await port.read(workspace, want);
    for (const [key, { uid: _, component: __, ...seen }] of snapshot.identifiers)
      assert.deepEqual(seen, { isShared: key === identifierKey(workspace, ann) });
    for (const profile of snapshot.components.values()) assert.deepEqual(Object.keys(profile), ["profileId", "size"]);
    assert.deepEqual([...snapshot.linked], [pairKey(...keysOf(workspace, [ann, bob]))]);
    const deep = await port.read(workspace, wantingRules(want));
    assert.equal(deep.removed.size, 1);
    assert.ok(deep.identifiers.get(identifierKey(workspace, ann))!.isShared);
  },

  "read shows how many identifiers of each namespace a profile has": async ({ port, reopen }) => {
    const workspace = aWorkspace();
    const many = Array.from({ length: 18 }, (_, i) => cookie(`c${i}`));
    await step(port, workspace, anAssertion(ann, mail("a")), anAssertion(bob, mail("b"), ...many), anAssertion(cat));
    await step(port, workspace, anAssertion(ann, bob));
    const check = async (graph: IdentityGraph): Promise<void> => {
      const { counts } = await sightOf(graph, workspace, many[3]!);
      assert.deepEqual(Object.fromEntries(counts), { user_id: 2, email: 2, cookie_id: 18 });
      assert.deepEqual([...(await sightOf(graph, workspace, cat)).counts], [["user_id", 1]]);
    };
    await check(port);
    await check(await reopen());
  },

  "read shows the forbidden pairs that have a side in a profile, sorted": async ({ port, reopen }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, mail("a")), anAssertion(bob), anAssertion(cat), anAssertion(dan));
    const forbiddenPairs = [await forbid(port, workspace, [ann, bob]), await forbid(port, workspace, [cat, mail("a")])];
    const ids = forbiddenPairs.map(({ forbiddenPairId }) => forbiddenPairId);
    const check = async (graph: IdentityGraph): Promise<void> => {
      assert.deepEqual((await sightOf(graph, workspace, mail("a"))).forbidden, ids.toSorted());
      assert.deepEqual((await sightOf(graph, workspace, bob)).forbidden, [ids[0]]);
      assert.deepEqual((await sightOf(graph, workspace, cat)).forbidden, [ids[1]]);
      assert.deepEqual((await sightOf(graph, workspace, dan)).forbidden, []);
    };
    await check(port);
    await check(await reopen());
  },

  "read shows as many forbidden pairs as may be made in a profile, and those that a merge brings beside them": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    const identity = createIdentity({ graph: port, timeoutMs: 60_000 });
    const enemies = Array.from({ length: FORBIDDEN_PAIRS_MAX }, (_, n) => cookie(`c${n}`));
    await step(port, workspace, anAssertion(ann, bob), ...[cat, dan, ...enemies].map((one) => anAssertion(one)));
    const [first] = await forbidAll(port, workspace, ann, enemies.slice(1));
    const forbidPair = (from: Identifier, to: Identifier) =>
      identity.unlink(workspace, { from, to, forbid: true }, EVIDENCE);
    const pairsOf = async (one: Identifier) => (await sightOf(port, workspace, one)).forbidden.length;
    assert.equal((await forbidPair(enemies[0]!, ann)).outcome, "forbidden");
    assert.equal(await pairsOf(ann), FORBIDDEN_PAIRS_MAX);
    assert.equal((await forbidPair(enemies[0]!, ann)).outcome, "unchanged");
    for (const [from, to, full] of [
      [cat, ann, "to"],
      [bob, cat, "from"],
      [ann, bob, "from"],
    ] as const)
      await assert.rejects(forbidPair(from, to), ({ code, errors }: AppError) => {
        assert.deepEqual([code, errors?.map(({ path }) => path)], ["conflict", [full]]);
        return true;
      });
    assert.equal((await sightOf(port, workspace, ann)).size, 2, "their link is there still");
    await forbidPair(cat, dan);
    await identity.assert(workspace, anAssertion(ann, cat));
    assert.equal(await pairsOf(ann), FORBIDDEN_PAIRS_MAX + 1);
    await identity.allow(workspace, first!.forbiddenPairId, EVIDENCE);
    assert.equal((await forbidPair(ann, cat)).outcome, "unlinked", "each part has room");
  },

  "read shows the pairs whose link was taken back, and when, whichever way round they are wanted": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob, cat), anAssertion(dan));
    const change = aChange({ at: 123_456_789 });
    await takeApart(port, workspace, [[bob, cat]], [[ann, bob, cat]], change);
    for (const wanted of [
      [ann, bob, cat, dan],
      [dan, cat, bob, ann],
    ]) {
      const { linked, removed } = await port.read(workspace, wantingRules(wanting(workspace, ...wanted)));
      assert.deepEqual(
        [...removed],
        [[pairKey(...keysOf(workspace, [bob, cat])), { at: 123_456_789, by: change.changeId }]],
      );
      assert.equal(linked.size, 2);
    }
    for (const pair of [wanting(workspace, bob, cat), wanting(workspace, cat, bob)])
      assert.equal((await port.read(workspace, pair)).linked.size, 0, "nor is it shown as a link to who asks for less");
  },

  "read shows when an identifier was last unlinked, until that is taken back": async ({ port, reopen }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob));
    const key = identifierKey(workspace, ann);
    const change = aChange();
    const mark = (graph: IdentityGraph, at: number | null) =>
      write(graph, workspace, [ann], () => ({
        changes: at === null ? [aChange()] : [change],
        unlinked: [{ key, at, changeId: change.changeId }],
      }));
    assert.equal((await sightOf(port, workspace, ann)).unlinkedAt, null);
    await mark(port, 1_700_000_000_009);
    const again = await reopen();
    assert.equal((await sightOf(again, workspace, ann)).unlinkedAt, 1_700_000_000_009);
    assert.equal((await sightOf(again, workspace, bob)).unlinkedAt, null);
    await mark(again, null);
    assert.equal((await sightOf(again, workspace, ann)).unlinkedAt, null);
  },

  "read shows the values of limited namespaces that an identifier is linked to, in either direction": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    const device = anIdentifier("tv", "device_id");
    await step(
      port,
      workspace,
      anAssertion(ann, device),
      anAssertion(device, mail("a")),
      anAssertion(cookie("c"), device),
    );
    await step(port, workspace, anAssertion(bob, mail("a")));
    assert.deepEqual(await seenWithOf(port, workspace, device), keys(workspace, ann, mail("a")));
    assert.deepEqual(await seenWithOf(port, workspace, device, ["email"]), keys(workspace, mail("a")));
    assert.deepEqual(await seenWithOf(port, workspace, device, ["mail", "user", "e"]), []);
    assert.deepEqual(await seenWithOf(port, workspace, device, []), [], "nobody asks");
    assert.deepEqual(await seenWithOf(port, workspace, ann), [], "those further off do not count");
    assert.deepEqual(await seenWithOf(port, workspace, mail("a")), keys(workspace, bob));
    await takeApart(port, workspace, [[device, ann]], [[device, mail("a"), bob, cookie("c")], [ann]]);
    assert.deepEqual(await seenWithOf(port, workspace, device), keys(workspace, mail("a")), "nor those taken back");
  },

  "read shows those beside them that a rule kept apart, each once": async ({ port, reopen }) => {
    const workspace = aWorkspace();
    const device = anIdentifier("tv", "device_id");
    const strange = hostileValues(aWorkspace()).map((value) => mail(value));
    await step(port, workspace, anAssertion(ann, device));
    const touch = (graph: IdentityGraph, ...seenWith: readonly Identifier[]) =>
      write(graph, workspace, [device], () => ({
        seenWith: [{ key: identifierKey(workspace, device), seenWith: keys(workspace, ...seenWith), isShared: false }],
      }));
    await touch(port, bob, ...strange);
    await touch(port, bob, cat, ann, cookie("c"));
    const expected = hidden(keys(workspace, ann, bob, cat, ...strange));
    assert.deepEqual(hidden(await seenWithOf(port, workspace, device)), expected);
    const again = await reopen();
    assert.deepEqual(hidden(await seenWithOf(again, workspace, device)), expected);
    const people = hidden(keys(workspace, ann, bob, cat));
    assert.deepEqual(hidden(await seenWithOf(again, workspace, device, ["user_id"])), people);
  },

  "read shows all of them, up to those asked for, also where some were kept apart before they were linked": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    const device = anIdentifier("tv", "device_id");
    const later = Array.from({ length: 4 }, (_, i) => mail(`m${i}`));
    // One is older than the device, and the others are not.
    await step(port, workspace, anAssertion(ann));
    await step(port, workspace, anAssertion(ann, device));
    for (const one of later) await step(port, workspace, anAssertion(device, one));
    const key = identifierKey(workspace, device);
    await write(port, workspace, [device], () => ({
      seenWith: [{ key, seenWith: keys(workspace, ...later), isShared: false }],
    }));
    const shown = await seenWithOf(port, workspace, device, ["user_id", "email"], 6);
    assert.deepEqual(hidden(shown), hidden(keys(workspace, ann, ...later)));
  },

  "read shows keys of the read set as they are, and of those that it stores no other": async ({ port }) => {
    const workspace = aWorkspace();
    const device = anIdentifier("tv", "device_id");
    await step(port, workspace, anAssertion(ann, device));
    const key = identifierKey(workspace, device);
    await write(port, workspace, [device], () => ({
      seenWith: [{ key, seenWith: keys(workspace, ann, bob, cat), isShared: false }],
    }));
    const want = wantingRules(wanting(workspace, device, cat, ann), ["user_id"]);
    const { seenWith } = (await port.read(workspace, want)).identifiers.get(key)!;
    const shown = seenWith.filter((one) => !one.startsWith("#"));
    assert.deepEqual(shown.toSorted(), keys(workspace, ann, cat));
    assert.deepEqual(hidden(seenWith), hidden(keys(workspace, ann, bob, cat)));
  },

  "read shows no more of them than are asked for": async ({ port }) => {
    const workspace = aWorkspace();
    const device = anIdentifier("tv", "device_id");
    const others = Array.from({ length: 12 }, (_, i) => mail(`m${i}`));
    for (const other of others) await step(port, workspace, anAssertion(device, other));
    const key = identifierKey(workspace, device);
    await write(port, workspace, [device], () => ({
      seenWith: [{ key, seenWith: keys(workspace, ann, bob, others[0]!), isShared: false }],
    }));
    for (const most of [1, 2, 5, 12, 14, 100]) {
      const seenWith = await seenWithOf(port, workspace, device, ["user_id", "email"], most);
      assert.equal(seenWith.length, Math.min(most, 14));
      assert.equal(new Set(seenWith).size, seenWith.length);
    }
  },

  "read for the rules keeps workspaces apart": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    for (const workspace of [one, other]) await step(port, workspace, anAssertion(ann, bob), anAssertion(cat));
    await forbid(port, one, [ann, cat]);
    await takeApart(port, other, [[ann, bob]], [[ann], [bob]]);
    assert.equal((await sightOf(port, other, cat)).forbidden.length, 0);
    assert.equal((await sightOf(port, one, cat)).forbidden.length, 1);
    for (const [workspace, foreign, removed] of [
      [one, other, 0],
      [other, one, 1],
    ] as const) {
      const want = wantingRules(wanting(workspace, ann, bob), ["user_id"]);
      assert.equal((await port.read(workspace, want)).removed.size, removed);
      const shown = await port.read(foreign, want);
      assert.deepEqual([shown.identifiers.size, shown.linked.size, shown.removed.size], [0, 0, 0]);
    }
  },
};
