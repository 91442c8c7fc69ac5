import assert from "node:assert/strict";
import { KEYS_MAX } from "../../../core/catalog/catalog.js";
import { MongoNetworkError, type Collection, type Db } from "mongodb";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import { createMongoCatalog } from "../../../store/mongo/catalog/catalog.js";
import { openMongo, type Mongo } from "../../../store/mongo/open.js";
import { aDataset, aKey, aKeyId, aNamespace, aSchema, aWorkspace, putNamespace } from "../../support/builders.js";
import { isAppError } from "../../support/errors.js";
import { eventually, rejectsAsUnavailable } from "../../support/eventually.js";
import { aDatabaseUrl, dropMongo, withDatabase } from "../../support/servers/mongo-backend.js";
import { openMongoProxy } from "../../support/servers/mongo-faults.js";
import { serversUnderTest } from "../../support/servers/servers.js";

const { MONGODB_URL } = serversUnderTest();
const ALL = { limit: 100, after: null };
const LIMIT_MS = 4_000;
const WRITES = new Set<string | symbol>(["insertOne", "updateOne"]);

/** What becomes of the next write to a collection: it is done or not, then `after` runs, and the answer is lost. */
interface Loss {
  readonly collection: string;
  readonly isDone: boolean;
  readonly after?: () => Promise<unknown>;
}

/** A connection that breaks at the wrong moment. */
function createBreaking(mongo: Mongo) {
  const losses: Loss[] = [];
  const lose = async (write: () => Promise<unknown>, { isDone, after }: Loss): Promise<never> => {
    if (isDone) await write();
    await after?.();
    throw new MongoNetworkError("connection closed");
  };
  const breaking = (collection: Collection): Collection =>
    new Proxy(collection, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...args: readonly unknown[]): unknown => {
          const call = (): Promise<unknown> => Reflect.apply(value, target, args) as Promise<unknown>;
          const isNext = WRITES.has(name) && losses[0]?.collection === target.collectionName;
          return isNext ? lose(call, losses.shift()!) : call();
        };
      },
    });
  const db = { collection: (name: string) => breaking(mongo.db.collection(name)) } as unknown as Db;
  return { mongo: { ...mongo, db }, loseNext: (...next: readonly Loss[]) => void losses.push(...next), losses };
}

interface Bench {
  readonly catalog: CatalogStore;
  /** Another process. */
  readonly other: CatalogStore;
  readonly workspace: WorkspaceId;
  readonly owner: ReturnType<typeof aKey>;
}
type Check = (bench: Bench) => Promise<void>;

/** Sentence -> what is asked while the answer to its write to the catalog is lost, and how one sees that it happened once. */
const ANSWERS: Readonly<Record<string, Check>> = {
  "createWorkspace resolves": async ({ catalog, other }) => {
    const workspace = aWorkspace();
    const owner = aKey({ workspace: workspace.workspaceId, role: "owner" });
    await catalog.createWorkspace(workspace, owner);
    assert.deepEqual(await other.findWorkspace(workspace.workspaceId), workspace);
    assert.deepEqual(await other.findKey(owner.keyId), owner);
  },
  "createKey resolves": async ({ catalog, other, workspace }) => {
    const key = aKey({ workspace });
    await catalog.createKey(key, KEYS_MAX);
    assert.deepEqual(await other.findKey(key.keyId), key);
  },
  "deleteKey answers deleted": async ({ catalog, other, workspace, owner }) => {
    await other.createKey(aKey({ workspace, role: "owner" }), KEYS_MAX);
    assert.equal(await catalog.deleteKey(workspace, owner.keyId), "deleted");
    assert.equal(await other.findKey(owner.keyId), null);
  },
  "rotateKey answers rotated": async ({ catalog, other, workspace, owner }) => {
    const successor = aKey({ workspace, role: "owner" });
    assert.equal(await catalog.rotateKey(workspace, owner.keyId, successor, 5_000, KEYS_MAX), "rotated");
    assert.deepEqual(await other.findKey(successor.keyId), successor);
    assert.equal((await other.keys(workspace, ALL)).length, 2);
  },
  "putSchema answers created": async ({ catalog, other, workspace }) => {
    const schema = aSchema({ workspace, traits: { city: "latest" } });
    assert.deepEqual(await catalog.putSchema(schema), { kind: "created" });
    assert.deepEqual(await other.schemaVersions(workspace, schema.schemaId, ALL), [schema]);
  },
  "changeDataset answers the dataset": async ({ catalog, other, workspace }) => {
    const dataset = aDataset({ workspace });
    await other.putDataset(dataset);
    const changed = { ...dataset, name: "new" };
    assert.deepEqual(await catalog.changeDataset(workspace, dataset.datasetId, { name: "new" }), changed);
    assert.deepEqual(await other.findDataset(workspace, dataset.datasetId), changed);
  },
  "registerNamespaces answers true": async ({ catalog, other, workspace }) => {
    const names = ["a", "b"].map((name) => aNamespace({ name, registeredItself: true }));
    assert.equal(await catalog.registerNamespaces(workspace, names, 2), true);
    assert.deepEqual(
      (await other.namespaces(workspace)).filter(({ name }) => name !== "meanwhile"),
      names,
    );
  },
  "changeNamespace answers the namespace": async ({ catalog, other, workspace }) => {
    await putNamespace(other, workspace, aNamespace({ name: "card", priority: 1 }));
    const raised = await catalog.changeNamespace(workspace, "card", (card) => ({
      ...card!,
      priority: card!.priority + 1,
    }));
    assert.equal(raised.priority, 2);
    assert.deepEqual((await other.namespaces(workspace))[0], raised);
  },
  "putIdentitySettings resolves": async ({ catalog, other, workspace }) => {
    await catalog.putIdentitySettings(workspace, { sharedIdentifierLimit: 3, sendingKeysAddNamespaces: false });
    assert.deepEqual(await other.identitySettings(workspace), {
      sharedIdentifierLimit: 3,
      sendingKeysAddNamespaces: false,
    });
  },
};

