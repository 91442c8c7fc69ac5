import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import { newId, type ProfileId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import { pairKey, type Member } from "../../../core/identity/model.js";
import type { WalkedProfile } from "../../../core/identity/pages.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import type { Contract } from "../../support/contract.js";
import { aWorkspace, anAssertion, anIdentifier, step } from "../../support/identity/fixtures.js";
import {
  ALL,
  ann,
  bob,
  cat,
  hostileValues,
  idOf,
  inPages,
  NOTHING,
  standing,
  valuesOf,
  wanting,
} from "../../support/identity/snapshots.js";

/** What `read`, `resolve` and `members` promise. */
export const identityGraphReads: Contract<IdentityGraph> = {
  "read shows what stands there of all that is wanted, and leaves out what does not exist": async ({ port }) => {
    const workspace = aWorkspace();
    const profileId = await idOf(port, workspace, ann, bob);
    const snapshot = await port.read(workspace, wanting(workspace, ann, bob, cat));
    const [keyOfAnn, keyOfBob] = [ann, bob].map((one) => identifierKey(workspace, one));
    assert.deepEqual([...snapshot.identifiers.keys()], [keyOfAnn, keyOfBob]);
    const { component } = snapshot.identifiers.get(keyOfAnn!)!;
    assert.equal(snapshot.identifiers.get(keyOfBob!)!.component, component);
    const { size, ...profile } = snapshot.components.get(component)!;
    assert.deepEqual([snapshot.components.size, size, profile.profileId], [1, 2, profileId]);
    assert.deepEqual([...snapshot.linked], [pairKey(keyOfAnn!, keyOfBob!)]);
  },

  "read of nothing wanted shows nothing": async ({ port }) => {
    const snapshot = await port.read(aWorkspace(), { keys: [], pairs: [] });
    const { identifiers, components, linked } = snapshot;
    assert.deepEqual([identifiers.size, components.size, linked.size], [0, 0, 0]);
  },

  "read shows a link whichever way round the pair is wanted, and no pair of one profile that has none": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(bob, ann), anAssertion(bob, cat));
    const one = await standing(port, workspace, ann, bob, cat);
    const other = await standing(port, workspace, cat, bob, ann);
    assert.deepEqual(one.linked, other.linked);
    const key = (identifier: Identifier) => identifierKey(workspace, identifier);
    assert.deepEqual(one.linked, [pairKey(key(ann), key(bob)), pairKey(key(bob), key(cat))].toSorted());
  },

  "read and update keep identifiers apart that differ in one character, whatever it is": async ({ port }) => {
    const [workspace, other] = [aWorkspace(), aWorkspace()];
    const identifiers = hostileValues(other).flatMap((value) => [anIdentifier(value, "a"), anIdentifier(value, "a.b")]);
    const ids = new Set<ProfileId>();
    for (const one of identifiers) ids.add(await idOf(port, workspace, one));
    assert.equal(ids.size, identifiers.length);
    for (const id of ids) assert.equal((await port.resolve(workspace, id))!.size, 1);
  },

  "read keeps links apart whose keys would join to the same text": async ({ port }) => {
    const workspace = aWorkspace();
    const [a, b, c, d] = ["1", "11:user_id:1", "1:1", "1"].map((value) => anIdentifier(value)) as [
      Identifier,
      Identifier,
      Identifier,
      Identifier,
    ];
    await step(port, workspace, anAssertion(a, b), anAssertion(c));
    assert.equal((await standing(port, workspace, a, b)).linked.length, 1);
    assert.equal((await standing(port, workspace, c, d)).linked.length, 0);
  },

  "read keeps workspaces apart": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    for (const [mine, theirs] of [
      [one, other],
      [other, one],
    ] as const)
      await step(port, mine, anAssertion(anIdentifier(`of ${mine}`), anIdentifier(`${theirs}:user_id:ann`)));
    await step(port, one, anAssertion(ann, bob));
    assert.deepEqual(await standing(port, other, ann, bob), NOTHING);
    await step(port, other, anAssertion(ann));
    assert.equal((await standing(port, other, ann, bob)).profiles.length, 1);
    assert.equal((await standing(port, one, ann, bob)).profiles.length, 2);
    // Keys of the one asked in the name of the other.
    assert.equal((await port.read(other, wanting(one, ann, bob))).identifiers.size, 0);
    assert.equal((await port.read(one, wanting(other, ann))).identifiers.size, 0);
  },
};

