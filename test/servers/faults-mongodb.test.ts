import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { controlServers, type ServerControl } from "../../scripts/servers/control.js";
import { send, type TestWorkspace } from "../support/service/app.js";
import {
  deploy,
  makeWorkspace,
  memoryOf,
  timeUntilAway,
  timeUntilReady,
  whileDown,
  whileSilent,
  type Deployment,
} from "../support/service/deployment.js";
import { assertRefusal, assertTook, startTraffic, type Traffic } from "../support/service/traffic.js";

const MEGABYTE = 1_048_576;

describe("When MongoDB", () => {
  let mongodb: ServerControl;
  let deployment: Deployment;
  let workspace: TestWorkspace;
  let schemaId: string;
  before(async () => {
    mongodb = (await controlServers(process.env["ONYM_SERVERS_NAME"] ?? "default")).mongodb;
    deployment = await deploy({ gateways: 2, workers: 2 });
  });
  after(() => deployment?.close());
  beforeEach(async () => {
    workspace = await deployment.workspace();
    schemaId = await workspace.schema();
  });

  const allAway = (limitMs: number): Promise<readonly (number | null)[]> =>
    Promise.all([...deployment.workers, ...deployment.gateways].map((one) => timeUntilAway(one, "store", limitMs)));
  const allReady = (limitMs: number): Promise<readonly (number | null)[]> =>
    Promise.all([...deployment.workers, ...deployment.gateways].map((one) => timeUntilReady(one, limitMs)));

  async function assertAllTook(times: readonly (number | null)[], limitMs: number, what: string): Promise<void> {
    for (const ms of times) await assertTook(ms, limitMs, what);
  }

  /** Through one gateway, which knows key and schema by then: keys that it never saw are nobody's. */
  async function underTraffic(title: string, fault: (traffic: Traffic) => Promise<void>): Promise<void> {
    const traffic = startTraffic({ url: deployment.gateways[0]!.url, workspace, schemaId });
    try {
      await sleep(500);
      await fault(traffic);
    } finally {
      await traffic.stop();
    }
    // No longer than it took to come in.
    await assertTook(await traffic.settle(title), 15_000, "to fold all that had waited");
  }

  async function assertAccepts(traffic: Traffic, ms: number): Promise<void> {
    const accepted = traffic.acknowledged();
    await sleep(ms);
    assert.ok(traffic.acknowledged() > accepted, "nothing was accepted");
    assert.equal(traffic.refusal(), null, "an event was refused");
  }

  /** What no process remembers: 503 in time, and never 401 or 404, which would say that it does not exist. */
  async function assertRefusesTheUnknown(stranger: TestWorkspace): Promise<void> {
    const url = deployment.gateways[0]!.url;
    const key = await stranger.key("owner");
    const before = performance.now();
    assertRefusal(await send(url, "GET", "/v1/schemas", { key }));
    assertRefusal(await workspace.send("GET", `/v1/events/${randomUUID()}`));
    await assertTook(performance.now() - before, 12_000, "both refusals");
  }

  it("is killed, collect stays 202 and /readyz names the store within 2 s; 15 s after its restart what waited is folded", async () => {
    const stranger = await makeWorkspace(deployment.gateways[1]!);
    await underTraffic("MongoDB killed", async (traffic) => {
      await whileDown(mongodb, async () => {
        await assertAllTook(await allAway(20_000), 2_000, "/readyz");
        await assertRefusesTheUnknown(stranger);
        await assertAccepts(traffic, 8_000);
        await assertTook(traffic.slowestMs(), 6_000, "an answer");
      });
      await assertAllTook(await allReady(60_000), 15_000, "the way back to ready");
    });
  });

  it("is silent, collect stays 202 in bounded memory and /readyz names the store within 7 s; it is back 10 s after", async () => {
    await underTraffic("MongoDB silent", async (traffic) => {
      const before = memoryOf(deployment.gateways[0]!);
      await whileSilent(mongodb, async () => {
        await assertAllTook(await allAway(20_000), 7_000, "/readyz");
        await assertAccepts(traffic, 8_000);
        await assertTook(traffic.slowestMs(), 6_000, "an answer");
        const grown = (memoryOf(deployment.gateways[0]!) - before) / MEGABYTE;
        assert.ok(grown < 50, `${grown} MB`);
      });
      await assertAllTook(await allReady(60_000), 10_000, "the way back to ready");
    });
  });
});
