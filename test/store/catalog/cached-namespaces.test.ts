import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Namespace } from "../../../core/catalog/catalog.js";
import { admit, namespaceTable } from "../../../core/identity/namespaces.js";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import { cacheCatalog } from "../../../store/cached-catalog.js";
import { aNamespace } from "../../support/builders.js";

const TTL_MS = 30;
const options = { ttlMs: TTL_MS, staleMs: 0, isShared: true };
const isBlocked = (list: readonly Namespace[], value: string): boolean =>
  admit([{ path: "", namespace: "card", value }], namespaceTable(list)).dropped.length === 1;

/** Namespaces that count how often they were read whole. */
function countedNamespaces(make: (workspace: WorkspaceId) => readonly Namespace[]) {
  const read: WorkspaceId[] = [];
  const latest = new Map<WorkspaceId, readonly Namespace[]>();
  const store = {
    namespaces: async (workspace: WorkspaceId, known?: readonly Namespace[]) => {
      if (known !== undefined && latest.get(workspace) === known) return known;
      read.push(workspace);
      const list = make(workspace);
      latest.set(workspace, list);
      return list;
    },
    changeNamespace: async (workspace: WorkspaceId) => void latest.delete(workspace),
  } as unknown as CatalogStore;
  return { store, read, latest };
}

describe("The cached namespaces", () => {
  it("are read whole only when their version changed, whoever asks, and then at once", async () => {
    let blocked = ["x1"];
    const { store, read, latest } = countedNamespaces(() => [aNamespace({ name: "card", blocked })]);
    const catalog = cacheCatalog(store, options);
    const workspace = newId<WorkspaceId>();
    const first = await catalog.namespaces(workspace);
    for (let n = 0; n < 3; n += 1) {
      await sleep(TTL_MS * 2);
      assert.equal(await catalog.namespaces(workspace), first);
    }
    assert.equal(read.length, 1);
    blocked = ["x2"];
    latest.delete(workspace);
    await sleep(TTL_MS * 2);
    const second = await catalog.namespaces(workspace);
    assert.deepEqual([isBlocked(second, "x1"), isBlocked(second, "x2"), read.length], [false, true, 2]);
    blocked = ["x3"];
    await catalog.changeNamespace(workspace, "card", () => aNamespace());
    assert.ok(isBlocked(await catalog.namespaces(workspace), "x3"), "after a change of its own at once");
  });

  it("are read with the event loop free in between, and only those that changed", async () => {
    // Reading a phone number takes some 20 microseconds.
    const blocked = Array.from({ length: 5_000 }, (_, n) => `+4930${String(1_000_000 + n)}`);
    const make = (priority: number): readonly Namespace[] => [
      aNamespace({ name: "card", normalization: "phone", blocked: [...blocked], priority }),
    ];
    let priority = 1;
    const { store, latest } = countedNamespaces(() => make(priority));
    const catalog = cacheCatalog(store, options);
    const workspace = newId<WorkspaceId>();
    let turns = 0;
    const pulse = setInterval(() => (turns += 1), 1);
    const turnsOf = async (): Promise<number> => {
      const before = turns;
      assert.ok(isBlocked(await catalog.namespaces(workspace), "+49 30 1000007"));
      return turns - before;
    };
    try {
      assert.ok((await turnsOf()) >= 3);
      priority = 2;
      latest.delete(workspace);
      await sleep(TTL_MS * 2);
      assert.ok((await turnsOf()) <= 2, "the list of blocked values is the same");
    } finally {
      clearInterval(pulse);
    }
  });

  it("of many workspaces with full lists are kept up to a bound in bytes", async () => {
    const blocked = Array.from({ length: 250 }, (_, n) => `${n}`.padEnd(1_000, "x"));
    const { store, read } = countedNamespaces(() => [aNamespace({ name: "card", blocked })]);
    const catalog = cacheCatalog(store, { ...options, ttlMs: 60_000 });
    const workspaces = Array.from({ length: 100 }, () => newId<WorkspaceId>());
    for (const workspace of workspaces) await catalog.namespaces(workspace);
    await catalog.namespaces(workspaces.at(-1)!);
    assert.equal(read.length, 100, "the last one is kept");
    for (const workspace of workspaces.slice(0, 20)) await catalog.namespaces(workspace);
    assert.equal(read.length, 120, "the first ones are not: 16 MiB hold some 66 of them");
  });
});
