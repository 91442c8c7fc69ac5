import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Backends } from "../../../app/backends.js";
import { AppError } from "../../../core/errors.js";
import { errorPaths, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const names = (answer: { readonly body: unknown }) => listAt(answer.body, "datasets").map((one) => textAt(one, "name"));

describe("Datasets", () => {
  let [isAway, hasWritten, lists] = [false, false, 0];
  const wrap = (backends: Backends): Backends => {
    const { catalog } = backends;
    const whileThere = <T>(read: () => Promise<T>): Promise<T> =>
      isAway && hasWritten ? Promise.reject(new AppError("unavailable", "away")) : read();
    const writing = <T>(written: Promise<T>): Promise<T> => written.finally(() => (hasWritten = true));
    return {
      ...backends,
      catalog: {
        ...catalog,
        putDataset: (...given) => writing(catalog.putDataset(...given)),
        changeDataset: (...given) => writing(catalog.changeDataset(...given)),
        datasetsOf: (...given) => whileThere(() => catalog.datasetsOf(...given)),
        datasets: (...given) => {
          lists += 1;
          return whileThere(() => catalog.datasets(...given));
        },
      },
    };
  };
  const app = useApp({}, { wrap });
  let workspace: TestWorkspace;
  let schemaId: string;
  beforeEach(async () => {
    isAway = false;
    workspace = await app().workspace();
    schemaId = await workspace.schema(undefined, null);
  });
  const create = (body: object) => workspace.send("POST", "/v1/datasets", { name: "d", schema_id: schemaId, ...body });

  it("are made with 201 and shown with dataset_id, name, schema_id, unified_profile and retention_days", async () => {
    const made = await create({ name: "orders", unified_profile: true, retention_days: 30 });
    assert.equal(made.status, 201);
    const { dataset_id: datasetId, created_at: createdAt, effective_retention_days: effective, ...rest } = made.body;
    assert.equal(effective, 30);
    assert.deepEqual(rest, { name: "orders", schema_id: schemaId, unified_profile: true, retention_days: 30 });
    assert.match(String(createdAt), /Z$/);
    const read = await workspace.send("GET", `/v1/datasets/${String(datasetId)}`);
    assert.deepEqual([read.status, read.body], [200, made.body]);
  });

  it("are not unified and keep events without end unless they say otherwise", async () => {
    const { body } = await create({});
    assert.deepEqual([body["unified_profile"], body["retention_days"]], [false, null]);
  });

  it("refuse wrong and unknown fields with 422 and name them", async () => {
    const wrong: readonly (readonly [object, readonly string[]])[] = [
      [{ name: "" }, ["name"]],
      [{ name: 7 }, ["name"]],
      [{ unified_profile: "true" }, ["unified_profile"]],
      [{ dataset_id: randomUUID() }, ["dataset_id"]],
    ];
    for (const [fields, paths] of wrong) {
      const answer = await create(fields);
      assert.equal(answer.status, 422);
      assert.deepEqual([...new Set(errorPaths(answer))], paths, JSON.stringify(fields));
    }
    for (const days of [0, -1, 1.5, "7", 36_501])
      assert.deepEqual([...new Set(errorPaths(await create({ retention_days: days })))], ["retention_days"]);
    assert.deepEqual(errorPaths(await workspace.send("POST", "/v1/datasets", {})), ["name", "schema_id"]);
  });

  it("belong to a schema of the workspace: an unknown one is 422 unknown_schema", async () => {
    const answer = await create({ schema_id: "nowhere" });
    assert.deepEqual([answer.status, answer.body["code"]], [422, "unknown_schema"]);
  });

  it("are changed by PATCH, field by field; retention_days null takes the end away", async () => {
    const { body } = await create({ name: "a", retention_days: 7 });
    const target = `/v1/datasets/${textAt(body, "dataset_id")}`;
    const renamed = await workspace.send("PATCH", target, { name: "b" });
    assert.deepEqual(renamed.body, { ...body, name: "b" });
    const endless = await workspace.send("PATCH", target, { retention_days: null, unified_profile: true });
    assert.deepEqual(endless.body, {
      ...body,
      name: "b",
      retention_days: null,
      unified_profile: true,
      effective_retention_days: null,
    });
    assert.deepEqual((await workspace.send("GET", target)).body, endless.body);
    assert.deepEqual(errorPaths(await workspace.send("PATCH", target, { schema_id: "x" })), ["schema_id"]);
  });

  it("say after each change how long all of their schema together keep its events", async () => {
    const forEver = await create({ name: "a" });
    const short = await create({ name: "b", retention_days: 7 });
    assert.deepEqual([short.body["retention_days"], short.body["effective_retention_days"]], [7, null]);
    const bounded = await workspace.send("PATCH", `/v1/datasets/${textAt(forEver.body, "dataset_id")}`, {
      retention_days: 30,
    });
    assert.equal(bounded.body["effective_retention_days"], 30);
    const read = await workspace.send("GET", `/v1/datasets/${textAt(short.body, "dataset_id")}`);
    assert.deepEqual([read.body["retention_days"], read.body["effective_retention_days"]], [7, 30]);
  });

  it("are answered once they are written, also where the store is away then: who asked again made a second one", async () => {
    isAway = true;
    for (const days of [null, 7]) {
      hasWritten = false;
      const { status, body, text } = await create({ retention_days: days });
      assert.equal(status, 201, text);
      hasWritten = false;
      const changed = await workspace.send("PATCH", `/v1/datasets/${textAt(body, "dataset_id")}`, { name: "b" });
      assert.equal(changed.status, 200, changed.text);
    }
  });

  it("are read one by one without all others of the workspace", async () => {
    const { body } = await create({});
    lists = 0;
    const read = await workspace.send("GET", `/v1/datasets/${textAt(body, "dataset_id")}`);
    assert.deepEqual([read.status, lists], [200, 0]);
  });

  it("decide at acceptance whether an event folds: enabling one later changes no event that came before", async () => {
    const { body } = await create({});
    const before = await workspace.collect(schemaId, { email: "early@example.com" });
    await workspace.settled(before.body["event_id"], "stored");
    const patched = await workspace.send("PATCH", `/v1/datasets/${textAt(body, "dataset_id")}`, {
      unified_profile: true,
    });
    assert.equal(patched.status, 200);
    const after = await workspace.collect(schemaId, { email: "late@example.com" });
    assert.equal((await workspace.settled(after.body["event_id"])).body["status"], "folded");
    assert.equal((await workspace.settled(before.body["event_id"], "stored")).body["status"], "stored");
  });

  it("fold when any one of the schema's datasets is enabled", async () => {
    await create({ unified_profile: false });
    await create({ unified_profile: true });
    const accepted = await workspace.collect(schemaId, { email: "any@example.com" });
    assert.equal((await workspace.settled(accepted.body["event_id"])).body["status"], "folded");
  });

  it("are listed by age in pages that stay stable under inserts", async () => {
    for (const name of ["1", "2", "3"]) await create({ name });
    const first = await workspace.send("GET", "/v1/datasets?limit=2");
    assert.deepEqual(names(first), ["1", "2"]);
    await create({ name: "4" });
    const rest = await workspace.send("GET", `/v1/datasets?limit=2&cursor=${textAt(first.body, "next_cursor")}`);
    assert.deepEqual([names(rest), rest.body["next_cursor"]], [["3", "4"], null]);
  });

  it("of another workspace and of no id look unknown", async () => {
    const { body } = await create({});
    const other = await app().workspace();
    for (const target of [textAt(body, "dataset_id"), randomUUID(), "x", "%00"]) {
      assert.equal((await other.send("GET", `/v1/datasets/${target}`)).status, 404, target);
      assert.equal((await other.send("PATCH", `/v1/datasets/${target}`, { name: "stolen" })).status, 404, target);
    }
    assert.deepEqual((await other.send("GET", "/v1/datasets")).body, { datasets: [], next_cursor: null });
    assert.equal((await workspace.send("GET", `/v1/datasets/${textAt(body, "dataset_id")}`)).body["name"], "d");
  });
});
