import { LRUCache } from "lru-cache";
import type { Namespace } from "../core/catalog/catalog.js";
import type { TraitName } from "../core/catalog/decide.js";
import type { SdkCatalog } from "../core/catalog/sdk.js";
import { isUnavailable } from "../core/errors.js";
import { blockedBytes, readBlocked } from "../core/identity/namespaces.js";
import { isKeyId, isSchemaId, type KeyId, type SchemaId, type WorkspaceId } from "../core/ids.js";
import { builtInSchema, isReserved } from "../core/sdk/schemas.js";
import type { CatalogStore } from "../core/ports/catalog-store.js";

/** Entries per kind, so that the memory is bounded. */
const ENTRIES_MAX = 10_000;
/** Fewer, because a schema's text may have 64 KB. */
const SCHEMAS_MAX = 1_000;
/** Of the blocked values of all cached namespaces together; what they are compared with takes several times as much. */
const BLOCKED_BYTES_KEPT = 16 * 1_048_576;
/** Events of all cached plans together, and names of all cached traits. */
const PLANNED_KEPT = 50_000;
const TRAITS_KEPT = 200_000;
/** How long reading a list of blocked values may hold the event loop at a time. */
const SLICE_MS = 5;
const FOR_EVER = Infinity;

export interface CacheOptions {
  /** Time until another process's change is seen, milliseconds; 0 caches only numbered schema versions. */
  readonly ttlMs: number;
  /** How old a cached answer may be while the store is away, milliseconds. */
  readonly staleMs: number;
  /** Other processes write to the same store. "Not found" is then never cached, because it may have been created meanwhile. */
  readonly isShared: boolean;
}

/**
 * The catalog with its hot look-ups kept in memory. Changes made through it show at once; those of other processes after `ttlMs`.
 * The built-in schemas are in no store: it knows them itself. Concurrent misses of one thing share one look-up, and an error is never kept. Cached answers outlive an outage of the store.
 */
export function cacheCatalog(store: CatalogStore, options: CacheOptions): CatalogStore {
  const caches = createCaches(store, options);
  const { findWorkspace, findKey, latest, numbered, isUnified, namespaces, identitySettings, sdk, traits } = caches;
  return {
    ...store,
    findWorkspace: findWorkspace.get,
    // A client may send any text of any length; only what can be an id is looked up and cached.
    findKey: (keyId) => (isKeyId(keyId) ? findKey.get(keyId) : Promise.resolve(null)),
    findSchema: (workspace, schemaId, version) => {
      if (!isSchemaId(schemaId)) return Promise.resolve(null);
      if (isReserved(schemaId)) return Promise.resolve(builtInSchema(schemaId, version));
      return version === null ? latest.get(workspace, schemaId) : numbered.get(workspace, schemaId, version);
    },
    // What an SDK sends without a schema of the workspace's own always folds.
    isUnified: (workspace, schemaId) => (isReserved(schemaId) ? UNIFIED : isUnified.get(workspace, schemaId)),
    namespaces: namespaces.get,
    identitySettings: identitySettings.get,
    sdk: sdk.get,
    traits: traits.get,
    createWorkspace: (workspace, ownerKey) =>
      forgetAfter(store.createWorkspace(workspace, ownerKey), () => {
        findWorkspace.forget(workspace.workspaceId);
        findKey.forget(ownerKey.keyId);
      }),
    createKey: (key, max) => forgetAfter(store.createKey(key, max), () => findKey.forget(key.keyId)),
    deleteKey: (workspace, keyId) => forgetAfter(store.deleteKey(workspace, keyId), () => findKey.forget(keyId)),
    rotateKey: (workspace, keyId, successor, oldExpiresAt, max) =>
      forgetAfter(store.rotateKey(workspace, keyId, successor, oldExpiresAt, max), () => {
        findKey.forget(keyId);
        findKey.forget(successor.keyId);
      }),
    putSchema: (schema) =>
      forgetAfter(store.putSchema(schema), () => {
        latest.forget(schema.workspace, schema.schemaId);
        numbered.forget(schema.workspace, schema.schemaId, schema.version);
        traits.forget(schema.workspace);
      }),
    // Forgets all: the dataset may have left another schema, and this is rare.
    putDataset: (dataset, fence) => forgetAfter(store.putDataset(dataset, fence), isUnified.clear),
    changeDataset: (workspace, datasetId, change, fence) =>
      forgetAfter(store.changeDataset(workspace, datasetId, change, fence), isUnified.clear),
    changeNamespace: (workspace, name, change) =>
      forgetAfter(store.changeNamespace(workspace, name, change), () => namespaces.forget(workspace)),
    registerNamespaces: (workspace, added, max) =>
      forgetAfter(store.registerNamespaces(workspace, added, max), () => namespaces.forget(workspace)),
    putIdentitySettings: (workspace, settings) =>
      forgetAfter(store.putIdentitySettings(workspace, settings), () => identitySettings.forget(workspace)),
    changeSdk: (workspace, change) => forgetAfter(store.changeSdk(workspace, change), () => sdk.forget(workspace)),
    registerTraits: (workspace, names, max) =>
      forgetAfter(store.registerTraits(workspace, names, max), () => traits.forget(workspace)),
    close: () => {
      for (const cache of Object.values(caches)) cache.clear();
      return store.close();
    },
  };
}

