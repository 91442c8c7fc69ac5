import assert from "node:assert/strict";
import { newId, type MarkId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import type { MarkStore } from "../../../core/ports/mark-store.js";
import type { Contract } from "../../support/contract.js";

const newWorkspace = (): WorkspaceId => newId<WorkspaceId>();
const newUid = (): Uid => newId<Uid>();

export const markStoreContract: Contract<MarkStore> = {
  "answers what is marked by workspace, and of each the oldest first": async ({ port }) => {
    const [a, b] = [newWorkspace(), newWorkspace()];
    const [first, second, third, fourth] = [newUid(), newUid(), newUid(), newUid()];
    assert.deepEqual(await port.marks(10), []);
    await port.mark(a, [second], 20);
    // The younger their ids are, the older are these marks.
    await port.mark(b, [third, third], 10);
    await port.mark(b, [fourth], 9);
    await port.mark(a, [first], 30);
    await port.mark(a, [], 5);
    const found = await port.marks(10);
    assert.deepEqual(
      found.map(({ workspace, uid, since }) => [workspace, uid, since]),
      [
        [a, second, 20],
        [a, first, 30],
        [b, fourth, 9],
        [b, third, 10],
      ],
    );
    assert.deepEqual(await port.marks(2), found.slice(0, 2));
  },

  "goes on behind a workspace, also one without marks": async ({ port }) => {
    const [a, none, b, last] = [newWorkspace(), newWorkspace(), newWorkspace(), newWorkspace()];
    for (const workspace of [b, a]) await port.mark(workspace, [newUid(), newUid()], 20);
    const all = await port.marks(10);
    for (const workspace of [a, none]) assert.deepEqual(await port.marks(10, workspace), all.slice(2));
    assert.deepEqual(await port.marks(1, a), all.slice(2, 3));
    for (const workspace of [b, last]) assert.deepEqual(await port.marks(10, workspace), []);
  },

  "goes on behind a mark, also one that is gone, and among marks of the same moment": async ({ port }) => {
    const [a, b] = [newWorkspace(), newWorkspace()];
    await port.mark(a, [newUid(), newUid(), newUid()], 20);
    await port.mark(b, [newUid(), newUid()], 20);
    await port.mark(b, [newUid()], 3);
    const all = await port.marks(10);
    assert.deepEqual([all.length, all[3]!.since], [6, 3]);
    for (const [n, one] of all.entries()) assert.deepEqual(await port.marks(2, one), all.slice(n + 1, n + 3));
    await port.clear([all[2]!]);
    assert.deepEqual(await port.marks(10, all[2]), all.slice(3));
    assert.deepEqual(await port.marks(10, null), [...all.slice(0, 2), ...all.slice(3)]);
  },

  "marks under a fresh id each time, and keeps since when": async ({ port }) => {
    const [workspace, uid] = [newWorkspace(), newUid()];
    await port.mark(workspace, [uid], 10);
    const [before] = await port.marks(10);
    await port.mark(workspace, [uid], 20);
    const [after, ...others] = await port.marks(10);
    assert.deepEqual(others, []);
    assert.deepEqual({ ...after, markId: null }, { ...before, markId: null });
    assert.notEqual(after!.markId, before!.markId);
  },

  "takes away only what was not marked again": async ({ port }) => {
    const [workspace, kept, gone] = [newWorkspace(), newUid(), newUid()];
    await port.mark(workspace, [kept, gone], 10);
    const marks = await port.marks(10);
    await port.mark(workspace, [kept], 20);
    await port.clear(marks);
    assert.deepEqual(
      (await port.marks(10)).map(({ uid }) => uid),
      [kept],
    );
    // One that was taken away and is marked anew never has an old id.
    await port.mark(workspace, [gone], 30);
    await port.clear([...marks, { workspace, uid: gone, markId: newId<MarkId>(), since: 30 }]);
    assert.equal((await port.marks(10)).length, 2);
    await port.clear([]);
  },

  "mark keeps workspaces apart": async ({ port }) => {
    const [a, b, uid] = [newWorkspace(), newWorkspace(), newUid()];
    await port.mark(a, [uid], 10);
    const inA = await port.marks(10);
    await port.mark(b, [uid], 20);
    await port.clear(inA);
    assert.deepEqual(
      (await port.marks(10)).map(({ workspace }) => workspace),
      [b],
    );
  },

  "keeps marks across close and reopen": async ({ port, reopen }) => {
    await port.mark(newWorkspace(), [newUid()], 10);
    const marks = await port.marks(10);
    assert.equal(marks.length, 1);
    assert.deepEqual(await (await reopen()).marks(10), marks);
  },

  "is ready while it is open, and may be closed twice": async ({ port }) => {
    await port.ready();
    await port.close();
    await port.close();
  },

  "refuses every method after close as unavailable": async ({ port }) => {
    await port.close();
    const refused = { code: "unavailable" };
    await assert.rejects(port.mark(newWorkspace(), [newUid()], 1), refused);
    await assert.rejects(port.marks(1), refused);
    await assert.rejects(port.clear([]), refused);
    await assert.rejects(port.ready(), refused);
  },
};
