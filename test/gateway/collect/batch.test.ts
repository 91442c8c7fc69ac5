import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { eventually } from "../../support/eventually.js";
import { at, listAt, until, useApp, type TestWorkspace } from "../../support/service/app.js";
import { itemOf, linesOf, NDJSON, postBatch, resultsOf, wordsOf, type Posting } from "../../support/service/batch.js";

describe("A batch of events", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let schemaId: string;
  before(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema();
  });
  const post = (body: unknown, posting?: Posting) => postBatch(app(), workspace, body, posting);
  const person = (name: string, more = {}) => itemOf(schemaId, { email: `${name}@example.com` }, more);
  const eventsOf = async (email: string): Promise<number> => {
    const identifiers = [{ namespace: "email", value: email }];
    const { body } = await workspace.send("POST", "/v1/profiles/lookup", { identifiers });
    return (body["profiles"] as readonly { readonly event_count: number }[])[0]?.event_count ?? 0;
  };
  const untilEventsOf = (email: string, count: number): Promise<void> =>
    eventually(`${count} events of ${email}`, async () => (await eventsOf(email)) === count);

  it("is answered 202 with an event_id for each, in order, and each is folded", async () => {
    const answer = await post({ events: ["a", "b", "c"].map((name) => person(name)) });
    assert.equal(answer.status, 202, answer.text);
    assert.deepEqual([answer.body["accepted"], answer.body["rejected"]], [3, 0]);
    for (const [index, result] of resultsOf(answer).entries()) {
      const event = await workspace.settled(result.event_id);
      assert.deepEqual(event.body["payload"], { email: `${"abc"[index]}@example.com` });
    }
  });

  it("keeps each payload's bytes as they were sent, spaces and the order of members", async () => {
    const payload = '{ "email" : "bytes@example.com",  "age": 7, "city":"K\\u00f6ln" }';
    const item = `{"schema_id": "${schemaId}", "timestamp": "2026-01-01T00:00:00Z" , "payload" :${payload}}`;
    const other = `{"payload":${payload},"schema_id":"${schemaId}","timestamp":"2026-01-01T00:00:00Z"}`;
    for (const [body, headers] of [
      [` { "events" : [ ${item} ,${other}] } `, {}],
      [`${item}\r\n\n  ${other}  `, NDJSON],
    ] as const) {
      const answer = await post(body, { headers });
      assert.equal(answer.status, 202, answer.text);
      for (const { event_id: id } of resultsOf(answer))
        assert.ok((await workspace.settled(id)).text.includes(payload), "as sent");
    }
  });

  it("is taken as JSON and as lines, each also as gzip, with the header or known by its first bytes", async () => {
    const items = [person("form-1"), person("form-2")];
    const gzip = { "Content-Encoding": "gzip" };
    for (const [body, headers] of [
      [JSON.stringify({ events: items }), { "Content-Type": "application/json; charset=utf-8" }],
      [gzipSync(JSON.stringify({ events: items })), gzip],
      [gzipSync(JSON.stringify({ events: items })), {}],
      [linesOf(items), NDJSON],
      [linesOf(items).trimEnd(), NDJSON],
      [gzipSync(linesOf(items)), { ...NDJSON, ...gzip }],
    ] as const) {
      const answer = await post(body, { headers });
      assert.deepEqual([answer.status, answer.body["accepted"]], [202, 2], answer.text);
    }
  });

  it("with something wrong is 207: the others are stored, and each problem is told in its place", async () => {
    const answer = await post({
      events: [
        person("good-1"),
        itemOf(schemaId, { email: 5 }),
        itemOf("nobody", {}),
        itemOf(schemaId, { email: "x@example.com" }, { timestamp: "yesterday" }),
        7,
        itemOf(schemaId, { email: "y@example.com" }, { extra: 1 } as object),
        person("good-2"),
        { ...person("good-3"), idempotency_key: 5 },
      ],
    });
    assert.equal(answer.status, 207);
    assert.deepEqual([answer.body["accepted"], answer.body["rejected"]], [2, 6]);
    assert.deepEqual(wordsOf(answer), [
      "accepted",
      "rejected validation_failed",
      "rejected unknown_schema",
      "rejected validation_failed",
      "rejected validation_failed",
      "rejected validation_failed",
      "accepted",
      "rejected validation_failed",
    ]);
    assert.deepEqual(
      resultsOf(answer).map(({ errors }) => errors?.[0]?.path),
      [undefined, "email", "schema_id", "timestamp", "", "extra", undefined, "idempotency_key"],
    );
    await untilEventsOf("good-1@example.com", 1);
    await untilEventsOf("good-2@example.com", 1);
  });

  it("may have 1,000 events, and neither none nor one more", async () => {
    const events = Array.from({ length: 1_001 }, (_, n) => person(`many-${n}`));
    assert.deepEqual((await post({ events: events.slice(1) })).body["accepted"], 1_000);
    for (const [body, headers] of [
      [{ events }, {}],
      [{ events: [] }, {}],
      [linesOf(events), NDJSON],
      ["\n \n", NDJSON],
    ] as const) {
      const answer = await post(body, { headers });
      assert.equal(answer.status, 422);
      assert.deepEqual(answer.body["errors"], [{ path: "events", message: "must have 1 to 1000 items" }]);
    }
  });

  it("with atomic=true and something wrong is 422 with all results, and nothing of it is stored", async () => {
    const before = (await workspace.send("GET", "/v1/namespaces")).text;
    const own = await workspace.schema({
      type: "object",
      required: ["id"],
      properties: { id: { type: "string", "x-identity": { namespace: "atomic_id" } } },
    });
    const events = [person("atomic"), itemOf(own, { id: "a-1" }), itemOf(own, {}), person("atomic")];
    const refused = await post({ events }, { query: "?atomic=true" });
    assert.equal(refused.status, 422, refused.text);
    assert.deepEqual(wordsOf(refused), ["withheld", "withheld", "rejected validation_failed", "withheld"]);
    assert.deepEqual(refused.body["errors"], [{ path: "events.2", message: "is rejected" }]);
    assert.equal((await workspace.send("GET", "/v1/namespaces")).text, before);
    const accepted = await post({ events: events.toSpliced(2, 1) }, { query: "?atomic=true" });
    assert.deepEqual([accepted.status, wordsOf(accepted)], [202, ["accepted", "accepted", "accepted"]]);
    // Those of the refused one would be folded before these.
    await untilEventsOf("atomic@example.com", 2);
  });

  it("with syncValidation=true is only checked: pass or fail for each, and nothing is stored", async () => {
    const events = [person("checked"), itemOf(schemaId, { email: 5, age: -1 }), 7];
    const answer = await post({ events }, { query: "?syncValidation=true" });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(wordsOf(answer), ["pass", "fail", "fail"]);
    assert.deepEqual(
      resultsOf(answer).map(({ errors }) => errors!.map(({ path }) => path).toSorted()),
      [[], ["age", "email"], [""]],
    );
    const keyed = [
      { ...person("checked"), idempotency_key: "k-1" },
      { ...person("checked"), idempotency_key: 7 },
      { ...person("checked"), other: 7 },
    ];
    const checked = resultsOf(await post({ events: keyed }, { query: "?syncValidation=true" }));
    assert.deepEqual(
      checked.map(({ errors }) => errors!.map(({ path }) => path)),
      [[], ["idempotency_key"], ["other"]],
    );
    assert.equal(await eventsOf("checked@example.com"), 0);
    const many = await post({ events: Array.from({ length: 61 }, () => events[0]) }, { query: "?syncValidation=true" });
    assert.deepEqual([many.status, many.body["code"]], [422, "validation_failed"]);
  });

  it("with syncValidation=true is 400 where its JSON is malformed, as without; of lines only that line fails", async () => {
    const good = JSON.stringify(person("checked"));
    for (const bad of ["{bad}", '{"a":1,"a":2}', '{"schema_id":tru}', '{"a":"\\q"}']) {
      const answers = [];
      for (const query of ["", "?syncValidation=true"])
        answers.push(await post(`{"events":[${good},${bad}]}`, { query }));
      for (const { status, body } of answers) assert.deepEqual([status, body["code"]], [400, "invalid_json"], bad);
      const lines = await post(`${good}\n${bad}\n`, { query: "?syncValidation=true", headers: NDJSON });
      assert.deepEqual([lines.status, wordsOf(lines)], [200, ["pass", "fail"]], bad);
    }
  });

  it("takes the role editor or a sending key, as collect does, and is kept apart from other workspaces", async () => {
    const events = [person("roles")];
    for (const [caller, status] of [
      ["viewer", 403],
      ["editor", 202],
      ["collect", 202],
      ["all", 202],
    ] as const)
      assert.equal((await post({ events }, { key: await workspace.key(caller) })).status, status, caller);
    const other = await app().workspace();
    const foreign = await postBatch(app(), other, { events });
    assert.deepEqual([foreign.status, wordsOf(foreign)], [207, ["rejected unknown_schema"]]);
  });

  it("counts each of its events for a key with per_minute", async () => {
    const made = await workspace.send("POST", "/v1/keys", { role: "editor", send: "collect", per_minute: 5 });
    const key = String(made.body["key"]);
    const events = Array.from({ length: 5 }, (_, n) => person(`rate-${n}`));
    assert.equal((await post({ events: events.slice(0, 4) }, { key })).status, 202);
    assert.equal((await post({ events }, { key })).status, 202, "while anything is left");
    const refused = await post({ events }, { key });
    assert.deepEqual([refused.status, refused.headers["retry-after"] !== undefined], [429, true]);
  });

  it("is counted event by event in the statistics of the workspace", async () => {
    const own = await app().workspace();
    const id = await own.schema();
    await postBatch(app(), own, { events: [itemOf(id, { email: "s@example.com" }), itemOf(id, {}), itemOf("no", {})] });
    const stats = await until(
      () => own.send("GET", "/v1/stats"),
      ({ text }) => text.includes("unknown_schema"),
    );
    assert.match(stats.text, /validation_failed/);
  });

  it("that is atomic counts each of its events that is refused, and not the batch as well", async () => {
    const own = await app().workspace();
    const id = await own.schema();
    const events = [itemOf(id, { email: "s@example.com" }), itemOf(id, {})];
    assert.equal((await postBatch(app(), own, { events }, { query: "?atomic=true" })).status, 422);
    const { body } = await own.send("GET", "/v1/stats");
    assert.deepEqual([body["rejected"], listAt(body, "senders").map((one) => at(one, "schema_id"))], [1, [id]]);
  });
});
