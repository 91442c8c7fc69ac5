import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backends } from "../../../app/backends.js";
import { AppError } from "../../../core/errors.js";
import { startApp, submission, textAt, type App, type TestWorkspace } from "../../support/service/app.js";
import { bodyOf, headerOf, openRaw, statusOf, type Raw } from "../../support/service/raw.js";
import { eventually } from "../../support/eventually.js";
import { assertWithin } from "../../support/house/yardstick.js";

/** Which parts do not answer, and how. */
interface Faults {
  queue: "well" | "away" | "broken";
  graph: "well" | "away" | "silent";
}

const CANARY = "canary4711";

const away = (): Promise<never> => Promise.reject(new AppError("unavailable", "away"));
const silent = (): Promise<never> => new Promise(() => {});

const broken = (): Promise<never> => Promise.reject(new Error(`${CANARY} of a library`));
const PUBLISH = { well: null, away, broken };

function faulty(faults: Faults): (backends: Backends) => Backends {
  const whenWell = <T>(ask: () => Promise<T>): Promise<T> =>
    faults.graph === "away" ? away() : faults.graph === "silent" ? silent() : ask();
  return ({ queue, graph, ...others }) => ({
    ...others,
    queue: { ...queue, publish: (message) => PUBLISH[faults.queue]?.() ?? queue.publish(message) },
    graph: {
      ...graph,
      read: (workspace, want) => whenWell(() => graph.read(workspace, want)),
      repeats: (workspace, sets) => whenWell(() => graph.repeats(workspace, sets)),
      update: (...asked) => whenWell(() => graph.update(...asked)),
    },
  });
}

const ask = (raw: Raw, target: string): void => raw.write(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);

describe("Requests that need a part which is away", () => {
  const faults: Faults = { queue: "well", graph: "well" };
  let app: App;
  let workspace: TestWorkspace;
  let schemaId: string;
  before(async () => {
    app = await startApp({ IDENTITY_TIMEOUT_MS: "100", DRAIN_MS: "500" }, { wrap: faulty(faults) });
    workspace = await app.workspace();
    schemaId = await workspace.schema();
  });
  after(() => app.close());
  const identify = () =>
    workspace.send("POST", "/v1/identify", { identifiers: [{ namespace: "user_id", value: `u-${Math.random()}` }] });

  it("answer 503 with Retry-After when the queue is away, and 202 again once it is back", async () => {
    const body = submission(schemaId, { email: "q@example.com" });
    const post = () => workspace.send("POST", "/v1/collect", body, { "Idempotency-Key": "q" });
    faults.queue = "away";
    const failed = await post();
    faults.queue = "well";
    assert.deepEqual([failed.status, failed.body["code"]], [503, "unavailable"]);
    assert.equal(failed.headers["retry-after"], "2");
    assert.equal(failed.headers["content-type"], "application/problem+json; charset=utf-8");
    const again = await post();
    assert.equal(again.status, 202);
    assert.equal((await workspace.settled(again.body["event_id"])).body["status"], "folded");
  });

  it("answer 500 with fixed text when something unexpected fails, and log its kind but not its text", async () => {
    faults.queue = "broken";
    const { status, body, text } = await workspace.collect(schemaId, { email: "b@example.com" });
    faults.queue = "well";
    assert.deepEqual([status, body["code"]], [500, "internal"]);
    assert.ok(!text.includes(CANARY), text);
    const record = app.records.find((line) => line.includes(textAt(body, "request_id"))) ?? "";
    assert.match(record, /"error":"Error"/);
    assert.ok(!app.records.some((line) => line.includes(CANARY)));
  });

  it("answer 503 with Retry-After when the graph is away or does not answer in time; collect goes on", async () => {
    for (const fault of ["away", "silent"] as const) {
      faults.graph = fault;
      const started = performance.now();
      const failed = await identify();
      const tookMs = performance.now() - started;
      await assertWithin(2_000, () => tookMs);
      assert.deepEqual([failed.status, failed.headers["retry-after"]], [503, "2"], fault);
      assert.equal((await workspace.collect(schemaId, { email: `${fault}@example.com` })).status, 202);
      faults.graph = "well";
    }
    // Servers that are busy may need more than the 100 ms.
    await eventually("identify is answered again", async () => (await identify()).status === 200);
  });

  it("answer 503 with Connection: close while the process is shutting down; /readyz says so and /healthz stays well", async () => {
    const connections = await Promise.all([openRaw(app.url), openRaw(app.url), openRaw(app.url), openRaw(app.url)]);
    for (const raw of connections) {
      ask(raw, "/readyz");
      await raw.waitFor('"status":"ready"');
    }
    const closing = app.service.close();
    const targets = ["/v1/namespaces", "/readyz", "/healthz"];
    targets.forEach((target, i) => ask(connections[i]!, target));
    // A client that was idle until now does not know yet, and must not be reset.
    await sleep(300);
    ask(connections[3], "/v1/namespaces");
    const answers = await Promise.all(connections.map((raw) => raw.ended()));
    connections.forEach((raw) => raw.close());
    await closing;
    const last = answers.map((answer) => answer.slice(answer.lastIndexOf("HTTP/1.1")));
    assert.deepEqual(last.map(statusOf), [503, 503, 200, 503]);
    assert.deepEqual(
      last.map((answer) => headerOf(answer, "Connection")),
      ["close", "close", "close", "close"],
    );
    assert.equal(bodyOf(last[0]!)["code"], "unavailable");
    assert.equal(bodyOf(last[1]!)["status"], "not_ready");
  });
});
