import assert from "node:assert/strict";
import { tell } from "../support/random/random.js";
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Connection } from "rabbitmq-client";
import { controlServers, type ServerControl } from "../../scripts/servers/control.js";
import { findInstance } from "../../scripts/servers/instance.js";
import { KINDS } from "../../scripts/servers/lifecycle.js";
import type { TestWorkspace } from "../support/service/app.js";
import {
  deploy,
  memoryOf,
  timeUntil,
  timeUntilAway,
  timeUntilReady,
  whileDown,
  whileSilent,
  type Deployment,
} from "../support/service/deployment.js";
import { eventually } from "../support/eventually.js";
import { assertRefusal, assertTook, startTraffic, type Traffic } from "../support/service/traffic.js";

const INSTANCE = process.env["ONYM_SERVERS_NAME"] ?? "default";
const MEGABYTE = 1_048_576;

/** Runs the broker's own tool, as its operator would. */
async function rabbitmqctl(...args: readonly string[]): Promise<void> {
  const instance = findInstance(INSTANCE);
  assert.ok(instance !== null);
  const { command } = await KINDS.rabbitmq.prepare(instance, () => {});
  const file = command.file.replace(/rabbitmq-server$/, "rabbitmqctl");
  await promisify(execFile)(file, [...args], { env: { ...process.env, ...command.env } });
}

describe("When the broker", () => {
  let broker: ServerControl;
  let deployment: Deployment;
  let workspace: TestWorkspace;
  let schemaId: string;
  before(async () => {
    broker = (await controlServers(INSTANCE)).rabbitmq;
    deployment = await deploy();
    workspace = await deployment.workspace();
    schemaId = await workspace.schema();
  });
  after(() => deployment?.close());
  const gateway = () => deployment.gateways[0]!;
  const worker = () => deployment.workers[0]!;
  const collect = () => workspace.collect(schemaId, { email: "probe@example.com" });
  const isAccepted = ({ status }: { readonly status: number }): boolean => status === 202;
  const identify = () =>
    workspace.send("POST", "/v1/identify", { identifiers: [{ namespace: "user_id", value: `u${Math.random()}` }] });

  /** Traffic that goes well, then the fault, then the end of it. */
  async function underTraffic(title: string, fault: (traffic: Traffic) => Promise<void>, fillerBytes = 0) {
    workspace = await deployment.workspace();
    schemaId = await workspace.schema();
    const traffic = startTraffic({ url: gateway().url, workspace, schemaId, fillerBytes });
    try {
      await sleep(500);
      await fault(traffic);
      await sleep(500);
    } finally {
      await traffic.stop();
    }
    await traffic.settle(title);
  }

  it("is killed, collect is 503 within 6 s and identify goes on; 15 s after its restart all is well and nothing is lost", async () => {
    await underTraffic("broker killed", async (traffic) => {
      await whileDown(broker, async () => {
        const away = await Promise.all([
          timeUntilAway(gateway(), "queue", 20_000),
          timeUntilAway(worker(), "queue", 20_000),
        ]);
        await assertTook(away[0], 2_000, "/readyz of the gateway");
        await assertTook(away[1], 2_000, "/readyz of the worker");
        assert.equal((await identify()).status, 200);
        await sleep(2_000);
        assertRefusal(traffic.refusal());
        await assertTook(traffic.slowestMs(), 6_000, "an answer");
      });
      await assertTook(await timeUntil(collect, isAccepted, 60_000), 15_000, "the way back to 202");
      await assertTook(await timeUntilReady(gateway(), 60_000), 15_000, "the way back to ready");
      await assertTook(await timeUntilReady(worker(), 60_000), 15_000, "the worker's way back to ready");
    });
  });

  it("is silent, collect is 503 within 6 s and fails fast after that, in bounded memory; it is back 5 s after", async () => {
    const fault = async (traffic: Traffic): Promise<void> => {
      const before = memoryOf(gateway());
      await whileSilent(broker, async () => {
        await assertTook(await timeUntilAway(gateway(), "queue", 30_000), 7_000, "/readyz of the gateway");
        // Longer than anything waits for its confirm.
        await sleep(6_000);
        assertRefusal(traffic.refusal());
        await assertTook(traffic.slowestMs(), 6_000, "an answer");
        await sleep(2_000);
        const grown = (memoryOf(gateway()) - before) / MEGABYTE;
        tell(`the gateway grew by ${grown.toFixed(0)} MB`);
        assert.ok(grown < 50, `${grown} MB`);
        await assertTook(traffic.slowestMs(), 1_000, "an answer, once it is known to be silent");
      });
      await assertTook(await timeUntil(collect, isAccepted, 60_000), 5_000, "the way back to 202");
      await timeUntilReady(worker(), 30_000);
    };
    await underTraffic("broker silent", fault, 4_096);
  });

  it("raises an alarm, collect is 503 at once while the worker goes on; it is back 3 s after the alarm", async () => {
    await underTraffic("broker alarm", async (traffic) => {
      const queued = await collectWhileWorkerSleeps(20);
      await rabbitmqctl("set_vm_memory_high_watermark", "absolute", "1MB");
      try {
        const ms = await timeUntil(collect, ({ status }) => status === 503, 20_000);
        await assertTook(ms, 5_500, "the first refusal");
        traffic.slowestMs();
        await sleep(1_000);
        process.kill(worker().pid, "SIGCONT");
        for (const eventId of queued) assert.equal((await workspace.settled(eventId)).body["status"], "folded");
        assertRefusal(traffic.refusal());
        await assertTook(traffic.slowestMs(), 1_000, "a refusal");
      } finally {
        process.kill(worker().pid, "SIGCONT");
        await rabbitmqctl("set_vm_memory_high_watermark", "absolute", "1GB");
      }
      await assertTook(await timeUntil(collect, isAccepted, 60_000), 3_000, "the way back to 202");
    });
  });

  /** Leaves the worker stopped. */
  async function collectWhileWorkerSleeps(count: number): Promise<readonly unknown[]> {
    process.kill(worker().pid, "SIGSTOP");
    const eventIds: unknown[] = [];
    for (let n = 0; n < count; n += 1) {
      const answer = await collect();
      assert.equal(answer.status, 202, answer.text);
      eventIds.push(answer.body["event_id"]);
    }
    return eventIds;
  }

  it("loses the queue while it runs, it is declared again within 5 s and events go on", async () => {
    const connection = new Connection({ url: deployment.places["RABBITMQ_URL"]!, acquireTimeout: 5_000 });
    connection.on("error", () => {});
    await connection.queueDelete({ queue: deployment.places["RABBITMQ_QUEUE"]! });
    await connection.close();
    await assertTook(await timeUntil(collect, isAccepted, 30_000), 5_000, "the way back to 202");
    await timeUntilReady(worker(), 30_000);
    await underTraffic("queue deleted", async () => {});
  });
});

