import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../../core/errors.js";
import {
  startApp,
  textAt,
  until,
  useApp,
  type Answer,
  type App,
  type TestWorkspace,
} from "../../support/service/app.js";
import { bodyOf, headerOf, openRaw, statusOf, type Raw } from "../../support/service/raw.js";
import { basic, sendSdk, track } from "../../support/sdk/client.js";

const SHOP = "https://shop.example";
const filled = (bytes: number): string => "x".repeat(bytes);

/** SDKs wait after 429, and hardly any of them after 503. */
function assertWait(answer: Answer): void {
  assert.deepEqual([answer.status, answer.body["code"]], [429, "rate_limited"], answer.text);
  assert.ok(Number(answer.headers["retry-after"]) > 0, "how long to wait");
  assert.equal(answer.body["message"], answer.body["detail"]);
}

describe("Bodies of SDKs whose key is not in the head", () => {
  const app = useApp({ HEADERS_TIMEOUT_MS: "1000", BODY_TIMEOUT_MS: "3000" });

  /** A body that has begun and does not end. */
  const begin = async (path: string, bytes: number) => {
    const raw = await openRaw(app().url);
    raw.write(
      `POST ${path} HTTP/1.1\r\nHost: a\r\nOrigin: https://shop.example\r\nContent-Length: 500000\r\n\r\n{"t":"${filled(bytes)}`,
    );
    return raw;
  };

  it("are bounded for an address while they are under way; a key in the head helps, and so does waiting", async () => {
    const key = await (await app().workspace()).key("collect");
    const body = { writeKey: key, batch: [track()], t: filled(300_000) };
    assert.equal((await sendSdk(app(), "/v1/b", { body })).status, 200);
    const open = await Promise.all([begin("/v1/b", 480_000), begin("/v1/import/", 480_000)]);
    // A body of another request that came before the second of them would take its room.
    await sleep(300);
    let refused = await sendSdk(app(), "/v1/b", { body });
    // What was written may not have been read yet.
    for (let tries = 0; refused.status === 200 && tries < 50; tries += 1)
      refused = await sendSdk(app(), "/v1/b", { body });
    assertWait(refused);
    assert.equal((await sendSdk(app(), "/v1/b", { key, body })).status, 200);
    const answers = await Promise.all(open.map((raw) => raw.ended()));
    assert.deepEqual(answers.map(statusOf), [408, 408], "half a body and then nothing");
    for (const answer of answers) {
      assert.equal(headerOf(answer, "access-control-allow-origin"), "*", "a page reads it");
      assert.deepEqual(
        [bodyOf(answer)["code"], bodyOf(answer)["message"]],
        ["request_timeout", bodyOf(answer)["detail"]],
      );
    }
    for (const raw of open) raw.close();
    const later = await until(
      () => sendSdk(app(), "/v1/b", { body }),
      ({ status }) => status === 200,
    );
    assert.equal(later.status, 200);
  });
});

describe("Bodies of SDKs whose key is not in the head, from many addresses", () => {
  const app = useApp({ TRUST_PROXY: "1", BODY_TIMEOUT_MS: "60000" });
  /** Two of an address; together more than the process holds of them. */
  const BODIES = 36;
  const BYTES = 480_000;

  it("are bounded for the process: the next one is told to wait until some of them are over", async () => {
    const key = await (await app().workspace()).key("collect");
    const open: Raw[] = [];
    const begin = async (): Promise<void> => {
      const raw = await openRaw(app().url);
      open.push(raw);
      const head = `POST /v1/b HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.${(open.length - 1) >> 1}\r\nContent-Length: 500000\r\n\r\n`;
      raw.write(`${head}{"t":"${filled(BYTES)}`);
    };
    await Promise.all(Array.from({ length: BODIES }, begin));
    const headers = { "X-Forwarded-For": "198.51.100.1" };
    const send = (sending: object = {}): Promise<Answer> =>
      sendSdk(app(), "/v1/b", { body: { writeKey: key, batch: [track()], t: filled(300_000) }, headers, ...sending });
    // Where some are refused in one turn of the event loop, they leave more room than one of them takes.
    const sendBeforeAnother = async (): Promise<Answer> => {
      const answer = await send();
      if (answer.status === 200 && open.length < 2 * BODIES) await begin();
      return answer;
    };
    const refused = await until(sendBeforeAnother, ({ status }) => status === 429);
    assertWait(refused);
    assert.equal((await send({ key })).status, 200, "a key in the head helps");
    for (const raw of open) raw.close();
    assert.equal((await until(send, ({ status }) => status === 200)).status, 200);
  });
});

