import assert from "node:assert/strict";
import { NO_AUDIENCES, type Audience, type AudienceChange } from "../../../core/audience/audience.js";
import {
  newId,
  type AudienceId,
  type BuildId,
  type EventId,
  type FenceId,
  type ProfileId,
  type SchemaId,
  type TallyId,
  type WorkspaceId,
} from "../../../core/ids.js";
import type { Tally } from "../../../core/rule/rule.js";
import type { AudienceStore } from "../../../core/ports/audience-store.js";
import { HOSTILE_TEXTS } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";

const newWorkspace = (): WorkspaceId => newId<WorkspaceId>();
const anAudience = (name: string): Audience => ({
  audienceId: newId<AudienceId>(),
  name,
  text: JSON.stringify({ "traits.$city": name }),
  rule: { kind: "field", field: { kind: "trait", name: "$city" }, test: { op: "$eq", value: name } },
  version: 1,
  createdAt: 5,
  build: { buildId: newId<BuildId>(), cause: "built", after: newId<ProfileId>(), judged: 3 },
});
const tallyOf = (text: string): Tally => ({
  schemaId: "order" as SchemaId,
  where: [{ path: ["$a.b", text], test: { op: "$eq", value: text } }],
  sum: null,
});
/** It counts events. */
const counting = (text: string): Audience => ({
  ...anAudience(text),
  rule: { kind: "count", tally: tallyOf(text), atLeast: 1, within: null },
});
const only = (...audiences: readonly Audience[]): AudienceChange => ({ audiences, deleted: [] });

