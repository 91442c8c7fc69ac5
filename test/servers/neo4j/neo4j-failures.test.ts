import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError } from "../../../core/config.js";
import { isUnavailable } from "../../../core/errors.js";
import type { Assertion } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createNeo4jGraph, openNeo4jGraph } from "../../../graph/neo4j/graph.js";
import { openClient } from "../../../graph/neo4j/open.js";
import { rejectsAsUnavailable } from "../../support/eventually.js";
import { aWorkspace, anAssertion, step } from "../../support/identity/fixtures.js";
import { closureOf, IDENTIFIERS, readPartition, type Partition } from "../../support/identity/model.js";
import { ann, bob, cat, idOf, wanting } from "../../support/identity/snapshots.js";
import {
  deadlock,
  lostConnection,
  neo4jUnderTest,
  openCypher,
  throwError,
  withFaults,
  type Faults,
} from "../../support/servers/neo4j-backend.js";
import { createRandom, SEED, shuffled } from "../../support/random/random.js";
import { openBrokerProxy } from "../../support/servers/rabbitmq-proxy.js";
import { tombOf } from "../../support/builders.js";

const access = neo4jUnderTest();
const openGraph = async (faults: Faults, options: { readonly locks?: boolean } = {}): Promise<IdentityGraph> =>
  createNeo4jGraph(withFaults(await openClient({ ...access, onError: throwError }), faults), { tombOf, ...options });

describe("The identity graph in Neo4j, when a reply is lost", () => {
  let isLosing = false;
  const lost: string[] = [];
  const refusals: unknown[] = [];
  const losing = async <T>(what: string, done: Promise<T>): Promise<T> => {
    const answer = await done.catch((error: unknown) => {
      refusals.push(error);
      throw error;
    });
    if (!isLosing) return answer;
    isLosing = false;
    lost.push(what);
    throw lostConnection();
  };
  const { rows, close } = openCypher(access);
  let graph: IdentityGraph;
  before(async () => {
    graph = await openGraph({
      commit: (go) => () => losing("a commit", go()),
      write: (go) => (statement, q) => losing("a write", go(statement, q)),
    });
  });
  after(() => Promise.all([graph.close(), close()]));
  const changesOf = (workspace: string) =>
    rows("MATCH (c:Change {ws: $workspace}) RETURN c.id, c.outcome ORDER BY c.id", { workspace });

  it("answers the result of the commit that stands, and writes it once", async () => {
    const workspace = aWorkspace();
    await step(graph, workspace, anAssertion(ann), anAssertion(bob));
    isLosing = true;
    const [result] = await step(graph, workspace, anAssertion(ann, bob));
    assert.deepEqual(lost, ["a commit"]);
    assert.equal(result!.outcome, "merged");
    assert.deepEqual((await changesOf(workspace)).at(-1), [result!.changeId, "merged"]);
    assert.equal((await changesOf(workspace)).length, 3);
    assert.deepEqual(await graph.resolve(workspace, result!.profileId!), { profileId: result!.profileId, size: 2 });
  });

  it("does so for identifiers that are all new", async () => {
    // A busy server may refuse a write that meets nobody: then it is the step's commit that is lost, and another pair has to show it.
    for (let tries = 1; !lost.includes("a write") && tries <= 5; tries += 1) {
      const workspace = aWorkspace();
      await graph.repeats(workspace, [wanting(workspace, ann, bob).keys]);
      isLosing = true;
      const [result] = await step(graph, workspace, anAssertion(ann, bob));
      assert.equal(result!.outcome, "created");
      assert.deepEqual(await changesOf(workspace), [[result!.changeId, "created"]]);
    }
    assert.equal(lost.at(-1), "a write", `refused: ${refusals.map(String).join("; ")}`);
  });

  it("tries again when the lost step does not stand", async () => {
    const workspace = aWorkspace();
    let isBroken = true;
    const broken = await openGraph({
      commit: (go) => async () => {
        if (!isBroken) return go();
        isBroken = false;
        throw lostConnection();
      },
    });
    const [result] = await step(broken, workspace, anAssertion(ann, bob));
    assert.deepEqual([result!.outcome, isBroken], ["created", false]);
    assert.deepEqual(await changesOf(workspace), [[result!.changeId, "created"]]);
    await broken.close();
  });
});

