import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as dial, createServer, type AddressInfo, type Socket } from "node:net";
import neo4j from "neo4j-driver";
import { isUnavailable } from "../../../core/errors.js";
import { identifierKey } from "../../../core/event/event.js";
import { newId, type ProfileId, type Uid } from "../../../core/ids.js";
import type { GraphRows } from "../../../core/ports/copying.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { connect, createClient } from "../../../graph/neo4j/client.js";
import { failureOf, ofDriver, translated, type Failure } from "../../../graph/neo4j/failure.js";
import { createNeo4jGraph, openNeo4jGraph } from "../../../graph/neo4j/graph.js";
import { snapshotOf } from "../../../graph/neo4j/snapshot.js";
import { aRandomGraph, dumpAll } from "../../support/copying/rows.js";
import { eventually, rejectsAsUnavailable } from "../../support/eventually.js";
import { aWorkspace, anAssertion, step } from "../../support/identity/fixtures.js";
import { ann, bob, wanting } from "../../support/identity/snapshots.js";
import {
  lostConnection,
  neo4jUnderTest,
  openCypher,
  throwError,
  withFaults,
} from "../../support/servers/neo4j-backend.js";
import { tombOf } from "../../support/builders.js";

const access = neo4jUnderTest();
const ofCode = (code: string): Error => new neo4j.Neo4jError("", code, "", "");

