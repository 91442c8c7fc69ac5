import assert from "node:assert/strict";
import type { TraitName } from "../../../core/catalog/decide.js";
import { DEFAULT_SDK_CATALOG, type PlannedEvent, type SdkCatalog } from "../../../core/catalog/sdk.js";
import { newId, type SchemaId, type WorkspaceId } from "../../../core/ids.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import { aSchema, HOSTILE_TEXTS } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";

const newWorkspace = (): WorkspaceId => newId<WorkspaceId>();
const planned = (name: string, changes: Partial<PlannedEvent> = {}): PlannedEvent => ({
  name,
  schemaId: "checkout" as SchemaId,
  unplanned: null,
  violations: null,
  ...changes,
});
const withPlan = (...plan: readonly PlannedEvent[]): SdkCatalog => ({ ...DEFAULT_SDK_CATALOG, plan });
/** By name; a star: it registered itself. */
const sorted = (names: ReadonlyMap<string, TraitName>): unknown =>
  [...names]
    .map(([name, { merge, registeredItself }]) => [name, `${merge}${registeredItself ? "*" : ""}`] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));

export const sdkSentences: Contract<CatalogStore> = {
  "answers what a workspace set for SDKs and its plan, and the defaults before": async ({ port, reopen }) => {
    const workspace = newWorkspace();
    assert.deepEqual(await port.sdk(workspace), DEFAULT_SDK_CATALOG);
    const plan = HOSTILE_TEXTS.map((name, n) =>
      planned(name, n % 2 === 0 ? { violations: "omit" } : { schemaId: null, unplanned: "quarantine" }),
    );
    const settings = {
      unplanned: "quarantine",
      violations: "omit",
      keepRejects: true,
      collectOnlyAddsTraits: true,
      phone: true,
      deviceId: true,
      advertisingId: true,
    } as const;
    for (const sdk of [withPlan(...plan), { settings, plan: [] }, { settings, plan }, DEFAULT_SDK_CATALOG]) {
      assert.deepEqual(await port.changeSdk(workspace, () => sdk), sdk);
      assert.deepEqual(await port.sdk(workspace), sdk);
    }
    await port.changeSdk(workspace, () => ({ settings, plan }));
    assert.deepEqual(await (await reopen()).sdk(workspace), { settings, plan });
  },

  "changes it in one step, so that many changes at once all stand, and throws what the change threw": async ({
    port,
  }) => {
    const workspace = newWorkspace();
    const names = Array.from({ length: 12 }, (_, n) => `event ${n}`);
    const add = (name: string) =>
      port.changeSdk(workspace, ({ settings, plan }) => ({ settings, plan: [...plan, planned(name)] }));
    await Promise.all(names.map(add));
    const before = await port.sdk(workspace);
    assert.deepEqual(before.plan.map(({ name }) => name).toSorted(), names.toSorted());
    const failure = new Error("no");
    await assert.rejects(
      port.changeSdk(workspace, () => {
        throw failure;
      }),
      failure,
    );
    assert.deepEqual(await port.sdk(workspace), before);
  },

  "sdk and changeSdk keep workspaces apart": async ({ port }) => {
    const [a, b] = [newWorkspace(), newWorkspace()];
    await port.changeSdk(a, () => withPlan(planned("only a")));
    assert.deepEqual(await port.sdk(b), DEFAULT_SDK_CATALOG);
    await port.changeSdk(b, (current) => {
      assert.deepEqual(current, DEFAULT_SDK_CATALOG);
      return withPlan(planned("only b"));
    });
    assert.deepEqual(
      [await port.sdk(a), await port.sdk(b)],
      [withPlan(planned("only a")), withPlan(planned("only b"))],
    );
  },

  "adds names of traits as latest until so many have registered themselves, beside those of schemas": async ({
    port,
    reopen,
  }) => {
    const workspace = newWorkspace();
    assert.deepEqual(await port.traits(workspace), new Map());
    await port.putSchema(aSchema({ workspace, traits: { city: "latest", visits: "max" } }));
    const given = ["plan", "visits", "city", "seats", "late"];
    assert.deepEqual(await port.registerTraits(workspace, given, 2), ["plan", "city", "seats"]);
    const merges = [
      ["city", "latest"],
      ["plan", "latest*"],
      ["seats", "latest*"],
      ["visits", "max"],
    ];
    assert.deepEqual(sorted(await port.traits(workspace)), merges);
    assert.deepEqual(await port.registerTraits(workspace, ["late", "seats", "plan"], 2), ["seats", "plan"]);
    const again = await reopen();
    assert.deepEqual(await again.registerTraits(workspace, ["late"], 2), [], "they count after a reopen too");
    assert.deepEqual(sorted(await again.traits(workspace)), merges);
  },

  "never registers more names of traits than the limit, however many come at once": async ({ port }) => {
    const workspace = newWorkspace();
    const calls = Array.from({ length: 12 }, (_, n) => port.registerTraits(workspace, [`t${n}`, "shared"], 5));
    const answers = await Promise.all(calls);
    assert.equal((await port.traits(workspace)).size, 5);
    for (const [n, answer] of answers.entries())
      assert.deepEqual(
        answer.filter((name) => name !== "shared"),
        (await port.traits(workspace)).has(`t${n}`) ? [`t${n}`] : [],
      );
  },

  "refuses a schema that gives a registered name another merge": async ({ port }) => {
    const workspace = newWorkspace();
    await port.registerTraits(workspace, ["plan"], 1);
    assert.deepEqual(await port.putSchema(aSchema({ workspace, traits: { plan: "max" } })), {
      kind: "trait_conflict",
      trait: "plan",
      merge: "latest",
    });
    assert.deepEqual(await port.putSchema(aSchema({ workspace, traits: { plan: "latest" } })), { kind: "created" });
    assert.deepEqual(await port.registerTraits(workspace, ["more"], 1), [], "it still counts as its own");
  },

  "traits and registerTraits keep workspaces apart": async ({ port }) => {
    const [a, b] = [newWorkspace(), newWorkspace()];
    await port.putSchema(aSchema({ workspace: a, traits: { plan: "max" } }));
    assert.deepEqual(await port.registerTraits(b, ["plan"], 1), ["plan"]);
    assert.deepEqual(await port.registerTraits(a, ["own"], 1), ["own"], "the other's name does not count");
    assert.deepEqual(sorted(await port.traits(a)), [
      ["own", "latest*"],
      ["plan", "max"],
    ]);
    assert.deepEqual(sorted(await port.traits(b)), [["plan", "latest*"]]);
  },

  "isImporting answers what setImporting said, no as long as nobody did, and they keep workspaces apart": async ({
    port,
    reopen,
  }) => {
    const [one, other] = [newWorkspace(), newWorkspace()];
    assert.equal(await port.isImporting(one), false);
    await port.setImporting(one, false);
    assert.equal(await port.isImporting(one), false);
    for (let n = 0; n < 2; n++) await port.setImporting(one, true);
    assert.deepEqual([await port.isImporting(one), await port.isImporting(other)], [true, false]);
    const again = await reopen();
    assert.equal(await again.isImporting(one), true);
    await again.setImporting(one, false);
    assert.equal(await again.isImporting(one), false);
  },
};
