import assert from "node:assert/strict";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import { cacheCatalog } from "../../../store/cached-catalog.js";
import { aSchema } from "../../support/builders.js";

describe("The cached catalog, of what is for SDKs", () => {
  it("forgets what was set for SDKs, and names of traits, when they were changed, also when that failed", async () => {
    const state = { asked: 0, fails: false };
    const ask = async () => (state.asked += 1);
    const write = async () => {
      if (state.fails) throw new Error("lost");
    };
    const store = {
      sdk: async () => ({ settings: {}, plan: Array(await ask()) }),
      traits: async () => new Map([["city", await ask()]]),
      changeSdk: write,
      registerTraits: write,
      putSchema: write,
    } as unknown as CatalogStore;
    const catalog = cacheCatalog(store, { ttlMs: 60_000, staleMs: 0, isShared: false });
    const [workspace, other] = [newId<WorkspaceId>(), newId<WorkspaceId>()];
    const read = async () => [
      (await catalog.sdk(workspace)).plan.length,
      (await catalog.traits(workspace)).get("city"),
    ];
    assert.deepEqual(
      [await read(), await read()],
      [
        [1, 2],
        [1, 2],
      ],
    );
    await catalog.changeSdk(workspace, (sdk) => sdk);
    assert.deepEqual(await read(), [3, 2]);
    await catalog.registerTraits(workspace, [], 1);
    assert.deepEqual(await read(), [3, 4]);
    await catalog.putSchema(aSchema({ workspace }));
    assert.deepEqual(await read(), [3, 5]);
    await catalog.changeSdk(other, (sdk) => sdk);
    await catalog.registerTraits(other, [], 1);
    assert.deepEqual(await read(), [3, 5]);
    state.fails = true;
    await assert.rejects(
      catalog.changeSdk(workspace, (sdk) => sdk),
      /lost/,
    );
    await assert.rejects(catalog.registerTraits(workspace, [], 1), /lost/);
    assert.deepEqual(await read(), [6, 7]);
  });
});
