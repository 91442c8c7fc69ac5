import { LRUCache } from "lru-cache";
import type { SchemaVersion } from "./catalog.js";
import { isSchemaId, type KeyId, type SchemaId, type WorkspaceId } from "./ids.js";
import type { CatalogStore } from "./ports.js";

/** Entries per kind: the memory is bounded whatever comes. */
const ENTRIES_MAX = 10_000;
/** Fewer, because a schema's text may have 64 KB. */
const SCHEMAS_MAX = 1_000;
const FOR_EVER = Infinity;

export interface CacheOptions {
  /** Age at which another process's change is seen, milliseconds; 0 keeps nothing but numbered schema versions. */
  readonly ttlMs: number;
}

/**
 * The catalog with its hot look-ups kept in memory. Changes made through it show at once; those of other processes after `ttlMs`.
 * Concurrent misses of one thing share one look-up, and an error is never kept.
 */
export function cacheCatalog(store: CatalogStore, { ttlMs }: CacheOptions): CatalogStore {
  const caches = createCaches(store, ttlMs);
  const { findWorkspace, findKey, latest, numbered, isUnified, namespaces } = caches;
  return {
    ...store,
    findWorkspace: findWorkspace.get,
    findKey: findKey.get,
    findSchema: (workspace, schemaId, version) => {
      // A client may name anything, of any length; only what can be a schema's id is looked up and remembered.
      if (!isSchemaId(schemaId)) return Promise.resolve(null);
      return version === null ? latest.get(workspace, schemaId) : numbered.get(workspace, schemaId, version);
    },
    isUnified: isUnified.get,
    namespaces: namespaces.get,
    createWorkspace: (workspace, ownerKey) =>
      forgetAfter(store.createWorkspace(workspace, ownerKey), () => {
        findWorkspace.forget(workspace.workspaceId);
        findKey.forget(ownerKey.keyId);
      }),
    createKey: (key) => forgetAfter(store.createKey(key), () => findKey.forget(key.keyId)),
    deleteKey: (workspace, keyId) => forgetAfter(store.deleteKey(workspace, keyId), () => findKey.forget(keyId)),
    rotateKey: (workspace, keyId, successor, oldExpiresAt) =>
      forgetAfter(store.rotateKey(workspace, keyId, successor, oldExpiresAt), () => {
        findKey.forget(keyId);
        findKey.forget(successor.keyId);
      }),
    putSchema: (schema) =>
      forgetAfter(store.putSchema(schema), () => {
        latest.forget(schema.workspace, schema.schemaId);
        numbered.forget(schema.workspace, schema.schemaId, schema.version);
      }),
    // Forgets all: the dataset may have left another schema, and this is rare.
    putDataset: (dataset) => forgetAfter(store.putDataset(dataset), isUnified.clear),
    changeDataset: (workspace, datasetId, change) =>
      forgetAfter(store.changeDataset(workspace, datasetId, change), isUnified.clear),
    putNamespace: (workspace, namespace) =>
      forgetAfter(store.putNamespace(workspace, namespace), () => namespaces.forget(workspace)),
    registerNamespaces: (workspace, added, max) =>
      forgetAfter(store.registerNamespaces(workspace, added, max), () => namespaces.forget(workspace)),
    close: () => {
      for (const cache of Object.values(caches)) cache.clear();
      return store.close();
    },
  };
}

/** A write that failed may have happened all the same: what is kept is forgotten either way. */
const forgetAfter = <T>(write: Promise<T>, forget: () => void): Promise<T> => write.finally(forget);

/** Neither workspace nor schema id can hold a colon, so the names are injective. */
function createCaches(store: CatalogStore, ttlMs: number) {
  const max = ENTRIES_MAX;
  return {
    findWorkspace: createCache({ max, ttlMs, nameOf: (id: WorkspaceId) => id, load: (id) => store.findWorkspace(id) }),
    findKey: createCache({ max, ttlMs, nameOf: (id: KeyId) => id, load: (id) => store.findKey(id) }),
    latest: createCache({
      max: SCHEMAS_MAX,
      ttlMs,
      nameOf: (workspace: WorkspaceId, id: SchemaId) => `${workspace}:${id}`,
      load: (workspace, id) => store.findSchema(workspace, id, null),
    }),
    /** A version that is there never changes; one that is not there may come. */
    numbered: createCache({
      max: SCHEMAS_MAX,
      ttlMs: FOR_EVER,
      nameOf: (workspace: WorkspaceId, id: SchemaId, version: number) => `${workspace}:${version}:${id}`,
      load: (workspace, id, version) => store.findSchema(workspace, id, version),
      keeps: (schema: SchemaVersion | null) => schema !== null,
    }),
    isUnified: createCache({
      max,
      ttlMs,
      nameOf: (workspace: WorkspaceId, schema: SchemaId) => `${workspace}:${schema}`,
      load: (workspace, schema) => store.isUnified(workspace, schema),
    }),
    namespaces: createCache({ max, ttlMs, nameOf: (id: WorkspaceId) => id, load: (id) => store.namespaces(id) }),
  };
}

interface CacheDeps<Args extends readonly unknown[], V> {
  readonly max: number;
  readonly ttlMs: number;
  readonly nameOf: (...args: Args) => string;
  readonly load: (...args: Args) => Promise<V>;
  /** Whether an answer may be kept; all may if this is left out. */
  readonly keeps?: (value: V) => boolean;
}

/** Keeps promises, so that a hit costs nothing but the look-up and a miss under way is joined. */
function createCache<Args extends readonly unknown[], V>({ max, ttlMs, nameOf, load, keeps }: CacheDeps<Args, V>) {
  const entries = new LRUCache<string, Promise<V>>({ max, ...(ttlMs > 0 && ttlMs !== FOR_EVER && { ttl: ttlMs }) });
  const mayKeep = (value: V): boolean => ttlMs > 0 && (keeps === undefined || keeps(value));

  const miss = (name: string, args: Args): Promise<V> => {
    const loading = load(...args);
    entries.set(name, loading);
    const drop = (): void => {
      if (entries.peek(name) === loading) entries.delete(name);
    };
    loading.then((value) => mayKeep(value) || drop(), drop);
    return loading;
  };
  return {
    get: (...args: Args): Promise<V> => {
      const name = nameOf(...args);
      return entries.get(name) ?? miss(name, args);
    },
    forget: (...args: Args): void => void entries.delete(nameOf(...args)),
    clear: (): void => entries.clear(),
  };
}