/** Overlapping assertions from both ports at once. The partition that stands, and the one that should. */
async function race(ports: readonly IdentityGraph[], seed: number) {
  const random = createRandom(seed);
  const workspace = aWorkspace();
  for (const one of IDENTIFIERS) await step(ports[0]!, workspace, anAssertion(one));
  const assertions: readonly Assertion[] = Array.from({ length: 6 }, () =>
    anAssertion(...shuffled(IDENTIFIERS, random).slice(0, 2)),
  );
  await Promise.all(assertions.map((assertion, i) => step(ports[i % ports.length]!, workspace, assertion)));
  const singles = IDENTIFIERS.map((one) => anAssertion(one));
  const found: Partition = await readPartition(ports[0]!, workspace);
  return { found, expected: closureOf([...singles, ...assertions]) };
}

describe("The identity graph in Neo4j, with two processes at once", () => {
  const twoPorts = async (faults: Faults, options: { readonly locks?: boolean }) =>
    Promise.all([openGraph(faults, options), openGraph(faults, options)]);
  const closeAll = (ports: readonly IdentityGraph[]) => Promise.all(ports.map((port) => port.close()));

  it(`ends in the closure of all that was asserted (seed ${SEED})`, async () => {
    const ports = await twoPorts({}, {});
    for (let run = 0; run < 20; run++) {
      const { found, expected } = await race(ports, SEED + run);
      assert.deepEqual(found, expected, `seed ${SEED + run}`);
    }
    await closeAll(ports);
  });

  it("does so by the workspace's lock alone: without it, it is wrong", async () => {
    const ports = await twoPorts({}, { locks: false });
    let wrong = 0;
    for (let run = 0; run < 20 && wrong === 0; run++)
      try {
        const { found, expected } = await race(ports, SEED + run);
        assert.deepEqual(found, expected);
      } catch {
        wrong += 1;
      }
    assert.ok(wrong > 0);
    await closeAll(ports);
  });

  it(`does so when three steps in ten fail by a deadlock (seed ${SEED})`, async () => {
    const random = createRandom(SEED);
    let deadlocks = 0;
    const maybe = (): void => {
      if (random.below(10) >= 3) return;
      deadlocks += 1;
      throw deadlock();
    };
    const ports = await twoPorts(
      {
        run: (go) => async (statement, q) => {
          maybe();
          return go(statement, q);
        },
        commit: (go) => async () => {
          maybe();
          return go();
        },
        write: (go) => async (statement, q) => {
          maybe();
          return go(statement, q);
        },
      },
      {},
    );
    for (let run = 0; run < 5; run++) {
      const { found, expected } = await race(ports, SEED + run);
      assert.deepEqual(found, expected, `seed ${SEED + run}`);
    }
    assert.ok(deadlocks > 10, `${deadlocks} deadlocks`);
    await closeAll(ports);
  });
});