const UNIFIED = Promise.resolve(true);

/** A write that failed may still have happened, so the cached answer is dropped in either case. */
const forgetAfter = <T>(write: Promise<T>, forget: () => void): Promise<T> => write.finally(forget);

const keepsAll = (): boolean => true;
const isThere = (value: unknown): boolean => value !== null && value !== false;

/** Neither workspace nor schema id can hold a colon, so the names are injective. */
function createCaches(store: CatalogStore, options: CacheOptions) {
  const rest = { ...options, max: ENTRIES_MAX, keeps: options.isShared ? isThere : keepsAll };
  return {
    findWorkspace: createCache({ ...rest, nameOf: (id: WorkspaceId) => id, load: ([id]) => store.findWorkspace(id) }),
    findKey: createCache({ ...rest, nameOf: (id: KeyId) => id, load: ([id]) => store.findKey(id) }),
    latest: createCache({
      ...rest,
      max: SCHEMAS_MAX,
      nameOf: (workspace: WorkspaceId, id: SchemaId) => `${workspace}:${id}`,
      load: ([workspace, id]) => store.findSchema(workspace, id, null),
    }),
    /** A version that exists never changes; one that does not exist may be registered later. */
    numbered: createCache({
      max: SCHEMAS_MAX,
      ttlMs: FOR_EVER,
      staleMs: 0,
      keeps: isThere,
      nameOf: (workspace: WorkspaceId, id: SchemaId, version: number) => `${workspace}:${version}:${id}`,
      load: ([workspace, id, version]) => store.findSchema(workspace, id, version),
    }),
    isUnified: createCache({
      ...rest,
      keepsForOutage: true,
      nameOf: (workspace: WorkspaceId, schema: SchemaId) => `${workspace}:${schema}`,
      load: ([workspace, schema]) => store.isUnified(workspace, schema),
    }),
    namespaces: createCache({
      ...rest,
      sizes: {
        max: BLOCKED_BYTES_KEPT,
        of: (list: readonly Namespace[]) => list.reduce((sum, one) => sum + blockedBytes(one.blocked), 1),
      },
      nameOf: (id: WorkspaceId) => id,
      load: async ([id]: readonly [WorkspaceId], known: readonly Namespace[] | undefined) =>
        readInSlices(await store.namespaces(id, known), known ?? []),
    }),
    identitySettings: createCache({
      ...rest,
      nameOf: (id: WorkspaceId) => id,
      load: ([id]) => store.identitySettings(id),
    }),
    sdk: createCache({
      ...rest,
      sizes: { max: PLANNED_KEPT, of: ({ plan }: SdkCatalog) => plan.length + 1 },
      nameOf: (id: WorkspaceId) => id,
      load: ([id]) => store.sdk(id),
    }),
    traits: createCache({
      ...rest,
      sizes: { max: TRAITS_KEPT, of: (names: ReadonlyMap<string, TraitName>) => names.size + 1 },
      nameOf: (id: WorkspaceId) => id,
      load: ([id]) => store.traits(id),
    }),
  };
}

interface CacheDeps<Args extends readonly unknown[], V> {
  readonly max: number;
  readonly ttlMs: number;
  readonly staleMs: number;
  readonly nameOf: (...args: Args) => string;
  /** `known` is an earlier answer, which may be old. */
  readonly load: (args: Args, known: V | undefined) => Promise<V>;
  /** Bounds the entries by their sizes too. */
  readonly sizes?: { readonly max: number; readonly of: (value: V) => number };
  /** Whether an answer may be cached. */
  readonly keeps: (value: V) => boolean;
  /** Such an answer is looked up each time, but is still given while the store is away. */
  readonly keepsForOutage?: boolean;
}

