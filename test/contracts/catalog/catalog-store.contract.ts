import assert from "node:assert/strict";
import { KEYS_MAX } from "../../../core/catalog/catalog.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import { newId, type SchemaId, type WorkspaceId } from "../../../core/ids.js";
import { aDataset, aKey, aKeyId, aNamespace, aSchema, aWorkspace, putNamespace } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";
import { rejectsAsUnavailable } from "../../support/eventually.js";
import { backfillSentences } from "./catalog-backfills.contract.js";
import { keySentences } from "./catalog-keys.contract.js";
import { namespaceSentences } from "./catalog-namespaces.contract.js";
import { sdkSentences } from "./catalog-sdk.contract.js";
import { schemaSentences } from "./catalog-schemas.contract.js";
import { datasetSentences } from "./catalog-datasets.contract.js";
import { settingSentences } from "./catalog-settings.contract.js";

export const catalogStoreContract: Contract<CatalogStore> = {
  ...keySentences,
  ...schemaSentences,
  ...datasetSentences,
  ...settingSentences,
  ...namespaceSentences,
  ...sdkSentences,
  ...backfillSentences,

  "answers the namespaces that it is shown while they hold, and anew after any change of theirs": async ({ port }) => {
    const [workspace, other] = [newId<WorkspaceId>(), newId<WorkspaceId>()];
    const changes = [
      () => port.changeNamespace(workspace, "card", () => aNamespace({ name: "card", priority: 7 })),
      () => port.registerNamespaces(workspace, [aNamespace({ name: "seen" })], 1),
      () => port.changeNamespace(workspace, "card", (current) => ({ ...current!, blocked: ["x"] })),
    ];
    let known = await port.namespaces(workspace);
    for (const change of changes) {
      assert.equal(await port.namespaces(workspace, known), known);
      await change();
      const next = await port.namespaces(workspace, known);
      assert.notDeepEqual(next, known);
      assert.deepEqual(next, await port.namespaces(workspace));
      known = next;
    }
    await putNamespace(port, other, aNamespace({ name: "card" }));
    assert.notDeepEqual(await port.namespaces(other, known), known, "of another workspace");
    const [during] = await Promise.all([
      port.namespaces(workspace, known),
      putNamespace(port, workspace, aNamespace({ name: "card", limit: 3 })),
    ]);
    assert.equal((await port.namespaces(workspace, during)).find(({ name }) => name === "card")?.limit, 3);
  },

  "shows a change of a namespace all that the workspace has, in one step with it": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    await putNamespace(port, newId<WorkspaceId>(), aNamespace({ name: "foreign" }));
    /** Each blocks a value of its own, unless another is there. */
    const takes = Array.from({ length: 8 }, (_, n) =>
      port.changeNamespace(workspace, `n${n}`, (_current, all) => {
        const isFirst = all.every(({ blocked }) => blocked.length === 0);
        return aNamespace({ name: `n${n}`, blocked: isFirst ? ["x"] : [] });
      }),
    );
    await Promise.all(takes);
    const stored = await port.namespaces(workspace);
    assert.equal(stored.length, 8);
    assert.equal(stored.filter(({ blocked }) => blocked.length > 0).length, 1);
  },

  "makes one secret of 32 bytes, the same for all who ask at once": async ({ port }) => {
    const secrets = await Promise.all(Array.from({ length: 20 }, () => port.secret()));
    assert.equal(secrets[0]!.length, 32);
    assert.ok(secrets.every((secret) => secret.equals(secrets[0]!)));
    assert.ok(new Set(secrets[0]).size > 8, "a secret is not made of a few bytes repeated");
  },

  "keeps the latest time that anybody named, also when many name one at once and after a reopen": async ({
    port,
    reopen,
  }) => {
    const { ms: first } = await port.timeKept();
    const advance = (ms: number) => port.advanceTime(ms, Infinity, {});
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => advance(first + 20 - i)));
    for (const [i, answer] of answers.entries()) assert.ok(answer >= first + 20 - i, `${i}: ${answer}`);
    assert.equal(await advance(first + 1), first + 20);
    const opened = await reopen();
    assert.equal((await opened.timeKept()).ms, first + 20);
    assert.equal(await opened.advanceTime(first, first + 20, {}), first + 20);
  },

  "lets a time give way that is later than can be believed, also when many say so at once and after a reopen": async ({
    port,
    reopen,
  }) => {
    const { ms: first } = await port.timeKept();
    assert.equal(await port.advanceTime(first + 1_000, Infinity, {}), first + 1_000);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => port.advanceTime(first + 20 - i, first + 500, {})),
    );
    for (const [i, answer] of answers.entries())
      assert.ok(answer >= first + 20 - i && answer <= first + 20, `${i}: ${answer}`);
    const opened = await reopen();
    assert.equal((await opened.timeKept()).ms, first + 20);
    assert.equal(
      await opened.advanceTime(first + 30, first + 20, {}),
      first + 30,
      "what can be believed is no obstacle",
    );
  },

  "keeps beside it what is given of the time that was sure and of the wait since, also a smaller one, and after a reopen":
    async ({ port, reopen }) => {
      const { ms, sureMs: first } = await port.timeKept();
      for (const sureMs of [first + 20, first + 10]) await port.advanceTime(ms, Infinity, { sureMs, waitedMs: 0 });
      for (const waitedMs of [7, 5]) await port.advanceTime(ms, Infinity, { waitedMs });
      assert.equal(await port.advanceTime(ms + 30, Infinity, {}), ms + 30);
      const opened = await reopen();
      const { beats: _, ...kept } = await opened.timeKept();
      assert.deepEqual(kept, { ms: ms + 30, sureMs: first + 10, waitedMs: 5 });
      await opened.advanceTime(ms + 5, ms + 10, { sureMs: first + 40 });
      const { beats: __, ...replaced } = await opened.timeKept();
      assert.deepEqual(replaced, { ms: ms + 5, sureMs: first + 40, waitedMs: 5 });
    },

  "shows that somebody keeps the time, also where it does not change": async ({ port }) => {
    const { ms } = await port.timeKept();
    await port.advanceTime(ms, Infinity, {});
    const before = await port.timeKept();
    assert.deepEqual(await port.timeKept(), before, "to look is not to keep");
    await Promise.all([port.advanceTime(0, Infinity, {}), port.advanceTime(ms, Infinity, {})]);
    const after = await port.timeKept();
    assert.equal(after.ms, ms);
    assert.ok(after.beats > before.beats, `${before.beats} and ${after.beats}`);
  },

  "keeps all that it was told across close and reopen": async ({ port, reopen }) => {
    const workspace = aWorkspace();
    const { workspaceId } = workspace;
    const owner = aKey({ workspace: workspaceId, role: "owner" });
    const schema = aSchema({ workspace: workspaceId, traits: { city: "latest" } });
    const dataset = aDataset({ workspace: workspaceId });
    const [put, registered] = [aNamespace({ name: "put" }), aNamespace({ name: "registered", registeredItself: true })];
    const secret = await port.secret();
    await port.createWorkspace(workspace, owner);
    await port.putSchema(schema);
    await port.putDataset(dataset);
    await putNamespace(port, workspaceId, put);
    await port.registerNamespaces(workspaceId, [registered], 1);
    await port.putIdentitySettings(workspaceId, { sharedIdentifierLimit: 7, sendingKeysAddNamespaces: false });
    const [gone, old, next] = [aKey({ workspace: workspaceId }), aKey({ workspace: workspaceId }), aKey()];
    for (const key of [gone, old]) await port.createKey(key, KEYS_MAX);
    await port.deleteKey(workspaceId, gone.keyId);
    await port.rotateKey(workspaceId, old.keyId, { ...next, workspace: workspaceId }, 7, KEYS_MAX);
    await port.changeDataset(workspaceId, dataset.datasetId, { retentionDays: 9 });
    const again = await reopen();
    assert.equal(await again.findKey(gone.keyId), null);
    assert.equal((await again.findKey(old.keyId))?.expiresAt, 7);
    assert.equal((await again.findKey(next.keyId))?.workspace, workspaceId);
    assert.deepEqual(await again.secret(), secret);
    assert.deepEqual(await again.findWorkspace(workspaceId), workspace);
    assert.deepEqual(await again.findKey(owner.keyId), owner);
    assert.deepEqual(await again.findSchema(workspaceId, schema.schemaId, null), schema);
    assert.deepEqual(await again.findDataset(workspaceId, dataset.datasetId), { ...dataset, retentionDays: 9 });
    assert.equal(await again.isUnified(workspaceId, schema.schemaId), true);
    assert.deepEqual(await again.namespaces(workspaceId), [put, registered]);
    assert.deepEqual(await again.identitySettings(workspaceId), {
      sharedIdentifierLimit: 7,
      sendingKeysAddNamespaces: false,
    });
    assert.equal(await again.registerNamespaces(workspaceId, [aNamespace({ name: "more" })], 1), false);
    const other = aSchema({ workspace: workspaceId, schemaId: "other" as SchemaId, traits: { city: "max" } });
    assert.deepEqual(await again.putSchema(other), { kind: "trait_conflict", trait: "city", merge: "latest" });
  },

  "is ready while it is open, and may be closed twice": async ({ port }) => {
    await port.ready();
    await port.close();
    await port.close();
  },

  "refuses every method after close as unavailable": async ({ port }) => {
    const workspace = aWorkspace();
    const { workspaceId } = workspace;
    const key = aKey({ workspace: workspaceId, role: "owner" });
    const schema = aSchema({ workspace: workspaceId });
    const { schemaId } = schema;
    const page = { limit: 10, after: null };
    await port.createWorkspace(workspace, key);
    await port.putSchema(schema);
    const uses: readonly (() => Promise<unknown>)[] = [
      () => port.findWorkspace(workspaceId),
      () => port.findKey(key.keyId),
      () => port.findSchema(workspaceId, schemaId, null),
      () => port.findSchema(workspaceId, schemaId, 1),
      () => port.isUnified(workspaceId, schemaId),
      () => port.namespaces(workspaceId),
      () => port.identitySettings(workspaceId),
      () => port.sdk(workspaceId),
      () => port.traits(workspaceId),
      () => port.secret(),
      () => port.createWorkspace(aWorkspace(), aKey()),
      () => port.workspaces(page),
      () => port.createKey(aKey(), KEYS_MAX),
      () => port.keys(workspaceId, page),
      () => port.deleteKey(workspaceId, key.keyId),
      () => port.rotateKey(workspaceId, key.keyId, aKey(), 0, KEYS_MAX),
      () => port.putSchema(aSchema()),
      () => port.schemas(workspaceId, page),
      () => port.schemaVersions(workspaceId, schemaId, page),
      () => port.putDataset(aDataset()),
      () => port.changeDataset(workspaceId, newId(), {}),
      () => port.fenceDatasets(workspaceId, newId()),
      () => port.findDataset(workspaceId, newId()),
      () => port.datasets(workspaceId, page),
      () => port.datasetsOf(workspaceId, schemaId),
      () => putNamespace(port, workspaceId, aNamespace()),
      () => port.putIdentitySettings(workspaceId, { sharedIdentifierLimit: 1, sendingKeysAddNamespaces: false }),
      () => port.registerNamespaces(newId<WorkspaceId>(), [aNamespace()], 1),
      () => port.changeSdk(workspaceId, (sdk) => sdk),
      () => port.registerTraits(workspaceId, ["city"], 1),
      () => port.findKey(aKeyId()),
      () => port.ready(),
    ];
    // What was looked up before must be refused too, however it was kept.
    for (const use of uses.slice(0, 9)) await use();
    await port.close();
    for (const use of uses) await rejectsAsUnavailable(use);
  },
};
