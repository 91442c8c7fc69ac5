import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { doublingSchema } from "../../support/schemas.js";
import {
  errorPaths,
  listAt,
  now,
  submission,
  textAt,
  useApp,
  type Caller,
  type TestWorkspace,
} from "../../support/service/app.js";

const HEADER_POLICY = /"inline-validation";\s*q=60;\s*w=60/;

describe("POST /v1/collect?syncValidation=true", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let schemaId: string;
  before(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema();
  });
  const text = (payload: string) => `{"schema_id":"${schemaId}","timestamp":"${now()}","payload":${payload}}`;
  const inline = (body: unknown) => workspace.send("POST", "/v1/collect?syncValidation=true", body);

  it("answers 200 with status pass and empty errors when the event conforms", async () => {
    const { status, body } = await workspace.inline(schemaId, { email: "a@example.com" });
    assert.equal(status, 200);
    assert.deepEqual(body, { status: "pass", errors: [] });
  });

  it("answers 200 with status fail and one error item per problem, each with a dotted path and a message", async () => {
    const { status, body } = await workspace.inline(schemaId, { email: 7, city: "x", age: -1 });
    assert.equal(status, 200);
    assert.equal(body["status"], "fail");
    const errors = listAt(body, "errors");
    assert.deepEqual(errors.map((item) => textAt(item, "path")).toSorted(), ["age", "email"]);
    assert.ok(
      errors.every(
        (item) =>
          Object.keys(item as object)
            .toSorted()
            .join() === "message,path",
      ),
    );
    assert.match(textAt(body, "errors.0.message"), /string|>= 0/);
  });

  it("joins nested properties by dots and writes array positions as numbers", async () => {
    const nested = await workspace.schema(
      {
        type: "object",
        properties: { a: { type: "object", properties: { b: { type: "array", items: { type: "null" } } } } },
      },
      null,
    );
    assert.deepEqual(errorPaths(await workspace.inline(nested, { a: { b: [null, 1] } })), ["a.b.1"]);
  });

  it("queues nothing: neither an event nor a profile nor a namespace comes of it", async () => {
    const fresh = await app().workspace();
    const item = { type: "string", "x-identity": { namespace: "loyalty" } };
    const own = await fresh.schema({ type: "object", properties: { card: item } });
    const { queue } = app().service.backends;
    while ((await queue.depth()) > 0) await sleep(5);
    const answer = await fresh.inline(own, { card: "card-1" });
    assert.deepEqual(answer.body, { status: "pass", errors: [] });
    assert.equal(await queue.depth(), 0);
    assert.equal((await fresh.send("GET", "/v1/namespaces/loyalty")).status, 404);
    const lookup = { identifiers: [{ namespace: "loyalty", value: "card-1" }] };
    assert.deepEqual((await fresh.send("POST", "/v1/profiles/lookup", lookup)).body["profiles"], []);
  });

  it("tells every problem of the envelope as fail, an unknown schema and a bad timestamp among them", async () => {
    const cases: readonly (readonly [unknown, readonly string[]])[] = [
      [submission("nowhere", {}), ["schema_id"]],
      [{ schema_id: schemaId, timestamp: "yesterday", payload: { email: "a@b.c" } }, ["timestamp"]],
      [{ schema_id: schemaId, timestamp: "2999-01-01T00:00:00Z", payload: { email: "a@b.c" } }, ["timestamp"]],
      [{ ...submission(schemaId, { email: "a@b.c" }), extra: 1 }, ["extra"]],
      [{ schema_id: 7, timestamp: 7, payload: 7 }, ["payload", "schema_id", "timestamp"]],
      [{}, ["payload", "schema_id", "timestamp"]],
      [{ schema_id: schemaId, timestamp: "x", payload: { email: 1 }, y: 1 }, ["email", "timestamp", "y"]],
    ];
    for (const [body, paths] of cases) {
      const answer = await inline(body);
      assert.equal(answer.status, 200);
      assert.equal(answer.body["status"], "fail");
      assert.deepEqual(errorPaths(answer), paths);
    }
  });

  it("tells a value that cannot be stored as fail, at its path", async () => {
    const cases: readonly (readonly [string, string])[] = [
      ['{"email":"a@b.c","n":[12345678901234567890]}', "n.0"],
      ['{"email":"a@b.c","s":"\\ud800"}', "s"],
      ['{"email":"a@b.c","k":{"\\u0000":1}}', "k.\0"],
    ];
    for (const [payload, path] of cases) {
      const answer = await inline(text(payload));
      assert.equal(answer.status, 200, payload);
      assert.deepEqual(errorPaths(answer), [path]);
    }
  });

  it("answers malformed JSON with 400 and a body that is not an object with 422, as without it", async () => {
    assert.equal((await inline("{")).status, 400);
    assert.equal((await inline("[]")).status, 422);
    assert.equal((await inline('{"a":1,"a":2}')).status, 400);
  });

  it("answers too large and too deep with 422, as without it", async () => {
    const large = await inline(submission(schemaId, { email: "a@b.c", x: "x".repeat(262_144) }));
    assert.deepEqual([large.status, large.body["code"]], [422, "payload_too_large"]);
    const deep = `${"[".repeat(64)}${"]".repeat(64)}`;
    const answer = await inline(`{"schema_id":"s","timestamp":"${now()}","payload":{"a":${deep}}}`);
    assert.deepEqual([answer.status, answer.body["code"]], [422, "payload_too_large"]);
  });

  it("stops after 100 errors, with one more item whose path is empty and that says that there are more", async () => {
    const strings = { type: "object", properties: { a: { type: "array", items: { type: "string" } } } };
    const own = await workspace.schema(strings, null);
    const payload = { a: Array.from({ length: 500 }, () => 1) };
    const fields = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`field${i}`, 1]));
    for (const body of [submission(own, payload), { ...submission(own, {}), ...fields }]) {
      const errors = listAt((await inline(body)).body, "errors");
      assert.equal(errors.length, 101);
      assert.equal(textAt(errors[100], "path"), "");
      assert.match(textAt(errors[100], "message"), /more/);
    }
  });

  it("takes true and false for syncValidation; any other value is 400 and names it", async () => {
    const body = submission(schemaId, { email: "a@example.com" });
    for (const value of ["True", "TRUE", "1", "0", "yes", "", "%20true", "true%20", "false,true"]) {
      const answer = await workspace.send("POST", `/v1/collect?syncValidation=${value}`, body);
      assert.equal(answer.status, 400, value);
      assert.equal(answer.body["code"], "invalid_parameter");
      assert.match(textAt(answer.body, "detail"), /syncValidation/);
    }
  });

  it("answers 400 and names it when syncValidation is repeated or has no value", async () => {
    const body = submission(schemaId, { email: "a@example.com" });
    for (const query of [
      "syncValidation=true&syncValidation=true",
      "syncValidation=false&syncValidation=true",
      "syncValidation",
    ]) {
      const answer = await workspace.send("POST", `/v1/collect?${query}`, body);
      assert.equal(answer.status, 400, query);
      assert.match(textAt(answer.body, "detail"), /syncValidation/);
    }
  });

  it("answers 400 and names it for an unknown parameter, so that a typing error never ingests", async () => {
    const body = submission(schemaId, { email: "a@example.com" });
    for (const name of ["syncvalidation", "sync_validation", "syncValidation[]", "api_key", "__proto__"]) {
      const answer = await workspace.send("POST", `/v1/collect?${name}=true`, body);
      assert.equal(answer.status, 400, name);
      assert.ok(textAt(answer.body, "detail").startsWith(`${name}:`), answer.text);
    }
  });

  it("tells what is wrong with identifiers and traits beside what the schema refuses, all of it at once", async () => {
    const properties = {
      user: { type: "string", "x-identity": { namespace: "user_id" } },
      n: { type: "integer" },
      city: { type: "string", "x-trait": { name: "city" } },
      note: { type: "string", "x-trait": { name: "note" } },
    };
    const own = await workspace.schema({ type: "object", properties }, null);
    const long = "x".repeat(1_025);
    const cases: readonly (readonly [object, readonly string[]])[] = [
      [{ user: long, n: "x" }, ["n", "user"]],
      [{ user: long, city: long }, ["city", "user"]],
      [{ user: long, city: long, note: long, n: 1.5 }, ["city", "n", "note", "user"]],
    ];
    for (const [payload, paths] of cases) assert.deepEqual(errorPaths(await workspace.inline(own, payload)), paths);
    const refused = await workspace.collect(own, { user: long, city: long, note: long });
    assert.deepEqual([refused.status, errorPaths(refused)], [422, ["city", "note", "user"]]);
  });

  it("names the identifiers beyond twenty where they stand, whatever repeats before them", async () => {
    const items = { type: "string", "x-identity": { namespace: "user_id" } };
    const own = await workspace.schema({ type: "object", properties: { ids: { type: "array", items } } }, null);
    const ids = [...Array.from({ length: 25 }, () => "same"), ...Array.from({ length: 20 }, (_, n) => `d${n}`)];
    assert.deepEqual(errorPaths(await workspace.inline(own, { ids })), ["ids.44"]);
    assert.deepEqual(errorPaths(await workspace.collect(own, { ids: ["null", ...ids, "d0", "more"] })), [
      "ids.45",
      "ids.47",
    ]);
    assert.equal((await workspace.collect(own, { ids: ids.slice(0, -1) })).status, 202);
  });

  it("reports the identifiers that the asynchronous mode would refuse", async () => {
    assert.deepEqual(errorPaths(await workspace.inline(schemaId, { email: "x".repeat(1_025) })), ["email"]);
  });
});

