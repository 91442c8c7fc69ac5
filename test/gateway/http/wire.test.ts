import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { now, OPERATOR_KEY, useApp, type TestWorkspace } from "../../support/service/app.js";
import { bodyOf, exchange, headerOf, openRaw, statusOf, type Raw } from "../../support/service/raw.js";

const MIB = 1_048_576;

const head = (lines: readonly string[], first = "POST /v1/collect HTTP/1.1"): string =>
  `${[first, "Host: localhost", ...lines].join("\r\n")}\r\n\r\n`;
const assertProblem = (answer: string, status: number, code: string): void => {
  assert.equal(statusOf(answer), status, answer);
  assert.equal(headerOf(answer, "Content-Type"), "application/problem+json; charset=utf-8");
  const body = bodyOf(answer);
  assert.deepEqual([body["status"], body["code"]], [status, code], answer);
  assert.equal(headerOf(answer, "X-Content-Type-Options"), "nosniff");
};

describe("A request head that comes too slowly", () => {
  const app = useApp({ HEADERS_TIMEOUT_MS: "200", BODY_TIMEOUT_MS: "60000" });

  it("is refused by HEADERS_TIMEOUT_MS, however long the whole request may take", async () => {
    const raw = await openRaw(app().url);
    raw.write("POST /v1/collect HTTP/1.1\r\nHost: a\r\n");
    assertProblem(await raw.ended(), 408, "request_timeout");
    raw.close();
  });
});

describe("A request that comes too slowly", () => {
  const app = useApp({ HEADERS_TIMEOUT_MS: "200", BODY_TIMEOUT_MS: "400" });

  it("answers 408 to a head and to a body that come too slowly, and lets go of a client that never closes its side", async () => {
    const key = await (await app().workspace()).key("editor");
    const lines = [`Authorization: Bearer ${key}`, "Content-Type: application/json", "Content-Length: 100000"];
    const slowHead = await openRaw(app().url);
    slowHead.write("POST /v1/collect HTTP/1.1\r\nHost: a\r\n");
    const slowBody = await openRaw(app().url);
    slowBody.write(`${head(lines)}{"schema_id`);
    const both = [slowHead, slowBody];
    const trickle = setInterval(() => both.forEach((raw) => raw.write("x")), 50);
    try {
      for (const raw of both) assertProblem(await raw.ended(), 408, "request_timeout");
      for (let i = 0; i < 50 && !both.every((raw) => raw.isClosed()); i++) await sleep(50);
      assert.deepEqual(
        both.map((raw) => raw.isClosed()),
        [true, true],
      );
    } finally {
      clearInterval(trickle);
      both.forEach((raw) => raw.close());
    }
  });
});

