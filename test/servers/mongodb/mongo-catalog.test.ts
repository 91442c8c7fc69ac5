import assert from "node:assert/strict";
import { KEYS_MAX, type Merge } from "../../../core/catalog/catalog.js";
import { newId, type SchemaId, type WorkspaceId } from "../../../core/ids.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import { createMongoCatalog } from "../../../store/mongo/catalog/catalog.js";
import type { CatalogDocument } from "../../../store/mongo/catalog/document.js";
import { aDataset, aKey, aNamespace, aSchema, aWorkspace, putNamespace } from "../../support/builders.js";
import { isAppError } from "../../support/errors.js";
import { rejectsAsUnavailable } from "../../support/eventually.js";
import { withDatabase } from "../../support/servers/mongo-backend.js";
import { serversUnderTest } from "../../support/servers/servers.js";
import { OF_TEST } from "../../support/mongo-shapes/shape.js";

const { MONGODB_URL } = serversUnderTest();
const isConflict = isAppError("conflict");
const ROUNDS = 10;

/** Two processes, as far as the database can tell: two clients, neither of which sees the other's turns. */
const withTwo = (use: (catalogs: readonly [CatalogStore, CatalogStore]) => Promise<void>): Promise<void> =>
  withDatabase(MONGODB_URL, async (open) => {
    const create = async (): Promise<CatalogStore> => createMongoCatalog({ mongo: await open() });
    await use(await Promise.all([create(), create()]));
  });

/** Does it `count` times at once, by turns through one and the other. */
const atOnce = <T>(
  catalogs: readonly CatalogStore[],
  count: number,
  work: (catalog: CatalogStore, n: number) => Promise<T>,
): Promise<readonly T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => work(catalogs[n % catalogs.length]!, n)));

/** "done", or what it rejected with. */
const settle = (work: readonly Promise<unknown>[]): Promise<readonly unknown[]> =>
  Promise.all(
    work.map((one) =>
      one.then(
        () => "done",
        (error: unknown) => error,
      ),
    ),
  );

