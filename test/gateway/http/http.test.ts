import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import http from "node:http";
import request from "supertest";
import { checkAnswer, ROWS } from "../../support/service/check-answer.js";
import { textAt, useApp, type Answer, type TestWorkspace } from "../../support/service/app.js";

const PROBLEM = "application/problem+json; charset=utf-8";
const NAMESPACES = "/v1/namespaces";

const assertProblem = ({ status, headers, body }: Answer, expected: number, code: string): void => {
  assert.equal(status, expected, JSON.stringify(body));
  assert.equal(headers["content-type"], PROBLEM);
  assert.equal(body["type"], `urn:onym:error:${code}`);
  assert.equal(body["status"], expected);
  assert.equal(body["code"], code);
  for (const field of ["title", "detail", "request_id"]) assert.ok(textAt(body, field).length > 0, field);
  const namesFields = expected === 422 || code === "invalid_parameter" || code === "invalid_cursor";
  assert.equal(Array.isArray(body["errors"]), namesFields);
};

describe("The HTTP surface", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  before(async () => {
    workspace = await app().workspace();
  });
  const get = (target: string, headers: http.OutgoingHttpHeaders = {}) =>
    workspace.send("GET", target, undefined, headers);
  const identify = (
    headers: http.OutgoingHttpHeaders,
    body: unknown = { identifiers: [{ namespace: "user_id", value: "u" }] },
  ) => workspace.send("POST", "/v1/identify", body, headers);

  it("lives under the path prefix /v1; only the operational pages stand outside of it", async () => {
    assert.equal((await get("/namespaces")).status, 404);
    assert.equal((await get("/v2/namespaces")).status, 404);
    for (const page of ["/healthz", "/readyz"]) assert.equal((await app().send("GET", page)).status, 200, page);
    assert.equal((await app().send("GET", "/v1/healthz")).status, 404);
  });

  it("answers JSON in UTF-8 to requests that send Content-Type: application/json", async () => {
    for (const type of ["application/json", "application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"']) {
      const { status, headers } = await identify({ "Content-Type": type });
      assert.deepEqual([status, headers["content-type"]], [200, "application/json; charset=utf-8"], type);
    }
  });

  it("works with an ordinary client", async () => {
    const key = await workspace.key("editor");
    const body = { identifiers: [{ namespace: "user_id", value: "supertest" }] };
    const answer = await request(app().url).post("/v1/identify").set("Authorization", `Bearer ${key}`).send(body);
    assert.equal(answer.status, 200);
    const { status, text, headers } = answer;
    checkAnswer("POST", "/v1/identify", { status, text, contentType: headers["content-type"] });
    assert.equal((answer.body as { readonly outcome: string }).outcome, "created");
  });

  it("answers every refusal as application/problem+json with type, title, status, detail, code and request_id", async () => {
    assertProblem(await identify({}, "{"), 400, "invalid_json");
    assertProblem(await get(`${NAMESPACES}?limit=0`), 400, "invalid_parameter");
    assertProblem(await get(`${NAMESPACES}?cursor=x`), 400, "invalid_cursor");
    assertProblem(await app().send("GET", NAMESPACES), 401, "unauthenticated");
    assertProblem(await workspace.as("viewer", "POST", "/v1/identify", {}), 403, "insufficient_scope");
    assertProblem(await get("/v1/nowhere"), 404, "not_found");
    assertProblem(await workspace.send("PUT", NAMESPACES, {}), 405, "method_not_allowed");
    assertProblem(await get(NAMESPACES, { Accept: "text/html" }), 406, "not_acceptable");
    assertProblem(await identify({ "Content-Type": "text/plain" }), 415, "unsupported_media_type");
    assertProblem(await identify({}, []), 422, "validation_failed");
    assertProblem(await workspace.collect("nowhere", {}), 422, "unknown_schema");
  });

  it("gives each refusal a request_id of its own", async () => {
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => (await get("/v1/nowhere")).body["request_id"]),
    );
    assert.equal(new Set(ids).size, 20);
  });

  it("answers 404 for unknown routes, before the key is looked at", async () => {
    const targets = [
      "/v1",
      "/v1/",
      "/v1/collect/",
      "/V1/collect",
      "/v1/Collect",
      "/v1//collect",
      "/v1/collect/x",
      "/%2e%2e",
    ];
    for (const target of targets)
      for (const method of ["GET", "POST", "OPTIONS", "DELETE"])
        assertProblem(await app().send(method, target), 404, "not_found");
    assertProblem(await app().send("POST", "/v1/nowhere", { body: "{" }), 404, "not_found");
  });

  it("answers 405 with Allow for a known path and another method, before the key is looked at", async () => {
    const cases: readonly (readonly [string, string, string])[] = [
      ["GET", "/v1/collect", "POST"],
      ["HEAD", "/v1/identify", "POST"],
      ["DELETE", "/v1/datasets", "POST, GET, HEAD"],
      ["OPTIONS", "/v1/datasets/x", "GET, HEAD, PATCH"],
      ["GET", "/v1/keys/x", "DELETE"],
      ["PATCH", "/healthz", "GET, HEAD"],
      ["PURGE", "/v1/collect", "POST"],
    ];
    for (const [method, target, allow] of cases) {
      const answer = await app().send(method, target);
      assert.deepEqual([answer.status, answer.headers.allow], [405, allow], `${method} ${target}`);
      if (method !== "HEAD") assertProblem(answer, 405, "method_not_allowed");
    }
  });

  it("answers HEAD as GET without the body", async () => {
    const [head, whole] = [await workspace.send("HEAD", NAMESPACES), await get(NAMESPACES)];
    assert.deepEqual([head.status, head.text], [200, ""]);
    assert.equal(head.headers["content-length"], whole.headers["content-length"]);
    assert.equal((await workspace.send("HEAD", "/v1/nowhere")).status, 404);
  });

  it("answers 400 for a path that cannot be decoded", async () => {
    assertProblem(await get("/v1/schemas/%ff"), 400, "bad_request");
    assertProblem(await get("/v1/schemas/%"), 400, "bad_request");
  });

  it("answers 406 when Accept has no JSON, and takes every Accept that has", async () => {
    for (const accept of ["text/html", "image/*", "application/xml, text/*;q=0.5", "application/json;q=0"])
      assertProblem(await get(NAMESPACES, { Accept: accept }), 406, "not_acceptable");
    for (const accept of ["*/*", "application/*", "text/html, application/json;q=0.1", "application/problem+json"])
      assert.equal((await get(NAMESPACES, { Accept: accept })).status, 200, accept);
  });

  it("answers 415 with Accept for a missing or other content type, utf-16 among them", async () => {
    const types = [
      "",
      "text/plain",
      "application/x-www-form-urlencoded",
      "application/json; charset=utf-16",
      "application/json, text/plain",
      "application/jsonp",
      "multipart/form-data; boundary=x",
      "application/json; charset=latin1",
    ];
    for (const type of types) {
      const answer = await identify({ "Content-Type": type });
      assertProblem(answer, 415, "unsupported_media_type");
      assert.equal(answer.headers.accept, "application/json", type);
    }
    const key = await workspace.key("owner");
    const missing = await app().send("POST", "/v1/identify", { key, headers: { "Content-Length": 0 } });
    assertProblem(missing, 415, "unsupported_media_type");
  });

  it("answers 415 with Accept-Encoding for a Content-Encoding, and takes identity", async () => {
    for (const encoding of ["gzip", "deflate", "br", "gzip, identity", "x"]) {
      const answer = await identify({ "Content-Encoding": encoding });
      assertProblem(answer, 415, "unsupported_media_type");
      assert.equal(answer.headers["accept-encoding"], "identity");
    }
    assert.equal((await identify({ "Content-Encoding": "identity" })).status, 200);
  });

  it("refuses unknown query parameters on every route, and repeated ones, with 400 and their name", async () => {
    for (const target of [
      `${NAMESPACES}?x=1`,
      "/v1/schemas/a?version=1",
      "/healthz?x=1",
      `${NAMESPACES}?limit=1&limit=2`,
    ]) {
      const answer = await get(target);
      assertProblem(answer, 400, "invalid_parameter");
      assert.match(textAt(answer.body, "detail"), /^(x|version|limit):/);
    }
    assert.equal((await get(`${NAMESPACES}?`)).status, 200);
  });

  it("refuses an If-Match with 400 on each change that does not look at one, and at no door of events", async () => {
    const conditional = new Set<string>();
    for (const row of ROWS) {
      if (row.access.kind !== "role" || row.method === "get" || row.isRead === true) continue;
      const target = row.path.replaceAll(/:\w+/g, "x");
      const answer = await workspace.send(row.method.toUpperCase(), target, {}, { "If-Match": '"x"' });
      const isRefused = answer.status === 400 && textAt(answer.body, "detail").startsWith("If-Match:");
      const isOpen = 412 in row.responses || (row.door !== undefined && row.door !== "link");
      assert.equal(isRefused, !isOpen, `${row.method} ${row.path}: ${answer.text}`);
      if (412 in row.responses) conditional.add(`${row.method} ${row.path}`);
    }
    assert.ok(conditional.has("delete /v1/audiences/:id"));
  });

  it("does not change what a call does by a header that overrides the method", async () => {
    const schemaId = await workspace.schema();
    const answer = await get(`/v1/schemas/${schemaId}`, { "X-HTTP-Method-Override": "DELETE" });
    assert.equal(answer.status, 200);
  });

  it("sets the security headers on every answer, and says nothing of what it is made of", async () => {
    const answers = [await get(NAMESPACES), await get("/v1/nowhere"), await app().send("GET", "/healthz")];
    for (const { headers } of answers) {
      assert.equal(headers["content-security-policy"], "default-src 'none'; frame-ancestors 'none'");
      assert.equal(headers["x-content-type-options"], "nosniff");
      assert.equal(headers["cache-control"], "no-store");
      for (const name of ["x-powered-by", "server", "etag", "access-control-allow-origin", "strict-transport-security"])
        assert.equal(headers[name], undefined, name);
    }
  });

  it("answers a browser at / with a page, under a content security policy that lets nothing run", async () => {
    const { status, headers, text } = await app().send("GET", "/", { headers: { Accept: "text/html" } });
    assert.deepEqual([status, headers["content-type"]], [200, "text/html; charset=utf-8"]);
    assert.match(text, /<title>Onym<\/title>/);
    const policy = "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'";
    assert.equal(headers["content-security-policy"], policy);
    assert.equal(headers["x-content-type-options"], "nosniff");
    for (const name of ["x-powered-by", "etag", "strict-transport-security"])
      assert.equal(headers[name], undefined, name);
    assert.equal((await app().send("POST", "/")).status, 404);
  });

  it("tells by /readyz that each part answers", async () => {
    const { status, body } = await app().send("GET", "/readyz");
    assert.equal(status, 200);
    assert.deepEqual(body, {
      status: "ready",
      checks: { queue: true, store: true, graph: true, worker: true },
      reasons: {},
    });
  });

  it("takes no body where none is needed, and keeps the connection good for the next request", async () => {
    const made = await workspace.send("POST", "/v1/keys", { role: "viewer" });
    const target = `/v1/keys/${textAt(made.body, "key_id")}`;
    const refused = await workspace.send("POST", `${target}/rotate`, { grace: 1 });
    assert.deepEqual([refused.status, textAt(refused.body, "errors.0.path")], [422, "grace"]);
    const plain = await workspace.send("POST", `${target}/rotate`, "not json at all", { "Content-Type": "text/plain" });
    assert.equal(plain.status, 415);
    assert.equal((await workspace.send("POST", `${target}/rotate`)).status, 201);
    const revoked = await workspace.send("DELETE", target, "not json at all", { "Content-Type": "text/plain" });
    assert.equal(revoked.status, 204);
    assert.equal((await get(NAMESPACES)).status, 200);
  });
});

describe("Requests and responses", () => {
  const app = useApp();

  it("keep the prototypes that the server gave them, so that Express has none to set", async () => {
    const started: (readonly [object, object])[] = [];
    const onStart = (message: unknown): void => {
      const { request, response } = message as Readonly<Record<"request" | "response", object>>;
      for (const one of [request, response]) started.push([one, Object.getPrototypeOf(one) as object]);
    };
    subscribe("http.server.request.start", onStart);
    try {
      const workspace = await app().workspace();
      const schemaId = await workspace.schema();
      assert.equal((await workspace.collect(schemaId, { email: "a@example.com" })).status, 202);
      assert.equal((await workspace.send("GET", "/v1/nowhere")).status, 404);
    } finally {
      unsubscribe("http.server.request.start", onStart);
    }
    assert.ok(started.length >= 10);
    for (const [message, prototype] of started) {
      assert.equal(Object.getPrototypeOf(message), prototype);
      // Grafted: a class of ours that has Express's own members.
      assert.ok(Object.hasOwn(prototype, "app"));
      assert.ok(Object.hasOwn(prototype, message instanceof http.IncomingMessage ? "accepts" : "json"));
    }
  });
});
