import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { openMongo, type Mongo } from "../../../store/mongo/open.js";
import { soon } from "../../support/eventually.js";
import { databaseUrl, serversUnderTest } from "../../support/servers/servers.js";

/** What the driver keeps to itself. */
interface Inside {
  readonly topology: {
    readonly s: { readonly servers: ReadonlyMap<string, Server> };
  };
}
interface Server {
  requestCheck(): void;
  readonly monitor: { readonly connection: Connection; readonly s: { readonly state: string } };
  readonly pool: {
    readonly connections: { toArray(): readonly Connection[] };
    readonly currentCheckedOutCount: number;
  };
}
interface Connection {
  readonly socket: Socket;
}

const HUNG_MS = 4_000;
/** The driver asks no server more often. */
const BETWEEN_HEARTBEATS_MS = 600;

describe("The connection to MongoDB, where the driver hangs", () => {
  const told: string[] = [];
  let mongo: Mongo;
  const server = (): Server => [...(mongo.db.client as unknown as Inside).topology.s.servers.values()][0]!;
  before(async () => {
    const url = databaseUrl(serversUnderTest().MONGODB_URL, "hung");
    mongo = await openMongo({ url, onError: (message) => void told.push(message), hungMs: HUNG_MS });
  });
  after(() => mongo?.close());

  const answers = () => mongo.ready();

  it("is renewed where a heartbeat never ends, and collections that were opened before go on", async () => {
    const collection = mongo.db.collection("settings");
    const { monitor } = server();
    const heard = new Promise<void>((resolve) => mongo.db.client.once("serverHeartbeatSucceeded", () => resolve()));
    await heard;
    await sleep(BETWEEN_HEARTBEATS_MS);
    // As when the other side ends all connections, and that of the heartbeat is told last.
    monitor.connection.socket.destroy();
    server().requestCheck();
    await sleep(HUNG_MS / 2);
    assert.equal(monitor.s.state, "monitoring", "it waits for ever");
    await soon(() => assert.notEqual(server().monitor, monitor));
    await soon(answers);
    assert.equal(await mongo.call(() => collection.findOne({ _id: "none" as never })), null);
  });

  it("is renewed where a call never ends, which kept its place in the pool", async () => {
    await answers();
    const hung = server();
    let end = (): void => {};
    const never = mongo.call(() => new Promise<void>(() => {}));
    const [refused] = [assert.rejects(never, { code: "unavailable" }), await sleep(HUNG_MS / 2)];
    const met = mongo.call(() => new Promise<void>((resolve) => (end = resolve)));
    await soon(() => assert.notEqual(server(), hung));
    await refused;
    end();
    // A read that it met may have ended early.
    await assert.rejects(met, { code: "unavailable", message: "The database is connected to anew." });
    await soon(answers);
    assert.deepEqual(new Set(told), new Set(["The driver of MongoDB hangs, so it connects anew."]));
  });

  it("is renewed where the driver cannot close the old connections, and again where it does so late", async () => {
    await answers();
    const { client } = mongo.db;
    const [close, hung] = [client.close.bind(client), server()];
    let isTried = false;
    client.close = () => {
      isTried = true;
      return new Promise(() => {});
    };
    const refused = assert.rejects(
      mongo.call(() => new Promise<void>(() => {})),
      { code: "unavailable" },
    );
    await soon(() => assert.ok(isTried));
    client.close = close;
    await soon(() => assert.notEqual(server(), hung));
    await refused;
    await soon(answers);
    // The late one takes what stands by then.
    await client.close();
    await soon(answers);
  });

  it("is closed also where the driver cannot close it", async () => {
    const url = databaseUrl(serversUnderTest().MONGODB_URL, "hung");
    const own = await openMongo({ url, onError: () => {} });
    const { servers } = (own.db.client as unknown as Inside).topology.s;
    own.db.client.close = () => new Promise(() => {});
    await own.close();
    assert.equal(servers.size, 0);
  });

  it("stays while all is well", async () => {
    await answers();
    const same = server();
    await sleep(HUNG_MS * 2);
    assert.equal(server(), same);
    await answers();
  });
});
