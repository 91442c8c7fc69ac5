import assert from "node:assert/strict";
import type { Merge, SchemaVersion } from "../../../core/catalog/catalog.js";
import { DECLARED_TRAITS_MAX } from "../../../core/catalog/decide.js";
import { newId, type SchemaId, type WorkspaceId } from "../../../core/ids.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import { aSchema, HOSTILE_TEXTS } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";
import { inPages } from "../../support/house/pages.js";

const newWorkspace = (): WorkspaceId => newId<WorkspaceId>();
const versionsOf = (workspace: WorkspaceId, count: number, schemaId = "checkout"): readonly SchemaVersion[] =>
  Array.from({ length: count }, (_, n) =>
    aSchema({ workspace, schemaId: schemaId as SchemaId, version: n + 1, schema: `{"title":"${n}"}` }),
  );
const CREATED = { kind: "created" } as const;
const TAKEN = { kind: "version_taken" } as const;

export const schemaSentences: Contract<CatalogStore> = {
  "finds a schema version as it was put": async ({ port }) => {
    const workspace = newWorkspace();
    const schema = aSchema({
      workspace,
      schema: `{"title":${JSON.stringify(HOSTILE_TEXTS.join())}, "raw": "\u2028" }`,
      compatibility: "none",
      linear: false,
      traits: { city: "latest", first: "first", low: "min", high: "max", tags: "union" },
    });
    assert.deepEqual(await port.putSchema(schema), CREATED);
    assert.deepEqual(await port.findSchema(workspace, schema.schemaId, 1), schema);
    assert.deepEqual(await port.findSchema(workspace, schema.schemaId, null), schema);
  },

  "finds null for an unknown schema or version, until it is put": async ({ port }) => {
    const [first, second] = versionsOf(newWorkspace(), 2) as [SchemaVersion, SchemaVersion];
    const { workspace, schemaId } = first;
    for (const version of [null, 0, 1, 2]) assert.equal(await port.findSchema(workspace, schemaId, version), null);
    await port.putSchema(first);
    assert.deepEqual(await port.findSchema(workspace, schemaId, null), first);
    assert.deepEqual(await port.findSchema(workspace, schemaId, 1), first);
    assert.equal(await port.findSchema(workspace, schemaId, 2), null);
    await port.putSchema(second);
    assert.deepEqual(await port.findSchema(workspace, schemaId, null), second);
    assert.deepEqual(await port.findSchema(workspace, schemaId, 1), first);
    assert.deepEqual(await port.findSchema(workspace, schemaId, 2), second);
  },

  "stores version n only if n - 1 is the latest": async ({ port }) => {
    const [one, two, three] = versionsOf(newWorkspace(), 3) as [SchemaVersion, SchemaVersion, SchemaVersion];
    assert.deepEqual(await port.putSchema(two), TAKEN);
    assert.deepEqual(await port.putSchema(one), CREATED);
    assert.deepEqual(await port.putSchema(three), TAKEN);
    assert.deepEqual(await port.putSchema({ ...one, schema: "{}" }), TAKEN);
    assert.deepEqual(await port.putSchema(two), CREATED);
    assert.deepEqual(await port.putSchema({ ...two, schema: "{}" }), TAKEN);
    assert.deepEqual(await port.findSchema(one.workspace, one.schemaId, 1), one);
    assert.deepEqual(await port.findSchema(one.workspace, one.schemaId, null), two);
  },

  "stores one of many concurrent puts of a version": async ({ port }) => {
    const workspace = newWorkspace();
    for (const version of [1, 2]) {
      const rivals = Array.from({ length: 20 }, (_, n) => aSchema({ workspace, version, schema: `{"n":${n}}` }));
      const answers = await Promise.all(rivals.map((schema) => port.putSchema(schema)));
      const winner = rivals[answers.findIndex(({ kind }) => kind === "created")]!;
      assert.equal(answers.filter(({ kind }) => kind === "version_taken").length, 19);
      assert.deepEqual(await port.findSchema(workspace, winner.schemaId, null), winner);
    }
  },

  "gives a trait name one merge per workspace, and stores nothing on a conflict": async ({ port }) => {
    const workspace = newWorkspace();
    const put = (schemaId: string, version: number, traits: Readonly<Record<string, Merge>>) =>
      port.putSchema(aSchema({ workspace, schemaId: schemaId as SchemaId, version, traits }));
    assert.deepEqual(await put("a", 1, { city: "latest" }), CREATED);
    assert.deepEqual(await put("a", 2, { city: "latest", plan: "first" }), CREATED);
    const conflict = { kind: "trait_conflict", trait: "plan", merge: "first" };
    assert.deepEqual(await put("b", 1, { age: "max", city: "latest", plan: "max" }), conflict);
    assert.equal(await port.findSchema(workspace, "b" as SchemaId, null), null);
    assert.deepEqual(await put("b", 1, { age: "min", city: "latest" }), CREATED, "nothing of a refused one stays");
    assert.deepEqual(await put("b", 1, { city: "max" }), TAKEN);
  },

  "declares at most a thousand trait names in a workspace, beside those that events added": async ({ port }) => {
    const [workspace, other] = [newWorkspace(), newWorkspace()];
    await port.registerTraits(workspace, ["open", "open2"], 10);
    const put = (of: WorkspaceId, schemaId: string, version: number, names: readonly string[]) =>
      port.putSchema(
        aSchema({
          workspace: of,
          schemaId: schemaId as SchemaId,
          version,
          traits: Object.fromEntries(names.map((name) => [name, "latest"] as const)),
        }),
      );
    const names = Array.from({ length: DECLARED_TRAITS_MAX }, (_, n) => `t${n}`);
    assert.deepEqual(await put(workspace, "a", 1, names.slice(1)), CREATED);
    assert.deepEqual(await put(workspace, "b", 1, ["new", "newer"]), { kind: "too_many_traits" });
    assert.equal(await port.findSchema(workspace, "b" as SchemaId, null), null);
    assert.deepEqual(await put(workspace, "b", 1, ["open", "t1", "new"]), CREATED);
    assert.deepEqual(await put(workspace, "b", 2, ["newer"]), { kind: "too_many_traits" });
    assert.deepEqual(await put(workspace, "b", 2, ["t1", "new"]), CREATED, "known names take no room");
    assert.deepEqual(await put(other, "a", 1, names), CREATED);
  },

  "lets one of two concurrent schemas give a trait its merge": async ({ port }) => {
    const workspace = newWorkspace();
    const merges: readonly Merge[] = ["latest", "first", "min", "max", "union"];
    const answers = await Promise.all(
      merges.map((merge) =>
        port.putSchema(aSchema({ workspace, schemaId: merge as string as SchemaId, traits: { city: merge } })),
      ),
    );
    const winner = merges[answers.findIndex(({ kind }) => kind === "created")]!;
    const lost = answers.filter(({ kind }) => kind !== "created");
    assert.deepEqual(
      lost,
      merges.slice(1).map(() => ({ kind: "trait_conflict", trait: "city", merge: winner })),
    );
  },

  "keeps trait names apart whatever they hold": async ({ port }) => {
    const workspace = newWorkspace();
    const names = [
      ...HOSTILE_TEXTS.filter((text) => text !== "__proto__"),
      "nul",
      "nul\0",
      "constructor",
      "toString",
      "City",
      "city",
    ];
    const traits = Object.fromEntries(names.map((name, n) => [name, n % 2 === 0 ? "min" : "max"] as const));
    const schema = aSchema({ workspace, traits });
    assert.deepEqual(await port.putSchema(schema), CREATED);
    assert.deepEqual(await port.findSchema(workspace, schema.schemaId, 1), schema);
    for (const [n, name] of names.entries()) {
      const rival = aSchema({ workspace, schemaId: `rival-${n}` as SchemaId, traits: { [name]: "union" } });
      assert.deepEqual(await port.putSchema(rival), { kind: "trait_conflict", trait: name, merge: traits[name] });
    }
  },

  "lists the latest versions by schema id, each once over the pages": async ({ port }) => {
    const workspace = newWorkspace();
    const latest: SchemaVersion[] = [];
    for (const [n, schemaId] of ["A", "a", "a-b", "a.b", "a_b", "z1", "z10"].entries()) {
      const versions = versionsOf(workspace, 1 + (n % 3), schemaId);
      for (const version of versions) await port.putSchema(version);
      latest.push(versions.at(-1)!);
    }
    for (const limit of [1, 3, 7, 10])
      assert.deepEqual(
        await inPages<SchemaVersion, SchemaId>(
          limit,
          (page) => port.schemas(workspace, page),
          ({ schemaId }) => schemaId,
        ),
        latest,
      );
  },

  "lists all versions of one schema, oldest first, each once over the pages": async ({ port }) => {
    const workspace = newWorkspace();
    const versions = versionsOf(workspace, 12);
    for (const version of versions) await port.putSchema(version);
    await port.putSchema(aSchema({ workspace, schemaId: "checkout2" as SchemaId }));
    for (const limit of [1, 5, 12, 20]) {
      const read = inPages<SchemaVersion, number>(
        limit,
        (page) => port.schemaVersions(workspace, versions[0]!.schemaId, page),
        ({ version }) => version,
      );
      assert.deepEqual(await read, versions);
    }
  },

  "tryPutSchema answers what putSchema would, and stores nothing": async ({ port }) => {
    const workspace = newWorkspace();
    const first = aSchema({ workspace, traits: { city: "latest" } });
    const second = { ...first, version: 2 };
    assert.deepEqual(await port.tryPutSchema(second), TAKEN);
    assert.deepEqual(await port.tryPutSchema(first), CREATED);
    assert.equal(await port.findSchema(workspace, first.schemaId, null), null);
    const other = aSchema({ workspace, schemaId: "other" as SchemaId, traits: { city: "first" } });
    assert.deepEqual(await port.tryPutSchema(other), CREATED);
    assert.deepEqual(await port.putSchema(first), CREATED);
    assert.deepEqual(await port.tryPutSchema(first), TAKEN);
    assert.deepEqual(await port.tryPutSchema(second), CREATED);
    assert.deepEqual(await port.tryPutSchema(other), { kind: "trait_conflict", trait: "city", merge: "latest" });
    assert.deepEqual(await port.findSchema(workspace, first.schemaId, null), first);
    assert.deepEqual(await port.schemaVersions(workspace, first.schemaId, { limit: 10, after: null }), [first]);
  },

  "putSchema, tryPutSchema, findSchema, schemas and schemaVersions keep workspaces apart": async ({ port }) => {
    const [a, b] = [newWorkspace(), newWorkspace()];
    const page = { limit: 10, after: null };
    for (const [own, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const lone = aSchema({ workspace: own, schemaId: `only-${own}` as SchemaId });
      await port.putSchema(lone);
      assert.equal(await port.findSchema(other, lone.schemaId, null), null);
      assert.equal(await port.findSchema(other, lone.schemaId, 1), null);
      assert.deepEqual(await port.schemaVersions(other, lone.schemaId, page), []);
    }
    const schemas = [a, b].map((workspace, n) =>
      aSchema({ workspace, schema: `{"n":${n}}`, traits: { city: n === 0 ? "latest" : "max" } }),
    );
    for (const schema of schemas) {
      assert.deepEqual(await port.tryPutSchema(schema), CREATED);
      assert.deepEqual(await port.putSchema(schema), CREATED);
    }
    for (const schema of schemas) {
      const { workspace, schemaId } = schema;
      assert.deepEqual(await port.findSchema(workspace, schemaId, null), schema);
      assert.deepEqual(await port.findSchema(workspace, schemaId, 1), schema);
      assert.deepEqual(await port.schemaVersions(workspace, schemaId, page), [schema]);
      assert.deepEqual(
        (await port.schemas(workspace, page)).map((found) => found.workspace),
        [workspace, workspace],
      );
    }
    // Neither more versions nor more schemas of one change what another lists.
    const [first, second] = schemas as [SchemaVersion, SchemaVersion];
    assert.deepEqual(await port.putSchema({ ...second, version: 2 }), CREATED);
    assert.deepEqual(await port.putSchema(aSchema({ workspace: b, schemaId: "a" as SchemaId })), CREATED);
    assert.deepEqual(await port.schemas(a, { limit: 1, after: null }), [first]);
  },
};
