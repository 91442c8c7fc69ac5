import assert from "node:assert/strict";
import { identifierKey, type DropRule, type Identifier } from "../../../core/event/event.js";
import {
  newId,
  type ChangeId,
  type EventId,
  type IdentifierKey,
  type KeyId,
  type Uid,
  type WorkspaceId,
} from "../../../core/ids.js";
import type { Change, Plan } from "../../../core/identity/model.js";
import type { ChangePage } from "../../../core/identity/pages.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { EMPTY_PLAN } from "../../../graph/rules/working-state.js";
import type { Contract } from "../../support/contract.js";
import {
  aRequest,
  aWorkspace,
  anAssertion,
  anIdentifier,
  EVIDENCE,
  step,
  stepOf,
} from "../../support/identity/fixtures.js";
import { aChange, giveBack, record, takeApart } from "../../support/identity/plans.js";
import {
  ann,
  bob,
  cat,
  dan,
  hostileValues,
  idOf,
  inPages,
  NEWEST,
  standing,
  wantingRules,
} from "../../support/identity/snapshots.js";

const idsOf = (changes: readonly Change[]) => changes.map(({ changeId }) => changeId);
const newestFirst = (ids: readonly ChangeId[]) => ids.toSorted().toReversed();

/** An assertion's change id. */
async function assertOne(port: IdentityGraph, workspace: WorkspaceId, ...identifiers: readonly Identifier[]) {
  const request = aRequest(workspace, anAssertion(...identifiers));
  await stepOf(port, workspace, [request]);
  return request.changeId;
}
const uidOf = async (port: IdentityGraph, workspace: WorkspaceId, identifier: Identifier): Promise<Uid> =>
  (await standing(port, workspace, identifier)).profiles[0]![1].uid;

const OUTCOMES: readonly Change["outcome"][] = [
  "created",
  "linked",
  "merged",
  "unchanged",
  "partial",
  "refused",
  "unlinked",
  "forbidden",
  "reverted",
  "allowed",
];
const RULES: readonly DropRule[] = ["blocked", "invalid", "limit", "forbidden_pair", "shared_identifier", "unlinked"];