const withBreaking = (use: (bench: Bench & ReturnType<typeof createBreaking>) => Promise<void>): Promise<void> =>
  withDatabase(MONGODB_URL, async (open) => {
    const breaking = createBreaking(await open());
    const other = await createMongoCatalog({ mongo: await open() });
    const catalog = await createMongoCatalog({ mongo: breaking.mongo });
    const created = aWorkspace();
    const { workspaceId: workspace } = created;
    const owner = aKey({ workspace, role: "owner" });
    await other.createWorkspace(created, owner);
    await use({ ...breaking, catalog, other, workspace, owner });
    assert.deepEqual(breaking.losses, [], "all that should be lost was lost");
  });

describe("a lost answer of MongoDB", () => {
  for (const [sentence, check] of Object.entries(ANSWERS)) {
    it(`${sentence}, whether its write happened or not`, () =>
      withBreaking(async (bench) => {
        bench.loseNext({ collection: "catalog", isDone: true });
        await check(bench);
      }).then(() =>
        withBreaking(async (bench) => {
          bench.loseNext({ collection: "catalog", isDone: false }, { collection: "catalog", isDone: true });
          await check(bench);
        }),
      ));

    it(`${sentence}, whatever others changed before it looked again`, () =>
      withBreaking(async (bench) => {
        const { other, workspace } = bench;
        const after = async (): Promise<void> => {
          for (let n = 0; n < 20; n += 1)
            await putNamespace(other, workspace, aNamespace({ name: "meanwhile", priority: n }));
        };
        bench.loseNext({ collection: "catalog", isDone: true, after });
        await check(bench);
      }));
  }

  it("putSchema answers created when the answer to its text was lost", () =>
    withBreaking(async (bench) => {
      bench.loseNext({ collection: "schema_versions", isDone: true });
      await ANSWERS["putSchema answers created"]!(bench);
    }));

  it("a change that is found done counts once a later write is acknowledged", () =>
    withBreaking(async (bench) => {
      // The second loss is of the write that looks whether the first one will stay.
      bench.loseNext({ collection: "catalog", isDone: true }, { collection: "catalog", isDone: false });
      await ANSWERS["rotateKey answers rotated"]!(bench);
    }));

  it("a change whose try did not happen is decided anew", () =>
    withBreaking(async ({ catalog, other, workspace, owner, loseNext }) => {
      const [successor, first] = [aKey({ workspace }), aKey({ workspace })];
      const after = (): Promise<unknown> => other.rotateKey(workspace, owner.keyId, first, 5_000, KEYS_MAX);
      loseNext({ collection: "catalog", isDone: false, after });
      assert.equal(await catalog.rotateKey(workspace, owner.keyId, successor, 5_000, KEYS_MAX), "already_rotated");
      assert.equal(await other.findKey(successor.keyId), null);
    }));

  it("a workspace of another process with the same id is a conflict, though one's own try was lost", () =>
    withBreaking(async ({ catalog, other, loseNext }) => {
      const workspace = aWorkspace();
      const [own, first] = [0, 1].map(() => aKey({ workspace: workspace.workspaceId, role: "owner" }));
      loseNext({ collection: "catalog", isDone: false, after: () => other.createWorkspace(workspace, first!) });
      await assert.rejects(catalog.createWorkspace(workspace, own!), isAppError("conflict"));
      assert.equal(await other.findKey(own!.keyId), null);
    }));

  it("the secret of a lost answer is the secret", () =>
    withBreaking(async ({ catalog, other, loseNext }) => {
      loseNext({ collection: "settings", isDone: true });
      await rejectsAsUnavailable(() => catalog.secret());
      assert.deepEqual(await catalog.secret(), await other.secret());
    }));
});

describe("a silent MongoDB", () => {
  it("makes every method of the catalog unavailable in time, also those that wait for their turn, until it answers", async () => {
    const own = aDatabaseUrl(MONGODB_URL);
    const proxy = await openMongoProxy(own);
    const mongo = await openMongo({ url: proxy.url, onError: () => {} });
    try {
      const catalog = await createMongoCatalog({ mongo });
      const workspace = newId<WorkspaceId>();
      await catalog.createKey(aKey({ workspace }), KEYS_MAX);
      proxy.silence();
      const calls: readonly (() => Promise<unknown>)[] = [
        ...Array.from({ length: 20 }, () => () => catalog.createKey(aKey({ workspace }), KEYS_MAX)),
        () => catalog.putSchema(aSchema()),
        () => catalog.findKey(aKeyId()),
        () => catalog.namespaces(workspace),
        () => putNamespace(catalog, workspace, aNamespace()),
        () => catalog.identitySettings(workspace),
        () => catalog.putIdentitySettings(workspace, { sharedIdentifierLimit: 1, sendingKeysAddNamespaces: false }),
        () => catalog.secret(),
        () => catalog.ready(),
      ];
      const began = performance.now();
      await Promise.all(calls.map((call) => rejectsAsUnavailable(call)));
      const tookMs = performance.now() - began;
      assert.ok(tookMs < LIMIT_MS, `${Math.round(tookMs)} ms`);
      proxy.resume();
      await eventually("changes come through again", () =>
        catalog.createKey(aKey({ workspace }), KEYS_MAX).then(
          () => true,
          () => false,
        ),
      );
    } finally {
      await mongo.close();
      await proxy.close();
      await dropMongo(own);
    }
  });
});
