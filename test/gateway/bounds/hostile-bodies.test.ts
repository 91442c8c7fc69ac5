import assert from "node:assert/strict";
import type { WorkspaceId } from "../../../core/ids.js";
import { eventually } from "../../support/eventually.js";
import { errorPaths, now, textAt, useApp, type Answer, type TestWorkspace } from "../../support/service/app.js";
import { assertWithin, timeOf } from "../../support/house/yardstick.js";

const KIB = 1_024;
const PAYLOAD_MAX = 256 * KIB;

const assertCode = ({ status, body }: Answer, expected: number, code: string, what: string): void =>
  assert.deepEqual([status, body["code"]], [expected, code], `${what.slice(0, 80)}: ${JSON.stringify(body)}`);
const payload = (size: number) => `{"a":"${"x".repeat(size - 8)}"}`;
const deep = (depth: number) => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;

describe("Hostile bodies", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let schemaId: string;
  before(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema({ type: "object" }, null);
  });
  const bodyWith = (payload: string): string =>
    `{"schema_id":"${schemaId}","timestamp":"${now()}","payload":${payload}}`;
  const post = (body: string | Buffer, target = "/v1/collect") => workspace.send("POST", target, body);
  const collect = (payload: string) => post(bodyWith(payload));
  const assertKept = async (payload: string): Promise<void> => {
    const accepted = await collect(payload);
    assert.equal(accepted.status, 202, payload.slice(0, 80));
    const { text } = await workspace.settled(accepted.body["event_id"], "stored");
    assert.ok(text.includes(`"payload":${payload}`), payload.slice(0, 80));
  };

  it("that are malformed JSON are 400, on every route that reads one", async () => {
    const texts = [
      "",
      " ",
      "{",
      '{"a":}',
      "{'a':1}",
      '{"a":1,}',
      "nul",
      "NaN",
      '{"a":01}',
      '{"a":+1}',
      '{"a":.5}',
      '"\t"',
      '{"a":1} x',
      "[1,]",
      "tru",
      '{"a":1}{"a":1}',
      "\u00a0{}",
      '{"a":"\\x"}',
      "undefined",
    ];
    for (const target of ["/v1/collect", "/v1/identify", "/v1/schemas"])
      for (const text of texts) assertCode(await post(text, target), 400, "invalid_json", `${target} ${text}`);
  });

  it("that are empty or too deep are told so, with the limit", async () => {
    const detailOf = async (body: string, target?: string) => (await post(body, target)).body["detail"];
    for (const target of ["/v1/collect", "/v1/identify"]) {
      assert.equal(await detailOf("", target), "The body is empty.");
      assert.equal(await detailOf("{", target), "The body is not valid JSON.");
    }
    const [atCollect, atIdentify] = [await collect(deep(65)), await post(deep(65), "/v1/identify")];
    for (const { body } of [atCollect, atIdentify])
      assert.match(JSON.stringify(body["errors"]), /is nested more than 64 levels deep/);
  });

  it("that are not an object are 422, on every route that reads one", async () => {
    for (const target of [
      "/v1/collect",
      "/v1/identify",
      "/v1/alias",
      "/v1/datasets",
      "/v1/keys",
      "/v1/profiles/lookup",
    ])
      for (const text of ["[]", "null", "7", '"x"', "true"])
        assertCode(await post(text, target), 422, "validation_failed", `${target} ${text}`);
  });

  it("of invalid UTF-8 are 400", async () => {
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf5, 0x80, 0x80, 0x80]]) {
      const [head, tail] = bodyWith('{"a":"|"}').split("|") as [string, string];
      const body = Buffer.concat([Buffer.from(head), Buffer.from(bytes), Buffer.from(tail)]);
      assertCode(await post(body), 400, "invalid_json", bytes.join());
    }
  });

  it("with a byte order mark, or in utf-16, are 400", async () => {
    assertCode(await post(`\ufeff${bodyWith("{}")}`), 400, "invalid_json", "utf-8");
    assertCode(await post(Buffer.from(bodyWith("{}"), "utf16le")), 400, "invalid_json", "utf-16");
  });

  it("with a key twice are 400 and name it, at any depth and however it is spelled", async () => {
    for (const payload of [
      '{"a":1,"a":1}',
      '{"x":[{"a":1,"\\u0061":2}]}',
      '{"":1,"":2}',
      '{"__proto__":1,"__proto__":2}',
    ])
      assertCode(await collect(payload), 400, "invalid_json", payload);
    const twice = `{"schema_id":"x","schema_id":"${schemaId}","timestamp":"${now()}","payload":{}}`;
    const answer = await post(twice);
    assertCode(answer, 400, "invalid_json", twice);
    assert.match(textAt(answer.body, "detail"), /^schema_id: /);
  });

  it("with a payload over 256 KiB are 422 payload_too_large, and one of exactly that size is kept", async () => {
    assert.equal(payload(PAYLOAD_MAX).length, PAYLOAD_MAX);
    await assertKept(payload(PAYLOAD_MAX));
    assertCode(await collect(payload(PAYLOAD_MAX + 1)), 422, "payload_too_large", "one more");
    const tooLarge = await collect(payload(4 * PAYLOAD_MAX));
    assertCode(tooLarge, 422, "payload_too_large", "four times");
    assert.deepEqual(errorPaths(tooLarge), ["payload"]);
    assert.deepEqual(errorPaths(await collect(payload(PAYLOAD_MAX + 1))), ["payload"]);
  });

  it("count the payload in bytes as sent, white space and escapes included", async () => {
    const spaces = `{"a":1${" ".repeat(PAYLOAD_MAX)}}`;
    assertCode(await collect(spaces), 422, "payload_too_large", "spaces");
    const escapes = `{"a":"${"\\u0061".repeat(PAYLOAD_MAX / 6)}"}`;
    assertCode(await collect(escapes), 422, "payload_too_large", "escapes");
    const wide = `{"a":"${"é".repeat(PAYLOAD_MAX / 2)}"}`;
    assertCode(await collect(wide), 422, "payload_too_large", "characters of two bytes");
  });

  it("may have 4 KiB beside their payload, and no more", async () => {
    const payload = `{"a":"${"x".repeat(PAYLOAD_MAX - 8)}"}`;
    assert.equal((await post(bodyWith(payload) + " ".repeat(3_800))).status, 202);
    assertCode(await post(bodyWith(payload) + " ".repeat(4_200)), 422, "payload_too_large", "white space around");
  });

  it("of other routes may have 1 MiB; more is 422 payload_too_large", async () => {
    const identify = '{"identifiers":[{"namespace":"user_id","value":"u"}]}';
    assert.equal((await post(identify + " ".repeat(1_000 * KIB), "/v1/identify")).status, 200);
    assertCode(await post(identify + " ".repeat(KIB * KIB), "/v1/identify"), 422, "payload_too_large", "identify");
  });

  it("with a payload deeper than 64 are 422, and 64 deep is kept", async () => {
    await assertKept(deep(64));
    assertCode(await collect(deep(65)), 422, "payload_too_large", "65");
    assertCode(await collect(deep(100_000)), 422, "payload_too_large", "100,000");
    assertCode(await post("[".repeat(200_000)), 422, "payload_too_large", "unclosed");
  });

  it("nested deeper than their route takes are 422, on every route that reads one", async () => {
    for (const target of ["/v1/identify", "/v1/alias", "/v1/profiles/lookup", "/v1/datasets", "/v1/keys"])
      assertCode(await post(deep(65), target), 422, "payload_too_large", target);
    assertCode(await post(deep(100_000), "/v1/schemas"), 422, "payload_too_large", "schemas");
  });

  it("with a number that a double cannot hold are 422 at its path; never rounded in silence", async () => {
    for (const number of ["12345678901234567890", "1e400", "-1e400", "9007199254740993"]) {
      const answer = await collect(`{"a":{"b":[1,${number}]}}`);
      assertCode(answer, 422, "validation_failed", number);
      assert.deepEqual(errorPaths(answer), ["a.b.1"]);
    }
    for (const number of ["9007199254740992", "1e300", "-0", "1.10", "5e-324", "1E5", "0.12345678901234567890"])
      await assertKept(`{"a":${number}}`);
  });

  it("with half of a surrogate pair are 422, in a value and in a key", async () => {
    for (const payload of ['{"a":"\\ud800"}', '{"a":"\\udc00\\ud800"}', '{"a":{"\\ud83d":1}}', '{"a":"x\\ud83dx"}']) {
      const answer = await collect(payload);
      assertCode(answer, 422, "validation_failed", payload);
      assert.match(errorPaths(answer)[0]!, /^a/);
    }
    await assertKept('{"a":"\\ud83d\\ude00","\\ud83d\\ude00":1}');
  });

  it("with NUL in a key are 422, and with NUL in a value are kept", async () => {
    assertCode(await collect('{"a":{"x\\u0000":1}}'), 422, "validation_failed", "key");
    assertCode(await collect('{"a":"\u0000"}'), 400, "invalid_json", "a raw NUL");
    await assertKept('{"a":"\\u0000","b":"x\\u0000y"}');
  });

  it("with keys that objects inherit or that databases give a meaning keep them as data", async () => {
    await assertKept('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
    await assertKept('{"_bsontype":"ObjectID","toBSON":1,"toJSON":"x","$where":"1","$set":{"a":1},"a.b":1,"":{"":1}}');
    await assertKept('{"hasOwnProperty":1,"valueOf":null,"length":-1,"then":"x"}');
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  });

  it("with prototypes as field names are unknown fields, never settings", async () => {
    const body = `{"__proto__":{"schema_id":"${schemaId}","timestamp":"${now()}","payload":{}}}`;
    assert.deepEqual(errorPaths(await post(body)), ["__proto__", "payload", "schema_id", "timestamp"]);
    const dataset = await post(
      `{"name":"d","schema_id":"${schemaId}","__proto__":{"unified_profile":true}}`,
      "/v1/datasets",
    );
    assert.deepEqual(errorPaths(dataset), ["__proto__"]);
    const key = await post('{"__proto__":{"role":"owner"}}', "/v1/keys");
    assert.deepEqual(errorPaths(key), ["__proto__", "role"]);
  });

  it("with a thousand problems get an answer of 100, and one that says that there are more", async () => {
    const fields = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`field-${i}`, 1]));
    const body = JSON.stringify(fields);
    for (const target of ["/v1/collect", "/v1/identify", "/v1/keys"]) {
      const answer = await post(body.slice(0, -1) + "}", target);
      assert.equal(answer.status, 422);
      assert.equal(errorPaths(answer).length, 101, target);
      assert.equal(errorPaths(answer)[0], "");
    }
  });

  it("with a long name of a field are told its beginning, and what is kept of them has no more", async () => {
    await workspace.send("PUT", "/v1/sdk/settings", { keep_rejects: true });
    const name = "n".repeat(250_000);
    const item = `{"schema_id":"${schemaId}","timestamp":"${now()}","payload":{},"${name}":1}`;
    const beginning = name.slice(0, 128);
    const alone = await post(item);
    assert.deepEqual([alone.status, errorPaths(alone)], [422, [beginning]]);
    assert.equal(textAt(alone.body, "detail"), `${beginning}: is not a known field`);
    const inBatch = await post(`{"events":[${item}]}`, "/v1/collect/batch");
    assert.deepEqual(textAt(inBatch.body, "results.0.errors.0.path"), beginning);
    const page = { limit: 10, before: null, eventId: null, reason: null };
    const kept = () => app().service.backends.events.deadLetters(workspace.id as WorkspaceId, page);
    await eventually("both are kept", async () => (await kept()).length === 2);
    for (const { message } of await kept()) assert.ok(message.length < item.length + 2_048, `${message.length} bytes`);
  });

  it("do not stop the loop: an ordinary request beside them is answered at once", async () => {
    const wide = `{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":${i}`).join()}}`;
    const attacks = Array.from({ length: 20 }, () => collect(wide));
    const tookMs = await timeOf(() => app().send("GET", "/healthz"));
    await assertWithin(1_000, () => tookMs);
    for (const { status } of await Promise.all(attacks)) assert.ok(status === 202 || status === 422);
  });
});