describe("When the queue is full", () => {
  const LENGTH_MAX = 20;
  let deployment: Deployment;
  before(async () => {
    deployment = await deploy({ workers: 0, settings: { QUEUE_LENGTH_MAX: String(LENGTH_MAX) } });
  });
  after(() => deployment?.close());

  it("collect is 503 at once and keeps what it accepted; it takes more as soon as there is room", async () => {
    const workspace = await deployment.workspace();
    const schemaId = await workspace.schema();
    const url = deployment.gateways[0]!.url;
    const traffic = startTraffic({ url, workspace, schemaId, clients: 2 });
    const isRefused = async (): Promise<boolean> => {
      const refused = await workspace.collect(schemaId, { email: "probe@example.com" });
      return refused.status === 503;
    };
    for (let tries = 0; tries < 500 && !(await isRefused()); tries += 1) await sleep(10);
    // The probe may have been the first to be refused.
    await eventually("a client is refused too", () => traffic.refusal() !== null);
    assertRefusal(traffic.refusal());
    const accepted = traffic.acknowledged();
    assert.ok(accepted < 3 * LENGTH_MAX, `${accepted} were accepted`);
    traffic.slowestMs();
    await sleep(1_000);
    await assertTook(traffic.slowestMs(), 1_000, "a refusal");
    await deployment.add("worker");
    const more = await timeUntil(
      () => workspace.collect(schemaId, { email: "probe@example.com" }),
      ({ status }) => status === 202,
      20_000,
    );
    await assertTook(more, 2_000, "the way back to 202");
    await traffic.stop();
    await traffic.settle("queue full");
  });
});