describe("A check that takes too long", () => {
  const app = useApp({ VALIDATION_MS: "300" });

  it("is a fail that names the payload, and of a batch the other results are told", async () => {
    const workspace = await app().workspace();
    const slow = await workspace.schema(doublingSchema());
    const wrong = { path: "payload", message: "takes too long to check" };
    const again = { ...wrong, message: "took too long to check less than a minute ago" };
    const alone = await workspace.inline(slow, { slow: 1 });
    assert.deepEqual([alone.status, alone.body], [200, { status: "fail", errors: [wrong] }]);
    const events = [submission(slow, {}), submission(slow, { slow: 1 }), submission(slow, 7)];
    const batch = await workspace.send("POST", "/v1/collect/batch?syncValidation=true", { events });
    const results = [
      { status: "pass", errors: [] },
      { status: "fail", errors: [again] },
      { status: "fail", errors: [{ path: "payload", message: "must be an object" }] },
    ];
    assert.deepEqual([batch.status, batch.body], [200, { results }]);
    const sent = await workspace.collect(slow, { slow: 2 });
    assert.deepEqual(
      [sent.status, sent.body["code"], sent.body["errors"]],
      [422, "schema_too_expensive", [wrong]],
      "it is named where nothing is only checked, too",
    );
  });
});

