import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describeError } from "../../../core/log.js";
import { AppError } from "../../../core/errors.js";
import { at, now, OPERATOR_KEY, send, textAt, type Answer } from "../../support/service/app.js";
import { exchange } from "../../support/service/raw.js";
import { run, type Program } from "../../support/service/process.js";

const CANARY = "canary4711";
/** Names that look like those of fields, where a client uses them as keys of a map. */
const USERS = ["u_47110815", "471108"];
/** Splits a record, or hides it, where a logger writes text as it comes. */
const EVIL = `${CANARY}\n{"level":"error"}\r\u001b[2J\u2028\u2029\u0085${CANARY}`;

describe("The log", () => {
  let folder: string;
  let program: Program;
  let url: string;
  let key: string;
  let keyId: string;
  let schemaId: string;
  const answers: Answer[] = [];
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "onym-"));
    program = run({ DATA_DIR: folder, OPERATOR_KEY, LOG_LEVEL: "debug" });
    url = (await program.listening()) ?? assert.fail(program.stderr());
    const made = await send(url, "POST", "/v1/workspaces", { key: OPERATOR_KEY, body: { name: CANARY } });
    key = textAt(made.body, "key");
    keyId = key.slice("onym_".length, "onym_".length + 10);
    await provoke();
    program.signal("SIGTERM");
    await program.exited();
  });
  after(async () => {
    program.signal("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });

  /** Every input there is, with a canary in it: good ones, and those of which each is refused for another reason. */
  async function provoke(): Promise<void> {
    const ask = async (method: string, target: string, body?: unknown, headers = {}): Promise<Answer> => {
      const answer = await send(url, method, target, { key, body, headers });
      answers.push(answer);
      return answer;
    };
    const schema = {
      type: "object",
      $defs: { visits: { type: "object", required: ["count"], properties: { count: { type: "number" } } } },
      properties: {
        email: { type: "string", "x-identity": { namespace: "email" } },
        by_mail: { type: "object", additionalProperties: { type: "string" } },
        by_user: { type: "object", additionalProperties: { $ref: "#/$defs/visits" } },
      },
    };
    const made = await ask("POST", "/v1/schemas", { schema });
    schemaId = textAt(made.body, "schema_id");
    const event = { schema_id: made.body["schema_id"], timestamp: now(), payload: { email: EVIL, note: EVIL } };
    const dataset = { name: "d", schema_id: made.body["schema_id"], unified_profile: true };
    assert.equal((await ask("POST", "/v1/datasets", dataset)).status, 201);
    assert.equal((await ask("POST", "/v1/collect", event, { "Idempotency-Key": CANARY })).status, 202);
    await ask("POST", "/v1/collect", { ...event, payload: { email: CANARY.length, note: EVIL } });
    await ask("POST", "/v1/collect", { ...event, payload: { email: EVIL } }, { "Idempotency-Key": CANARY });
    await ask("POST", "/v1/collect", { ...event, schema_id: EVIL });
    await ask("POST", "/v1/collect", { ...event, timestamp: EVIL });
    await ask("POST", "/v1/collect?syncValidation=true", { ...event, schema_id: EVIL, timestamp: EVIL });
    await ask("POST", `/v1/collect?syncValidation=${CANARY}`, event);
    await ask("POST", "/v1/collect", `{"a":"${CANARY}", ${CANARY}`);
    await ask("POST", "/v1/collect", { ...event, payload: { by_mail: { "invented@example": 1 } } });
    for (const user of USERS) {
      for (const visits of [{ count: "1" }, {}])
        await ask("POST", "/v1/collect", { ...event, payload: { by_user: { [user]: visits } } });
      const unstorable = JSON.stringify({ ...event, payload: { by_user: { [user]: { count: "\ud800" } } } });
      await ask("POST", "/v1/collect", unstorable);
      await ask("POST", "/v1/identify", JSON.stringify({ [user]: "\ud800" }));
      const line = `{"type":"event","payload":{"by_user":{"${user}":{"count":1e999}}}}`;
      await ask("POST", "/v1/imports/lines", line, { "Content-Type": "application/x-ndjson" });
    }
    await ask("POST", "/v1/keys", { role: "viewer", invented: 1 });
    await ask("GET", "/v1/namespaces?invented=1");
    await ask("POST", "/v1/identify", { identifiers: [{ namespace: EVIL, value: EVIL }] });
    await ask("POST", "/v1/identify", { identifiers: [{ namespace: "user_id", value: EVIL }] });
    await ask("POST", "/v1/alias", {
      anonymous: { namespace: "cookie_id", value: EVIL },
      known: { namespace: "user_id", value: "null" },
    });
    await ask("POST", "/v1/keys", { role: CANARY });
    await ask("POST", "/v1/keys", { role: "viewer", expires_at: EVIL });
    await ask("GET", `/v1/schemas/${CANARY}%0A${CANARY}`);
    await ask("GET", `/v1/nowhere/${CANARY}?${CANARY}`);
    await ask("GET", `/v1/namespaces?cursor=${CANARY}&limit=10`);
    await ask("GET", `/v1/namespaces?limit=${CANARY}`);
    await ask("GET", "/v1/namespaces", undefined, { Accept: `text/${CANARY}` });
    await ask("POST", "/v1/identify", "{}", { "Content-Type": `text/${CANARY}` });
    await ask("POST", "/v1/identify", "{}", { "Content-Encoding": CANARY });
    await ask("POST", "/v1/collect", event, { "Idempotency-Key": CANARY.repeat(50) });
    await ask("GET", "/v1/namespaces", undefined, { Authorization: `Bearer ${CANARY}` });
    await ask("GET", "/v1/namespaces", undefined, {
      "User-Agent": CANARY,
      "X-Request-Id": CANARY,
      Cookie: CANARY,
      Referer: CANARY,
    });
    await exchange(url, `${CANARY}\r\n\r\n`);
    await exchange(url, `GET /${CANARY} HTTP/1.1\r\nHost: ${CANARY}\r\nHost: b\r\nConnection: close\r\n\r\n`);
  }
  const lines = () => program.stderr().split("\n").slice(0, -1);

  it("has one line of JSON per record, whatever the input held", () => {
    assert.ok(lines().length > 15, program.stderr());
    for (const line of lines()) {
      const record = JSON.parse(line) as Record<string, unknown>;
      assert.equal(typeof record["message"], "string");
      assert.match(line, /^[\x20-\x7e]+$/);
    }
  });

  it("names each refusal by request_id, status, code and route", () => {
    const refused = answers.filter(({ status, body }) => status >= 400 && body["request_id"] !== undefined);
    assert.ok(refused.length > 15);
    for (const { body } of refused) {
      const record = lines().find((line) => line.includes(textAt(body, "request_id")));
      assert.ok(record !== undefined, JSON.stringify(body));
      assert.deepEqual(at(JSON.parse(record), "code"), body["code"]);
    }
  });

  it("says of a refusal whose it was, the schema and the fields that failed, and of no value or invented name", () => {
    const recordsOf = (code: string, field: string) =>
      lines()
        .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
        .filter((record) => record["code"] === code && JSON.stringify(record["paths"]) === JSON.stringify([field]));
    const [payload] = recordsOf("validation_failed", "email");
    assert.deepEqual([payload?.["key_id"], payload?.["schema_id"]], [keyId, schemaId]);
    // No such schema exists, so its id is the client's own text.
    const [unknown] = recordsOf("unknown_schema", "schema_id");
    assert.deepEqual([unknown?.["key_id"], unknown?.["schema_id"]], [keyId, undefined]);
    assert.equal(recordsOf("validation_failed", "*").length, 1 + USERS.length);
    assert.equal(recordsOf("invalid_parameter", "*").length, 1);
    assert.equal(recordsOf("validation_failed", "by_mail.*").length, 1);
    assert.equal(recordsOf("validation_failed", "by_user.*.count").length, 2 * USERS.length);
    assert.equal(recordsOf("validation_failed", "*.*.*").length, USERS.length);
    assert.equal(recordsOf("validation_failed", "lines.0.*.*.*.*").length, USERS.length);
    assert.ok(!program.stderr().includes("invented"), program.stderr());
    const paths = lines().flatMap((line) => (JSON.parse(line) as { readonly paths?: readonly string[] }).paths ?? []);
    assert.deepEqual(
      paths.filter((one) => USERS.some((user) => one.includes(user))),
      [],
    );
  });

  it("holds no payload, identifier value, key, header, path or query of a client", () => {
    assert.ok(!program.stderr().includes(CANARY), program.stderr());
    assert.ok(!program.stderr().includes(key));
    assert.ok(!program.stderr().includes(OPERATOR_KEY));
    assert.ok(!program.stderr().includes("onym_"));
  });

  it("is not told to the client either: no error body repeats a value that was sent", () => {
    for (const { status, text } of answers)
      if (status >= 400) assert.ok(!text.includes(CANARY) && !text.includes(key), text);
  });

  it("describes an error by its kind, code and place, never by its text", () => {
    const cause = new SyntaxError(`${CANARY}\n    at ${CANARY} (file.js:1:1)`);
    const told = JSON.stringify(describeError(new AppError("internal", CANARY, { cause })));
    assert.ok(!told.includes(CANARY), told);
    assert.match(told, /"error":"AppError","code":"internal"/);
    assert.match(told, /"cause":\{"error":"SyntaxError"/);
    assert.match(told, /logging\.test/);
    assert.ok(!JSON.stringify(describeError(CANARY)).includes(CANARY));
  });
});
