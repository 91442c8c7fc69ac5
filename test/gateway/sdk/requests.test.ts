import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { showAccepted } from "../../../gateway/sdk/routes.js";
import { at, listAt, textAt, until, useApp, type Answer, type TestWorkspace } from "../../support/service/app.js";
import { bodyOf, exchange, headerOf, statusOf } from "../../support/service/raw.js";
import { basic, sendSdk, track, type SdkSending } from "../../support/sdk/client.js";

const MIB = 1_048_576;
const filled = (bytes: number): string => "x".repeat(bytes);

it("The answer to an SDK names twenty wrong items, and says how many are nowhere", () => {
  const rejected = Array.from({ length: 30 }, (_, index) => ({ index, messageId: null, errors: [] }));
  const counts = { accepted: 1, duplicates: 0, quarantined: 30, rejected };
  const shown = (notKept: number) => JSON.parse(String(showAccepted({ ...counts, notKept }).json)) as Answer["body"];
  assert.deepEqual([shown(0)["not_kept"], listAt(shown(0), "rejected").length], [undefined, 20]);
  assert.equal(shown(7)["not_kept"], 7);
});

describe("A request of an SDK", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let key: string;
  before(async () => {
    workspace = await app().workspace();
    key = await workspace.key("collect");
  });
  const batch = (items: readonly unknown[], sending: SdkSending = {}) =>
    sendSdk(app(), "/v1/batch", { key, body: { batch: items }, ...sending });

  it("is taken on every path of theirs, with a slash too many and parameters that nobody knows", async () => {
    const batches = [
      "/v1/batch",
      "/v1/b",
      "/v1/import",
      "/v1/import/",
      "//v1/batch",
      "/v1//b/?retry=1",
      "/beacon/v1/batch",
    ];
    for (const target of batches) {
      const answer = await sendSdk(app(), target, { key, body: { batch: [track()] } });
      assert.deepEqual([answer.status, answer.body["accepted"]], [200, 1], target);
    }
    const calls = ["track", "identify", "page", "group", "alias", "screen"];
    for (const call of calls)
      for (const target of [`/v1/${call}`, `/v1/${call[0]!}`, `//v1/${call}/?v=1`]) {
        const body = { userId: "u-1", previousId: "a-1", event: "e", groupId: "g" };
        const answer = await sendSdk(app(), target, { key, body });
        assert.deepEqual([answer.status, answer.body["accepted"]], [200, 1], target);
      }
  });

  it("is asked for by a browser before, on each of these paths", async () => {
    for (const path of ["//v1/t", "/v1/import/", "/v1//identify/?v=1", "/sourceConfig/?p=npm"]) {
      const headers = { Origin: "https://shop.example", "Access-Control-Request-Method": "POST" };
      const { status, headers: answered } = await app().send("OPTIONS", path, { headers });
      assert.deepEqual([status, answered["access-control-allow-origin"]], [204, "*"], path);
    }
  });

  it("tells of Segment's browser SDK itself, without a key, and nothing is read", async () => {
    for (const target of ["/v1/m", "//v1/m", "/v1/m/", "/v1//m/?v=1"]) {
      const answer = await sendSdk(app(), target, { body: { series: [{ type: "Counter" }] } });
      assert.deepEqual([answer.status, answer.body], [200, { success: true }], target);
    }
  });

  it("has every refusal with code and message, and a page may read it: 405 and 417 too, and those of /v1/m", async () => {
    const Origin = "https://shop.example";
    const stray = (method: string, target: string, headers = {}) =>
      app().send(method, target, { headers: { Origin, ...headers } });
    const answers: readonly (readonly [number, Answer])[] = [
      [405, await stray("GET", "/v1/batch")],
      [405, await stray("GET", "//v1/t/")],
      [405, await stray("PUT", "/v1/identify")],
      [405, await stray("PUT", "/v1/alias", { Authorization: basic(key) })],
      [405, await stray("POST", "/sourceConfig")],
      [405, await stray("GET", "/v1/m")],
      [406, await stray("POST", "/v1/m", { Accept: "text/html" })],
    ];
    for (const [status, { status: answered, body, headers, text }] of answers) {
      assert.deepEqual([answered, body["message"]], [status, body["detail"]], text);
      assert.equal(headers["access-control-allow-origin"], "*", text);
    }
    const ours = await app().send("PUT", "/v1/identify", { key: await workspace.key("owner") });
    assert.deepEqual([ours.status, ours.body["message"]], [405, undefined], "a bearer key means our own route");
    for (const target of ["/v1/batch", "/v1/m"]) {
      const head = [`POST ${target} HTTP/1.1`, "Host: a", `Origin: ${Origin}`, "Expect: magic", "Content-Length: 2"];
      const answer = await exchange(app().url, `${head.join("\r\n")}\r\nConnection: close\r\n\r\n{}`);
      assert.deepEqual([statusOf(answer), bodyOf(answer)["message"]], [417, bodyOf(answer)["detail"]], answer);
      assert.equal(headerOf(answer, "access-control-allow-origin"), "*");
    }
  });

  it("leaves our own paths as strict as they were", async () => {
    for (const target of ["/v1/collect/", "//v1/collect", "/v1//schemas", "/v1/nothing/"])
      assert.equal(
        (await app().send("POST", target, { key: await workspace.key("owner"), body: {} })).status,
        404,
        target,
      );
    assert.equal((await app().send("GET", "/v1/batch", { headers: { Authorization: basic(key) } })).status, 405);
  });

  it("may be of any media type, and gzipped with or without a header that says so", async () => {
    for (const type of [
      "application/json",
      "application/json;charset=UTF-8",
      "text/plain",
      "application/x-www-form-urlencoded",
    ])
      for (const gzip of [false, true])
        assert.equal((await batch([track()], { headers: { "Content-Type": type }, gzip })).status, 200, type);
    const body = gzipSync(JSON.stringify({ writeKey: key, batch: [track()] }));
    assert.equal((await sendSdk(app(), "/v1/b", { body })).status, 200);
  });

  it("may be as large as RudderStack's SDK for Python makes it: 4 MiB, and the call that exceeds them", async () => {
    const calls = Array.from({ length: 100 }, () => track({ properties: { t: filled(43_500) } }));
    const body = JSON.stringify({ batch: calls });
    assert.ok(body.length > 4 * MIB && body.length < 4.3 * MIB);
    for (const gzip of [false, true]) {
      const answer = await sendSdk(app(), "/v1/batch", { key, body, gzip });
      assert.deepEqual([answer.status, answer.body["quarantined"]], [200, 0], answer.text);
    }
  });

  const refused: readonly (readonly [string, SdkSending, number, RegExp])[] = [
    ["a gzip that is none", { body: "{}", headers: { "Content-Encoding": "gzip" } }, 400, /not valid gzip/],
    ["half a gzip", { body: gzipSync("{}").subarray(0, 15) }, 400, /not valid gzip/],
    ["another encoding", { body: "{}", headers: { "Content-Encoding": "br" } }, 415, /gzip or identity/],
    ["no body", { body: "" }, 400, /not a JSON object/],
    ["brackets that do not fit", { body: '{"batch":[{"a":1]}' }, 400, /not a JSON object/],
    ["no JSON beside its items", { body: '{"batch":[],"foo":NaN}' }, 400, /is not valid JSON/],
    ["no batch", { body: {} }, 400, /batch: is required/],
    ["a batch that is no array", { body: { batch: "x" } }, 400, /batch: must be an array/],
    ["2,501 items", { body: { batch: Array(2_501).fill(track()) } }, 413, /at most 2500 items/],
    ["a body that is too large", { body: { batch: [], t: filled(5 * MIB) } }, 413, /at most 5242880 bytes/],
    [
      "a body that is too large once inflated",
      { body: { batch: [], t: filled(5 * MIB) }, gzip: true },
      413,
      /at most 5242880 bytes/,
    ],
    [
      "10,000 members around its items, behind which nobody looks",
      { body: `{"batch":[],${Array.from({ length: 10_000 }, (_, n) => `"k${n}":0`).join()},"last"}` },
      413,
      /body must have less than 10000 members/,
    ],
    [
      "an object around its items that is too large",
      { body: `{"batch":[],"context":[${"{},".repeat(22_000)}tru]}` },
      413,
      /context: must have at most 65536 bytes/,
    ],
    ["a gzip bomb", { body: Buffer.alloc(64 * MIB), gzip: true }, 413, /at most 5242880 bytes/],
  ];
  for (const [name, sending, status, message] of refused)
    it(`is refused as a whole, with code and message: ${name}`, async () => {
      const answer = await sendSdk(app(), "/v1/batch", { key, ...sending });
      assert.equal(answer.status, status, answer.text);
      assert.match(textAt(answer.body, "message"), message);
      assert.equal(answer.body["message"], answer.body["detail"]);
      assert.ok(textAt(answer.body, "code").length > 0);
      assert.equal(answer.headers["content-type"], "application/problem+json; charset=utf-8");
    });

  it("may have 512 KiB if its key is only in the body, also inflated", async () => {
    const small = { writeKey: key, batch: [track()], t: filled(400_000) };
    const large = { writeKey: key, batch: [track()], t: filled(600_000) };
    for (const gzip of [false, true]) {
      assert.equal((await sendSdk(app(), "/v1/b", { body: small, gzip })).status, 200);
      assert.equal((await sendSdk(app(), "/v1/b", { body: large, gzip })).status, 413);
      assert.equal((await sendSdk(app(), "/v1/b", { key, body: large, gzip })).status, 200);
    }
  });

  it("keeps what is right in it: each wrong item is named, and stands in quarantine", async () => {
    const wrong = [
      5,
      { type: "click", messageId: "m-click" },
      track({ userId: {} }),
      track({ timestamp: new Date(Date.now() + 365 * 86_400_000), channel: "server" }),
      track({ properties: { t: filled(257 * 1_024) }, messageId: "m-large" }),
    ];
    const answer = await batch([...wrong, track({ messageId: filled(10_000) }), { type: "page", userId: "u-1" }]);
    const { success, accepted, duplicates, quarantined } = answer.body;
    assert.deepEqual([answer.status, success, accepted, duplicates, quarantined], [200, true, 2, 0, 5]);
    const rejected = listAt(answer.body, "rejected").map((one) => [
      textAt(one, "index"),
      textAt(one, "message_id"),
      textAt(one, "errors.0.path"),
    ]);
    assert.deepEqual(
      rejected.map(([index, , path]) => [index, path]),
      [
        ["0", ""],
        ["1", "type"],
        ["2", "userId"],
        ["3", "timestamp"],
        ["4", ""],
      ],
    );
    assert.deepEqual([rejected[1]?.[1], rejected[4]?.[1]], ["m-click", "m-large"]);
    assert.ok(!answer.text.includes("onym_"));
  });

  it("keeps what is right in it: of a call that is no JSON, such as one with NaN, a trace is kept", async () => {
    const wrong = ['{"type":"track","messageId":"m-nan","userId":"u-1","properties":{"total":NaN}}', '{"a":1,}'];
    const answer = await sendSdk(app(), "/v1/batch", {
      key,
      body: `{"batch":[${JSON.stringify(track())},${wrong.join()}]}`,
    });
    const { accepted, quarantined } = answer.body;
    assert.deepEqual([answer.status, accepted, quarantined], [200, 1, 2], answer.text);
    const errors = [{ path: "", message: "is not valid JSON" }];
    assert.deepEqual(listAt(answer.body, "rejected"), [
      { index: 1, message_id: "m-nan", errors },
      { index: 2, message_id: null, errors },
    ]);
  });

  it("keeps what is right in it: also if what is no JSON stands where its key or its time is looked for", async () => {
    const right = JSON.stringify(track());
    for (const first of ['{"writeKey":NaN,"type":"track"}', '{"writeKey":"\\q","type":"track"}']) {
      const answer = await sendSdk(app(), "/v1/batch", { key, body: `{"batch":[${first},${right}]}` });
      assert.deepEqual([answer.body["accepted"], answer.body["quarantined"]], [1, 1], answer.text);
    }
    for (const member of ["sentAt", "writeKey", "properties"]) {
      const body = `{"userId":"u-1","event":"e","${member}":NaN}`;
      const answer = await sendSdk(app(), "/v1/track", { key, body });
      assert.deepEqual([answer.status, answer.body["quarantined"]], [200, 1], answer.text);
    }
  });

  it("of a call that is too large and has very many members is read only so far that a trace of it is kept", async () => {
    const many = Array.from({ length: 10_000 }, (_, n) => `"k${n}":0`).join();
    const item = `{"type":"track","messageId":"m-1","t":"${filled(257 * 1_024)}",${many},"last"}`;
    for (const [target, body] of [
      ["/v1/track", item],
      ["/v1/batch", `{"batch":[${item}]}`],
    ] as const) {
      const answer = await sendSdk(app(), target, { key, body });
      assert.equal(answer.status, 200, answer.text);
      const [one] = listAt(answer.body, "rejected");
      assert.deepEqual(
        [textAt(one, "message_id"), textAt(one, "errors.0.message")],
        ["m-1", "must have at most 262144 bytes"],
      );
    }
  });

  it("that is too large leaves its type in quarantine, also where only the path says it", async () => {
    const own = await app().workspace();
    const body = { userId: "u-1", messageId: 55, event: "e", properties: { t: filled(270 * 1_024) } };
    const answer = await sendSdk(app(), "/v1/track", { key: await own.key("collect"), body });
    assert.deepEqual([answer.body["quarantined"], textAt(answer.body, "rejected.0.message_id")], [1, "55"]);
    const listed = await until(
      () => own.send("GET", "/v1/dead-letters"),
      (letters) => listAt(letters.body, "dead_letters").length > 0,
    );
    assert.equal(textAt(listed.body, "dead_letters.0.schema_id"), "sdk.track");
    const target = `/v1/dead-letters/${textAt(listed.body, "dead_letters.0.dead_letter_id")}`;
    const { type, messageId } = at((await own.send("GET", target)).body, "payload") as Readonly<
      Record<string, unknown>
    >;
    assert.deepEqual([type, messageId], ["track", "55"]);
  });

  it("names the first twenty wrong items and counts all", async () => {
    const answer = await batch(
      Array.from({ length: 30 }, (_, index) => ({ type: "click", messageId: `m-${index}-${filled(300)}` })),
    );
    assert.deepEqual([answer.body["quarantined"], listAt(answer.body, "rejected").length], [30, 20]);
    assert.equal(textAt(answer.body, "rejected.0.message_id").length, 255);
  });

  it("is answered alike however it ends: 200 has members, a refusal has code and message", async () => {
    const answers: readonly Answer[] = [
      await batch([]),
      await batch([track()]),
      await sendSdk(app(), "/v1/p", { key, body: { userId: "u" } }),
    ];
    for (const { status, body } of answers) assert.deepEqual([status, body["success"]], [200, true]);
  });
});

describe("The limits of an SDK's bodies", () => {
  const app = useApp({ SDK_BODY_BYTES_MAX: "524288", PAYLOAD_BYTES_MAX: "4096", DEPTH_MAX: "4" });

  it("are settings", async () => {
    const key = await (await app().workspace()).key("collect");
    const send = (body: unknown) => sendSdk(app(), "/v1/batch", { key, body });
    assert.equal((await send({ batch: [], t: filled(524_288) })).status, 413);
    const answer = await send({
      batch: [
        track({ t: filled(4_096) }),
        track({ a: { b: { c: { d: { e: 1 } } } } }),
        track({ a: { b: { c: { d: 1 } } } }),
      ],
    });
    const paths = listAt(answer.body, "rejected").map((one) => textAt(one, "errors.0.path"));
    assert.deepEqual(paths, ["", "a.b.c.d"]);
  });
});