describe("The identity graph in Neo4j, when the server is away or silent", () => {
  it("answers unavailable in time, frees what waits, and comes back by itself", async () => {
    const proxy = await openBrokerProxy(access.url);
    const told: string[] = [];
    const graph = await openNeo4jGraph({ tombOf, ...access, url: proxy.url, onError: (message) => told.push(message) });
    const workspace = aWorkspace();
    await idOf(graph, workspace, ann, bob);
    proxy.silence(true);
    const begin = performance.now();
    await rejectsAsUnavailable(() => graph.ready());
    assert.ok(performance.now() - begin < 1_000, "ready is prompt");
    const want = wanting(workspace, ann, bob);
    await Promise.all([
      ...Array.from({ length: 500 }, () => rejectsAsUnavailable(() => graph.read(workspace, want))),
      ...Array.from({ length: 500 }, () => rejectsAsUnavailable(() => graph.repeats(workspace, [want.keys]))),
      rejectsAsUnavailable(() => step(graph, workspace, anAssertion(bob, cat))),
      rejectsAsUnavailable(() => graph.resolve(workspace, workspace as never)),
    ]);
    assert.ok(performance.now() - begin < 8_000, `${performance.now() - begin} ms`);
    const again = performance.now();
    await Promise.all(Array.from({ length: 500 }, () => rejectsAsUnavailable(() => graph.read(workspace, want))));
    assert.ok(performance.now() - again < 4_000, "known to be silent, it is not waited for as long");
    assert.equal(told.length, 1, "an outage is told once");
    proxy.silence(false);
    assert.ok((await timeToAnswer(graph)) < 5_000);
    assert.equal((await graph.read(workspace, want)).linked.size, 1);
    await graph.close();
    await proxy.close();
  });

  it("answers unavailable at once while the server is away, and comes back by itself", async () => {
    const proxy = await openBrokerProxy(access.url);
    const told: string[] = [];
    const graph = await openNeo4jGraph({ tombOf, ...access, url: proxy.url, onError: (message) => told.push(message) });
    const workspace = aWorkspace();
    const id = await idOf(graph, workspace, ann, bob);
    await proxy.close();
    const begin = performance.now();
    await rejectsAsUnavailable(() => graph.resolve(workspace, id));
    await rejectsAsUnavailable(() => graph.repeats(workspace, [wanting(workspace, ann, bob).keys]));
    await rejectsAsUnavailable(() => step(graph, workspace, anAssertion(bob, cat)));
    await rejectsAsUnavailable(() => graph.ready());
    assert.ok(performance.now() - begin < 2_000, `${performance.now() - begin} ms`);
    assert.equal(told.length, 1);
    await proxy.reopen();
    assert.ok((await timeToAnswer(graph)) < 5_000);
    assert.deepEqual(await graph.resolve(workspace, id), { profileId: id, size: 2 });
    proxy.cut();
    await sleep(20);
    assert.equal(
      (await step(graph, workspace, anAssertion(bob, cat)))[0]!.outcome,
      "linked",
      "a lost connection is replaced",
    );
    await graph.close();
    await proxy.close();
  });

  async function timeToAnswer(graph: IdentityGraph): Promise<number> {
    const begin = performance.now();
    for (;;)
      try {
        await graph.ready();
        return performance.now() - begin;
      } catch (error) {
        assert.ok(isUnavailable(error) && performance.now() - begin < 15_000, String(error));
        await sleep(50);
      }
  }
});

describe("The identity graph in Neo4j, when a setting is wrong", () => {
  const refusalOf = async (wrong: object): Promise<string> => {
    const begin = performance.now();
    let message = "";
    await assert.rejects(
      openNeo4jGraph({ tombOf, ...access, ...wrong, onError: throwError }),
      (error) => error instanceof ConfigError && (message = error.message) !== "",
    );
    assert.ok(performance.now() - begin < 10_000);
    assert.doesNotMatch(message, /\n|s3cret/);
    return message;
  };

  it("names the password when the login is refused, and does not show it", async () => {
    assert.match(await refusalOf({ password: "s3cret" }), /^NEO4J_PASSWORD: the server refused user "neo4j"/);
    assert.match(await refusalOf({ user: "nobody", password: "s3cret" }), /^NEO4J_PASSWORD: .*"nobody"/);
  });

  it("names the URL when it is none, holds a password, or leads nowhere", async () => {
    for (const url of ["", "nowhere", "http://127.0.0.1:7474", "bolt://neo4j:s3cret@127.0.0.1:7687"])
      assert.match(await refusalOf({ url }), /^NEO4J_URL: /, url);
    assert.match(await refusalOf({ url: "bolt://127.0.0.1:1" }), /^NEO4J_URL: no Neo4j server answers/);
    assert.match(await refusalOf({ url: "bolt://no-such-host.invalid:7687" }), /^NEO4J_URL: no Neo4j server answers/);
  });

  for (const [what, answer] of [
    ["says nothing", null],
    ["speaks HTTP", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"],
  ] as const)
    it(`names the URL when the server there ${what}`, async () => {
      const server = createServer((socket) => {
        socket.on("error", () => {});
        socket.on("data", () => answer !== null && socket.end(answer));
      });
      await once(server.listen(0, "127.0.0.1"), "listening");
      const { port } = server.address() as AddressInfo;
      assert.match(await refusalOf({ url: `bolt://127.0.0.1:${port}` }), /^NEO4J_URL: /);
      server.close();
    });
});
