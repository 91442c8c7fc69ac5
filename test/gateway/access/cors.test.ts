import assert from "node:assert/strict";
import type { Services } from "../../../commands/services.js";
import { createRoutes } from "../../../gateway/routes.js";
import { sendSdk, track } from "../../support/sdk/client.js";
import { submission, textAt, useApp, type Answer, type TestWorkspace } from "../../support/service/app.js";
import { exchange, headerOf, statusOf } from "../../support/service/raw.js";

const SHOP = "https://shop.example";
const THIEF = "https://thief.example";
const ALLOW_ORIGIN = "access-control-allow-origin";

/** The table needs no ports until a route is called. */
const ROUTES = createRoutes({ limits: { identifiersMax: 20 } } as unknown as Services);
const PATHS = [...new Set(ROUTES.flatMap(({ path, also = [] }) => [path, ...also]))];
const FOR_PAGES = new Set(ROUTES.filter(({ cors }) => cors === true).flatMap(({ path, also = [] }) => [path, ...also]));
const targetOf = (path: string): string => path.replaceAll(/:\w+/g, "x");

/** The headers about origins, of what a page could read. */
const shared = ({ headers }: Answer): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("access-control-") || name === "vary"));

const OPEN = { [ALLOW_ORIGIN]: "*", "access-control-expose-headers": "Retry-After, RateLimit, RateLimit-Policy" };
const FOR_SHOP = { ...OPEN, [ALLOW_ORIGIN]: SHOP, vary: "Origin" };

