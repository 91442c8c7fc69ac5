import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { cacheCatalog, type CacheOptions } from "../../../store/cached-catalog.js";
import { KEYS_MAX, type KeyRecord, type Namespace, type SchemaVersion } from "../../../core/catalog/catalog.js";
import type { KeyId, WorkspaceId } from "../../../core/ids.js";
import { newId } from "../../../core/ids.js";
import { AppError } from "../../../core/errors.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import { aKey, aKeyId, aNamespace, aSchema } from "../../support/builders.js";

/** Long enough that no busy machine lets it pass between two calls. */
const TTL_MS = 300;

/** As over the embedded store: no other process writes. */
const alone = (ttlMs: number): CacheOptions => ({ ttlMs, staleMs: 0, isShared: false });

/** A catalog that counts its look-ups and answers each when it is told to. */
function countedCatalog() {
  const keys = new Map<KeyId, KeyRecord>();
  const schemas = new Map<number, SchemaVersion>();
  const looked: string[] = [];
  let held: (() => Promise<void>) | null = null;
  const look = async <T>(what: string, answer: () => T): Promise<T> => {
    looked.push(what);
    const found = answer();
    await held?.();
    return found;
  };
  const store = {
    findKey: (keyId: KeyId) => look("key", () => keys.get(keyId) ?? null),
    findSchema: (_: WorkspaceId, __: string, version: number | null) =>
      look(`schema ${version}`, () => (version === null ? [...schemas.values()].at(-1) : schemas.get(version)) ?? null),
    createKey: async (key: KeyRecord) => {
      keys.set(key.keyId, key);
      return "created" as const;
    },
    deleteKey: async (_: WorkspaceId, keyId: KeyId) => (keys.delete(keyId) ? "deleted" : "not_found"),
    close: async () => {},
  } as unknown as CatalogStore;
  const hold = (wait: (() => Promise<void>) | null): void => {
    held = wait;
  };
  return { store, keys, schemas, looked, hold };
}