/** What no HTTP client would send, or would send so slowly or in such an order. */
describe("The HTTP server on the wire", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let schemaId: string;
  let key: string;
  before(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema();
    key = await workspace.key("editor");
  });
  const authorized = () => [`Authorization: Bearer ${key}`, "Content-Type: application/json"];
  const event = () => JSON.stringify({ schema_id: schemaId, timestamp: now(), payload: { email: "wire@example.com" } });
  const get = (lines: readonly string[]) =>
    exchange(app().url, `${["GET /v1/namespaces HTTP/1.1", "Connection: close", ...lines].join("\r\n")}\r\n\r\n`);

  it("answers 400 for two Host headers, for none, and for two Authorization headers", async () => {
    assertProblem(await get(["Host: a", "Host: b"]), 400, "bad_request");
    assertProblem(await get([]), 400, "bad_request");
    const twice = [`Authorization: Bearer ${key}`, `authorization: Bearer ${key}`];
    assertProblem(await get(["Host: a", ...twice]), 400, "bad_request");
  });

  it("answers 400 for a repeated Content-Type or Idempotency-Key", async () => {
    for (const line of ["Content-Type: application/json", "Idempotency-Key: a"]) {
      const lines = [`Authorization: Bearer ${key}`, line, line, "Content-Length: 2", "Connection: close"];
      assertProblem(await exchange(app().url, `${head(lines)}{}`), 400, "bad_request");
    }
  });

  it("answers 400 for a repeated Idempotency-Key, however many headers stand between the two", async () => {
    const many = Array.from({ length: 2_500 }, () => "a:");
    const lines = ["Idempotency-Key: a", ...many, "Idempotency-Key: b", "Content-Length: 2", "Connection: close"];
    assertProblem(await exchange(app().url, `${head([...authorized(), ...lines])}{}`), 400, "bad_request");
  });

  it("answers 400 for Content-Length with Transfer-Encoding, two Content-Lengths, and bare line feeds", async () => {
    const lengthAndChunks = head([...authorized(), "Content-Length: 5", "Transfer-Encoding: chunked"]);
    const twoLengths = head([...authorized(), "Content-Length: 2", "Content-Length: 3"]);
    const lineFeeds = "GET /v1/namespaces HTTP/1.1\nHost: a\n\n";
    for (const bytes of [`${lengthAndChunks}0\r\n\r\n`, `${twoLengths}{}`, lineFeeds])
      assertProblem(await exchange(app().url, bytes), 400, "bad_request");
  });

  it("answers 400 to what is not HTTP, as a problem too", async () => {
    for (const bytes of ["hello\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"])
      assertProblem(await exchange(app().url, Buffer.from(bytes, "latin1")), 400, "bad_request");
  });

  it("answers 431 to a request head over 16 KB", async () => {
    const lines = [`Authorization: Bearer ${key}`, `X-Large: ${"x".repeat(17_000)}`];
    assertProblem(await exchange(app().url, head(lines, "GET /v1/namespaces HTTP/1.1")), 431, "headers_too_large");
  });

  it("tells a client that asks first by Expect: 100-continue to go on only after its head was accepted", async () => {
    const bytes = event();
    const lines = [...authorized(), `Content-Length: ${bytes.length}`, "Expect: 100-continue", "Connection: close"];
    const good = await openRaw(app().url);
    good.write(head(lines));
    assert.match(await good.waitFor("100 Continue"), /^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    good.write(bytes);
    assert.match(await good.ended(), /HTTP\/1\.1 202 Accepted/);
    good.close();

    const refused = [...lines.slice(1), "Authorization: Bearer onym_x"];
    const answer = await exchange(app().url, head(refused));
    assertProblem(answer, 401, "unauthenticated");
    assert.ok(!answer.includes("100 Continue"));
    assert.equal(headerOf(answer, "Connection"), "close");
  });

  it("answers 417 to any other expectation", async () => {
    const lines = [...authorized(), "Content-Length: 2", "Expect: magic", "Connection: close"];
    assertProblem(await exchange(app().url, `${head(lines)}{}`), 417, "expectation_failed");
  });

  it("answers 422 payload_too_large when only Content-Length says so, before the body is there", async () => {
    const answer = await exchange(
      app().url,
      head([...authorized(), `Content-Length: ${10 * MIB}`, "Expect: 100-continue"]),
    );
    assertProblem(answer, 422, "payload_too_large");
    assert.equal(headerOf(answer, "Connection"), "close");
  });

  it("lets a client that is sending 10 MB read its refusal, which says Connection: close", async () => {
    const cases: readonly (readonly [readonly string[], number, string])[] = [
      [["Content-Type: application/json"], 401, "unauthenticated"],
      [authorized(), 422, "payload_too_large"],
      [[`Authorization: Bearer ${key}`, "Content-Type: text/plain"], 415, "unsupported_media_type"],
    ];
    for (const [lines, status, code] of cases) {
      const raw = await openRaw(app().url, { readsLate: true });
      raw.write(
        Buffer.concat([Buffer.from(head([...lines, `Content-Length: ${10 * MIB}`])), Buffer.alloc(10 * MIB, 0x20)]),
      );
      const answer = await raw.ended();
      raw.close();
      assertProblem(answer, status, code);
      assert.equal(headerOf(answer, "Connection"), "close");
    }
  });

  it("stops at the limit when a chunked body never says how long it is", async () => {
    const raw = await openRaw(app().url);
    raw.write(head([...authorized(), "Transfer-Encoding: chunked"]));
    const chunk = Buffer.alloc(65_536, 0x20);
    for (let i = 0; i < 6; i++) raw.write(Buffer.concat([Buffer.from("10000\r\n"), chunk, Buffer.from("\r\n")]));
    raw.write("0\r\n\r\n");
    const answer = await raw.ended();
    raw.close();
    assertProblem(answer, 422, "payload_too_large");
  });

  it("takes a body that comes in pieces and in chunks", async () => {
    const bytes = event();
    const raw = await openRaw(app().url);
    raw.write(head([...authorized(), `Content-Length: ${bytes.length}`, "Connection: close"]));
    for (const character of bytes.slice(0, 40)) raw.write(character);
    await sleep(5);
    raw.write(bytes.slice(40));
    assert.equal(statusOf(await raw.ended()), 202);
    const chunked = [...authorized(), "Transfer-Encoding: chunked", "Connection: close"];
    const answer = await exchange(app().url, `${head(chunked)}${bytes.length.toString(16)}\r\n${bytes}\r\n0\r\n\r\n`);
    assert.equal(statusOf(answer), 202);
  });

  it("goes on when a client leaves in the middle of its body", async () => {
    const leave = async (): Promise<void> => {
      const raw: Raw = await openRaw(app().url);
      raw.write(`${head([...authorized(), "Content-Length: 1000"])}{"a`);
      await sleep(5);
      raw.close();
    };
    await Promise.all(Array.from({ length: 20 }, leave));
    assert.equal((await workspace.send("GET", "/v1/namespaces")).status, 200);
    assert.ok(app().records.every((record) => !record.includes('"level":"error"') && !record.includes("internal")));
  });

  it("never takes the body of a refused request for a request of its own", async () => {
    const hidden = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    const last = head(["Connection: close"], "GET /v1/nowhere HTTP/1.1");
    const plain = `${head(["Content-Type: application/json", `Content-Length: ${hidden.length}`])}${hidden}${last}`;
    const chunk = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`;
    const chunked = `${head(["Content-Type: text/plain", "Transfer-Encoding: chunked"])}${chunk}${last}`;
    for (const bytes of [plain, chunked]) {
      const answer = await exchange(app().url, bytes);
      assert.equal(statusOf(answer), 401);
      assert.ok(!answer.includes('"status":"ok"'), answer);
    }
  });

  it("answers requests that follow each other on one connection, each its own", async () => {
    const bytes = event();
    const one = head([...authorized(), `Content-Length: ${bytes.length}`]) + bytes;
    const operator = [`Authorization: Bearer ${OPERATOR_KEY}`, "Connection: close"];
    const answer = await exchange(app().url, one + one + head(operator, "GET /v1/workspaces?limit=1 HTTP/1.1"));
    assert.deepEqual(
      [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1]),
      ["202", "202", "200"],
    );
  });
});