describe("The rate limit of inline validation", () => {
  const app = useApp({ INLINE_PER_MINUTE: "60" });

  it("allows 60 a minute per workspace; exceeding it gives 429 with Retry-After, RateLimit and RateLimit-Policy", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema();
    const send = () => workspace.inline(schemaId, { email: "a@example.com" });
    const allowed = await Promise.all(Array.from({ length: 60 }, send));
    assert.deepEqual([...new Set(allowed.map(({ status }) => status))], [200]);
    assert.match(String(allowed[0]!.headers["ratelimit-policy"]), HEADER_POLICY);
    assert.match(String(allowed[0]!.headers["ratelimit"]), /r=\d+;\s*t=\d+/);

    const beyond = await send();
    assert.equal(beyond.status, 429);
    assert.equal(beyond.body["code"], "rate_limited");
    assert.equal(beyond.headers["content-type"], "application/problem+json; charset=utf-8");
    const retryAfter = Number(beyond.headers["retry-after"]);
    assert.ok(retryAfter >= 1 && retryAfter <= 60, String(retryAfter));
    assert.match(String(beyond.headers["ratelimit-policy"]), HEADER_POLICY);
    assert.match(String(beyond.headers["ratelimit"]), /r=0;/);

    const other = await app().workspace();
    assert.equal((await other.inline(await other.schema(), { email: "a@example.com" })).status, 200);
    assert.equal((await workspace.collect(schemaId, { email: "a@example.com" })).status, 202);
  });

  it("is one for all collect-only keys, and one for all others: a public key uses up none of theirs", async () => {
    const workspace = await app().workspace();
    const event = submission(await workspace.schema(), { email: "a@example.com" });
    const events = Array.from({ length: 60 }, () => event);
    const check = (caller: Caller, body: object, path: string) =>
      workspace.as(caller, "POST", `${path}?syncValidation=true`, body).then(({ status }) => status);
    assert.equal(await check("collect", { events }, "/v1/collect/batch"), 200);
    assert.deepEqual(
      [await check("collect", event, "/v1/collect"), await check("all", event, "/v1/collect")],
      [429, 200],
    );
    assert.equal(await check("owner", { events: events.slice(1) }, "/v1/collect/batch"), 200);
    assert.equal(await check("editor", event, "/v1/collect"), 429);
  });

  it("shows what is left after all events of a batch, and nothing where they are too many", async () => {
    const workspace = await app().workspace();
    const event = submission(await workspace.schema(), { email: "a@example.com" });
    const check = (events: number) =>
      workspace.send("POST", "/v1/collect/batch?syncValidation=true", {
        events: Array.from({ length: events }, () => event),
      });
    const shown = async (events: number) => {
      const { status, headers } = await check(events);
      return [status, /"inline-validation"; r=(\d+); t=\d+$/.exec(String(headers["ratelimit"]))?.[1]];
    };
    assert.deepEqual(
      [await shown(20), await shown(1), await shown(35)],
      [
        [200, "40"],
        [200, "39"],
        [200, "4"],
      ],
    );
    assert.deepEqual(
      [await shown(5), await shown(1)],
      [
        [429, "0"],
        [429, "0"],
      ],
    );
  });

  it("counts every key of the workspace together, and before the body is read", async () => {
    const workspace = await app().workspace();
    await Promise.all(
      Array.from({ length: 60 }, () => workspace.as("editor", "POST", "/v1/collect?syncValidation=true", "{")),
    );
    const { status } = await workspace.as("owner", "POST", "/v1/collect?syncValidation=true", "{");
    assert.equal(status, 429);
  });
});