export const identityGraphProfiles: Contract<IdentityGraph> = {
  "resolve names the live profile by the uid of any of its identifiers": async ({ port }) => {
    const workspace = aWorkspace();
    const profileId = await idOf(port, workspace, ann, bob, cat);
    for (const { uid } of await port.members(workspace, profileId, ALL))
      assert.deepEqual(await port.resolve(workspace, uid), { profileId, size: 3 });
  },

  "resolve answers null for an id that names nothing": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann));
    assert.equal(await port.resolve(workspace, newId<Uid>()), null);
  },

  "resolve follows every retired id for ever": async ({ port, reopen }) => {
    const workspace = aWorkspace();
    const letters = ["a", "b", "c", "d", "e", "f", "g", "h"];
    const ids: ProfileId[] = [];
    for (const letter of letters) ids.push(await idOf(port, workspace, anIdentifier(letter)));
    // Pairs, then pairs of pairs, the younger first: most ids are retired more than once over.
    for (const stride of [1, 2, 4])
      for (let i = 0; i + stride < letters.length; i += 2 * stride)
        ids.push(await idOf(port, workspace, anIdentifier(letters[i + stride]!), anIdentifier(letters[i]!)));
    const check = async (graph: IdentityGraph): Promise<void> => {
      for (const id of ids) assert.deepEqual(await graph.resolve(workspace, id), { profileId: ids[0], size: 8 });
    };
    await check(port);
    await check(await reopen());
  },

  "resolve keeps workspaces apart": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    const [idOfOne, idOfOther] = [await idOf(port, one, ann, bob), await idOf(port, other, ann)];
    assert.equal(await port.resolve(other, idOfOne), null);
    assert.equal(await port.resolve(one, idOfOther), null);
    assert.equal((await port.resolve(one, idOfOne))!.size, 2);
    assert.equal((await port.resolve(other, idOfOther))!.size, 1);
  },

  "resolveAll answers what resolve does, in order, with the members of the small ones": async ({ port }) => {
    const workspace = aWorkspace();
    const [a, b, c, d] = await Promise.all(
      ["a", "b", "c", "d"].map((letter) => idOf(port, workspace, anIdentifier(letter))),
    );
    await step(port, workspace, anAssertion("a", "b"), anAssertion("c", "x", "d"));
    const asked = [d!, newId<ProfileId>(), b!, a!, c!, b!];
    const wanted = await Promise.all(
      asked.map(async (id) => {
        const found = await port.resolve(workspace, id);
        const members = await port.members(workspace, id, ALL);
        return found && { ...found, members: found.size > 2 ? null : members };
      }),
    );
    assert.deepEqual(
      wanted.map((one) => one?.size),
      [3, undefined, 2, 2, 3, 2],
    );
    assert.deepEqual(await port.resolveAll(workspace, asked, 2), wanted);
    const bare = wanted.map((one) => one && { ...one, members: null });
    assert.deepEqual(await port.resolveAll(workspace, asked, 0), bare);
    assert.deepEqual(await port.resolveAll(workspace, [], 2), []);
  },

  "resolveAll goes on beyond what one turn reads, and keeps workspaces apart": async ({ port }) => {
    const [workspace, other] = [aWorkspace(), aWorkspace()];
    const values = Array.from({ length: 120 }, (_, n) => `v${n}`);
    await step(port, workspace, ...values.map((value) => anAssertion(value)));
    const theirs = await idOf(port, other, anIdentifier("v0"));
    const walked = await port.walk(workspace, { limit: 200, after: null, membersMax: 16 });
    const ids = walked.map(({ profileId }) => profileId);
    assert.deepEqual(await port.resolveAll(workspace, ids, 16), walked);
    assert.deepEqual(await port.resolveAll(workspace, [theirs], 16), [null]);
    assert.deepEqual(
      await port.resolveAll(other, ids, 16),
      ids.map(() => null),
    );
  },

  "walk meets the live profiles by id, in pages, with the members of the small ones": async ({ port }) => {
    const workspace = aWorkspace();
    for (const letter of ["e", "b", "d", "a", "c", "f"]) await step(port, workspace, anAssertion(letter));
    await step(port, workspace, anAssertion("a", "b"), anAssertion("c", "f", "d"));
    const walked = await inPages(2, 3, (last: WalkedProfile | undefined) =>
      port.walk(workspace, { limit: 2, after: last?.profileId ?? null, membersMax: 2 }),
    );
    const wanted = await Promise.all(
      ["e", "b", "d"].map(async (letter) => {
        const profileId = await idOf(port, workspace, anIdentifier(letter));
        const members = await port.members(workspace, profileId, ALL);
        return { profileId, size: members.length, members: members.length > 2 ? null : members };
      }),
    );
    assert.deepEqual(walked, wanted);
    assert.deepEqual(
      walked.map(({ size }) => size),
      [1, 2, 3],
    );
  },

  "walk meets a profile once that keeps its id, whatever is linked and taken apart between its pages": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    const ids = new Map<string, ProfileId>();
    for (const letter of ["a", "b", "c", "d", "e", "f", "g"])
      ids.set(letter, await idOf(port, workspace, anIdentifier(letter)));
    const between = [
      ["a", "c"],
      ["g", "d"],
      ["b", "new"],
    ];
    const met = await inPages(1, 6, async (last: WalkedProfile | undefined) => {
      const pair = between.shift();
      if (last !== undefined && pair !== undefined) await step(port, workspace, anAssertion(...pair));
      return port.walk(workspace, { limit: 1, after: last?.profileId ?? null, membersMax: 9 });
    });
    const found = new Set(met.map(({ profileId }) => profileId));
    assert.equal(met.length, found.size);
    for (const letter of ["a", "b", "d", "e", "f"]) assert.ok(found.has(ids.get(letter)!), letter);
  },

  "walk goes on beyond what one turn reads": async ({ port }) => {
    const workspace = aWorkspace();
    const values = Array.from({ length: 250 }, (_, n) => `v${n}`);
    await step(port, workspace, ...values.map((value) => anAssertion(value)));
    const walked = await port.walk(workspace, { limit: 240, after: null, membersMax: 20 });
    assert.deepEqual(
      walked.map(({ members }) => members![0]!.identifier.value).toSorted(),
      values.slice(0, 240).toSorted(),
    );
  },

  "walk keeps workspaces apart": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    const mine = [await idOf(port, one, ann), await idOf(port, one, bob)];
    const theirs = await idOf(port, other, ann);
    const idsOf = async (workspace: WorkspaceId) =>
      (await port.walk(workspace, { limit: 9, after: null, membersMax: 1 })).map(({ profileId }) => profileId);
    assert.deepEqual(await idsOf(one), mine);
    assert.deepEqual(await idsOf(other), [theirs]);
    assert.deepEqual(await idsOf(aWorkspace()), []);
  },

  "identifiersOf answers the identifiers with these uids, and nothing for others": async ({ port }) => {
    const [workspace, other] = [aWorkspace(), aWorkspace()];
    await step(port, workspace, anAssertion("a", "b"));
    await step(port, other, anAssertion("c"));
    const own = await port.members(workspace, await idOf(port, workspace, anIdentifier("a")), ALL);
    const foreign = await idOf(port, other, anIdentifier("c"));
    const found = await port.identifiersOf(workspace, [...own.map(({ uid }) => uid), foreign, newId<Uid>()]);
    assert.deepEqual(
      [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)),
      own.map(({ uid, identifier }) => [uid, identifier]),
    );
    assert.equal((await port.identifiersOf(workspace, [])).size, 0);
  },

  "identifiersOf keeps workspaces apart": async ({ port }) => {
    const [workspace, other] = [aWorkspace(), aWorkspace()];
    await step(port, workspace, anAssertion("a"));
    const uid = await idOf(port, workspace, anIdentifier("a"));
    assert.equal((await port.identifiersOf(workspace, [uid])).size, 1);
    assert.equal((await port.identifiersOf(other, [uid])).size, 0);
  },

  "members come by uid, in pages, each once": async ({ port }) => {
    const workspace = aWorkspace();
    const letters = ["d", "b", "a", "c", "e"];
    for (const letter of letters) await step(port, workspace, anAssertion(letter));
    for (const letter of letters.slice(1)) await step(port, workspace, anAssertion(letter, letters[0]!));
    const profileId = await idOf(port, workspace, anIdentifier("c"));
    const found: string[] = [];
    let after: Uid | null = null;
    // One page more than there are: a position that did not move would come back for ever.
    for (let pages = 0; pages < 4; pages++) {
      const page: readonly Member[] = await port.members(workspace, profileId, { limit: 2, after });
      assert.ok(page.length <= 2);
      found.push(...page.map(({ identifier }) => identifier.value));
      after = page.at(-1)?.uid ?? after;
    }
    assert.deepEqual(found, letters);
  },

  "members follow retired ids": async ({ port }) => {
    const workspace = aWorkspace();
    const kept = await idOf(port, workspace, ann);
    const retired = await idOf(port, workspace, bob);
    await step(port, workspace, anAssertion(bob, ann));
    for (const id of [kept, retired]) assert.deepEqual(await valuesOf(port, workspace, id), ["ann", "bob"]);
  },

  "members of an id that names nothing are none": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann));
    assert.deepEqual(await port.members(workspace, newId<Uid>(), ALL), []);
  },

  "members come back exactly as they were named": async ({ port, reopen }) => {
    const workspace = aWorkspace();
    const identifiers = hostileValues(aWorkspace()).map((value, i) => anIdentifier(value, `ns_${i}.x-y`));
    const profileId = await idOf(port, workspace, ...identifiers);
    const check = async (graph: IdentityGraph): Promise<void> => {
      const members = await graph.members(workspace, profileId, ALL);
      assert.deepEqual(
        members.map(({ identifier }) => identifier),
        identifiers,
      );
    };
    await check(port);
    await check(await reopen());
  },

  "members keeps workspaces apart": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    const [idOfOne, idOfOther] = [await idOf(port, one, ann, bob), await idOf(port, other, ann, cat)];
    assert.deepEqual(await port.members(other, idOfOne, ALL), []);
    assert.deepEqual(await port.members(one, idOfOther, ALL), []);
    assert.deepEqual(await valuesOf(port, one, idOfOne), ["ann", "bob"]);
    assert.deepEqual(await valuesOf(port, other, idOfOther), ["ann", "cat"]);
  },
};