describe("A page of another origin", () => {
  const app = useApp({ AUTH_FAILURES_PER_MINUTE: "1000" });
  let workspace: TestWorkspace;
  let event: unknown;
  before(async () => {
    workspace = await app().workspace();
    event = submission(await workspace.schema(), { email: "a@example.com" });
  });
  const makeKey = async (body: object): Promise<string> =>
    textAt((await workspace.send("POST", "/v1/keys", { role: "editor", ...body })).body, "key");
  const ask = (target: string, headers: object, method = "OPTIONS") =>
    app().send(method, target, { headers: { ...headers } });
  const collect = (key: string | null, origin: string | null, body: unknown = event, headers: object = {}) =>
    app().send("POST", "/v1/collect", {
      key,
      body,
      headers: { ...(origin !== null && { Origin: origin }), ...headers },
    });

  const batch = (key: string | null, origin: string, body: unknown) =>
    app().send("POST", "/v1/collect/batch", { key, body, headers: { Origin: origin } });

  it("may ask for every route that is for pages, without a key, and is told what it may send there", async () => {
    for (const path of ["/v1/collect", "/v1/collect/batch", "/v1/t", "/v1/batch", "/beacon/v1/batch", "/sourceConfig"])
      assert.ok(FOR_PAGES.has(path), path);
    for (const path of FOR_PAGES) {
      const asked = {
        Origin: SHOP,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
      };
      const answer = await ask(targetOf(path), asked);
      assert.deepEqual([answer.status, answer.text], [204, ""], path);
      assert.deepEqual(shared(answer), {
        [ALLOW_ORIGIN]: "*",
        "access-control-allow-methods": "GET, POST",
        "access-control-allow-headers":
          "authorization, content-type, content-encoding, anonymousid, sentat, x-retry-count, idempotency-key, rsa-retry-attempt, " +
          "rsa-retry-reason, rsa-since-first-attempt, rsa-since-last-attempt, rsa-recovered",
        "access-control-max-age": "7200",
      });
    }
  });

  it("learns nothing about any other route: it is not for pages", async () => {
    for (const path of [...PATHS].filter((one) => !FOR_PAGES.has(one))) {
      const answer = await ask(targetOf(path), { Origin: SHOP, "Access-Control-Request-Method": "GET" });
      assert.ok([404, 405].includes(answer.status), `${path}: ${answer.status}`);
      assert.deepEqual(shared(answer), {}, path);
    }
    for (const path of ["/", "/healthz", "/readyz", "/v1/nowhere"])
      assert.deepEqual(shared(await ask(path, { Origin: SHOP, "Access-Control-Request-Method": "GET" })), {}, path);
  });

  it("is not meant by an OPTIONS without Origin or without a method: that is 405 with Allow", async () => {
    for (const headers of [{}, { Origin: SHOP }, { "Access-Control-Request-Method": "POST" }]) {
      const answer = await ask("/v1/collect", headers);
      assert.deepEqual([answer.status, answer.headers.allow], [405, "POST"]);
    }
  });

  it("sends with a collect-only key and reads the answer, of whatever origin it is", async () => {
    const key = await makeKey({ send: "collect" });
    for (const origin of [SHOP, THIEF, "null", "capacitor://localhost"]) {
      const answer = await collect(key, origin);
      assert.deepEqual([answer.status, shared(answer)], [202, OPEN]);
    }
    assert.deepEqual(shared(await batch(key, SHOP, { events: [event] })), OPEN);
    assert.deepEqual(shared(await collect(key, null)), {}, "who is no page is told nothing about origins");
  });

  it("of an origin that the key lists reads the answer; of another one it is 403, which it can read", async () => {
    const key = await makeKey({ send: "collect", origins: ["https://other.example", SHOP] });
    const answer = await collect(key, SHOP);
    assert.deepEqual([answer.status, shared(answer)], [202, FOR_SHOP]);
    for (const origin of [
      THIEF,
      "null",
      "http://shop.example",
      "https://shop.example:8443",
      "https://shop.example.thief.example",
      `${SHOP}, ${THIEF}`,
      "",
    ]) {
      const refused = await collect(key, origin);
      assert.deepEqual([refused.status, refused.body["code"]], [403, "insufficient_scope"], origin);
      assert.deepEqual(shared(refused), { ...OPEN, vary: "Origin" }, origin);
      assert.match(textAt(refused.body, "detail"), /origin/);
    }
    assert.equal((await collect(key, null)).status, 202, "a program sends no Origin");
  });

  it("reads every refusal, so that its SDK does not send again", async () => {
    const [open, own] = [await makeKey({ send: "collect" }), await makeKey({ send: "collect", origins: [SHOP] })];
    const large = submission("none", { text: "x".repeat(300_000) });
    const refusals: readonly (readonly [number, () => Promise<Answer>, object])[] = [
      [401, () => collect(null, SHOP), OPEN],
      [401, () => collect("onym_wrong", SHOP), OPEN],
      [400, () => collect(open, SHOP, "{"), OPEN],
      [400, () => collect(own, SHOP, "{"), FOR_SHOP],
      [415, () => collect(own, SHOP, event, { "Content-Type": "text/csv" }), FOR_SHOP],
      [406, () => collect(open, SHOP, event, { Accept: "text/html" }), OPEN],
      [422, () => collect(own, SHOP, submission("none", {})), FOR_SHOP],
      [422, () => collect(own, SHOP, large), FOR_SHOP],
      [422, () => batch(own, SHOP, { events: [] }), FOR_SHOP],
      [401, () => batch(null, SHOP, { events: [event] }), OPEN],
      [403, () => batch(own, THIEF, { events: [event] }), { ...OPEN, vary: "Origin" }],
      [405, () => ask("/v1/collect", { Origin: SHOP }, "PUT"), OPEN],
      [405, () => ask("/v1/batch", { Origin: SHOP }, "GET"), OPEN],
    ];
    for (const [status, refusal, headers] of refusals) {
      const answer = await refusal();
      assert.deepEqual([answer.status, shared(answer)], [status, headers], answer.text);
    }
  });

  it("reads that its key has sent all that it may, and when to come again", async () => {
    const key = await makeKey({ send: "collect", origins: [SHOP], per_minute: 1 });
    assert.equal((await collect(key, SHOP)).status, 202);
    const refused = await collect(key, SHOP);
    assert.deepEqual([refused.status, shared(refused)], [429, FOR_SHOP]);
    assert.ok(Number(refused.headers["retry-after"]) > 0);
  });

  it("reads nothing with any other key", async () => {
    for (const body of [{}, { role: "owner" }, { send: "all" }, { send: "all", origins: [SHOP] }, { role: "viewer" }]) {
      const answer = await collect(await makeKey(body), SHOP);
      const { vary: _vary, ...rest } = shared(answer);
      assert.deepEqual(rest, {}, JSON.stringify(body));
    }
  });

  it("is refused by a key with send: all that lists other origins, on every route of it", async () => {
    const key = await makeKey({ send: "all", origins: [SHOP] });
    const identifiers = [{ namespace: "user_id", value: "1" }];
    const identify = (Origin: string) =>
      app().send("POST", "/v1/identify", { key, body: { identifiers }, headers: { Origin } });
    assert.deepEqual([(await identify(SHOP)).status, (await identify(THIEF)).status], [200, 403]);
  });

  it("is never offered credentials, and one Origin header counts, not two", async () => {
    const key = await makeKey({ send: "collect", origins: [SHOP] });
    const head = `POST /v1/collect HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
    const body = JSON.stringify(event);
    const rest = `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
    const one = await exchange(app().url, `${head}Origin: ${SHOP}\r\n${rest}`);
    assert.deepEqual([statusOf(one), headerOf(one, "Access-Control-Allow-Origin")], [202, SHOP]);
    assert.equal(headerOf(one, "Access-Control-Allow-Credentials"), null);
    const two = await exchange(app().url, `${head}Origin: ${SHOP}\r\nOrigin: ${THIEF}\r\n${rest}`);
    assert.equal(statusOf(two), 403);
  });

  it("sends with an SDK as with its own requests, wherever the key stands, and reads each answer and refusal", async () => {
    const [open, own] = [await makeKey({ send: "collect" }), await makeKey({ send: "collect", origins: [SHOP] })];
    const [other, spent] = [await makeKey({ send: "all" }), await makeKey({ send: "collect", per_minute: 1 })];
    const sdk = (target: string, key: string | null, origin: string, body: unknown = track()) =>
      sendSdk(app(), target, { key, body, headers: { Origin: origin } });
    const get = (target: string, origin: string) => app().send("GET", target, { headers: { Origin: origin } });
    const inBody = (writeKey: string) => ({ writeKey, batch: [track()] });
    const REFUSED = { ...OPEN, vary: "Origin" };
    await sdk("/v1/t", spent, SHOP);
    const calls: readonly (readonly [number, () => Promise<Answer>, object])[] = [
      [200, () => sdk("/v1/t", open, THIEF), OPEN],
      [200, () => sdk("/v1/identify", own, SHOP, track({ type: "identify" })), FOR_SHOP],
      [200, () => sdk("/v1/batch", null, SHOP, inBody(own)), FOR_SHOP],
      [200, () => sdk(`/beacon/v1/batch?writeKey=${own}`, null, SHOP, { batch: [track()] }), FOR_SHOP],
      [200, () => get(`/v1/projects/${own}/settings`, SHOP), FOR_SHOP],
      [200, () => get(`/sourceConfig?writeKey=${own}`, SHOP), FOR_SHOP],
      [403, () => sdk("/v1/t", own, THIEF), REFUSED],
      [403, () => sdk("/v1/batch", null, THIEF, inBody(own)), REFUSED],
      [403, () => get(`/v1/projects/${own}/settings`, THIEF), REFUSED],
      [401, () => sdk("/v1/t", null, SHOP), OPEN],
      [401, () => sdk("/v1/t", other, SHOP), OPEN],
      [400, () => sdk("/v1/t", own, SHOP, "{"), FOR_SHOP],
      [413, () => sdk("/v1/batch", own, SHOP, "x".repeat(5 * 1_048_576 + 1)), FOR_SHOP],
      [429, () => sdk("/v1/t", spent, SHOP), OPEN],
    ];
    for (const [status, call, headers] of calls) {
      const answer = await call();
      assert.deepEqual([answer.status, shared(answer)], [status, headers], answer.text);
      if (status === 429) assert.ok(Number(answer.headers["retry-after"]) > 5, "until the minute ends");
    }
  });
});
