import assert from "node:assert/strict";
import type { Request, Response } from "express";
import type { RateWindows } from "../../../core/rate-windows.js";
import { createItemLimit } from "../../../gateway/access/item-limit.js";
import { createMemoryWindows } from "../../../gateway/access/rate-windows.js";
import { aKey } from "../../support/builders.js";
import { basic } from "../../support/sdk/client.js";
import { submission, textAt, useApp, type Answer, type TestWorkspace } from "../../support/service/app.js";

describe("What a key may send in a minute", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let event: unknown;
  before(async () => {
    workspace = await app().workspace();
    event = submission(await workspace.schema(), { email: "a@example.com" });
  });
  const make = async (body: object) => (await workspace.send("POST", "/v1/keys", { role: "editor", ...body })).body;
  const collect = (key: string, body: unknown = event) => app().send("POST", "/v1/collect", { key, body });

  it("is bounded by per_minute: then 429 with Retry-After, and the headers say what is left", async () => {
    const key = textAt(await make({ send: "collect", per_minute: 3 }), "key");
    const answers = [];
    for (let n = 0; n < 5; n += 1) answers.push(await collect(key));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [202, 202, 202, 429, 429],
    );
    const refused = answers[3]!;
    assert.equal(refused.body["code"], "rate_limited");
    const seconds = Number(refused.headers["retry-after"]);
    assert.ok(seconds > 0 && seconds <= 60, String(seconds));
    assert.match(String(refused.headers["ratelimit-policy"]), /"items";\s*q=3;\s*w=60/);
    assert.match(String(answers[0]!.headers["ratelimit"]), /"items";\s*r=2/);
  });

  it("counts what was refused for another reason, and each call of a key with send: all", async () => {
    const key = textAt(await make({ send: "all", per_minute: 3 }), "key");
    const identifiers = [{ namespace: "user_id", value: "1" }];
    const identify = () => app().send("POST", "/v1/identify", { key, body: { identifiers } });
    const statuses = [(await collect(key, "{")).status, (await identify()).status, (await collect(key)).status];
    assert.deepEqual([...statuses, (await identify()).status, (await collect(key)).status], [400, 200, 202, 429, 429]);
  });

  it("is counted for each key, and both keys of a rotation share it", async () => {
    const made = await make({ send: "collect", per_minute: 2 });
    const other = await make({ send: "collect", per_minute: 2 });
    const rotated = (await workspace.send("POST", `/v1/keys/${textAt(made, "key_id")}/rotate`)).body;
    const [old, next, another] = [made, rotated, other].map((body) => textAt(body, "key")) as [string, string, string];
    const statuses = [];
    for (const key of [old, next, next, old, another]) statuses.push((await collect(key)).status);
    assert.deepEqual(statuses, [202, 202, 429, 429, 202]);
  });

  it("does not count what a page asks for before it sends, and answers that when all is sent", async () => {
    const key = textAt(await make({ send: "collect", per_minute: 2 }), "key");
    const settings = () => app().send("GET", `/v1/projects/${key}/settings`);
    const config = () => app().send("GET", `/sourceConfig/?writeKey=${key}`);
    const statuses = [(await settings()).status, (await config()).status, (await settings()).status];
    for (let n = 0; n < 3; n += 1) statuses.push((await collect(key)).status);
    assert.deepEqual(
      [...statuses, (await settings()).status, (await config()).status],
      [200, 200, 200, 202, 202, 429, 200, 200],
    );
  });

  it("does not count a request that sends nothing: checks, and an empty batch of an SDK", async () => {
    const key = textAt(await make({ send: "collect", per_minute: 3 }), "key");
    const headers = { Authorization: basic(key) };
    const empty = () => app().send("POST", "/v1/batch", { headers, body: { batch: [] } });
    const check = () => app().send("POST", "/v1/collect?syncValidation=true", { key, body: event });
    const checkBatch = () =>
      app().send("POST", "/v1/collect/batch?syncValidation=true", { key, body: { events: [event, event] } });
    const leftIn = ({ headers: { ratelimit } }: Answer) => /"items"; r=(\d+)/.exec(String(ratelimit))?.[1];
    for (let n = 0; n < 3; n += 1) {
      assert.deepEqual([(await check()).status, (await checkBatch()).status], [200, 200]);
      const answer = await empty();
      assert.deepEqual([answer.status, leftIn(answer)], [200, "3"]);
    }
    const statuses = [];
    for (let n = 0; n < 4; n += 1) statuses.push((await collect(key)).status);
    assert.deepEqual(statuses, [202, 202, 202, 429]);
    assert.equal((await empty()).status, 429, "a key that has sent all is refused before its body is read");
  });

  it("says what is left after all items of a request", async () => {
    const key = textAt(await make({ send: "collect", per_minute: 5 }), "key");
    const headers = { Authorization: basic(key) };
    const item = () => ({ type: "track", event: "e", userId: "u" });
    const left = ({ status, headers: { ratelimit } }: Answer) => [
      status,
      /^"items"; r=(\d+); t=\d+$/.exec(String(ratelimit))?.[1],
    ];
    const batch = (items: number) =>
      app().send("POST", "/v1/batch", { headers, body: { batch: Array.from({ length: items }, item) } });
    const own = (events: number) =>
      app().send("POST", "/v1/collect/batch", { key, body: { events: Array.from({ length: events }, () => event) } });
    assert.deepEqual(
      [left(await batch(2)), left(await own(2))],
      [
        [200, "3"],
        [202, "1"],
      ],
    );
    assert.deepEqual(
      [left(await batch(7)), left(await own(1))],
      [
        [200, "0"],
        [429, "0"],
      ],
    );
  });

  it("does not bound a key without it, and sends it no headers about a limit", async () => {
    const key = textAt(await make({ send: "collect" }), "key");
    for (let n = 0; n < 5; n += 1) {
      const { status, headers } = await collect(key);
      assert.deepEqual([status, headers["ratelimit"], headers["ratelimit-policy"]], [202, undefined, undefined]);
    }
  });
});

