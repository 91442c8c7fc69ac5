import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { OPERATOR_KEY, send, submission, textAt, until, workspaceOf } from "../support/service/app.js";
import { eventually } from "../support/eventually.js";
import { profileOf } from "../support/faults.js";
import { dropPlaces } from "../support/house/places.js";
import { deploy, readiness, through, type Deployment } from "../support/service/deployment.js";
import { run } from "../support/service/process.js";
import { openRaw } from "../support/service/raw.js";
import { ownPlaces, serversUnderTest } from "../support/servers/servers.js";
import { assertTook, startTraffic } from "../support/service/traffic.js";

const SERVER_URLS = ["RABBITMQ_URL", "MONGODB_URL", "NEO4J_URL"] as const;

const ALONE_MS = 1_100;

/** Where MongoDB takes more than 250 ms, each process counts for itself for a second: on a busy machine a try may fall into one. */
async function sharing(counted: () => Promise<void>): Promise<void> {
  for (let tries = 1; tries < 5; tries += 1)
    try {
      return await counted();
    } catch (error) {
      if (!(error instanceof assert.AssertionError)) throw error;
      await sleep(ALONE_MS);
    }
  return counted();
}

describe("Gateways and workers", () => {
  let deployment: Deployment;
  before(async () => {
    const limits = { INLINE_PER_MINUTE: "10", AUTH_FAILURES_PER_MINUTE: "10" };
    deployment = await deploy({ gateways: 2, workers: 2, settings: limits });
  });
  after(() => deployment?.close());
  const gateway = (n: 0 | 1) => deployment.gateways[n]!;
  const both = async () => {
    const first = await deployment.workspace();
    return { first, second: await through(gateway(1), first) };
  };

  it("share events, identities and schemas: what one accepted the other shows", async () => {
    const { first, second } = await both();
    const schemaId = await first.schema();
    // At once: the other process never saw the schema.
    const accepted = await second.collect(schemaId, { email: "ada@example.com", city: "Bern" });
    assert.equal(accepted.status, 202, accepted.text);
    const { body } = await first.settled(accepted.body["event_id"]);
    assert.equal(body["status"], "folded");
    assert.deepEqual((await profileOf(first, "ada@example.com"))?.traits, { city: "Bern" });
    for (const n of [1, 2, 3]) {
      const identifiers = [
        { namespace: "email", value: "ada@example.com" },
        { namespace: "user_id", value: `${n}` },
      ];
      const linked = await (n % 2 === 0 ? first : second).send("POST", "/v1/identify", { identifiers });
      const shown = await (n % 2 === 0 ? second : first).send("POST", "/v1/profiles/lookup", {
        identifiers: identifiers.slice(1),
      });
      assert.equal(textAt(shown.body, "profiles.0.profile_id"), linked.body["profile_id"]);
    }
  });

  it("refuse a key within 5 s of its revocation at another one, and at once where it was revoked", async () => {
    const { first, second } = await both();
    const { key, key_id } = (await first.send("POST", "/v1/keys", { role: "viewer" })).body;
    const ask = (url: string) => send(url, "GET", "/v1/schemas", { key: String(key) });
    assert.equal((await ask(gateway(1).url)).status, 200);
    await first.send("DELETE", `/v1/keys/${String(key_id)}`);
    const before = performance.now();
    assert.equal((await ask(gateway(0).url)).status, 401);
    const refused = await until(
      () => ask(gateway(1).url),
      ({ status }) => status === 401,
    );
    assert.equal(refused.status, 401);
    await assertTook(performance.now() - before, 5_000, "the other gateway");
    assert.equal((await second.send("GET", "/v1/schemas")).status, 200);
  });

  it("share the limit of inline validations: together they allow as many as one, and no more", async () => {
    await sharing(async () => {
      const { first, second } = await both();
      const schemaId = await first.schema();
      const statuses: number[] = [];
      for (let n = 0; n < 14; n += 1)
        statuses.push((await (n % 2 === 0 ? first : second).inline(schemaId, { email: "a@example.com" })).status);
      assert.deepEqual(statuses, [...Array<number>(10).fill(200), ...Array<number>(4).fill(429)]);
    });
  });

  it("share what a key may send: together they admit as much as one, and no more", async () => {
    await sharing(async () => {
      const { first } = await both();
      const event = submission(await first.schema(), { email: "a@example.com" });
      const sending = { role: "editor", send: "collect", per_minute: 10 };
      const key = textAt((await first.send("POST", "/v1/keys", sending)).body, "key");
      const statuses: number[] = [];
      for (let n = 0; n < 14; n += 1)
        statuses.push((await send(gateway((n % 2) as 0 | 1).url, "POST", "/v1/collect", { key, body: event })).status);
      assert.deepEqual(statuses, [...Array<number>(10).fill(202), ...Array<number>(4).fill(429)]);
    });
  });

  it("share the limit of failed authentications", async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 14; n += 1)
      statuses.push((await send(gateway((n % 2) as 0 | 1).url, "GET", "/v1/schemas", { key: "onym_wrong" })).status);
    // Other tests' refusals of this minute count as well.
    const refused = statuses.indexOf(429);
    assert.ok(refused >= 0 && refused <= 10, statuses.join(" "));
    assert.deepEqual(new Set(statuses.slice(0, refused)), new Set(refused === 0 ? [] : [401]));
    assert.deepEqual(new Set(statuses.slice(refused)), new Set([429]));
  });

  it("are asked for different things: a worker answers nothing but its health", async () => {
    const { url } = deployment.workers[0]!;
    assert.equal((await send(url, "GET", "/healthz")).status, 200);
    assert.equal((await readiness(deployment.workers[0]!)).status, 200);
    const { first } = await both();
    const key = await first.key("owner");
    for (const [method, target] of [
      ["POST", "/v1/collect"],
      ["POST", "/v1/identify"],
      ["GET", "/v1/schemas"],
    ] as const)
      assert.equal((await send(url, method, target, { key })).status, 404, target);
    assert.equal((await send(url, "POST", "/v1/workspaces", { key: OPERATOR_KEY, body: { name: "x" } })).status, 404);
  });
});

