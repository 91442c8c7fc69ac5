import assert from "node:assert/strict";
import { changeAudience, createAudience } from "../../../commands/audiences/change.js";
import { changeDataset, createDataset } from "../../../commands/datasets/change.js";
import type { Services } from "../../../commands/services.js";
import { AppError } from "../../../core/errors.js";
import type { AudienceId, DatasetId, SchemaId, WorkspaceId } from "../../../core/ids.js";
import { listAt, textAt, useApp } from "../../support/service/app.js";

type Ports = Pick<Services, "audiences" | "catalog" | "movements">;
type Decide = (ports: Ports) => Promise<unknown>;

/** As many calls of the ports as each makes that nobody disturbs, or more. */
const RULE_CALLS = 8;
const RETENTION_CALLS = 3;

/** Waits for `before` ahead of each call. */
function interrupted<Port extends object>(port: Port, before: () => Promise<void>): Port {
  return new Proxy(port, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return async (...given: readonly unknown[]) => {
        await before();
        return (method as (...of: readonly unknown[]) => unknown).apply(target, [...given]);
      };
    },
  });
}

const around = ({ audiences, catalog, movements }: Ports, before: () => Promise<void>): Ports => ({
  audiences: interrupted(audiences, before),
  catalog: interrupted(catalog, before),
  movements,
});

/** `one` comes as far as its call `n`, `other` as far as its call `m`; then `one` ends, and then `other`. */
async function interleave(ports: Ports, [one, n]: [Decide, number], [other, m]: [Decide, number]) {
  let calls = 0;
  let otherCalls = 0;
  let others: Promise<unknown> = Promise.resolve();
  let goOn = (): void => {};
  const wait = new Promise<void>((resolve) => (goOn = resolve));
  const begin = async (): Promise<void> => {
    const stands = new Promise<void>((resolve) => {
      others = outcomeOf(
        other(
          around(ports, async () => {
            if (otherCalls++ !== m) return;
            resolve();
            await wait;
          }),
        ),
      ).finally(resolve);
    });
    await stands;
  };
  const first = await outcomeOf(
    one(
      around(ports, async () => {
        if (calls++ === n) await begin();
      }),
    ),
  );
  if (calls <= n) await begin();
  goOn();
  return [first, await others];
}

const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "done",
    (error: unknown) => (error instanceof AppError ? error.code : Promise.reject(error as Error)),
  );