describe("The limit of items", () => {
  /** As many answers as a request has. */
  const exchange = () => {
    const headers = new Map<string, unknown>();
    const setHeader = (name: string, value: unknown) => headers.set(name.toLowerCase(), value);
    return {
      request: { headers: {} } as Request,
      response: {
        headersSent: false,
        setHeader,
        append: setHeader,
        getHeader: (name: string) => headers.get(name.toLowerCase()),
      } as unknown as Response,
    };
  };
  const admit = (limit: ReturnType<typeof createItemLimit>, key: ReturnType<typeof aKey>) => {
    const { request, response } = exchange();
    return limit.admit(request, response, key);
  };

  it("admits a request of many items while one is left, and counts them all", async () => {
    const limit = createItemLimit(createMemoryWindows());
    const key = aKey({ send: "collect", perMinute: 100 });
    const batch = async (items: number) => (await admit(limit, key))(items - 1);
    await batch(60);
    await batch(39);
    await batch(1_000);
    await assert.rejects(batch(1), { code: "rate_limited" });
  });

  it("counts together what several gateways admit", async () => {
    const windows = createMemoryWindows();
    const [one, other] = [createItemLimit(windows), createItemLimit(windows)];
    const key = aKey({ send: "collect", perMinute: 10 });
    await (
      await admit(one, key)
    )(9);
    await assert.rejects(admit(other, key), { code: "rate_limited" });
  });

  it("asks no window for a key without it", async () => {
    const asked: string[] = [];
    const windows: RateWindows = {
      hit: async (name) => {
        asked.push(name);
        return { hits: 1, resetAt: Date.now() };
      },
    };
    const limit = createItemLimit(windows);
    const count = await admit(limit, aKey({ send: "collect" }));
    await count(1_000);
    assert.deepEqual(asked, []);
    const own = await admit(limit, aKey({ send: "collect", perMinute: 5 }));
    await own(0);
    assert.equal(asked.length, 1);
  });
});