describe("SIGTERM", () => {
  let deployment: Deployment;
  before(async () => {
    deployment = await deploy();
  });
  after(() => deployment?.close());

  it("under load ends gateway and worker with exit code 0 within 15 s; no request is reset and nothing is lost", async () => {
    const staying = deployment.gateways[0]!;
    const leaving = await deployment.add("gateway");
    const workspace = await deployment.workspace();
    const schemaId = await workspace.schema();
    const traffic = startTraffic({ url: leaving.url, workspace, schemaId, clients: 16, pauseMs: 0 });
    await eventually("the load is on", () => traffic.acknowledged() >= 300);
    const before = performance.now();
    const [worker] = deployment.workers;
    const ending = Promise.all([deployment.end(leaving, "SIGTERM"), deployment.end(worker!, "SIGTERM")]);
    assert.deepEqual(await ending, [0, 0]);
    await assertTook(performance.now() - before, 15_000, "the end");
    await traffic.stop();
    traffic.moveTo(staying.url);
    await deployment.add("worker");
    await traffic.settle("SIGTERM under load");
  });

  it("for the second time ends a process at once that waits for a slow request", async () => {
    const member = await deployment.add("gateway");
    const raw = await openRaw(member.url);
    const { key } = { key: await (await deployment.workspace()).key("owner") };
    raw.write(
      `POST /v1/collect HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
    );
    await sleep(300);
    member.signal("SIGTERM");
    await sleep(1_500);
    assert.equal((await readiness(member).catch(() => null))?.status ?? 503, 503);
    const before = performance.now();
    assert.equal(await deployment.end(member, "SIGTERM"), 1);
    await assertTook(performance.now() - before, 1_000, "the end");
    raw.close();
  });
});

const MIXES: readonly (readonly (typeof SERVER_URLS)[number][])[] = [
  ["RABBITMQ_URL"],
  ["MONGODB_URL"],
  ["NEO4J_URL"],
  ["RABBITMQ_URL", "MONGODB_URL"],
  ["RABBITMQ_URL", "NEO4J_URL"],
  ["MONGODB_URL", "NEO4J_URL"],
];

describe("One process with some ports on servers and the others in its folder", () => {
  for (const mix of MIXES)
    it(`takes an event to its profile with ${mix.join(" and ")}`, async () => {
      const folder = await mkdtemp(path.join(tmpdir(), "onym-"));
      const { NEO4J_USER, NEO4J_PASSWORD, ...urls } = ownPlaces(serversUnderTest());
      const unused = SERVER_URLS.filter((name) => !mix.includes(name)).map((name) => [name, ""] as const);
      const places = { ...urls, ...Object.fromEntries(unused) };
      const program = run({
        DATA_DIR: folder,
        OPERATOR_KEY,
        NEO4J_USER: NEO4J_USER!,
        NEO4J_PASSWORD: NEO4J_PASSWORD!,
        ...places,
      });
      try {
        const url = await program.listening();
        assert.ok(url !== null, program.stderr());
        const made = await send(url, "POST", "/v1/workspaces", { key: OPERATOR_KEY, body: { name: "w" } });
        const workspace = workspaceOf(url, textAt(made.body, "workspace_id"), textAt(made.body, "key"));
        const schemaId = await workspace.schema();
        const accepted = await until(
          () =>
            workspace.collect(
              schemaId,
              { email: "ada@example.com", cookie: "c", city: "Bern" },
              { "Idempotency-Key": "1" },
            ),
          ({ status }) => status === 202,
        );
        assert.equal((await workspace.settled(accepted.body["event_id"])).body["status"], "folded");
        const profile = await profileOf(workspace, "ada@example.com");
        assert.deepEqual(
          [profile?.traits, profile?.event_count, profile?.identifiers.length],
          [{ city: "Bern" }, 1, 2],
        );
        program.signal("SIGTERM");
        assert.equal(await program.exited(), 0);
      } finally {
        program.signal("SIGKILL");
        await dropPlaces(places);
        await rm(folder, { recursive: true, force: true });
      }
    });
});
