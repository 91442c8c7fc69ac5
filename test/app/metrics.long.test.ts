import assert from "node:assert/strict";
import { AppError } from "../../core/errors.js";
import { eventually } from "../support/eventually.js";
import { at, startApp, textAt, useApp, type Answer, type App } from "../support/service/app.js";

const read = (app: App, key: string | null = null): Promise<Answer> => app.send("GET", "/metrics", { key });

/** Of one series; 0 where there is none. */
const valueOf = (text: string, series: string): number =>
  Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length + 1) ?? 0,
  );

describe("GET /metrics", () => {
  const METRICS_KEY = "a-key-that-reads-the-metrics";
  const running = useApp({});

  it("is open on loopback, and says what part answers", async () => {
    const up = /^onym_dependency_up\{part="queue"\} 1$/m;
    // It subscribes right after its start.
    await eventually("the queue is up", async () => up.test((await read(running())).text));
    const { status, text } = await read(running());
    assert.equal(status, 200);
    assert.match(text, /^onym_build_info\{version="\d+\.\d+\.\d+",node="v\d+.*"\} 1$/m);
  });

  it("counts an answer by its route's path, and everything that is no route as one", async () => {
    const app = running();
    await app.send("GET", "/healthz");
    for (const path of ["/nothing", "/v1/nowhere", "/v1/collect"]) await app.send("GET", path);
    const { text } = await read(app);
    assert.match(text, /^onym_http_requests_total\{route="\/healthz",method="GET",status="200"\} 1$/m);
    assert.match(text, /^onym_http_requests_total\{route="other",method="other",status="404"\} 2$/m);
    assert.doesNotMatch(text, /nowhere/);
  });

  it("needs the key where one is set, and no other key will do", async () => {
    const app = await startApp({ METRICS_KEY });
    try {
      assert.equal((await read(app)).status, 401);
      assert.equal((await read(app, await (await app.workspace()).key("owner"))).status, 401);
      assert.equal((await read(app, METRICS_KEY)).status, 200);
    } finally {
      await app.close();
    }
  });

  it("does not exist without a key where others than this machine can ask", async () => {
    for (const settings of [{ HOST: "0.0.0.0" }, { TRUST_PROXY: "1" }]) {
      const app = await startApp(settings);
      try {
        assert.equal((await read(app)).status, 404);
      } finally {
        await app.close();
      }
    }
  });

  it("follows an event from its acceptance into its profile", async () => {
    const app = await startApp();
    try {
      const workspace = await app.workspace();
      const schemaId = await workspace.schema();
      const sent = await workspace.collect(schemaId, { email: "ada@example.com", cookie: "c-1" });
      assert.equal(sent.status, 202);
      await workspace.settled(textAt(sent.body, "event_id"));
      assert.equal((await workspace.collect(schemaId, { email: 7 })).status, 422);
      assert.equal((await app.send("POST", "/v1/collect", { key: "onym_wrong", body: {} })).status, 401);
      await workspace.inline(schemaId, { email: 7 });
      const { text } = await read(app);
      const values = {
        accepted: valueOf(text, 'onym_events_accepted_total{source="collect"}'),
        invalid: valueOf(text, 'onym_events_rejected_total{code="validation_failed"}'),
        strangers: valueOf(text, 'onym_events_rejected_total{code="unauthenticated"}'),
        folded: valueOf(text, "onym_event_fold_delay_seconds_count"),
        created: valueOf(text, 'onym_identity_changes_total{outcome="created"}'),
        waited: valueOf(text, "onym_identity_queue_wait_seconds_count"),
        waiting: valueOf(text, "onym_queue_messages"),
        refused: valueOf(text, 'onym_http_requests_total{route="/v1/collect",method="POST",status="422"}'),
      };
      assert.deepEqual(values, {
        accepted: 1,
        invalid: 1,
        strangers: 1,
        folded: 1,
        created: 1,
        waited: 1,
        waiting: 0,
        refused: 1,
      });
      assert.match(text, /^onym_store_commit_seconds_count\{store="(?:sqlite|rabbitmq)"\} [1-9]/m);
    } finally {
      await app.close();
    }
  });

  it("counts what SDKs send: accepted, repeated and in quarantine", async () => {
    const app = await startApp();
    try {
      const workspace = await app.workspace();
      const made = await workspace.send("POST", "/v1/keys", { role: "editor", send: "collect" });
      const basic = Buffer.from(`${textAt(made.body, "key")}:`).toString("base64");
      const track = { type: "track", event: "Tried", userId: "u-1", messageId: "m-1" };
      const body = { batch: [track, track, { type: "no such type", messageId: "m-2" }] };
      const sent = await app.send("POST", "/v1/batch", { headers: { Authorization: `Basic ${basic}` }, body });
      assert.equal(sent.status, 200);
      const { text } = await read(app);
      const values = {
        accepted: valueOf(text, 'onym_events_accepted_total{source="sdk"}'),
        quarantined: valueOf(text, 'onym_events_quarantined_total{reason="quarantined"}'),
        repeated: valueOf(text, "onym_sdk_duplicates_total"),
      };
      assert.deepEqual(values, { accepted: 1, quarantined: 1, repeated: 1 });
      const { body: stats } = await workspace.as("viewer", "GET", "/v1/stats");
      assert.deepEqual([at(stats, "accepted"), at(stats, "quarantined")], [1, 1]);
    } finally {
      await app.close();
    }
  });

  it("counts calls that have the messageId of another one: only the first of them is stored", async () => {
    const app = await startApp();
    try {
      const workspace = await app.workspace();
      const key = textAt((await workspace.send("POST", "/v1/keys", { role: "editor", send: "collect" })).body, "key");
      const headers = { Authorization: `Basic ${Buffer.from(`${key}:`).toString("base64")}` };
      const call = (event: string) => ({ type: "track", event, userId: "u-1", messageId: "always the same" });
      const send = (...batch: readonly object[]) => app.send("POST", "/v1/batch", { headers, body: { batch } });
      for (const batch of [
        [call("A"), call("B"), call("A")],
        [call("C")],
        [{ ...call("A"), sentAt: "2026-01-31T12:00:00Z" }],
      ])
        assert.equal((await send(...batch)).status, 200);
      // It comes behind them.
      await send({ type: "track", event: "Last", userId: "u-2", messageId: "another" });
      await workspace.send("POST", "/v1/profiles/lookup?wait=5", {
        identifiers: [{ namespace: "user_id", value: "u-2" }],
      });
      await eventually("both are counted", async () => {
        const { text } = await read(app);
        return valueOf(text, "onym_sdk_mismatches_total") === 2;
      });
      assert.equal(valueOf((await read(app)).text, "onym_sdk_duplicates_total"), 2);
    } finally {
      await app.close();
    }
  });

  it("counts an undo and no dry run, and a dead letter by its reason", async () => {
    const app = await startApp();
    try {
      const workspace = await app.workspace();
      const [from, to] = [
        { namespace: "email", value: "ada@example.com" },
        { namespace: "cookie_id", value: "c-1" },
      ];
      const linked = await workspace.send("POST", "/v1/identify", { identifiers: [from, to] });
      assert.equal(linked.status, 200);
      for (const dry of ["?dry_run=true", ""])
        assert.equal((await workspace.send("POST", `/v1/identity/unlink${dry}`, { from, to })).status, 200);
      await app.service.backends.queue.publish(Buffer.from("not of ours"));
      await eventually("the dead letter is counted", async () => {
        const { text } = await read(app);
        return valueOf(text, 'onym_dead_letters_total{reason="not_an_onym_message"}') === 1;
      });
      assert.equal(valueOf((await read(app)).text, 'onym_identity_changes_total{outcome="unlinked"}'), 1);
    } finally {
      await app.close();
    }
  });

  it("tells how old the oldest message is while the worker cannot finish it", async () => {
    const app = await startApp({}, { wrap: (backends) => ({ ...backends, events: { ...backends.events, insert } }) });
    const workspace = await app.workspace();
    try {
      const schemaId = await workspace.schema();
      await workspace.collect(schemaId, { email: "ada@example.com" });
      await eventually("a message waits", async () => {
        const { text } = await read(app);
        return valueOf(text, "onym_queue_messages") === 1 && valueOf(text, "onym_queue_oldest_seconds") > 0;
      });
    } finally {
      await app.close();
    }
  });
});

const insert = async (): Promise<never> => {
  throw new AppError("unavailable", "away");
};
