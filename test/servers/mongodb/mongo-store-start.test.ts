import assert from "node:assert/strict";
import { createServer, type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError } from "../../../core/config.js";
import { FORMAT, openKnownMongo } from "../../../store/mongo/format.js";
import { openMongo } from "../../../store/mongo/open.js";
import { openFakeMongo, openMongoProxy } from "../../support/servers/mongo-faults.js";
import { withDatabase } from "../../support/servers/mongo-backend.js";
import { serversUnderTest } from "../../support/servers/servers.js";

const { MONGODB_URL } = serversUnderTest();
const PASSWORD = "s3cret-pass";
const START_LIMIT_MS = 10_000;

/** What the start says; fails unless it is one line, in time, that names the variable and repeats nothing secret. */
async function refusal(url: string, startMs?: number): Promise<string> {
  const began = performance.now();
  const opening = openMongo({ url, onError: () => {}, ...(startMs !== undefined && { startMs }) });
  const error = await opening.then(
    () => assert.fail("it started"),
    (error: unknown) => error,
  );
  assert.ok(performance.now() - began < START_LIMIT_MS, "within 10 s");
  assert.ok(error instanceof ConfigError, String(error));
  assert.match(error.message, /^MONGODB_URL: [^\n]+$/);
  assert.ok(!error.message.includes(PASSWORD) && !error.message.includes("ada"), error.message);
  return error.message;
}

/** Holds a port for the time of the test. */
async function withPort(accept: boolean, use: (port: number) => Promise<void>): Promise<void> {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  if (!accept) await new Promise((resolve) => server.close(resolve));
  try {
    await use(port);
  } finally {
    server.close();
  }
}

/** A server that answers so, for the time of the test. */
async function withFake(answer: Parameters<typeof openFakeMongo>[0], use: (host: string) => Promise<void>) {
  const fake = await openFakeMongo(answer);
  try {
    await use(fake.host);
  } finally {
    await fake.close();
  }
}

describe("the start with MongoDB", () => {
  it("refuses data of another format, and names both", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const settings = mongo.db.collection<{ _id: string; format?: number }>("settings");
      const url = new URL(MONGODB_URL);
      url.pathname = `/${mongo.db.databaseName}`;
      const start = () => openKnownMongo({ url: url.toString(), onError: () => {} });
      const refused = (format: number) => (error: Error) =>
        error instanceof ConfigError &&
        error.message ===
          `MONGODB_URL: the data there has format ${format}, and this build knows format ${FORMAT} alone`;
      await Promise.all([start(), start()].map(async (one) => (await one).close()));
      await settings.updateOne({ _id: "format" }, { $set: { format: FORMAT + 1 } });
      await assert.rejects(start(), refused(FORMAT + 1));
      await settings.deleteOne({ _id: "format" });
      await settings.insertOne({ _id: "secret" });
      await assert.rejects(start(), refused(0));
    }));

  it("refuses an address that is none at once, and repeats nothing of it", async () => {
    const wrong = [
      `mongodb://ada:${PASSWORD}@`,
      `mongodb://ada:${PASSWORD}@host:port/onym`,
      `mongodb://ada:${PASSWORD}@more@127.0.0.1/onym`,
      `mongodb://ada:${PASSWORD}@127.0.0.1/on.ym`,
      `mongodb://ada:${PASSWORD}@127.0.0.1/%zz`,
      `mongodb://ada:${PASSWORD}@127.0.0.1/onym?tls=maybe`,
      `mongodb://ada:${PASSWORD}@127.0.0.1/onym?noSuchOption=1`,
      `http://ada:${PASSWORD}@127.0.0.1/onym`,
      "",
    ];
    for (const url of wrong) assert.match(await refusal(url), /is not an address like mongodb:/, url);
  });

  it("says where no server answers", () =>
    withPort(false, async (port) => {
      const message = await refusal(`mongodb://ada:${PASSWORD}@127.0.0.1:${port}/onym`, 3_000);
      assert.equal(message, `MONGODB_URL: no MongoDB server answers at 127.0.0.1:${port} (ECONNREFUSED)`);
    }));

  it("says within ten seconds that a server is silent", () =>
    withPort(true, async (port) => {
      assert.match(await refusal(`mongodb://ada:${PASSWORD}@127.0.0.1:${port}`), /no MongoDB server answers at 127/);
    }));

  it("says that the server refuses the user or the password", () =>
    withFake(
      (command) =>
        "saslStart" in command
          ? { ok: 0, code: 18, codeName: "AuthenticationFailed", errmsg: `no ada with ${PASSWORD}` }
          : null,
      async (host) => {
        const message = await refusal(`mongodb://ada:${PASSWORD}@${host}/onym?authMechanism=SCRAM-SHA-256`);
        assert.equal(message, "MONGODB_URL: the server refused the user or the password");
      },
    ));

  it("says that the user may not write", () =>
    withFake(
      (command) =>
        "delete" in command ? { ok: 0, code: 13, codeName: "Unauthorized", errmsg: "not authorized on onym" } : null,
      async (host) => {
        const message = await refusal(`mongodb://${host}/onym`);
        assert.equal(message, "MONGODB_URL: the server does not let this user write to the database");
      },
    ));

  it("waits for a server that comes up a little later", async () => {
    let asked = 0;
    const comingUp = { ok: 0, code: 11_600, codeName: "InterruptedAtShutdown", errmsg: "going down" };
    await withFake(
      (command) => ("delete" in command && ++asked <= 2 ? comingUp : null),
      async (host) => {
        const mongo = await openMongo({ url: `mongodb://${host}/onym`, onError: () => {} });
        await mongo.close();
        assert.equal(asked, 3);
      },
    );
  });

  it("waits for a server that opens its port a little later than the driver looks for one", async () => {
    const proxy = await openMongoProxy(MONGODB_URL);
    await proxy.kill();
    const opening = openMongo({ url: proxy.url, onError: () => {} });
    const [mongo] = await Promise.all([opening, sleep(3_000).then(() => proxy.restart())]);
    await mongo.close();
    await proxy.close();
  });

  it("takes the database that the address names, or onym", async () => {
    const { host } = new URL(MONGODB_URL);
    for (const [path, database] of [
      ["", "onym"],
      ["/", "onym"],
      ["/?appName=x", "onym"],
      ["/other", "other"],
      ["/oth%65r?appName=x", "other"],
    ]) {
      const mongo = await openMongo({ url: `mongodb://${host}${path}`, onError: () => {} });
      assert.equal(mongo.db.databaseName, database);
      await mongo.close();
    }
  });

  it("leaves nothing in the database", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      assert.deepEqual(await mongo.db.listCollections().toArray(), []);
    }));
});