describe("two processes on one catalog in MongoDB", () => {
  it("register no more namespaces than the maximum, each once", () =>
    withTwo(async (both) => {
      const workspace = newId<WorkspaceId>();
      const register = (catalog: CatalogStore, n: number): Promise<boolean> =>
        catalog.registerNamespaces(workspace, [aNamespace({ name: `n${n % 25}` })], 10);
      const answers = await atOnce(both, 50, register);
      const names = (await both[0].namespaces(workspace)).map(({ name }) => name);
      assert.equal(new Set(names).size, 10);
      assert.equal(names.length, 10);
      answers.forEach((answer, n) => assert.equal(answer, names.includes(`n${n % 25}`)));
    }));

  it("store one of many concurrent puts of a version, with its traits alone", () =>
    withTwo(async (both) => {
      const workspace = newId<WorkspaceId>();
      for (const version of [1, 2, 3]) {
        const rivals = Array.from({ length: 20 }, (_, n) =>
          aSchema({ workspace, version, schema: `{"n":${n}}`, traits: { [`t${version}`]: MERGES[n % 5]! } }),
        );
        const kinds = (await atOnce(both, 20, (catalog, n) => catalog.putSchema(rivals[n]!))).map(({ kind }) => kind);
        assert.deepEqual(kinds.toSorted(), ["created", ...Array<string>(19).fill("version_taken")]);
        const winner = rivals[kinds.indexOf("created")]!;
        for (const catalog of both)
          assert.deepEqual(await catalog.findSchema(workspace, winner.schemaId, null), winner);
        const other = aSchema({
          workspace,
          schemaId: "other" as SchemaId,
          traits: { [`t${version}`]: "none" as Merge },
        });
        const conflict = { kind: "trait_conflict", trait: `t${version}`, merge: winner.traits[`t${version}`] };
        assert.deepEqual(await both[1].putSchema(other), conflict);
      }
    }));

  it("leave one owner when each deletes one of two", () =>
    withTwo(async (both) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const { workspaceId, owner } = await aWorkspaceIn(both[0]);
        const owners = [owner, aKey({ workspace: workspaceId, role: "owner" })];
        await both[0].createKey(owners[1]!, KEYS_MAX);
        const answers = await atOnce(both, 2, (catalog, n) => catalog.deleteKey(workspaceId, owners[n]!.keyId));
        assert.deepEqual(answers.toSorted(), ["deleted", "last_owner"]);
        assert.equal((await both[1].keys(workspaceId, ALL)).length, 1);
      }
    }));

  it("rotate a key once", () =>
    withTwo(async (both) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const { workspaceId, owner } = await aWorkspaceIn(both[0]);
        const successors = [0, 1].map(() => aKey({ workspace: workspaceId, role: "owner" }));
        const answers = await atOnce(both, 2, (catalog, n) =>
          catalog.rotateKey(workspaceId, owner.keyId, successors[n]!, 5_000, KEYS_MAX),
        );
        assert.deepEqual(answers.toSorted(), ["already_rotated", "rotated"]);
        const winner = successors[answers.indexOf("rotated")]!;
        assert.equal((await both[1].findKey(owner.keyId))?.successor, winner.keyId);
        assert.equal((await both[0].keys(workspaceId, ALL)).length, 2);
      }
    }));

  it("lose no change of a dataset, nor a dataset, a key or a namespace that is made meanwhile", () =>
    withTwo(async (both) => {
      const { workspaceId: workspace } = await aWorkspaceIn(both[0]);
      const dataset = aDataset({ workspace, name: "old", unifiedProfile: false, retentionDays: 7 });
      const { datasetId } = dataset;
      for (let round = 0; round < ROUNDS; round += 1) {
        await both[0].putDataset(dataset);
        await Promise.all([
          both[0].changeDataset(workspace, datasetId, { name: `new ${round}` }),
          both[1].changeDataset(workspace, datasetId, { unifiedProfile: true }),
          both[0].createKey(aKey({ workspace }), KEYS_MAX),
          putNamespace(both[1], workspace, aNamespace({ name: `n${round}` })),
          both[1].putDataset(aDataset({ workspace })),
        ]);
        const changed = { ...dataset, name: `new ${round}`, unifiedProfile: true };
        assert.deepEqual(await both[1].findDataset(workspace, datasetId), changed);
      }
      assert.equal((await both[1].keys(workspace, ALL)).length, ROUNDS + 1);
      assert.equal((await both[0].namespaces(workspace)).length, ROUNDS);
      assert.equal((await both[0].datasets(workspace, ALL)).length, ROUNDS + 1);
    }));

  it("lose no change of a namespace, whoever else changes it or the settings meanwhile", () =>
    withTwo(async (both) => {
      const workspace = newId<WorkspaceId>();
      const raise = (catalog: CatalogStore): Promise<unknown> =>
        catalog.changeNamespace(workspace, "card", (current) =>
          aNamespace({ name: "card", priority: (current?.priority ?? 0) + 1 }),
        );
      for (let round = 1; round <= ROUNDS; round += 1) {
        await Promise.all([
          ...both.map(raise),
          both[round % 2]!.putIdentitySettings(workspace, {
            sharedIdentifierLimit: round,
            sendingKeysAddNamespaces: false,
          }),
        ]);
        assert.deepEqual(await both[0].namespaces(workspace), [aNamespace({ name: "card", priority: 2 * round })]);
        assert.deepEqual(await both[1].identitySettings(workspace), {
          sharedIdentifierLimit: round,
          sendingKeysAddNamespaces: false,
        });
      }
    }));

  it("create a workspace once, and no key of the one that came too late", () =>
    withTwo(async (both) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const workspace = aWorkspace();
        const owners = [0, 1].map(() => aKey({ workspace: workspace.workspaceId, role: "owner" }));
        const outcomes = await settle(both.map((catalog, n) => catalog.createWorkspace(workspace, owners[n]!)));
        assert.deepEqual([outcomes.filter((one) => one === "done").length, outcomes.filter(isConflict).length], [1, 1]);
        assert.deepEqual(await both[0].keys(workspace.workspaceId, ALL), [owners[outcomes.indexOf("done")]]);
      }
    }));

  it("give a key id to one workspace", () =>
    withTwo(async (both) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const [a, b] = [await aWorkspaceIn(both[0]), await aWorkspaceIn(both[1])];
        const key = aKey();
        const keys = [a, b].map(({ workspaceId }) => ({ ...key, workspace: workspaceId }));
        const outcomes = await settle(both.map((catalog, n) => catalog.createKey(keys[n]!, KEYS_MAX)));
        assert.deepEqual([outcomes.filter((one) => one === "done").length, outcomes.filter(isConflict).length], [1, 1]);
        assert.deepEqual(await both[0].findKey(key.keyId), keys[outcomes.indexOf("done")]);
      }
    }));

  it("have the same secret", () =>
    withTwo(async (both) => {
      const secrets = await atOnce(both, 10, (catalog) => catalog.secret());
      assert.equal(new Set(secrets.map((secret) => secret.toString("hex"))).size, 1);
    }));
});