export const audienceStoreContract: Contract<AudienceStore> = {
  "answers what was put, under a fresh version each time": async ({ port }) => {
    const workspace = newWorkspace();
    assert.deepEqual(await port.audiences(workspace), NO_AUDIENCES);
    const audiences = HOSTILE_TEXTS.map(anAudience);
    const deleted = [newId<AudienceId>(), newId<AudienceId>()];
    const first = await port.changeAudiences(workspace, () => ({ audiences, deleted }));
    assert.deepEqual([first.audiences, first.deleted], [audiences, deleted]);
    assert.deepEqual(await port.audiences(workspace), first);
    const second = await port.changeAudiences(workspace, ({ audiences: all }) => ({
      audiences: all.slice(1).map((one) => ({ ...one, build: null })),
      deleted: deleted.slice(1),
    }));
    assert.deepEqual(
      [second.audiences, second.deleted],
      [audiences.slice(1).map((one) => ({ ...one, build: null })), deleted.slice(1)],
    );
    const third = await port.changeAudiences(workspace, () => only(...audiences));
    assert.equal(new Set([NO_AUDIENCES, first, second, third].map(({ version }) => version)).size, 4);
    assert.deepEqual(await port.audiences(workspace), third);
  },

  "answers what is known itself as long as it holds": async ({ port }) => {
    const workspace = newWorkspace();
    const put = await port.changeAudiences(workspace, () => only(anAudience("a")));
    assert.equal(await port.audiences(workspace, put), put);
    const changed = await port.changeAudiences(workspace, () => only(anAudience("b")));
    assert.deepEqual(await port.audiences(workspace, put), changed);
    assert.deepEqual(await port.audiences(workspace, NO_AUDIENCES), changed);
  },

  "changes them in one step, so that many changes at once all stand": async ({ port }) => {
    const workspace = newWorkspace();
    const all = Array.from({ length: 12 }, (_, n) => anAudience(`audience ${n}`));
    await Promise.all(all.map((one) => port.changeAudiences(workspace, ({ audiences }) => only(...audiences, one))));
    const { audiences } = await port.audiences(workspace);
    assert.deepEqual(audiences.map(({ name }) => name).toSorted(), all.map(({ name }) => name).toSorted());
  },

  "keeps the fence that was named last": async ({ port }) => {
    const workspace = newWorkspace();
    assert.equal((await port.changeAudiences(workspace, () => only(anAudience("a")))).fence, undefined);
    const fence = newId<FenceId>();
    const fenced = await port.changeAudiences(workspace, (current) => ({ ...current, fence }));
    assert.deepEqual([fenced.fence, (await port.audiences(workspace)).fence], [fence, fence]);
    assert.equal((await port.changeAudiences(workspace, () => only())).fence, fence);
    assert.equal((await port.changeTallies(workspace, ({ tallies }) => ({ tallies, forgotten: [] }))).fence, fence);
    const next = newId<FenceId>();
    await port.changeAudiences(workspace, () => ({ ...only(), fence: next }));
    assert.equal((await port.audiences(workspace)).fence, next);
  },

  "keeps the time of the looks that was named last": async ({ port }) => {
    const workspace = newWorkspace();
    const put = await port.changeAudiences(workspace, () => ({ ...only(anAudience("a")), judgedAt: 7 }));
    assert.deepEqual([put.judgedAt, (await port.audiences(workspace)).judgedAt], [7, 7]);
    assert.equal((await port.changeAudiences(workspace, () => only())).judgedAt, 7);
    assert.equal((await port.changeTallies(workspace, ({ tallies }) => ({ tallies, forgotten: [] }))).judgedAt, 7);
    await port.changeAudiences(workspace, () => ({ ...only(), judgedAt: 5 }));
    assert.equal((await port.audiences(workspace)).judgedAt, 5);
    assert.equal((await port.audiences(newWorkspace())).judgedAt, undefined);
  },

  "changes nothing when the change answers null or throws, and throws what it threw": async ({ port }) => {
    const workspace = newWorkspace();
    const put = await port.changeAudiences(workspace, () => only(anAudience("a")));
    assert.deepEqual(await port.changeAudiences(workspace, () => null), put);
    const failure = new Error("no");
    const refuse = () => {
      throw failure;
    };
    await assert.rejects(port.changeAudiences(workspace, refuse), failure);
    assert.deepEqual(await port.audiences(workspace), put);
  },

  "watching lists the workspaces that ever had audiences, page by page": async ({ port }) => {
    const all = [newWorkspace(), newWorkspace(), newWorkspace()].toSorted();
    const never = newWorkspace();
    for (const workspace of all) await port.changeAudiences(workspace, () => only(anAudience("a")));
    await port.changeAudiences(all[1]!, () => only());
    await port.audiences(never);
    const found: WorkspaceId[] = [];
    for (let after: WorkspaceId | null = null; ;) {
      const page: readonly WorkspaceId[] = await port.watching({ limit: 1, after });
      if (page.length === 0) break;
      assert.equal(page.length, 1);
      found.push(...page);
      after = page[0]!;
    }
    assert.deepEqual(found, found.toSorted());
    // Other tests may use the same place.
    assert.deepEqual(
      found.filter((one) => [...all, never].includes(one)),
      all,
    );
  },

  "tallies follow the rules: what is needed anew begins under a fresh id, and what no rule needs is to be forgotten":
    async ({ port }) => {
      const workspace = newWorkspace();
      const [one, two] = [counting("one"), counting("two")];
      const first = await port.changeAudiences(workspace, () => only(one, two));
      assert.deepEqual(
        first.tallies.map(({ tally, filling }) => ({ tally, filling })),
        ["one", "two"].map((text) => ({ tally: tallyOf(text), filling: { after: null } })),
      );
      const second = await port.changeAudiences(workspace, () => only(two));
      assert.deepEqual([second.tallies, second.forgotten], [first.tallies.slice(1), [first.tallies[0]!.tallyId]]);
      const third = await port.changeAudiences(workspace, () => only(two, one));
      assert.deepEqual([third.tallies[0], third.forgotten], [second.tallies[0], second.forgotten]);
      assert.notEqual(third.tallies[1]?.tallyId, first.tallies[0]!.tallyId);
      assert.deepEqual(await port.audiences(workspace), third);
      const many = Array.from({ length: 60 }, (_, n) => counting(`${n}`));
      await assert.rejects(
        port.changeAudiences(workspace, () => only(...many)),
        { code: "validation_failed" },
      );
      assert.deepEqual(await port.audiences(workspace), third);
    },

  "refuses a change that leaves more than 200 tallies to be forgotten, and no other one": async ({ port }) => {
    const workspace = newWorkspace();
    const fresh = (round: number) => only(...Array.from({ length: 50 }, (_, n) => counting(`${round} ${n}`)));
    for (let round = 0; round < 5; round += 1) await port.changeAudiences(workspace, () => fresh(round));
    const full = await port.audiences(workspace);
    assert.equal(full.forgotten.length, 200);
    for (const change of [only(...full.audiences.slice(1)), fresh(5)])
      await assert.rejects(
        port.changeAudiences(workspace, () => change),
        { code: "rate_limited" },
      );
    assert.deepEqual(await port.audiences(workspace), full);
    const more = await port.changeAudiences(workspace, () => only(...full.audiences, anAudience("plain")));
    assert.deepEqual([more.audiences.length, more.tallies], [51, full.tallies]);
    const forgotten = full.forgotten.slice(50);
    await port.changeTallies(workspace, ({ tallies }) => ({ tallies, forgotten }));
    const changed = await port.changeAudiences(workspace, () => fresh(5));
    assert.deepEqual(changed.forgotten, [...forgotten, ...full.tallies.map(({ tallyId }) => tallyId)]);
  },

  "refuses another audience where there would be more than 300 with the deleted ones, and no other change": async ({
    port,
  }) => {
    const workspace = newWorkspace();
    const audiences = [anAudience("a"), anAudience("b")];
    const deleted = Array.from({ length: 298 }, () => newId<AudienceId>());
    const full = await port.changeAudiences(workspace, () => ({ audiences, deleted }));
    await assert.rejects(
      port.changeAudiences(workspace, () => ({ audiences: [...audiences, anAudience("c")], deleted })),
      { code: "rate_limited" },
    );
    assert.deepEqual(await port.audiences(workspace), full);
    const none = [...deleted, ...audiences.map(({ audienceId }) => audienceId)];
    const emptied = await port.changeAudiences(workspace, () => ({ audiences: [], deleted: none }));
    assert.deepEqual([emptied.audiences, emptied.deleted], [[], none]);
    const begun = { audiences: [anAudience("c")], deleted: none.slice(1) };
    const more = await port.changeAudiences(workspace, () => begun);
    assert.deepEqual([more.audiences, more.deleted], [begun.audiences, begun.deleted]);
  },

  "puts other tallies in their place, and leaves the audiences": async ({ port }) => {
    const workspace = newWorkspace();
    const put = await port.changeAudiences(workspace, () => only(counting("one"), counting("two")));
    const after = { receivedAt: 7, eventId: newId<EventId>() };
    const [one, two] = put.tallies;
    const tallies = [
      { ...one!, filling: null },
      { ...two!, filling: { after } },
    ];
    const forgotten = [newId<TallyId>()];
    const changed = await port.changeTallies(workspace, (current) => {
      assert.deepEqual(current, put);
      return { tallies, forgotten };
    });
    assert.notEqual(changed.version, put.version);
    assert.deepEqual(changed, { ...put, version: changed.version, tallies, forgotten });
    assert.deepEqual(await port.audiences(workspace, put), changed);
    assert.deepEqual(await port.changeTallies(workspace, () => null), changed);
  },

  "changeTallies keeps workspaces apart": async ({ port }) => {
    const [a, b] = [newWorkspace(), newWorkspace()];
    const put = await port.changeAudiences(a, () => only(counting("a")));
    await port.changeTallies(b, (current) => {
      assert.deepEqual(current, NO_AUDIENCES);
      return { tallies: [], forgotten: [newId<TallyId>()] };
    });
    assert.deepEqual(await port.audiences(a), put);
  },

  "audiences and changeAudiences keep workspaces apart": async ({ port }) => {
    const [a, b] = [newWorkspace(), newWorkspace()];
    const put = await port.changeAudiences(a, () => only(anAudience("a")));
    assert.deepEqual(await port.audiences(b), NO_AUDIENCES);
    await port.changeAudiences(b, (current) => {
      assert.deepEqual(current, NO_AUDIENCES);
      return only(anAudience("b"));
    });
    assert.deepEqual(await port.audiences(a), put);
  },

  "keeps audiences across close and reopen": async ({ port, reopen }) => {
    const workspace = newWorkspace();
    const put = await port.changeAudiences(workspace, () => only(anAudience("a")));
    assert.deepEqual(await (await reopen()).audiences(workspace), put);
  },

  "is ready while it is open, and may be closed twice": async ({ port }) => {
    await port.ready();
    await port.close();
    await port.close();
  },

  "refuses every method after close as unavailable": async ({ port }) => {
    await port.close();
    await assert.rejects(port.audiences(newWorkspace()), { code: "unavailable" });
    await assert.rejects(port.watching({ limit: 1, after: null }), { code: "unavailable" });
    await assert.rejects(
      port.changeAudiences(newWorkspace(), () => only()),
      { code: "unavailable" },
    );
    await assert.rejects(
      port.changeTallies(newWorkspace(), () => ({ tallies: [], forgotten: [] })),
      { code: "unavailable" },
    );
  },
};
