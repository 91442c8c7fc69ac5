import assert from "node:assert/strict";
import { AppError } from "../../../core/errors.js";
import { identifierKey } from "../../../core/event/event.js";
import { newId, type ChangeId, type ErasureId, type ProfileId } from "../../../core/ids.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import type { Contract } from "../../support/contract.js";
import { tombOf } from "../../support/builders.js";
import { anErasure, erase, ERASER, everything, finish, NOW, uidsOf } from "../../support/identity/erasures.js";
import { aWorkspace, anAssertion, anIdentifier, step } from "../../support/identity/fixtures.js";
import { aChain, aChange, forbid, IN_HALVES, record, takeApart, write } from "../../support/identity/plans.js";
import { ALL, ann, bob, cat, dan, idOf, NEWEST, NOTHING, wanting } from "../../support/identity/snapshots.js";

const mail = anIdentifier("ann@example.com", "email");

/** What `erase` and `previewErasure` promise. */
export const identityGraphErase: Contract<IdentityGraph> = {
  "erase is one atomic step: the profile is gone for every read, by any of its identifiers and ids": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    const ids = [await idOf(port, workspace, ann), await idOf(port, workspace, bob, mail)];
    await step(port, workspace, anAssertion(bob, ann));
    const uids = await uidsOf(port, workspace, ann, bob, mail);
    await write(port, workspace, [ann], () => ({
      seenWith: [{ key: identifierKey(workspace, ann), seenWith: [], isShared: true }],
    }));
    const { erasureId, ...erasure } = await erase(port, workspace, { profileId: ids[1]! });
    assert.equal(erasure.profileId, ids[0]);
    assert.deepEqual(
      erasure.identifiers,
      new Map([
        ["email", 1],
        ["user_id", 2],
      ]),
    );
    assert.deepEqual(
      { erasedAt: erasure.erasedAt, keyId: erasure.keyId, suppress: erasure.suppress, rev: erasure.rev },
      { erasedAt: NOW, keyId: ERASER, suppress: false, rev: 1 },
    );
    const seen = await everything(port, workspace, [ann, bob, mail], uids);
    assert.deepEqual(seen, {
      ...NOTHING,
      repeats: [null, null, null],
      resolved: [null, null, null],
      members: [[], [], []],
      links: [[], [], []],
      history: [[], [], []],
      found: [[], [], []],
      own: [[], [], []],
      walked: [],
      shared: [],
      pairs: [],
      namespaces: [false, false],
    });
    assert.equal((await port.findErasure(workspace, erasureId))!.profileId, ids[0]);
  },

  "erase hides the names of the erased in every record from then on": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, mail), anAssertion(cat));
    const changes = [
      aChange({ identifiers: [ann, cat], dropped: [{ identifier: ann, rule: "limit" }], outcome: "partial" }),
      // He is not there yet, so the record is about nobody.
      aChange({ identifiers: [dan, cat], dropped: [{ identifier: dan, rule: "limit" }], outcome: "partial" }),
      aChange({ identifiers: [cat], dropped: [{ from: cat, to: mail, rule: "limit" }], outcome: "reverted" }),
    ] as const;
    await record(port, workspace, ...changes);
    await step(port, workspace, anAssertion(dan, ann));
    const { erasureId } = await erase(port, workspace, dan);
    const [gone, mailGone] = ["user_id", "email"].map((namespace) => ({ namespace, erased: true as const }));
    const check = async (): Promise<void> => {
      const found = await Promise.all(changes.map(({ changeId }) => port.findChange(workspace, changeId)));
      assert.deepEqual(
        found.map((change) => [change!.identifiers, change!.dropped]),
        [
          [[gone, cat], [{ identifier: gone, rule: "limit" }]],
          [[gone, cat], [{ identifier: gone, rule: "limit" }]],
          [[cat], [{ from: cat, to: mailGone, rule: "limit" }]],
        ],
      );
      const lists = [...(await port.changes(workspace, null, NEWEST))];
      lists.push(...(await port.history(workspace, await idOf(port, workspace, cat), NEWEST)));
      for (const { identifiers } of lists)
        for (const one of identifiers) assert.ok("erased" in one || one.value === "cat", JSON.stringify(one));
    };
    await check();
    await finish(port, { workspace, erasureId });
    await check();
  },

  "erase leaves no name in a record that is written later": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann), anAssertion(cat));
    const { erasureId } = await erase(port, workspace, ann);
    const late = aChange({ identifiers: [ann, cat], dropped: [{ from: cat, to: ann, rule: "limit" }] });
    await record(port, workspace, late);
    await finish(port, { workspace, erasureId });
    const later = aChange({ identifiers: [ann] });
    await record(port, workspace, later);
    for (const { changeId } of [late, later])
      assert.ok(!JSON.stringify(await port.findChange(workspace, changeId)).includes("ann"));
    await step(port, workspace, anAssertion(ann));
    const back = aChange({ identifiers: [ann] });
    await record(port, workspace, back);
    assert.deepEqual(await port.findChange(workspace, back.changeId), back, "one that came back has a name again");
  },

  "erase takes all forbidden pairs of the profile, and each other profile stays as it is": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, mail), anAssertion(bob, cat), anAssertion(dan));
    const kept = await forbid(port, workspace, [bob, dan]);
    const pair = await forbid(port, workspace, [ann, bob]);
    const ids = [await idOf(port, workspace, bob), await idOf(port, workspace, dan)];
    const before = await everything(port, workspace, [bob, cat, dan], ids);
    await erase(port, workspace, mail);
    assert.deepEqual(await port.findForbiddenPairs(workspace, [pair.forbiddenPairId, kept.forbiddenPairId]), [kept]);
    const after = await everything(port, workspace, [bob, cat, dan], ids);
    const others = before.walked.filter(({ profileId }) => ids.includes(profileId));
    assert.deepEqual(after.walked, others);
    for (const what of ["resolved", "members", "links", "linked", "removed", "repeats", "shared"] as const)
      assert.deepEqual(after[what], before[what], what);
    const [profile] = after.profiles;
    assert.deepEqual(profile![2].forbidden, [kept.forbiddenPairId], "nothing is left of the pair");
    assert.ok(profile![2].rev > before.profiles[0]![2].rev, "whoever read the summary before sees that it changed");
    await step(port, workspace, anAssertion(ann));
    await forbid(port, workspace, [ann, bob]);
    assert.equal((await port.forbiddenPairs(workspace, ALL)).length, 2, "the pair may be forbidden anew");
  },

  "erase gives each identifier a tombstone, and each given one that is in no profile": async ({ port, reopen }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, mail));
    const [uid, mailUid] = await uidsOf(port, workspace, ann, mail);
    const { erasureId, identifiers } = await erase(port, workspace, { identifiers: [mail, dan] }, { suppress: true });
    assert.deepEqual(
      identifiers,
      new Map([
        ["email", 1],
        ["user_id", 2],
      ]),
    );
    const keys = [ann, mail, dan, cat].map((one) => identifierKey(workspace, one));
    const tombstone = { erasureId, erasedAt: NOW, isSuppressed: true };
    const expected = new Map([
      [keys[0], { ...tombstone, uids: [uid] }],
      [keys[1], { ...tombstone, uids: [mailUid] }],
      [keys[2], { ...tombstone, uids: [] }],
    ]);
    assert.deepEqual(await port.tombstones(workspace, keys), expected);
    const want = { ...wanting(workspace, ann, mail, dan, cat), rules: { limited: [], seenWithMax: 0 } };
    const snapshot = await port.update(workspace, want, (seen) => ({ plan: null, result: seen }));
    assert.deepEqual(snapshot.tombstones, expected);
    await finish(port, { workspace, erasureId });
    const again = await reopen();
    assert.deepEqual(await again.tombstones(workspace, keys), expected);
    const buried = await again.buried(workspace, erasureId, { limit: 2, after: null });
    const all = [...buried, ...(await again.buried(workspace, erasureId, { limit: 2, after: buried[1]!.tomb }))];
    const byTomb = [uid, mailUid, null].map((one, i) => ({ tomb: tombOf(keys[i]!), uid: one }));
    assert.deepEqual(
      all,
      byTomb.toSorted((a, b) => (a.tomb < b.tomb ? -1 : 1)),
    );
  },

  "an identifier that is seen again gets a new uid, and the old ids still name nobody": async ({ port }) => {
    const workspace = aWorkspace();
    const old = await idOf(port, workspace, ann, bob);
    const uids = await uidsOf(port, workspace, ann, bob);
    await erase(port, workspace, ann);
    const [result] = await step(port, workspace, anAssertion(ann, bob));
    assert.equal(result!.outcome, "created");
    const again = await uidsOf(port, workspace, ann, bob);
    assert.equal(new Set([...uids, ...again]).size, 4);
    for (const uid of uids) assert.equal(await port.resolve(workspace, uid), null);
    assert.deepEqual(await port.livingUids(workspace, [...uids, ...again]), new Set(again));
    assert.equal((await port.resolve(workspace, again[0]!))!.size, 2);
    assert.equal((await port.links(workspace, result!.profileId!, { limit: 9, after: null })).length, 1);
    assert.equal((await port.erase(workspace, anErasure({ profileId: old }))).kind, "repeated");
    assert.equal((await port.resolve(workspace, again[0]!))!.size, 2);
  },

  "what was erased already is not erased again: the record of then, which may suppress from then on": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    const profileId = await idOf(port, workspace, ann, mail);
    const [, uid] = await uidsOf(port, workspace, ann, mail);
    const erasure = await erase(port, workspace, ann);
    const keys = [identifierKey(workspace, mail)];
    for (const target of [{ profileId }, { profileId: uid! }, { identifiers: [mail] }, { identifiers: [ann, mail] }])
      assert.deepEqual(await port.erase(workspace, anErasure(target)), {
        kind: "repeated",
        erasure: await port.findErasure(workspace, erasure.erasureId),
        changed: [],
      });
    assert.equal((await port.tombstones(workspace, keys)).get(keys[0]!)!.isSuppressed, false);
    await port.erase(workspace, anErasure({ profileId }, { suppress: true }));
    assert.equal((await port.tombstones(workspace, keys)).get(keys[0]!)!.isSuppressed, true);
    assert.equal((await port.findErasure(workspace, erasure.erasureId))!.suppress, true);
    assert.equal((await port.erasures(workspace, { limit: 9, before: null })).length, 1);
  },

  "erase changes nothing for an id that names nobody, for identifiers of several profiles, or at another revision":
    async ({ port }) => {
      const workspace = aWorkspace();
      const ids = [await idOf(port, workspace, ann), await idOf(port, workspace, bob)].toSorted();
      const before = await everything(port, workspace, [ann, bob], ids);
      assert.deepEqual(await port.erase(workspace, anErasure({ profileId: newId<ProfileId>() })), { kind: "unknown" });
      const both = { identifiers: [ann, bob] };
      assert.deepEqual(await port.erase(workspace, anErasure(both)), { kind: "several", profileIds: ids });
      await assert.rejects(port.previewErasure(workspace, both), (error) => {
        assert.ok(error instanceof AppError);
        assert.equal(error.code, "conflict");
        return true;
      });
      const { revision } = (await port.previewErasure(workspace, { identifiers: [ann] }))!;
      await step(port, workspace, anAssertion(ann, cat));
      const changed = await port.erase(workspace, anErasure({ identifiers: [ann] }, { revision }));
      assert.deepEqual(changed, { kind: "changed" });
      assert.equal(await port.hasErasures(workspace), false);
      assert.deepEqual((await everything(port, workspace, [bob], [ids[1]!])).members, [before.members[1]]);
      const now = (await port.previewErasure(workspace, { identifiers: [ann] }))!;
      assert.equal(
        (await port.erase(workspace, anErasure(both, { target: { identifiers: [ann] }, revision: now.revision }))).kind,
        "erased",
      );
    },

  "previewErasure tells what would go and changes nothing; null when an id names nobody and never did": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    const profileId = await idOf(port, workspace, ann, mail);
    const before = await everything(port, workspace, [ann, mail], [profileId]);
    const preview = (await port.previewErasure(workspace, { identifiers: [mail, dan] }))!;
    assert.deepEqual(
      { ...preview, revision: "" },
      {
        profileId,
        identifiers: new Map([
          ["email", 1],
          ["user_id", 2],
        ]),
        revision: "",
        erasure: null,
      },
    );
    assert.equal(await port.previewErasure(workspace, { profileId: newId<ProfileId>() }), null);
    assert.equal((await port.previewErasure(workspace, { identifiers: [cat] }))!.profileId, null);
    assert.deepEqual(await everything(port, workspace, [ann, mail], [profileId]), before);
    const uids = await uidsOf(port, workspace, ann, mail);
    const erasure = await erase(port, workspace, mail);
    for (const uid of [profileId, ...uids]) {
      const dead = (await port.previewErasure(workspace, { profileId: uid }))!;
      assert.equal(dead.erasure!.erasureId, erasure.erasureId);
    }
  },

  "lastErasedAt is the latest time of all erasures, also of one that is older by its id and was repeated": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    assert.equal(await port.lastErasedAt(workspace), 0);
    const at = async (n: number, value: string): Promise<void> => {
      const target = { identifiers: [anIdentifier(value)] };
      await port.erase(workspace, anErasure(target, { now: () => NOW + n }));
      assert.equal(await port.lastErasedAt(workspace), NOW + n);
    };
    await at(0, "first");
    for (let n = 1; n <= 12; n += 1) await at(n, `other ${n}`);
    await at(20, "first");
    const first = await port.previewErasure(workspace, { identifiers: [anIdentifier("first")] });
    await port.restoreErasure(workspace, { ...first!.erasure!, erasedAt: NOW + 30 }, []);
    assert.equal(await port.lastErasedAt(workspace), NOW + 30);
  },

  "erase and previewErasure keep workspaces apart": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    const [id, theirs] = [await idOf(port, one, ann, bob), await idOf(port, other, ann, bob)];
    const before = await everything(port, other, [ann, bob], [theirs]);
    assert.deepEqual(await port.erase(other, anErasure({ profileId: id })), { kind: "unknown" });
    assert.equal(await port.previewErasure(other, { profileId: id }), null);
    await erase(port, one, ann);
    assert.deepEqual(await everything(port, other, [ann, bob], [theirs]), before);
    assert.deepEqual(await port.erase(other, anErasure({ profileId: id })), { kind: "unknown" });
    assert.equal((await port.previewErasure(other, { identifiers: [ann] }))!.erasure, null);
  },

  "a link that was removed goes too, and the other side stays": async ({ port }) => {
    const workspace = await aChain(port);
    const change = await takeApart(port, workspace, ...IN_HALVES, aChange({ identifiers: [bob, cat] }));
    const ids = await uidsOf(port, workspace, cat, dan);
    const before = await everything(port, workspace, [cat, dan], ids);
    const { erasureId } = await erase(port, workspace, ann);
    assert.deepEqual(await port.linksOfChange(workspace, change), []);
    await finish(port, { workspace, erasureId });
    assert.deepEqual(await port.linksOfChange(workspace, change), []);
    const { history, found, own: _, walked, ...after } = await everything(port, workspace, [cat, dan], ids);
    for (const [what, value] of Object.entries(after))
      assert.deepEqual(value, before[what as keyof typeof before], what);
    assert.equal(history[0]!.length, before.history[0]!.length);
    assert.deepEqual(found, history);
    assert.equal(walked.length, 1);
    assert.equal(await port.markedAt(workspace, identifierKey(workspace, bob), newId<ChangeId>()), null);
    assert.equal(await port.findErasure(workspace, newId<ErasureId>()), null);
  },
};