describe("An SDK is told to wait, never 503", () => {
  let isAway = false;
  let app: App;
  let workspace: TestWorkspace;
  before(async () => {
    const wrap = (backends: App["service"]["backends"]) => {
      const { queue } = backends;
      const publishAll: typeof queue.publishAll = (messages) =>
        isAway ? Promise.reject(new AppError("unavailable", "The queue is away.")) : queue.publishAll(messages);
      return { ...backends, queue: { ...queue, publishAll } };
    };
    app = await startApp({ DRAIN_MS: "500", QUARANTINE_PER_MINUTE: "1" }, { wrap });
    workspace = await app.workspace();
  });
  after(() => app.close());
  const makeKey = async (body: object): Promise<string> =>
    textAt((await workspace.send("POST", "/v1/keys", { role: "editor", send: "collect", ...body })).body, "key");

  it("while the queue is away; what it sends again is one event", async () => {
    const key = await makeKey({});
    const body = { batch: [track()] };
    isAway = true;
    const failed = await sendSdk(app, "/v1/batch", { key, body });
    isAway = false;
    assertWait(failed);
    const record = app.records.find((line) => line.includes(textAt(failed.body, "request_id"))) ?? "";
    assert.match(record, /request failed/, "the log calls it a failure all the same");
    assert.equal((await sendSdk(app, "/v1/batch", { key, body })).body["accepted"], 1);
  });

  it("while the queue is away; what goes into quarantine takes no room of it until it is kept", async () => {
    const key = await makeKey({});
    const body = { batch: [{ type: "click", messageId: "m-1" }] };
    isAway = true;
    for (const _ of [1, 2]) assertWait(await sendSdk(app, "/v1/batch", { key, body }));
    isAway = false;
    const kept = await sendSdk(app, "/v1/batch", { key, body });
    assert.deepEqual([kept.body["quarantined"], kept.body["not_kept"]], [1, undefined], kept.text);
    const more = await sendSdk(app, "/v1/batch", { key, body });
    assert.equal(more.body["not_kept"], 1, "what is kept takes room");
  });

  it("once its key has sent all that it may in a minute; each item counts", async () => {
    const key = await makeKey({ per_minute: 3 });
    const send = (items: number) =>
      sendSdk(app, "/v1/batch", { key, body: { batch: Array.from({ length: items }, () => track()) } });
    assert.equal((await send(2)).status, 200);
    assert.equal((await send(2)).status, 200, "while anything is left");
    assertWait(await send(1));
  });

  it("and a page of another origin may read that it is refused", async () => {
    const key = await makeKey({ origins: [SHOP] });
    const from = (origin: string, sending: object) =>
      sendSdk(app, "/v1/t", { body: track(), headers: { Origin: origin }, ...sending });
    const good = await from(SHOP, { key });
    assert.deepEqual([good.status, good.headers["access-control-allow-origin"]], [200, SHOP]);
    for (const sending of [{ key }, { body: track({ writeKey: key }) }]) {
      const other = await from("https://other.example", sending);
      assert.deepEqual([other.status, other.headers["access-control-allow-origin"]], [403, "*"]);
      assert.equal(typeof other.body["message"], "string");
    }
    const none = await from(SHOP, {});
    assert.deepEqual([none.status, none.headers["access-control-allow-origin"]], [401, "*"]);
  });

  it("while the process is shutting down", async () => {
    const key = await makeKey({});
    const raw = await openRaw(app.url);
    raw.write("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n");
    await raw.waitFor('"status":"ready"');
    const closing = app.service.close();
    raw.write(`POST /v1/batch HTTP/1.1\r\nHost: a\r\nAuthorization: ${basic(key)}\r\nContent-Length: 2\r\n\r\n{}`);
    const answer = await raw.ended();
    raw.close();
    await closing;
    const last = answer.slice(answer.lastIndexOf("HTTP/1.1"));
    assert.deepEqual([statusOf(last), headerOf(last, "Connection")], [429, "close"]);
    assert.ok(Number(headerOf(last, "Retry-After")) > 0);
    assert.equal(bodyOf(last)["code"], "rate_limited");
  });
});
