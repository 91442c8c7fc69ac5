import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { now, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";
import { SEED } from "../../support/random/random.js";

const FIELDS = [
  "event_id",
  "status",
  "schema_id",
  "schema_version",
  "timestamp",
  "violations",
  "received_at",
  "payload",
  "profile_id",
  "profile_id_then",
  "dropped",
  "reason",
];

/** Numbers that doubles hold exactly as they are written, any other JSON, and names that some store gives a meaning. */
const anyJson = fc.letrec((tie) => {
  const name = fc.oneof(
    fc.constantFrom(
      "$set",
      "$where",
      "a.b",
      ".",
      "",
      "__proto__",
      "constructor",
      "toBSON",
      "_bsontype",
      "toJSON",
      "length",
    ),
    fc.string({ unit: "grapheme", maxLength: 8 }).map((text) => text.replace(/\0/g, "")),
  );
  const text = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom("\0", "a\0b", "\u2028\u2029", "\u{1f600}\u{10ffff}", "\u001b[31m", "\r\n", "</script>", "ObjectID"),
  );
  const number = fc.oneof(fc.integer(), fc.constantFrom(0, 1e300, -1e300, 5e-324, 0.1, Number.MAX_SAFE_INTEGER));
  return {
    value: fc.oneof({ maxDepth: 6 }, text, number, fc.boolean(), fc.constant(null), tie("list"), tie("object")),
    list: fc.array(tie("value"), { maxLength: 4 }),
    object: fc.array(fc.tuple(name, tie("value")), { maxLength: 5 }).map(objectOf),
  };
}).object;

/** Own properties only, `__proto__` among them. */
function objectOf(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [name, value] of entries)
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  return object;
}

describe("GET /v1/events/{id}", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let anything: string;
  before(async () => {
    workspace = await app().workspace();
    anything = await workspace.schema({ type: "object" }, null);
  });
  const collectRaw = async (payload: string) => {
    const body = `{"schema_id":"${anything}","timestamp":"${now()}","payload":${payload}}`;
    return workspace.send("POST", "/v1/collect", body);
  };

  it("shows the event with its status, schema version, times, payload, profiles and what was dropped", async () => {
    const schemaId = await workspace.schema();
    const accepted = await workspace.collect(schemaId, { email: "e@example.com" });
    const { status, body } = await workspace.settled(accepted.body["event_id"]);
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body).toSorted(), FIELDS.toSorted());
    assert.equal(body["event_id"], accepted.body["event_id"]);
    assert.equal(body["status"], "folded");
    assert.equal(body["profile_id"], body["profile_id_then"]);
    assert.match(textAt(body, "received_at"), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual([body["dropped"], body["reason"]], [[], null]);
  });

  it("shows the timestamp as it was sent", async () => {
    const timestamp = "2026-01-31T12:00:00.123456789Z";
    const accepted = await workspace.send("POST", "/v1/collect", { schema_id: anything, timestamp, payload: {} });
    assert.equal((await workspace.settled(accepted.body["event_id"], "stored")).body["timestamp"], timestamp);
  });

  it("brings back whatever JSON was answered 202, equal in meaning", async () => {
    const payloads = fc.sample(anyJson, { numRuns: 200, seed: SEED }) as readonly unknown[];
    const texts = payloads.map((payload) => JSON.stringify(payload));
    const accepted = await Promise.all(texts.map(collectRaw));
    await Promise.all(
      accepted.map(async ({ status, text, body }, i) => {
        assert.equal(status, 202, `seed ${SEED}: ${texts[i]} ${text}`);
        const event = await workspace.settled(body["event_id"], "stored");
        assert.deepEqual(event.body["payload"], JSON.parse(texts[i]!), `seed ${SEED}: ${texts[i]}`);
      }),
    );
  });

  it("brings back the payload's very bytes: order, spaces, escapes and the spelling of numbers", async () => {
    const payload = '{ "b" : 1.0,\n"a":[ 1e2 ,\t-0 ], "\\u0061b":"\\u0000\\/\\u00e9é", "__proto__":{"x":1e300} }';
    const accepted = await collectRaw(payload);
    const { text } = await workspace.settled(accepted.body["event_id"], "stored");
    assert.ok(text.includes(`"payload":${payload}`), text);
  });

  it("answers 404 until the event is stored, for an unknown id and for what is no id, with one body", async () => {
    const bodies = new Set<string>();
    for (const target of [randomUUID(), "x", "%00", "constructor"]) {
      const { status, body } = await workspace.send("GET", `/v1/events/${target}`);
      assert.equal(status, 404);
      bodies.add(JSON.stringify({ ...body, request_id: null }));
    }
    assert.equal(bodies.size, 1);
  });

  it("answers the same 404 for an event of another workspace", async () => {
    const accepted = await collectRaw("{}");
    const eventId = textAt(accepted.body, "event_id");
    await workspace.settled(eventId, "stored");
    const other = await app().workspace();
    const foreign = await other.send("GET", `/v1/events/${eventId}`);
    const unknown = await other.send("GET", `/v1/events/${randomUUID()}`);
    assert.equal(foreign.status, 404);
    assert.deepEqual({ ...foreign.body, request_id: "" }, { ...unknown.body, request_id: "" });
  });
});

describe("GET /v1/dead-letters", () => {
  const app = useApp();

  it("lists what could not be stored or folded, newest first, with its reason, and only to its workspace", async () => {
    const [mine, other] = [await app().workspace(), await app().workspace()];
    const { events } = app().service.backends;
    const ids = [randomUUID(), randomUUID(), randomUUID()].toSorted();
    for (const deadLetterId of ids)
      await events.bury({
        deadLetterId: deadLetterId as never,
        workspace: mine.id as never,
        eventId: randomUUID() as never,
        reason: "damaged",
        at: 1_770_000_000_000,
        message: Buffer.from("x"),
        killsEvent: false,
        times: 1,
        replayed: 0,
        replayedAt: null,
      });
    const first = await mine.send("GET", "/v1/dead-letters?limit=2");
    assert.equal(first.status, 200);
    const rest = await mine.send("GET", `/v1/dead-letters?limit=2&cursor=${textAt(first.body, "next_cursor")}`);
    const letters = [first, rest].flatMap(({ body }) => body["dead_letters"] as readonly Record<string, unknown>[]);
    assert.deepEqual(letters.map((letter) => String(letter["dead_letter_id"])).toSorted(), ids);
    const names = [
      "at",
      "dead_letter_id",
      "error",
      "event_id",
      "key_id",
      "outcome",
      "reason",
      "replayed",
      "replayed_at",
      "schema_id",
      "state",
      "times",
    ];
    assert.deepEqual(Object.keys(letters[0]!).toSorted(), names);
    assert.equal(rest.body["next_cursor"], null);
    assert.deepEqual((await other.send("GET", "/v1/dead-letters")).body, { dead_letters: [], next_cursor: null });
  });

  it("filters by event_id and reason; an event_id that is none is 400", async () => {
    const workspace = await app().workspace();
    const none = { dead_letters: [], next_cursor: null };
    const query = `event_id=${randomUUID()}&reason=damaged`;
    assert.deepEqual((await workspace.send("GET", `/v1/dead-letters?${query}`)).body, none);
    assert.equal((await workspace.send("GET", "/v1/dead-letters?event_id=x")).status, 400);
  });
});
