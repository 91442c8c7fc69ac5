import assert from "node:assert/strict";
import { NO_AUDIENCES, type Audience } from "../../core/audience/audience.js";
import { newId, type AudienceId, type WorkspaceId } from "../../core/ids.js";
import type { AudienceStore } from "../../core/ports/audience-store.js";
import { HOSTILE_TEXTS } from "../support/builders.js";
import type { Contract } from "../support/contract.js";

const newWorkspace = (): WorkspaceId => newId<WorkspaceId>();
const anAudience = (name: string): Audience => ({
  audienceId: newId<AudienceId>(),
  name,
  text: JSON.stringify({ "traits.$city": name }),
  rule: { kind: "field", field: { kind: "trait", name: "$city" }, test: { op: "$eq", value: name } },
  version: 1,
  createdAt: 5,
});

export const audienceStoreContract: Contract<AudienceStore> = {
  "answers what was put, under a fresh version each time": async ({ port }) => {
    const workspace = newWorkspace();
    assert.deepEqual(await port.audiences(workspace), NO_AUDIENCES);
    const audiences = HOSTILE_TEXTS.map(anAudience);
    const first = await port.changeAudiences(workspace, () => audiences);
    assert.deepEqual(first.audiences, audiences);
    assert.deepEqual(await port.audiences(workspace), first);
    const second = await port.changeAudiences(workspace, ({ audiences: all }) => all.slice(1));
    assert.deepEqual(second.audiences, audiences.slice(1));
    const third = await port.changeAudiences(workspace, () => audiences);
    assert.equal(new Set([NO_AUDIENCES, first, second, third].map(({ version }) => version)).size, 4);
    assert.deepEqual(await port.audiences(workspace), third);
  },

  "answers what is known itself as long as it holds": async ({ port }) => {
    const workspace = newWorkspace();
    const put = await port.changeAudiences(workspace, () => [anAudience("a")]);
    assert.equal(await port.audiences(workspace, put), put);
    const changed = await port.changeAudiences(workspace, () => [anAudience("b")]);
    assert.deepEqual(await port.audiences(workspace, put), changed);
    assert.deepEqual(await port.audiences(workspace, NO_AUDIENCES), changed);
  },

  "changes them in one step, so that many changes at once all stand": async ({ port }) => {
    const workspace = newWorkspace();
    const all = Array.from({ length: 12 }, (_, n) => anAudience(`audience ${n}`));
    await Promise.all(all.map((one) => port.changeAudiences(workspace, ({ audiences }) => [...audiences, one])));
    const { audiences } = await port.audiences(workspace);
    assert.deepEqual(audiences.map(({ name }) => name).toSorted(), all.map(({ name }) => name).toSorted());
  },

  "changes nothing when the change answers null or throws, and throws what it threw": async ({ port }) => {
    const workspace = newWorkspace();
    const put = await port.changeAudiences(workspace, () => [anAudience("a")]);
    assert.deepEqual(await port.changeAudiences(workspace, () => null), put);
    const failure = new Error("no");
    const refuse = () => {
      throw failure;
    };
    await assert.rejects(port.changeAudiences(workspace, refuse), failure);
    assert.deepEqual(await port.audiences(workspace), put);
  },

  "audiences and changeAudiences keep workspaces apart": async ({ port }) => {
    const [a, b] = [newWorkspace(), newWorkspace()];
    const put = await port.changeAudiences(a, () => [anAudience("a")]);
    assert.deepEqual(await port.audiences(b), NO_AUDIENCES);
    await port.changeAudiences(b, (current) => {
      assert.deepEqual(current, NO_AUDIENCES);
      return [anAudience("b")];
    });
    assert.deepEqual(await port.audiences(a), put);
  },

  "keeps audiences across close and reopen": async ({ port, reopen }) => {
    const workspace = newWorkspace();
    const put = await port.changeAudiences(workspace, () => [anAudience("a")]);
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
    await assert.rejects(
      port.changeAudiences(newWorkspace(), () => []),
      { code: "unavailable" },
    );
  },
};