interface Entry<V> {
  readonly answer: Promise<V>;
  /** The last answer that arrived. */
  readonly value: V | undefined;
  /** On the monotonic clock, milliseconds; `Infinity` while the look-up is under way. */
  readonly freshUntil: number;
  readonly staleUntil: number;
  /** How long a new look-up may take before this is answered instead. */
  readonly patienceMs: number;
}

/** Keeps promises, so that a hit costs nothing but the look-up and a miss under way is joined. */
function createCache<Args extends readonly unknown[], V>(deps: CacheDeps<Args, V>) {
  const { max, ttlMs, staleMs, nameOf, load, keeps, keepsForOutage = false, sizes } = deps;
  const entries = new LRUCache<string, Entry<V>>({ max, ...(sizes && { maxSize: sizes.max }) });
  const put = (name: string, entry: Entry<V>): void => {
    const size = sizes && { size: entry.value === undefined ? 1 : sizes.of(entry.value) };
    entries.set(name, entry, size);
  };

  const keep = (value: V, answer: Promise<V>): Entry<V> | null => {
    const freshUntil = performance.now() + ttlMs;
    const entry = { answer, value, freshUntil, staleUntil: freshUntil + staleMs, patienceMs: PATIENCE_MS };
    if (ttlMs > 0 && keeps(value)) return entry;
    return keepsForOutage && staleMs > 0 ? { ...entry, freshUntil: 0, patienceMs: Infinity } : null;
  };
  const keepStale = (error: unknown, stale: Entry<V> | null): Entry<V> | null =>
    stale !== null && isUnavailable(error) ? { ...stale, freshUntil: performance.now() + ttlMs } : null;

  const refresh = (name: string, args: Args, old: Entry<V> | undefined): Promise<V> => {
    const stale = old !== undefined && performance.now() < old.staleUntil ? old : null;
    const loading = load(args, old?.value);
    const answer = stale === null ? loading : orStale(loading, stale);
    const { value } = old ?? { value: undefined };
    const underWay: Entry<V> = { answer, value, freshUntil: Infinity, staleUntil: 0, patienceMs: Infinity };
    put(name, underWay);
    const settle = (next: Entry<V> | null): void => {
      // A write meanwhile dropped this look-up: its answer may be from before the write.
      if (entries.peek(name) !== underWay) return;
      if (next === null) entries.delete(name);
      else put(name, next);
    };
    loading.then(
      (value) => settle(keep(value, loading)),
      (error: unknown) => settle(keepStale(error, stale)),
    );
    return answer;
  };
  return {
    get: (...args: Args): Promise<V> => {
      const name = nameOf(...args);
      const entry = entries.get(name);
      return entry !== undefined && performance.now() < entry.freshUntil ? entry.answer : refresh(name, args, entry);
    },
    /** The old value stays, so that the store can say that it still holds; it is never answered before. */
    forget: (...args: Args): void => {
      const name = nameOf(...args);
      const old = entries.peek(name);
      if (old?.value === undefined) entries.delete(name);
      else put(name, { ...old, freshUntil: -Infinity, staleUntil: -Infinity });
    },
    clear: (): void => entries.clear(),
  };
}

/** The list once all its blocked values are read, with the event loop free in between. */
async function readInSlices(list: readonly Namespace[], known: readonly Namespace[]): Promise<readonly Namespace[]> {
  if (list === known) return list;
  const before = new Map(known.map((namespace) => [namespace.name, namespace]));
  let since = performance.now();
  for (const namespace of list)
    for (const _ of readBlocked(namespace, before.get(namespace.name))) {
      if (performance.now() - since < SLICE_MS) continue;
      await new Promise((resolve) => setImmediate(resolve));
      since = performance.now();
    }
  return list;
}

/** A store that takes longer than this may be away; what was known a moment ago is answered meanwhile. */
const PATIENCE_MS = 250;

function orStale<V>(loading: Promise<V>, { answer, patienceMs }: Entry<V>): Promise<V> {
  return new Promise((resolve, reject) => {
    const timer = patienceMs === Infinity ? null : setTimeout(() => resolve(answer), patienceMs);
    loading
      .then(resolve, (error: unknown) => (isUnavailable(error) ? resolve(answer) : reject(error)))
      .finally(() => timer !== null && clearTimeout(timer));
  });
}
