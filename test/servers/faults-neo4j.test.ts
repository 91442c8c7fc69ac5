import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { controlServers, type ServerControl } from "../../scripts/servers/control.js";
import { at, listAt, textAt, until, type Answer, type TestWorkspace } from "../support/service/app.js";
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
import { assertRefusal, assertTook, inGroups, startTraffic, type Traffic } from "../support/service/traffic.js";

const MEGABYTE = 1_048_576;
const CLIENTS = 4;
/** What Neo4j takes to start on the machine that the limits were written for, when it has nothing else to do. */
const START_MS = 10_000;

interface Link {
  readonly identifiers: readonly { readonly namespace: string; readonly value: string }[];
  profileId: string | null;
}

/** Clients that identify one person after another, and keep at each until it is answered. */
function startLinking(workspace: TestWorkspace) {
  const links: Link[] = [];
  const unexpected: string[] = [];
  let refusal: Answer | null = null;
  let slowestMs = 0;
  const stopping = new AbortController();
  const identify = async (link: Link): Promise<void> => {
    const before = performance.now();
    const answer = await workspace.send("POST", "/v1/identify", { identifiers: link.identifiers });
    slowestMs = Math.max(slowestMs, performance.now() - before);
    if (answer.status === 200) link.profileId = textAt(answer.body, "profile_id");
    else if (answer.status === 503) refusal = answer;
    else unexpected.push(answer.text);
    await sleep(20);
  };
  const client = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const n = links.length;
      const identifiers = [
        { namespace: "user_id", value: `user ${n}` },
        { namespace: "device_id", value: `device ${n}` },
      ];
      const link: Link = { identifiers, profileId: null };
      links.push(link);
      while (link.profileId === null && unexpected.length === 0) await identify(link);
    }
  };
  const running = Array.from({ length: CLIENTS }, client);
  return {
    refusal: () => refusal,
    slowestMs: () => slowestMs,
    answered: () => links.filter(({ profileId }) => profileId !== null).length,
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
      return { links, unexpected };
    },
  };
}

describe("When Neo4j", () => {
  let neo4j: ServerControl;
  let deployment: Deployment;
  let workspace: TestWorkspace;
  let probe: TestWorkspace;
  let schemaId: string;
  before(async () => {
    neo4j = (await controlServers(process.env["ONYM_SERVERS_NAME"] ?? "default")).neo4j;
    deployment = await deploy();
  });
  after(() => deployment?.close());
  beforeEach(async () => {
    probe = await deployment.workspace();
    workspace = await deployment.workspace();
    schemaId = await workspace.schema();
  });
  const gateway = () => deployment.gateways[0]!;
  const worker = () => deployment.workers[0]!;
  /** In a workspace without a backlog, whose events would be linked first. */
  const identify = () =>
    probe.send("POST", "/v1/identify", { identifiers: [{ namespace: "user_id", value: `u${Math.random()}` }] });
  const isDone = ({ status }: Answer): boolean => status === 200;

  type Linking = ReturnType<typeof startLinking>;

  async function underLoad(title: string, fault: (traffic: Traffic, linking: Linking) => Promise<void>): Promise<void> {
    const linking = startLinking(workspace);
    const traffic = startTraffic({ url: gateway().url, workspace, schemaId, clients: 4, pauseMs: 100 });
    try {
      await sleep(500);
      await fault(traffic, linking);
    } finally {
      await traffic.stop();
    }
    const linked = await linking.stop();
    await traffic.settle(title);
    await checkLinks(linked);
  }

  /** Every profile id that was answered is the one of both identifiers, and nothing else is in that profile. */
  async function checkLinks({ links, unexpected }: Awaited<ReturnType<Linking["stop"]>>): Promise<void> {
    assert.deepEqual(unexpected, []);
    await inGroups(links, CLIENTS, async ({ identifiers, profileId }) => {
      const { status, body, text } = await until(
        () => workspace.send("GET", `/v1/profiles/${profileId}`),
        // A busy machine may take longer than the deadline of a read.
        (answer) => answer.status !== 503,
      );
      assert.equal(status, 200, text);
      const values = listAt(body, "identifiers").map((one) => textAt(one, "value"));
      assert.deepEqual(values.toSorted(), identifiers.map(({ value }) => value).toSorted());
      assert.equal(at(body, "profile_id"), profileId);
    });
  }

  async function assertRefusesIdentityAlone(traffic: Traffic, linking: Linking, ms: number): Promise<void> {
    const [accepted, answered] = [traffic.acknowledged(), linking.answered()];
    await sleep(ms);
    assertRefusal(linking.refusal());
    await assertTook(linking.slowestMs(), 8_500, "a refusal of identify");
    assert.ok(linking.answered() <= answered + CLIENTS, "identify was answered without the graph");
    assert.ok(traffic.acknowledged() > accepted, "nothing was accepted");
    assert.equal(traffic.refusal(), null, "an event was refused");
    await assertTook(traffic.slowestMs(), 1_000, "a collect");
  }

  it("is killed, identify is 503 within 8 s and collect stays 202; 5 s after its restart identities follow", async () => {
    await underLoad("Neo4j killed", async (traffic, linking) => {
      const startMs = await whileDown(neo4j, async () => {
        await assertTook(await timeUntilAway(gateway(), "graph", 20_000), 2_000, "/readyz of the gateway");
        await assertTook(await timeUntilAway(worker(), "graph", 20_000), 2_000, "/readyz of the worker");
        await assertRefusesIdentityAlone(traffic, linking, 9_000);
      });
      // A server that begins anew plans and compiles everything: as slowly as it started.
      const limitMs = 5_000 * Math.max(1, startMs / START_MS);
      await assertTook(await timeUntil(identify, isDone, 100_000), limitMs, "the way back to 200");
      await assertTook(await timeUntilReady(gateway(), 100_000), limitMs, "the way back to ready");
      await assertTook(await timeUntilReady(worker(), 100_000), limitMs, "the worker's way back to ready");
    });
  });

  it("is silent, identify is 503 within 8 s in bounded memory and collect stays 202; it is back 5 s after", async () => {
    await underLoad("Neo4j silent", async (traffic, linking) => {
      const before = memoryOf(gateway());
      await whileSilent(neo4j, async () => {
        await assertTook(await timeUntilAway(gateway(), "graph", 20_000), 7_000, "/readyz of the gateway");
        await assertRefusesIdentityAlone(traffic, linking, 9_500);
        const grown = (memoryOf(gateway()) - before) / MEGABYTE;
        assert.ok(grown < 50, `${grown} MB`);
      });
      await assertTook(await timeUntil(identify, isDone, 60_000), 5_000, "the way back to 200");
      await assertTook(await timeUntilReady(gateway(), 60_000), 5_000, "the way back to ready");
      await timeUntilReady(worker(), 30_000);
    });
  });
});