describe("The cached catalog", () => {
  it("looks a thing up once, and answers then with the same promise", async () => {
    const { store, keys, looked } = countedCatalog();
    const catalog = cacheCatalog(store, alone(TTL_MS));
    const key = aKey();
    keys.set(key.keyId, key);
    const first = catalog.findKey(key.keyId);
    assert.equal(await first, key);
    assert.equal(catalog.findKey(key.keyId), first);
    assert.equal(looked.length, 1);
  });

  it("remembers also what is not there", async () => {
    const { store, looked } = countedCatalog();
    const catalog = cacheCatalog(store, alone(TTL_MS));
    const keyId = aKeyId();
    assert.deepEqual([await catalog.findKey(keyId), await catalog.findKey(keyId)], [null, null]);
    assert.equal(looked.length, 1);
  });

  it("shares one look-up among all who ask at once", async () => {
    const { store, looked, hold } = countedCatalog();
    const catalog = cacheCatalog(store, alone(TTL_MS));
    hold(() => sleep(5));
    const keyId = aKeyId();
    await Promise.all(Array.from({ length: 20 }, () => catalog.findKey(keyId)));
    assert.equal(looked.length, 1);
  });

  it("sees another process's change after its time to live, and not before", async () => {
    const { store, keys } = countedCatalog();
    const catalog = cacheCatalog(store, alone(TTL_MS));
    const key = aKey();
    assert.equal(await catalog.findKey(key.keyId), null);
    keys.set(key.keyId, key);
    assert.equal(await catalog.findKey(key.keyId), null);
    await sleep(TTL_MS + 10);
    assert.equal(await catalog.findKey(key.keyId), key);
  });

  it("keeps no error", async () => {
    const { store, keys, hold, looked } = countedCatalog();
    const catalog = cacheCatalog(store, alone(TTL_MS));
    const key = aKey();
    keys.set(key.keyId, key);
    hold(() => Promise.reject(new Error("away")));
    const failed = await Promise.allSettled([catalog.findKey(key.keyId), catalog.findKey(key.keyId)]);
    assert.deepEqual(
      failed.map(({ status }) => status),
      ["rejected", "rejected"],
    );
    assert.equal(looked.length, 1);
    hold(null);
    assert.equal(await catalog.findKey(key.keyId), key);
  });

  it("does not keep what a look-up found that its own write overtook", async () => {
    const { store, hold } = countedCatalog();
    const catalog = cacheCatalog(store, alone(60_000));
    const key = aKey();
    hold(() => sleep(10));
    const early = catalog.findKey(key.keyId);
    await catalog.createKey(key, KEYS_MAX);
    assert.equal(await catalog.findKey(key.keyId), key);
    assert.equal(await early, null);
    assert.equal(await catalog.findKey(key.keyId), key);
  });

  it("keeps what was found since when a look-up from before its own write fails late", async () => {
    const { store, looked, hold } = countedCatalog();
    const catalog = cacheCatalog(store, alone(60_000));
    const key = aKey();
    hold(() => sleep(10).then(() => Promise.reject(new Error("away"))));
    const early = catalog.findKey(key.keyId);
    await catalog.createKey(key, KEYS_MAX);
    hold(null);
    assert.equal(await catalog.findKey(key.keyId), key);
    await assert.rejects(early, /away/);
    assert.equal(await catalog.findKey(key.keyId), key);
    assert.equal(looked.length, 2);
  });

  it("forgets also when its own write failed, because it may have happened", async () => {
    const { store, keys } = countedCatalog();
    const lost = async (_: WorkspaceId, keyId: KeyId): Promise<never> => {
      keys.delete(keyId);
      throw new Error("the answer was lost");
    };
    const catalog = cacheCatalog({ ...store, deleteKey: lost }, alone(60_000));
    const key = aKey();
    keys.set(key.keyId, key);
    assert.equal(await catalog.findKey(key.keyId), key);
    await assert.rejects(catalog.deleteKey(key.workspace, key.keyId));
    assert.equal(await catalog.findKey(key.keyId), null);
  });

  it("looks a numbered schema version up once for good, when it is there", async () => {
    const { store, schemas, looked } = countedCatalog();
    const catalog = cacheCatalog(store, alone(TTL_MS));
    const schema = aSchema();
    const find = (version: number | null) => catalog.findSchema(schema.workspace, schema.schemaId, version);
    assert.equal(await find(1), null);
    schemas.set(1, schema);
    assert.deepEqual([await find(1), await find(1), await find(null)], [schema, schema, schema]);
    await sleep(TTL_MS + 10);
    assert.deepEqual([await find(1), await find(null)], [schema, schema]);
    assert.deepEqual(looked, ["schema 1", "schema 1", "schema null", "schema null"]);
  });

  it("keeps nothing but numbered versions with a time to live of 0", async () => {
    const { store, keys, schemas, looked } = countedCatalog();
    const catalog = cacheCatalog(store, alone(0));
    const [key, schema] = [aKey(), aSchema()];
    assert.equal(await catalog.findKey(key.keyId), null);
    keys.set(key.keyId, key);
    assert.equal(await catalog.findKey(key.keyId), key);
    schemas.set(1, schema);
    for (let time = 0; time < 2; time += 1) await catalog.findSchema(schema.workspace, schema.schemaId, 1);
    assert.deepEqual(looked, ["key", "key", "schema 1"]);
  });

  it("holds a bounded number of things", async () => {
    const { store, looked } = countedCatalog();
    const catalog = cacheCatalog(store, alone(60_000));
    const first = aKeyId();
    await catalog.findKey(first);
    for (let n = 0; n < 10_000; n += 1) await catalog.findKey(aKeyId());
    await catalog.findKey(first);
    assert.equal(looked.length, 10_002);
  });

  const shared = (ttlMs: number, staleMs: number): CacheOptions => ({ ttlMs, staleMs, isShared: true });
  const away = () => Promise.reject(new AppError("unavailable", "away"));

  it("asks each time for what is not there, when other processes write too", async () => {
    const { store, keys, looked } = countedCatalog();
    const catalog = cacheCatalog(store, shared(60_000, 0));
    const key = aKey();
    assert.equal(await catalog.findKey(key.keyId), null);
    keys.set(key.keyId, key);
    assert.equal(await catalog.findKey(key.keyId), key);
    assert.equal(await catalog.findKey(key.keyId), key);
    assert.equal(looked.length, 2);
  });

  it("answers what it knew while the store is away, until that is too old, and sees the change when it is back", async () => {
    const { store, keys, hold } = countedCatalog();
    const catalog = cacheCatalog(store, shared(5, 400));
    const key = aKey();
    keys.set(key.keyId, key);
    assert.equal(await catalog.findKey(key.keyId), key);
    hold(away);
    await sleep(10);
    assert.equal(await catalog.findKey(key.keyId), key);
    await assert.rejects(catalog.findKey(aKeyId()), /away/);
    hold(null);
    const changed = { ...key, role: "viewer" as const };
    keys.set(key.keyId, changed);
    await sleep(10);
    assert.equal(await catalog.findKey(key.keyId), changed);
    hold(away);
    await sleep(420);
    await assert.rejects(catalog.findKey(key.keyId), /away/);
  });

  it("does not wait for a silent store when it knows an answer, and takes no other error for an outage", async () => {
    const { store, keys, hold } = countedCatalog();
    const catalog = cacheCatalog(store, shared(5, 60_000));
    const key = aKey();
    keys.set(key.keyId, key);
    assert.equal(await catalog.findKey(key.keyId), key);
    hold(() => new Promise(() => {}));
    await sleep(10);
    assert.equal(await catalog.findKey(key.keyId), key);
    assert.equal(await catalog.findKey(key.keyId), key);
    const other = countedCatalog();
    const strict = cacheCatalog(other.store, shared(5, 60_000));
    other.keys.set(key.keyId, key);
    assert.equal(await strict.findKey(key.keyId), key);
    other.hold(() => Promise.reject(new Error("damaged")));
    await sleep(10);
    await assert.rejects(strict.findKey(key.keyId), /damaged/);
  });

  it("asks each time whether a schema folds nowhere, and yet knows it while the store is away", async () => {
    const state = { unified: false, away: false, asked: 0 };
    const isUnified = async (): Promise<boolean> => {
      state.asked += 1;
      if (state.away) throw new AppError("unavailable", "away");
      return state.unified;
    };
    const catalog = cacheCatalog({ ...countedCatalog().store, isUnified }, shared(5, 60_000));
    const { workspace, schemaId } = aSchema();
    const ask = () => catalog.isUnified(workspace, schemaId);
    assert.deepEqual([await ask(), await ask(), state.asked], [false, false, 2]);
    state.away = true;
    assert.equal(await ask(), false);
    state.away = false;
    state.unified = true;
    await sleep(10);
    assert.equal(await ask(), true);
  });

  it("knows the settings of identity while the store is away, and asks anew after a change of its own", async () => {
    const state = { sharedIdentifierLimit: 1, away: false, asked: 0 };
    const store = {
      identitySettings: async () => {
        state.asked += 1;
        if (state.away) throw new AppError("unavailable", "away");
        return { sharedIdentifierLimit: state.sharedIdentifierLimit };
      },
      putIdentitySettings: async (_: WorkspaceId, settings: { readonly sharedIdentifierLimit: number }) => {
        state.sharedIdentifierLimit = settings.sharedIdentifierLimit;
        throw new AppError("unavailable", "the answer was lost");
      },
    } as unknown as CatalogStore;
    const catalog = cacheCatalog(store, shared(60_000, 60_000));
    const workspace = newId<WorkspaceId>();
    const ask = async () => (await catalog.identitySettings(workspace)).sharedIdentifierLimit;
    assert.deepEqual([await ask(), await ask(), state.asked], [1, 1, 1]);
    await assert.rejects(
      catalog.putIdentitySettings(workspace, { sharedIdentifierLimit: 2, sendingKeysAddNamespaces: false }),
      /lost/,
    );
    assert.deepEqual([await ask(), state.asked], [2, 2]);
    const brief = cacheCatalog(store, shared(5, 60_000));
    assert.equal((await brief.identitySettings(workspace)).sharedIdentifierLimit, 2);
    state.away = true;
    await sleep(10);
    assert.equal((await brief.identitySettings(workspace)).sharedIdentifierLimit, 2);
  });

  it("forgets the namespaces when one was changed, also when that failed", async () => {
    const state = { asked: 0 };
    const store = {
      namespaces: async () => [aNamespace({ priority: (state.asked += 1) })],
      changeNamespace: async (_: WorkspaceId, __: string, change: () => Namespace) => change(),
    } as unknown as CatalogStore;
    const catalog = cacheCatalog(store, alone(60_000));
    const workspace = newId<WorkspaceId>();
    const priority = async () => (await catalog.namespaces(workspace))[0]?.priority;
    assert.deepEqual([await priority(), await priority()], [1, 1]);
    await catalog.changeNamespace(workspace, "card", () => aNamespace());
    assert.equal(await priority(), 2);
    const failing = catalog.changeNamespace(workspace, "card", () => Promise.reject(new Error("no")) as never);
    await assert.rejects(failing, /no/);
    assert.equal(await priority(), 3);
  });

  it("forgets at its own write also what it would answer in an outage", async () => {
    const { store, keys, hold } = countedCatalog();
    const catalog = cacheCatalog(store, shared(60_000, 60_000));
    const key = aKey();
    keys.set(key.keyId, key);
    assert.equal(await catalog.findKey(key.keyId), key);
    await catalog.deleteKey(key.workspace, key.keyId);
    hold(away);
    await assert.rejects(catalog.findKey(key.keyId), /away/);
  });
});