/** What the records of changes promise. */
export const identityGraphChanges: Contract<IdentityGraph> = {
  "a record that is written late is not about what came after it": async ({ port }) => {
    const workspace = aWorkspace();
    await assertOne(port, workspace, ann);
    await assertOne(port, workspace, bob);
    const keys = [ann, bob].map((one) => identifierKey(workspace, one));
    const late = { ...aChange({ identifiers: [ann, bob], before: [], after: [] }), unseen: new Set([keys[1]!]) };
    await port.update(workspace, wantingRules({ keys, pairs: [] }), () => ({
      plan: { ...EMPTY_PLAN, changes: [late] },
      result: undefined,
    }));
    const histories = await Promise.all(
      [ann, bob].map(async (one) => port.history(workspace, await idOf(port, workspace, one), NEWEST)),
    );
    assert.deepEqual(
      histories.map((changes) => idsOf(changes).includes(late.changeId)),
      [true, false],
    );
    assert.deepEqual((await port.findChange(workspace, late.changeId))?.identifiers, [ann, bob]);
  },

  "a link may stand by a record that was written before it": async ({ port }) => {
    const workspace = aWorkspace();
    for (const one of [ann, bob]) await assertOne(port, workspace, one);
    const [from, to] = [ann, bob].map((one) => identifierKey(workspace, one)) as [IdentifierKey, IdentifierKey];
    const change = aChange({ identifiers: [ann, bob], before: [], after: [] });
    const write = (plan: Partial<Plan>) =>
      port.update(workspace, wantingRules({ keys: [from, to], pairs: [[from, to]] }), () => ({
        plan: { ...EMPTY_PLAN, ...plan },
        result: undefined,
      }));
    await write({ changes: [change] });
    await write({ links: [{ from, to, changeId: change.changeId, evidence: change.evidence, revives: false }] });
    const [link] = await port.links(workspace, await idOf(port, workspace, ann), { limit: 9, after: null });
    assert.deepEqual([link?.changeId, link?.evidence], [change.changeId, change.evidence]);
  },

  "findChange answers a record exactly as it was written, and null for an id that names nothing": async ({
    port,
    reopen,
  }) => {
    const workspace = aWorkspace();
    const strange = hostileValues(aWorkspace()).map((value, i) => anIdentifier(value, `ns_${i}.x-y`));
    const changes: readonly Change[] = [
      aChange(),
      aChange({
        at: EVIDENCE.at + 5,
        evidence: { source: newId<EventId>(), keyId: "key0000009" as KeyId, at: EVIDENCE.at - 5 },
        identifiers: strange,
        outcome: "partial",
        before: [newId<Uid>(), newId<Uid>()],
        after: [newId<Uid>(), newId<Uid>()],
        dropped: strange.map((identifier, i) => ({ identifier, rule: RULES[i % RULES.length]! })),
      }),
      aChange({ outcome: "refused", rule: "forbidden_pair", identifiers: [ann, bob] }),
      aChange({ identifiers: [ann, bob], isForbidding: true }),
      aChange({
        outcome: "reverted",
        dropped: strange.map((from, i) => ({ from, to: strange[0]!, rule: RULES[i % RULES.length]! })),
      }),
      ...(["identify", "alias", "unlink", "revert", "allow"] as const).map((source) =>
        aChange({ outcome: "reverted", reverts: newId<ChangeId>(), evidence: { ...EVIDENCE, source } }),
      ),
    ];
    await record(port, workspace, ...changes);
    const again = await reopen();
    for (const change of changes) assert.deepEqual(await again.findChange(workspace, change.changeId), change);
    assert.equal(await again.findChange(workspace, newId<ChangeId>()), null);
  },

  "findChange and findChanges keep workspaces apart": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    const [mine, theirs] = [aChange(), aChange()];
    await record(port, one, mine);
    await record(port, other, theirs);
    assert.deepEqual(
      [await port.findChange(one, theirs.changeId), await port.findChange(other, mine.changeId)],
      [null, null],
    );
    assert.deepEqual(await port.findChange(one, mine.changeId), mine);
    assert.deepEqual(await port.findChanges(one, [theirs.changeId, mine.changeId]), [mine]);
  },

  "changes tell the records of an outcome, or of any, newest first, in pages, each once": async ({ port, reopen }) => {
    const workspace = aWorkspace();
    const made = Array.from({ length: 60 }, (_, i) => aChange({ outcome: OUTCOMES[(i * 7) % OUTCOMES.length]! }));
    // The later half stands first: an id is minted before its step waits for its turn.
    await record(port, workspace, ...made.slice(30));
    for (const change of made.slice(0, 30)) await record(port, workspace, change);
    const again = await reopen();
    for (const outcome of [null, ...OUTCOMES]) {
      const expected = made.filter((change) => outcome === null || change.outcome === outcome).toReversed();
      assert.deepEqual(await again.changes(workspace, outcome, NEWEST), expected, String(outcome));
      for (const size of [1, 7, 60]) {
        const found = await inPages(size, expected.length, (last: Change | undefined) =>
          again.changes(workspace, outcome, { limit: size, before: last?.changeId ?? null }),
        );
        assert.deepEqual(idsOf(found), idsOf(expected), `${outcome} in pages of ${size}`);
      }
    }
  },

  "changes come all, however many there are": async ({ port }) => {
    const workspace = aWorkspace();
    const made = Array.from({ length: 2_300 }, (_, i) => aChange({ outcome: i % 2 === 0 ? "created" : "linked" }));
    await record(port, workspace, ...made);
    const all = { limit: 5_000, before: null };
    assert.deepEqual(idsOf(await port.changes(workspace, null, all)), idsOf(made).toReversed());
    assert.equal((await port.changes(workspace, "linked", all)).length, 1_150);
    assert.equal((await port.changes(workspace, null, { limit: 2_000, before: made[2_200]!.changeId })).length, 2_000);
  },

  "changes keeps workspaces apart": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    const mine = [await assertOne(port, one, ann), await assertOne(port, one, ann, bob)];
    const theirs = [await assertOne(port, other, ann), await assertOne(port, other, bob)];
    for (const [workspace, ids, created] of [
      [one, mine, 1],
      [other, theirs, 2],
    ] as const) {
      assert.deepEqual(idsOf(await port.changes(workspace, null, NEWEST)), newestFirst(ids));
      assert.equal((await port.changes(workspace, "created", NEWEST)).length, created);
      assert.deepEqual(await port.changes(workspace, "unlinked", NEWEST), []);
    }
  },

  "history tells the records that name an identifier of the profile, those dropped among them": async ({
    port,
    reopen,
  }) => {
    const workspace = aWorkspace();
    const strange = hostileValues(aWorkspace()).map((value) => anIdentifier(value));
    const made = [await assertOne(port, workspace, ann, bob), await assertOne(port, workspace, ...strange)];
    const others = [await assertOne(port, workspace, cat)];
    const dropped = aChange({
      outcome: "partial",
      identifiers: [cat, bob],
      dropped: [{ identifier: bob, rule: "limit" }],
    });
    const refused = aChange({ outcome: "refused", rule: "limit", identifiers: [cat, dan] });
    await record(port, workspace, dropped, refused);
    const again = await reopen();
    const told = async (identifier: Identifier) =>
      idsOf(await again.history(workspace, await uidOf(again, workspace, identifier), NEWEST));
    assert.deepEqual(await told(bob), newestFirst([made[0]!, dropped.changeId]));
    assert.deepEqual(await told(cat), newestFirst([others[0]!, dropped.changeId, refused.changeId]));
    for (const one of strange) assert.deepEqual(await told(one), [made[1]]);
    assert.deepEqual((await again.history(workspace, await uidOf(again, workspace, cat), NEWEST))[0], refused);
  },

  "history tells the records that touched the profile under the id of any of its members": async ({ port }) => {
    const workspace = aWorkspace();
    await assertOne(port, workspace, ann, bob);
    await assertOne(port, workspace, cat);
    const [a, b] = [await uidOf(port, workspace, ann), await uidOf(port, workspace, bob)];
    const before = aChange({ before: [newId<Uid>(), b], after: [newId<Uid>()] });
    const after = aChange({ before: [], after: [a, newId<Uid>()] });
    await record(port, workspace, before, after, aChange({ before: [newId<Uid>()] }));
    const told = idsOf(await port.history(workspace, a, NEWEST));
    assert.deepEqual(told.slice(0, 2), newestFirst([before.changeId, after.changeId]));
    assert.equal(told.length, 3);
    assert.equal((await port.history(workspace, await uidOf(port, workspace, cat), NEWEST)).length, 1);
  },

  "history follows retired ids, and goes with the identifiers when profiles merge and fall apart": async ({ port }) => {
    const workspace = aWorkspace();
    const first = await assertOne(port, workspace, ann, bob);
    const second = await assertOne(port, workspace, cat);
    const uids = [await uidOf(port, workspace, ann), await uidOf(port, workspace, cat)] as const;
    const merged = await assertOne(port, workspace, bob, cat);
    const told = (uid: Uid) => port.history(workspace, uid, NEWEST).then(idsOf);
    for (const uid of uids) assert.deepEqual(await told(uid), newestFirst([first, second, merged]));
    const change = aChange({ identifiers: [bob, cat], before: [uids[0]], after: uids });
    await takeApart(port, workspace, [[bob, cat]], [[ann, bob], [cat]], change);
    assert.deepEqual(await told(uids[0]), newestFirst([first, merged, change.changeId]));
    assert.deepEqual(await told(uids[1]), newestFirst([second, merged, change.changeId]));
    const given = await giveBack(port, workspace, [bob, cat]);
    for (const uid of uids) assert.equal((await told(uid)).length, 4);
    assert.deepEqual(await told(newId<Uid>()), [], "an id that names nothing has none");
    assert.ok(!(await told(uids[0])).includes(given.changeId), "this one names nobody");
  },

  "history tells the records of one identifier alone, also where others of its profile have newer ones": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    const first = await assertOne(port, workspace, ann, bob);
    const second = await assertOne(port, workspace, bob, cat);
    const uids = await Promise.all([ann, bob, cat].map((one) => uidOf(port, workspace, one)));
    const named = aChange({ before: [uids[0]!], after: [newId<Uid>()] });
    await record(port, workspace, named);
    const own = (uid: Uid, page: ChangePage = NEWEST) =>
      port.history(workspace, uid, { ...page, isOwn: true }).then(idsOf);
    // The profile has the uid of its first one: what was done to it is about that one.
    const all = newestFirst([first, second, named.changeId]);
    assert.deepEqual(await Promise.all(uids.map((uid) => own(uid))), [all, all.slice(1), [second]]);
    assert.deepEqual(await inPages(2, 3, (before: ChangeId = newId()) => own(uids[0]!, { limit: 2, before })), all);
    for (const uid of [newId<Uid>(), uids[0]!])
      assert.deepEqual(await port.history(aWorkspace(), uid, { ...NEWEST, isOwn: true }), []);
  },

  "history lists a change with all that it names, and with the first 1,000 of the profiles before and after it":
    async ({ port }) => {
      const workspace = aWorkspace();
      const names = ["first", "last", "beyond", "named"].map((value) => anIdentifier(value));
      await step(port, workspace, ...names.map((one) => anAssertion(one)));
      const [first, last, beyond, named] = await Promise.all(names.map((one) => uidOf(port, workspace, one)));
      const others = Array.from({ length: 998 }, () => newId<Uid>());
      const change = aChange({
        identifiers: [names[3]!],
        before: [first!, ...others],
        // One that stands on both sides counts once.
        after: [first!, last!, beyond!],
      });
      await record(port, workspace, change);
      const isListed = async (uid: Uid) => idsOf(await port.history(workspace, uid, NEWEST)).includes(change.changeId);
      assert.deepEqual(
        [await isListed(first!), await isListed(last!), await isListed(beyond!), await isListed(named!)],
        [true, true, false, true],
      );
    },

  "historyIds answers the ids of the same records, and findChanges the records in the order of the ids": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    const first = await assertOne(port, workspace, ann, bob);
    const second = await assertOne(port, workspace, bob, cat);
    const [a, c] = [await uidOf(port, workspace, ann), await uidOf(port, workspace, cat)];
    const ids = await port.historyIds(workspace, c, NEWEST);
    assert.deepEqual(ids, newestFirst([first, second]));
    assert.deepEqual(await port.historyIds(workspace, c, { ...NEWEST, isOwn: true }), [second]);
    assert.deepEqual(await port.historyIds(workspace, a, { limit: 1, before: ids[0]! }), [ids[1]]);
    assert.deepEqual(await port.findChanges(workspace, ids), await port.history(workspace, a, NEWEST));
    assert.deepEqual(idsOf(await port.findChanges(workspace, [first, newId<ChangeId>(), second])), [first, second]);
    assert.deepEqual(await port.findChanges(workspace, []), []);
  },

  "history and historyIds keep workspaces apart": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    const mine = await assertOne(port, one, ann, bob);
    const theirs = await assertOne(port, other, ann, bob);
    const ids = [await uidOf(port, one, ann), await uidOf(port, other, ann)] as const;
    assert.deepEqual(idsOf(await port.history(one, ids[0], NEWEST)), [mine]);
    assert.deepEqual(idsOf(await port.history(other, ids[1], NEWEST)), [theirs]);
    assert.deepEqual(await port.history(one, ids[1], NEWEST), []);
    assert.deepEqual(await port.historyIds(one, ids[0], NEWEST), [mine]);
    assert.deepEqual(await port.historyIds(one, ids[1], NEWEST), []);
    assert.deepEqual(await port.history(other, ids[0], NEWEST), []);
  },
};