describe("the catalog in MongoDB", () => {
  it("leaves the connection open for the other ports when it is closed", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const [closed, other] = [await createMongoCatalog({ mongo }), await createMongoCatalog({ mongo })];
      await closed.close();
      await rejectsAsUnavailable(() => closed.secret());
      await mongo.ready();
      const { workspace } = await aWorkspaceIn(other);
      assert.deepEqual(await other.findWorkspace(workspace.workspaceId), workspace);
    }));

  it("answers a conflict when the workspace has no room, and still has room for other things", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const catalog = await createMongoCatalog({ mongo });
      const { workspaceId: workspace, owner } = await aWorkspaceIn(catalog);
      const blocked = Array.from({ length: 1_800 }, (_, n) => String(n).padEnd(1_000, "x"));
      await putNamespace(catalog, workspace, aNamespace({ name: "full", blocked }));
      const more = aNamespace({ name: "more", blocked: blocked.slice(0, 400) });
      await assert.rejects(putNamespace(catalog, workspace, more), isConflict);
      await assert.rejects(catalog.registerNamespaces(workspace, [more], 10), isConflict);
      assert.deepEqual(
        (await catalog.namespaces(workspace)).map(({ name }) => name),
        ["full"],
      );
      const successor = aKey({ workspace, role: "owner" });
      assert.equal(await catalog.rotateKey(workspace, owner.keyId, successor, 5_000, KEYS_MAX), "rotated");
      assert.deepEqual(await catalog.putSchema(aSchema({ workspace })), { kind: "created" });
    }));

  it("refuses each for its own reason of those that change a workspace at once", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const catalog = await createMongoCatalog({ mongo: await open() });
      const [{ workspaceId: workspace, owner }, elsewhere] = [await aWorkspaceIn(catalog), await aWorkspaceIn(catalog)];
      const blocked = Array.from({ length: 2_500 }, () => "x".repeat(1_000));
      const [key, successor] = [aKey({ workspace }), aKey({ workspace, role: "owner" })];
      const outcomes = await settle([
        catalog.createKey(key, KEYS_MAX),
        catalog.createKey({ ...elsewhere.owner, workspace }, KEYS_MAX),
        catalog.deleteKey(workspace, owner.keyId),
        putNamespace(catalog, workspace, aNamespace({ name: "large", blocked })),
        catalog.rotateKey(workspace, owner.keyId, successor, 5_000, KEYS_MAX),
        catalog.createKey(key, KEYS_MAX),
      ]);
      assert.deepEqual(
        outcomes.map((outcome) => (isConflict(outcome) ? "conflict" : outcome)),
        ["done", "conflict", "done", "conflict", "done", "conflict"],
      );
      const keys = [{ ...owner, expiresAt: 5_000, successor: successor.keyId }, key, successor];
      const byId = keys.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1));
      assert.deepEqual(await catalog.keys(workspace, ALL), byId);
      assert.deepEqual(await catalog.namespaces(workspace), []);
    }));

  it("lets a thousand register the same new names at once", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const catalog = await createMongoCatalog({ mongo: await open() });
      const workspace = newId<WorkspaceId>();
      const register = (one: CatalogStore, n: number): Promise<boolean> =>
        one.registerNamespaces(workspace, [aNamespace({ name: `n${n % 50}` })], 50);
      assert.ok((await atOnce([catalog], 1_000, register)).every(Boolean));
      assert.equal((await catalog.namespaces(workspace)).length, 50);
    }));

  it("reads and changes a document from before there were settings", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const catalog = await createMongoCatalog({ mongo });
      const { workspaceId: workspace } = await aWorkspaceIn(catalog);
      await catalog.registerNamespaces(workspace, [aNamespace({ name: "card" })], 1);
      const documents = mongo.db.collection<CatalogDocument>("catalog");
      await documents.updateOne({ _id: workspace }, { $unset: { identity_settings: "" } });
      const card = aNamespace({ name: "card", registeredItself: true });
      assert.deepEqual(await catalog.namespaces(workspace), [card]);
      assert.deepEqual(await catalog.identitySettings(workspace), {
        sharedIdentifierLimit: null,
        sendingKeysAddNamespaces: false,
      });
      const changed = await catalog.changeNamespace(workspace, "card", (current) => ({ ...current!, limit: 1 }));
      assert.deepEqual(changed, { ...card, limit: 1 });
      await catalog.putIdentitySettings(workspace, { sharedIdentifierLimit: 5, sendingKeysAddNamespaces: false });
      assert.deepEqual(await catalog.identitySettings(workspace), {
        sharedIdentifierLimit: 5,
        sendingKeysAddNamespaces: false,
      });
    }));

  it("is damaged where the text of a schema's version is missing", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const catalog = await createMongoCatalog({ mongo });
      const schema = aSchema();
      await catalog.putSchema(schema);
      await mongo.db.collection("schema_versions").deleteMany({}, OF_TEST);
      await assert.rejects(catalog.findSchema(schema.workspace, schema.schemaId, 1), isAppError("damaged"));
    }));
});

const ALL = { limit: 1_000, after: null };
const MERGES: readonly Merge[] = ["latest", "first", "min", "max", "union"];

async function aWorkspaceIn(catalog: CatalogStore) {
  const workspace = aWorkspace();
  const { workspaceId } = workspace;
  const owner = aKey({ workspace: workspaceId, role: "owner" });
  await catalog.createWorkspace(workspace, owner);
  return { workspace, workspaceId, owner };
}