/** Lets through so many bytes of what the server says, then both sides see the connection end. */
async function openTearing(url: string) {
  const { hostname, port } = new URL(url);
  let most = Infinity;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = dial(Number(port), hostname);
    let left = most;
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", end).on("close", end);
    }
    client.on("data", (bytes) => upstream.write(bytes));
    upstream.on("data", (bytes: Buffer) => {
      client.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left <= 0) setImmediate(end);
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `bolt://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tearAfter: (bytes: number) => (most = bytes),
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe("The identity graph in Neo4j, when a connection breaks in the middle", () => {
  it("answers unavailable wherever that is, and not with what the driver stumbles over", async () => {
    const proxy = await openTearing(access.url);
    const workspace = aWorkspace();
    const want = wanting(workspace, ann, bob);
    const options = { ...access, url: proxy.url, onError: () => undefined };
    const plainErrors = new Set<string>();
    let refused = 0;
    // Every byte of the greeting, and then some of all that follows.
    for (const bytes of [
      ...Array.from({ length: 40 }, (_, n) => n),
      ...Array.from({ length: 20 }, (_, n) => 60 + n * 37),
    ]) {
      proxy.tearAfter(bytes);
      const driver = connect(options);
      const told = await driver.verifyConnectivity({ database: "neo4j" }).catch((error: unknown) => error);
      if (told instanceof Error && !(told instanceof neo4j.Neo4jError)) plainErrors.add(told.name);
      const graph = createNeo4jGraph(
        createClient(options, driver, () => undefined),
        { tombOf },
      );
      const calls: readonly ((port: IdentityGraph) => Promise<unknown>)[] = [
        (port) => port.ready(),
        (port) => port.read(workspace, want),
        (port) => port.members(workspace, newId<ProfileId>(), { limit: 1, after: null }),
        (port) => step(port, workspace, anAssertion(ann, bob)),
      ];
      for (const call of calls)
        await call(graph).catch((error: unknown) => {
          assert.ok(isUnavailable(error), `after ${bytes} bytes: ${String(error)}`);
          refused += 1;
        });
      await graph.close();
    }
    assert.deepEqual([...plainErrors], ["RangeError"], "the driver does throw other errors than its own");
    assert.ok(refused > 100, String(refused));
    proxy.close();
  });

  it("answers unavailable when the server takes a step down that waits for the lock", async () => {
    const graph = await openNeo4jGraph({ tombOf, ...access, onError: () => undefined });
    const { rows, close } = openCypher(access);
    const workspace = aWorkspace();
    await step(graph, workspace, anAssertion(ann));
    const driver = neo4j.driver(access.url, neo4j.auth.basic(access.user, access.password));
    const session = driver.session({ database: "neo4j" });
    const holding = await session.beginTransaction();
    await holding.run("MATCH (w:Workspace {id: $workspace}) SET w.held = 1", { workspace });
    let isWaiting = true;
    const waiting = rejectsAsUnavailable(() => step(graph, workspace, anAssertion(ann, bob))).finally(
      () => (isWaiting = false),
    );
    let stopped = 0;
    await eventually("each try is stopped", async () => {
      const found = await rows(
        `SHOW TRANSACTIONS YIELD transactionId, currentQuery, status, parameters
         WHERE currentQuery CONTAINS 'w.seq' AND parameters.q.ws = $workspace RETURN transactionId`,
        { workspace },
      );
      for (const [id] of found) await rows("TERMINATE TRANSACTIONS $id", { id });
      stopped += found.length;
      return !isWaiting;
    });
    await waiting;
    assert.ok(stopped > 0);
    await holding.rollback();
    assert.equal((await step(graph, workspace, anAssertion(ann, bob)))[0]!.outcome, "linked");
    await Promise.all([graph.close(), close(), driver.close()]);
  });

  it("loads what was committed without an answer once, of every kind", async () => {
    const source = await aRandomGraph(1);
    const given = await dumpAll<GraphRows>(source.copying);
    await source.close();
    const options = { ...access, onError: throwError };
    let loses = false;
    const client = withFaults(
      createClient(options, connect(options), () => undefined),
      {
        commit: (go) => async () => {
          await go();
          if (!loses) return;
          loses = false;
          throw lostConnection();
        },
      },
    );
    const graph = createNeo4jGraph(client, { tombOf });
    for (const kind of graph.copying.kinds) {
      loses = given[kind].length > 0;
      await graph.copying.load(kind, given[kind] as never);
      assert.equal(loses, false, kind);
    }
    const own = new Set(given.profiles.map(({ workspace }) => workspace));
    const { changes } = await dumpAll<GraphRows>(graph.copying, 500);
    const texts = (rows: readonly GraphRows["changes"][]) =>
      rows.filter(({ workspace }) => own.has(workspace)).map((row) => JSON.stringify(row));
    assert.deepEqual(texts(changes).toSorted(), texts(given.changes).toSorted());
    await graph.close();
  });

  const MEANINGS: readonly (readonly [Failure, ...string[]])[] = [
    ["conflict", "Neo.TransientError.Transaction.DeadlockDetected", "Neo.ClientError.Statement.EntityNotFound"],
    [
      "away",
      "ServiceUnavailable",
      "ProtocolError",
      "N/A",
      "Neo.ClientError.Transaction.LockClientStopped",
      "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
      "Neo.ClientError.Transaction.TransactionNotFound",
      "Neo.ClientError.Database.DatabaseNotFound",
      "Neo.ClientError.Schema.IndexNotFound",
      "Neo.ClientError.Request.Invalid",
      "Neo.ClientError.General.WriteOnReadOnlyAccessDatabase",
      "Neo.DatabaseError.General.UnknownError",
    ],
    [
      "refused",
      "Neo.ClientError.Statement.SyntaxError",
      "Neo.ClientError.Statement.TypeError",
      "Neo.ClientError.Schema.ConstraintValidationFailed",
    ],
  ];
  for (const [failure, ...codes] of MEANINGS)
    it(`takes these for "${failure}": ${codes.join(", ")}`, () => {
      for (const code of codes) assert.equal(failureOf(ofCode(code)), failure, code);
    });

  it("takes whatever the driver ends in for a broken connection, and what else fails for what it is", () => {
    const stumbled = ofDriver(new RangeError("offset"));
    assert.equal(failureOf(stumbled), "away");
    assert.ok(isUnavailable(translated(stumbled)));
    const ours = new TypeError("ours");
    assert.equal(translated(ours), ours);
  });
});

describe("The identity graph in Neo4j, when a read sees a step half done", () => {
  const workspace = aWorkspace();
  const [annKey, bobKey] = [identifierKey(workspace, ann), identifierKey(workspace, bob)];

  it("takes an identifier whose profile goes just then for one that was not seen", () => {
    const found = [
      [0, newId<Uid>(), null, null, false, false],
      [1, newId<Uid>(), newId<Uid>(), null, false, false],
    ] as const;
    const snapshot = snapshotOf({ keys: [annKey, bobKey], pairs: [], ends: [] }, { found, linked: [] });
    assert.deepEqual([snapshot.identifiers.size, snapshot.components.size], [0, 0]);
  });

  it("asks under the lock what profile an id names whose profile goes just then", async () => {
    const client = createClient(
      { ...access, onError: throwError },
      connect({ ...access, onError: throwError }),
      () => {},
    );
    let halves = 0;
    const graph = createNeo4jGraph(
      withFaults(client, {
        read: (go) => async (statement, q) => {
          const rows = await go(statement, q);
          if (!("uids" in q)) return rows;
          halves += 1;
          const found = rows[0]![0] as readonly (readonly unknown[])[];
          return [[found.map(([n, ws, id]) => [n, ws, halves === 1 ? id : null, null])]];
        },
      }),
      { tombOf },
    );
    const own = aWorkspace();
    const profileId = (await step(graph, own, anAssertion(ann, bob)))[0]!.profileId!;
    for (let n = 0; n < 2; n++) assert.deepEqual(await graph.resolve(own, profileId), { profileId, size: 2 });
    assert.equal(halves, 2);
    await graph.close();
  });
});
