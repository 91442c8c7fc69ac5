import assert from "node:assert/strict";
import { newId, type KeyId, type WorkspaceId } from "../../core/ids.js";
import type { StatCount, StatsStore } from "../../core/stats.js";
import { HOSTILE_TEXTS } from "../support/builders.js";

const MINUTE = 29_500_000;

const aCount = (workspace: WorkspaceId, change: Partial<StatCount> = {}): StatCount => ({
  workspace,
  minute: MINUTE,
  keyId: "key" as KeyId,
  schemaId: "order",
  outcome: "accepted",
  events: 1,
  ...change,
});
const plain = (counts: readonly StatCount[]): readonly string[] =>
  counts.map(({ minute, keyId, schemaId, outcome, events }) =>
    JSON.stringify([minute, keyId, schemaId, outcome, events]),
  );

/** Each on an empty store. */
export const statsStoreContract: Readonly<Record<string, (store: StatsStore) => Promise<void>>> = {
  "adds up what has all in common": async (store) => {
    const workspace = newId<WorkspaceId>();
    await store.add([aCount(workspace, { events: 2 }), aCount(workspace)]);
    await store.add([aCount(workspace, { events: 4 })]);
    assert.deepEqual(await store.read(workspace, MINUTE), [aCount(workspace, { events: 7 })]);
  },

  "adds exactly, however many add at once": async (store) => {
    const workspace = newId<WorkspaceId>();
    await Promise.all(Array.from({ length: 50 }, () => store.add([aCount(workspace, { events: 3 })])));
    assert.deepEqual(await store.read(workspace, MINUTE), [aCount(workspace, { events: 150 })]);
  },

  "keeps keys, schemas, outcomes and minutes apart, whatever they hold": async (store) => {
    const workspace = newId<WorkspaceId>();
    const changes: readonly Partial<StatCount>[] = [
      { keyId: null },
      { keyId: "null" as KeyId },
      { schemaId: null },
      { schemaId: "null" },
      { outcome: "validation_failed" },
      { minute: MINUTE + 1 },
      ...HOSTILE_TEXTS.map((schemaId) => ({ schemaId })),
    ];
    const counts = changes.map((change) => aCount(workspace, change));
    await store.add(counts);
    await store.add(counts);
    const twice = counts.map((count) => ({ ...count, events: 2 }));
    assert.deepEqual(plain(await store.read(workspace, MINUTE)).toSorted(), plain(twice).toSorted());
  },

  "keeps workspaces apart": async (store) => {
    const [one, other] = [newId<WorkspaceId>(), newId<WorkspaceId>()];
    await store.add([aCount(one), aCount(other, { events: 5 })]);
    assert.deepEqual(await store.read(one, MINUTE), [aCount(one)]);
    assert.deepEqual(await store.read(newId<WorkspaceId>(), MINUTE), []);
  },

  "answers from the given minute on, the newest first, and takes minutes in any order": async (store) => {
    const workspace = newId<WorkspaceId>();
    for (const back of [0, 59, 30, 1])
      await store.add([aCount(workspace, { minute: MINUTE - back, events: back + 1 })]);
    const minutes = async (from: number) => (await store.read(workspace, from)).map(({ minute }) => MINUTE - minute);
    assert.deepEqual(await minutes(MINUTE - 59), [0, 1, 30, 59]);
    assert.deepEqual(await minutes(MINUTE - 30), [0, 1, 30]);
    assert.deepEqual(await minutes(MINUTE + 1), []);
  },

  "names the keys and schemas of an hour, however many others came in the hours before": async (store) => {
    const workspace = newId<WorkspaceId>();
    await store.add(Array.from({ length: 600 }, (_, n) => aCount(workspace, { schemaId: `old-${n}` })));
    const young = aCount(workspace, { minute: MINUTE + 60, keyId: "young" as KeyId, schemaId: "young" });
    await store.add([young]);
    assert.deepEqual(await store.read(workspace, MINUTE + 1), [young]);
    const many = Array.from({ length: 400 }, (_, n) =>
      aCount(workspace, { minute: MINUTE + 60, schemaId: `young-${n}` }),
    );
    await store.add(many);
    const read = await store.read(workspace, MINUTE + 1);
    assert.deepEqual(plain(read).toSorted(), plain([young, ...many]).toSorted());
  },

  "begins each minute of the next hour anew": async (store) => {
    const workspace = newId<WorkspaceId>();
    await store.add([aCount(workspace, { events: 9 }), aCount(workspace, { minute: MINUTE + 1, events: 8 })]);
    await store.add([aCount(workspace, { minute: MINUTE + 60, events: 2 })]);
    const counts = await store.read(workspace, MINUTE + 1);
    assert.deepEqual(
      counts.map(({ minute, events }) => [minute - MINUTE, events]),
      [
        [60, 2],
        [1, 8],
      ],
    );
  },
};