describe("An audience that looks back, and a retention that becomes shorter at the same time", () => {
  const app = useApp();
  const looksBack = (schemaId: SchemaId) => ({ $events: { schema_id: schemaId, within: "20d" } });
  const now = Date.now();
  const portsOf = (): Ports => {
    const { audiences, catalog, graph } = app().service.backends;
    return { audiences, catalog, movements: graph };
  };

  /** A workspace with a schema whose events are kept for 30 days, and an audience that does not look at its events. */
  async function begin() {
    const workspace = await app().workspace();
    const schemaId = (await workspace.schema()) as SchemaId;
    const listed = await workspace.send("GET", "/v1/datasets");
    const datasetId = textAt(listAt(listed.body, "datasets")[0], "dataset_id") as DatasetId;
    await workspace.send("PATCH", `/v1/datasets/${datasetId}`, { retention_days: 30 });
    const made = await workspace.send("POST", "/v1/audiences", { name: "a", rule: {} });
    return {
      ws: workspace.id as WorkspaceId,
      schemaId,
      datasetId,
      audienceId: textAt(made.body, "audience_id") as AudienceId,
      refused: (answer: unknown) => answer === "in_use" || answer === "window_exceeds_retention",
    };
  }
  type World = Awaited<ReturnType<typeof begin>>;
  /** And how many calls it makes. */
  type Racer = readonly [(world: World) => Decide, number];

  const creating =
    ({ ws, schemaId }: World): Decide =>
    (ports) =>
      createAudience(ports, { workspace: ws, now }, { name: "b", rule: looksBack(schemaId) });
  const rewording =
    ({ ws, schemaId, audienceId }: World): Decide =>
    (ports) =>
      changeAudience(ports, ws, audienceId, { rule: looksBack(schemaId) }, () => true);
  const shortening =
    ({ ws, datasetId }: World): Decide =>
    (ports) =>
      changeDataset(ports, ws, datasetId, { retentionDays: 7 });
  const create = [creating, RULE_CALLS] as const;
  const reword = [rewording, RULE_CALLS] as const;
  const shorten = [shortening, RETENTION_CALLS] as const;

  /** Every pair of places at which the two can be stopped. */
  async function everyOrder([one, calls]: Racer, [other, otherCalls]: Racer): Promise<void> {
    const services = portsOf();
    const seen = new Set<string>();
    for (let n = 0; n <= calls; n += 1)
      for (let m = 0; m <= otherCalls; m += 1) {
        const world = await begin();
        const answers = await interleave(services, [one(world), n], [other(world), m]);
        const where = `stopped before call ${n} and call ${m}: ${answers.join(", ")}`;
        assert.equal(answers.filter((answer) => answer === "done").length, 1, where);
        assert.equal(answers.filter(world.refused).length, 1, where);
        seen.add(answers.join());
      }
    assert.ok(seen.size > 1, "now the one comes first, now the other");
  }

  it("do not both come to stand: one is created", () => everyOrder(create, shorten));
  it("do not both come to stand: the retention is changed while one is created", () => everyOrder(shorten, create));
  it("do not both come to stand: its rule is changed", () => everyOrder(reword, shorten));
  it("do not both come to stand: the retention is changed while its rule is", () => everyOrder(shorten, reword));

  it("are each done where very many come at once", async () => {
    const { ws, schemaId, datasetId } = await begin();
    const given = { name: "d", schemaId, unifiedProfile: false };
    const caller = { workspace: ws, now };
    const many = Array.from({ length: 60 }, (_, n) => n);
    await Promise.all([
      ...many.map((n) => createDataset(portsOf(), caller, { ...given, retentionDays: n % 2 === 0 ? null : 30 })),
      ...many.map((n) => changeDataset(portsOf(), ws, datasetId, { retentionDays: 30 + n })),
    ]);
  });

  it("do not both come to stand: its schema gets its first dataset", async () => {
    const services = portsOf();
    for (let n = 0; n <= RULE_CALLS; n += 1)
      for (let m = 0; m <= RETENTION_CALLS; m += 1) {
        const workspace = await app().workspace();
        const schemaId = (await workspace.schema(undefined, null)) as SchemaId;
        await workspace.send("POST", "/v1/audiences", { name: "a", rule: {} });
        const ws = workspace.id as WorkspaceId;
        const dataset = { name: "first", schemaId, unifiedProfile: true, retentionDays: 7 };
        const first: Decide = (ports) => createDataset(ports, { workspace: ws, now }, dataset);
        const audience: Decide = (ports) =>
          createAudience(ports, { workspace: ws, now }, { name: "b", rule: looksBack(schemaId) });
        const answers = await interleave(services, [audience, n], [first, m]);
        assert.equal(
          answers.filter((answer) => answer === "done").length,
          1,
          `before ${n} and ${m}: ${answers.join()}`,
        );
      }
  });

  it("do not both come to stand: two datasets of its schema are shortened at once", async () => {
    const services = portsOf();
    for (let n = 0; n <= RETENTION_CALLS; n += 1) {
      const world = await begin();
      const { ws: workspace, schemaId } = world;
      const second = { name: "second", schemaId, unifiedProfile: true, retentionDays: 30 };
      const { datasetId } = await createDataset(services, { workspace, now }, second);
      await creating(world)(services);
      const answers = await interleave(services, [shortening(world), n], [shortening({ ...world, datasetId }), n]);
      assert.deepEqual(new Set(answers), new Set(["done", "in_use"]), `stopped before call ${n}`);
    }
  });
});
