import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import {
  ApiError,
  createClient,
  type Accepted,
  type Client,
  type ClientOptions,
  type NewEvent,
} from "../../client/client.js";
import { SCHEMA_ID, SIGNUP } from "../../gateway/shapes/examples.js";
import { blocksOf, pageOf } from "../support/house/docs-page.js";
import { at, listAt, textAt, until, useApp, type TestWorkspace } from "../support/service/app.js";
import { startFaultyProxy, type Fate } from "../support/service/faulty-proxy.js";

const MODULE = new URL("../../client/client.js", import.meta.url).href;
const BATCH = "/v1/collect/batch";
const user = (value: string) => ({ namespace: "email", value });
const eventOf = (schemaId: string, n: number, email = "ada@example.com"): NewEvent => ({
  schema_id: schemaId,
  payload: { email, age: n },
});

describe("The client", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let schemaId: string;
  const opened: (() => Promise<void>)[] = [];
  beforeEach(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema();
  });
  afterEach(async () => {
    for (const close of opened.splice(0)) await close();
  });

  const open = async (options: Partial<ClientOptions> = {}): Promise<Client> => {
    const client = createClient({ url: app().url, key: await workspace.key("admin"), lingerMs: 1, ...options });
    opened.push(() => client.close());
    return client;
  };
  const openBehind = async (fateOf: (n: number, target: string) => Fate, options: Partial<ClientOptions> = {}) => {
    const proxy = await startFaultyProxy(app().url, fateOf);
    opened.push(() => proxy.close());
    return { proxy, client: await open({ url: proxy.url, ...options }) };
  };
  /** Once all of these are folded. */
  const countOf = async (client: Client, accepted: readonly Accepted[]): Promise<number> => {
    for (const { event_id } of accepted) await workspace.settled(event_id);
    const { profiles } = await client.lookUp([user("ada@example.com")], { wait: 10 });
    return profiles[0]?.event_count ?? 0;
  };

  it("sends the events of one moment in one request, and answers each with its id, in order", async () => {
    const { client, proxy } = await openBehind(() => "pass");
    const accepted = await Promise.all([1, 2, 3].map((n) => client.collect(eventOf(schemaId, n))));
    assert.equal(proxy.seen.length, 1);
    for (const [n, { event_id }] of accepted.entries()) {
      const { body } = await workspace.settled(event_id);
      assert.equal(at(body, "payload.age"), n + 1);
    }
  });

  it("waits as long as the service was asked to wait, and then for its answer", async () => {
    const { client, proxy } = await openBehind(() => "pass", { timeoutMs: 1_000, retryMs: 5_000 });
    const { profiles, unknown } = await client.lookUp([user("nobody@example.com")], { wait: 1 });
    assert.deepEqual([profiles, unknown.length, proxy.seen.length], [[], 1, 1]);
  });

  it("sends no more than the batch takes, and everything", async () => {
    const { client, proxy } = await openBehind(() => "pass", { batchMax: 10 });
    const accepted = await Promise.all(Array.from({ length: 25 }, (_, n) => client.collect(eventOf(schemaId, n))));
    const sizes = proxy.seen.map(({ text }) => listAt(JSON.parse(text), "events").length);
    assert.deepEqual(sizes, [10, 10, 5]);
    assert.equal(await countOf(client, accepted), 25);
  });

  it("keeps a request below the bytes that the service takes", async () => {
    const { client, proxy } = await openBehind(() => "pass");
    const large = { email: "ada@example.com", note: "ä".repeat(100_000) };
    await Promise.all(Array.from({ length: 40 }, () => client.collect({ schema_id: schemaId, payload: large })));
    assert.ok(proxy.seen.length > 1);
    for (const { text } of proxy.seen) assert.ok(Buffer.byteLength(text) <= 4 * 1_048_576);
  });

  it("sends what comes while a batch is under way, at whatever moment", async () => {
    const client = await open({ batchMax: 3 });
    const accepted: Accepted[] = [];
    const chain = async (left: number): Promise<void> => {
      if (left === 0) return;
      accepted.push(await client.collect(eventOf(schemaId, left)));
      for (let turns = left % 7; turns > 0; turns -= 1) await Promise.resolve();
      await chain(left - 1);
    };
    await Promise.all(Array.from({ length: 5 }, () => chain(15)));
    assert.equal(await countOf(client, accepted), 75);
  });

  it("refuses an event that the service rejects, names its field, and delivers the others", async () => {
    const told: NewEvent[] = [];
    const client = await open({ onError: (_error, event) => told.push(event) });
    const wrong = { schema_id: schemaId, payload: { email: 7 } };
    const [good, bad] = await Promise.allSettled([client.collect(eventOf(schemaId, 1)), client.collect(wrong)]);
    assert.equal(good.status, "fulfilled");
    assert.ok(bad.status === "rejected" && bad.reason instanceof ApiError);
    assert.equal(bad.reason.problem.code, "validation_failed");
    assert.deepEqual(
      bad.reason.problem.errors?.map(({ path }) => path),
      ["email"],
    );
    assert.deepEqual(told, [wrong]);
  });

  it("sends again after an outage, under the same idempotency keys, so that nothing is stored twice or lost", async () => {
    const fates: readonly Fate[] = ["cut", "lost", { status: 503, headers: { "Retry-After": "0" } }, "lost", "pass"];
    const { client, proxy } = await openBehind((n) => fates[n] ?? "pass");
    const accepted = await Promise.all([1, 2, 3].map((n) => client.collect(eventOf(schemaId, n))));
    const sent = proxy.seen.filter(({ target }) => target === BATCH).map(({ text }) => text);
    assert.equal(sent.length, fates.length);
    assert.equal(new Set(sent).size, 1);
    const keys = listAt(JSON.parse(sent[0]!), "events").map((event) => textAt(event, "idempotency_key"));
    assert.equal(new Set(keys).size, 3);
    assert.equal(new Set(accepted.map(({ event_id }) => event_id)).size, 3);
    assert.equal(await countOf(client, accepted), 3);
  });

  it("waits as long as Retry-After says after a 429", async () => {
    const { client, proxy } = await openBehind((n) =>
      n === 0 ? { status: 429, headers: { "Retry-After": "1" } } : "pass",
    );
    await client.collect(eventOf(schemaId, 1));
    const [first, second] = proxy.seen;
    assert.ok(second!.at - first!.at >= 1_000);
  });

  it("tells of a 429 of the service that lasts longer than it may try", async () => {
    const { body } = await workspace.send("POST", "/v1/keys", { role: "editor", send: "collect", per_minute: 1 });
    const client = await open({ key: textAt(body, "key"), retryMs: 100 });
    await client.collect(eventOf(schemaId, 1));
    const error: unknown = await client.collect(eventOf(schemaId, 2)).catch((refused: unknown) => refused);
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.problem.status, error.problem.code], [429, "rate_limited"]);
  });

  it("does not try again what will not help", async () => {
    const { client, proxy } = await openBehind(() => "pass", { key: "onym_wrong" });
    const error: unknown = await client.collect(eventOf(schemaId, 1)).catch((refused: unknown) => refused);
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.problem.status, error.problem.code, proxy.seen.length], [401, "unauthenticated", 1]);
    await assert.rejects(client.identify([user("ada@example.com")]), ApiError);
    assert.equal(proxy.seen.length, 2);
  });

  it("never sends a request again that could do something twice", async () => {
    const { client, proxy } = await openBehind(() => "lost");
    await assert.rejects(client.request("POST", "/v1/keys", { role: "viewer" }));
    assert.equal(proxy.seen.length, 1);
  });

  const CHAIN = 200;
  /** Sends the next event when the last one has its answer, until one is refused. */
  function sendOneAfterTheOther(client: Client): { readonly all: Promise<unknown>; readonly count: () => number } {
    let answered = 0;
    const send = async (): Promise<void> => {
      while (answered < CHAIN) {
        await client.collect(eventOf(schemaId, answered));
        answered += 1;
      }
    };
    return { all: send().catch((error: unknown) => error), count: () => answered };
  }

  it("flushes what waits, and waits for nothing that comes later", async () => {
    const client = await open();
    const steady = sendOneAfterTheOther(client);
    await client.flush();
    assert.ok(steady.count() < CHAIN, `flushed after ${steady.count()} events`);
    assert.equal(await steady.all, undefined);
    assert.equal(steady.count(), CHAIN);
  });

  it("takes nothing more from its close on, so that a steady sender does not hold it up", async () => {
    const { client, proxy } = await openBehind(() => "pass");
    const steady = sendOneAfterTheOther(client);
    await client.close();
    assert.match(String(await steady.all), /closed/);
    assert.deepEqual([steady.count(), proxy.seen.length], [1, 1]);
  });

  it("takes the next event of a program that waits for each with nothing else to do", async () => {
    const program = `
      import { createClient } from ${JSON.stringify(MODULE)};
      const client = createClient({ url: ${JSON.stringify(app().url)}, key: process.env.ONYM_KEY, lingerMs: 600_000 });
      for (let n = 0; n < 3; n += 1) {
        await client.collect(${JSON.stringify(eventOf(schemaId, 0, "step@example.com"))});
        await client.lookUp([${JSON.stringify(user("step@example.com"))}]);
      }
      console.log("done");
    `;
    const env = { ...process.env, ONYM_KEY: await workspace.key("editor") };
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], { env });
    assert.equal(stdout, "done\n");
  });

  it("refuses an event when too many wait, and every event when it is closed", async () => {
    const client = await open({ queueMax: 1, lingerMs: 60_000 });
    const first = client.collect(eventOf(schemaId, 1));
    await assert.rejects(client.collect(eventOf(schemaId, 2)), /1 events wait/);
    await client.close();
    assert.match((await first).event_id, /^[0-9a-f-]{36}$/);
    await assert.rejects(client.collect(eventOf(schemaId, 3)), /closed/);
  });

  it("gives up at its close what the service does not take in time", async () => {
    const { client } = await openBehind(() => "cut", { batchMax: 1 });
    const events = [1, 2, 3].map((n) => client.collect(eventOf(schemaId, n)));
    await client.close(50);
    const ended = await Promise.allSettled(events);
    assert.deepEqual(
      ended.map(({ status }) => status),
      ["rejected", "rejected", "rejected"],
    );
  });

  it("sends what waits when the process ends, though nobody awaited it", async () => {
    const program = `
      import { createClient } from ${JSON.stringify(MODULE)};
      const client = createClient({ url: ${JSON.stringify(app().url)}, key: process.env.ONYM_KEY, lingerMs: 600_000 });
      for (let n = 0; n < 3; n += 1) void client.collect(${JSON.stringify(eventOf(schemaId, 0, "exit@example.com"))});
    `;
    const env = { ...process.env, ONYM_KEY: await workspace.key("editor") };
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], { env, stdio: "inherit" });
    const [code] = (await once(child, "exit")) as [number];
    assert.equal(code, 0);
    const exited = [user("exit@example.com")];
    const { body: found } = await until(
      () => workspace.send("POST", "/v1/profiles/lookup?wait=10", { identifiers: exited }),
      ({ body }) => at(body, "profiles.0.event_count") === 3,
    );
    assert.equal(at(found, "profiles.0.event_count"), 3);
  });

  it("does what docs/client.md shows: the program sends two events and prints their profile", async () => {
    await workspace.send("POST", "/v1/schemas", { schema_id: SCHEMA_ID, schema: SIGNUP });
    await workspace.send("POST", "/v1/datasets", { name: "d", schema_id: SCHEMA_ID, unified_profile: true });
    const block = blocksOf(await pageOf("client.md")).find(({ language }) => language === "js");
    const program = block!.text.replace("./client/client.js", MODULE).replace("http://127.0.0.1:8080", app().url);
    const env = { ...process.env, ONYM_KEY: await workspace.key("editor") };
    const args = ["--input-type=module", "-e", program];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    const printed = JSON.parse(stdout) as unknown;
    assert.equal(at(printed, "profile.event_count"), 2);
    assert.deepEqual(at(printed, "profile.traits"), { city: "London" });
  });

  it("answers what the routes answer", async () => {
    const client = await open();
    const [ada, device] = [user("ada@example.com"), { namespace: "device_id", value: "phone-2" }];
    const created = await client.identify([ada]);
    assert.deepEqual([created.outcome, created.dropped], ["created", []]);
    assert.equal((await client.alias(device, ada, { dryRun: true })).dry_run, true);
    assert.equal((await client.alias(device, ada)).outcome, "linked");
    const { profiles, unknown } = await client.lookUp([ada, user("nobody@example.com")]);
    assert.deepEqual(profiles[0]?.matched, [ada]);
    assert.deepEqual(unknown, [user("nobody@example.com")]);
    assert.equal((await client.profile(created.profile_id!)).identifiers.length, 2);
    const checked = await client.check({ schema_id: schemaId, payload: { email: 7 } });
    assert.deepEqual([checked.status, checked.errors[0]?.path], ["fail", "email"]);
    const { changes } = await client.request<{ readonly changes: readonly object[] }>("GET", "/v1/changes?limit=10");
    assert.equal(changes.length, 2);
  });
});
