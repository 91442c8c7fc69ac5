import assert from "node:assert/strict";
import type { KeyId, WorkspaceId } from "../../../core/ids.js";
import { soon } from "../../support/eventually.js";
import { now, SIGNUP_SCHEMA, useApp, type TestWorkspace } from "../../support/service/app.js";

interface Told {
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
}

describe("GET /v1/live", () => {
  const app = useApp({ KEY_CACHE_MS: "0" });

  /** Listens until it is closed. */
  async function watch(workspace: TestWorkspace, key?: string) {
    const abort = new AbortController();
    const response = await fetch(`${app().url}/v1/live?follow=true`, {
      headers: { Authorization: `Bearer ${key ?? (await workspace.key("viewer"))}` },
      signal: abort.signal,
    });
    const told: Told[] = [];
    const state = { isOver: false };
    const read = async (): Promise<void> => {
      let text = "";
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        const whole = text.split("\n\n");
        text = whole.pop()!;
        for (const one of whole) {
          const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(one) ?? [];
          if (name !== undefined) told.push({ name, data: JSON.parse(data!) as Told["data"] });
        }
      }
      state.isOver = true;
    };
    const reading = read().catch(() => {
      state.isOver = true;
    });
    const close = async (): Promise<void> => {
      abort.abort();
      await reading;
    };
    const verdicts = (): readonly unknown[] =>
      told.map(({ name, data }) => (name === "event" ? data["verdict"] : name));
    return { response, told, verdicts, state, close };
  }

  it("shows what is accepted and what is refused, with the reasons, and nothing of another workspace", async () => {
    const [workspace, other] = [await app().workspace(), await app().workspace()];
    const [schemaId, othersSchema] = [await workspace.schema(), await other.schema()];
    const live = await watch(workspace);
    assert.equal(live.response.headers.get("content-type"), "text/event-stream; charset=utf-8");
    await other.collect(othersSchema, { email: "other@example.com" });
    const { body } = await workspace.collect(schemaId, { email: "ada@example.com" });
    await workspace.collect(schemaId, { email: 7 });
    await workspace.collect("unknown-schema", {});
    await app().send("POST", "/v1/collect", { key: await workspace.key("collect"), body: "{" });
    const events = [{ schema_id: schemaId, timestamp: now(), payload: {} }];
    await workspace.send("POST", "/v1/collect/batch", { events });
    await soon(() => assert.equal(live.told.length, 5));
    await live.close();
    const all = live.told.map(({ data }) => data);
    assert.deepEqual(
      all.map(({ verdict, code, schema_id, event_id }) => [verdict, code, schema_id, event_id]),
      [
        ["accepted", null, schemaId, body["event_id"]],
        ["refused", "validation_failed", schemaId, null],
        ["refused", "unknown_schema", "unknown-schema", null],
        ["refused", "invalid_json", null, null],
        ["refused", "validation_failed", schemaId, null],
      ],
    );
    assert.equal(all[0]!["payload"], '{"email":"ada@example.com"}');
    assert.deepEqual(
      (all[1]!["errors"] as { path: string }[]).map(({ path }) => path),
      ["email"],
    );
    assert.equal(all[3]!["payload"], "{");
  });

  it("shows refused calls of identify and alias, as they were sent, and no dry run", async () => {
    const workspace = await app().workspace();
    await workspace.send("PUT", "/v1/namespaces/user_id", { limit: 1 });
    const live = await watch(workspace);
    const [ada, bob] = ["ada", "bob"].map((value) => ({ namespace: "user_id", value }));
    const identify = { identifiers: [{ namespace: "email", value: "" }] };
    const alias = { anonymous: ada, known: bob };
    assert.equal((await workspace.send("POST", "/v1/alias?dry_run=true", alias)).status, 409);
    assert.equal((await workspace.send("POST", "/v1/identify", identify)).status, 422);
    assert.equal((await workspace.send("POST", "/v1/alias", alias)).status, 409);
    await soon(() => assert.equal(live.told.length, 2));
    await live.close();
    assert.deepEqual(
      live.told.map(({ data }) => [data["verdict"], data["code"], data["schema_id"], data["payload"]]),
      [
        ["refused", "validation_failed", null, JSON.stringify(identify)],
        ["refused", "merge_refused", null, JSON.stringify(alias)],
      ],
    );
    assert.equal((live.told[0]!.data["errors"] as { path: string }[])[0]?.path, "identifiers.0.value");
  });

  it("shows what a batch accepted", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema();
    const live = await watch(workspace);
    const events = ["a", "b"].map((name) => ({
      schema_id: schemaId,
      timestamp: now(),
      payload: { email: `${name}@x.example` },
    }));
    await workspace.send("POST", "/v1/collect/batch", { events });
    await soon(() => assert.deepEqual(live.verdicts(), ["accepted", "accepted"]));
    await live.close();
  });

  it("shows what the tracking plan marks and quarantines", async () => {
    const workspace = await app().workspace();
    const live = await watch(workspace);
    const key = await workspace.key("collect");
    const track = () =>
      app().send("POST", "/v1/track", {
        headers: { Authorization: `Basic ${Buffer.from(`${key}:`).toString("base64")}` },
        body: { type: "track", event: "Nobody planned this", userId: "u-1", properties: {} },
      });
    for (const [unplanned, verdict] of [
      ["mark", "marked"],
      ["quarantine", "quarantined"],
    ] as const) {
      const set = await workspace.send("PUT", "/v1/sdk/settings", { unplanned });
      assert.equal(set.status, 200, set.text);
      assert.equal((await track()).status, 200);
      await soon(() => assert.equal(live.told.at(-1)?.data["verdict"], verdict));
      assert.notDeepEqual(live.told.at(-1)?.data["errors"], []);
    }
    await live.close();
  });

  it("begins with the last ones, which are kept while somebody watches, and ends there without follow", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema();
    await workspace.collect(schemaId, { email: "before@example.com" });
    const first = await watch(workspace);
    for (let i = 0; i < 3; i += 1) await workspace.collect(schemaId, { email: `n${i}@example.com` });
    await soon(() => assert.equal(first.told.length, 3));
    await first.close();
    const { status, text } = await workspace.send("GET", "/v1/live");
    assert.equal(status, 200);
    assert.equal(text.match(/^event: event$/gm)?.length, 3);
    assert.ok(!text.includes("before@"));
  });

  it("shows some of many, and says how many more there were", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema();
    const live = await watch(workspace);
    const events = Array.from({ length: 500 }, (_, n) => ({
      schema_id: schemaId,
      timestamp: now(),
      payload: { email: `n${n}@example.com` },
    }));
    await workspace.send("POST", "/v1/collect/batch", { events });
    const skipped = (): number =>
      live.told.filter(({ name }) => name === "skipped").reduce((sum, { data }) => sum + Number(data["events"]), 0);
    const shown = (): number => live.told.filter(({ name }) => name === "event").length;
    await soon(() => assert.equal(shown() + skipped(), 500));
    assert.ok(shown() >= 15 && shown() <= 200, String(shown()));
    await live.close();
  });

  it("begins with no more than half a megabyte of large events, also where texts grow as JSON", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema(SIGNUP_SCHEMA);
    const live = await watch(workspace);
    const payload = { email: "ada@example.com", note: `"`.repeat(4_000) };
    for (let round = 0; round < 15; round += 1) {
      await Promise.all(Array.from({ length: 15 }, () => workspace.collect(schemaId, payload)));
      await soon(() => assert.ok(live.told.length >= (round + 1) * 12));
    }
    const { text } = await workspace.send("GET", "/v1/live");
    assert.ok(text.length > 400_000 && text.length < 600_000, `${text.length} characters`);
    await live.close();
  });

  it("cuts a long payload at 4 KiB, and says how long it was", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema();
    const live = await watch(workspace);
    const payload = { email: "ada@example.com", note: "ä".repeat(10_000) };
    await workspace.collect(schemaId, payload);
    await soon(() => assert.equal(live.told.length, 1));
    const { payload: shown, payload_bytes: bytes } = live.told[0]!.data;
    assert.equal(bytes, Buffer.byteLength(JSON.stringify(payload)));
    assert.ok(Buffer.byteLength(String(shown)) <= 4_096 && String(shown).endsWith("ä"));
    await live.close();
  });

  it("forgets everything when somebody is erased", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema();
    const live = await watch(workspace);
    const sent = await workspace.collect(schemaId, { email: "gone@example.com" });
    await workspace.settled(sent.body["event_id"]);
    await soon(() => assert.deepEqual(live.verdicts(), ["accepted"]));
    const identifiers = [{ namespace: "email", value: "gone@example.com" }];
    assert.equal((await workspace.send("POST", "/v1/erasures", { identifiers })).status, 202);
    await soon(() => assert.equal(live.verdicts()[1], "forget"));
    assert.ok(!(await workspace.send("GET", "/v1/live")).text.includes("gone@"));
    await live.close();
  });

  it("forgets everything when an old erasure is repeated, also where nobody tells it", async () => {
    const workspace = await app().workspace();
    const { graph } = app().service.backends;
    const eraseUntold = (value: string) =>
      graph.erase(workspace.id as WorkspaceId, {
        target: { identifiers: [{ namespace: "email", value }] },
        keyId: "k" as KeyId,
        now: Date.now,
        suppress: false,
        revision: null,
      });
    await eraseUntold("gone@example.com");
    for (let n = 0; n < 10; n += 1) await eraseUntold(`other-${n}@example.com`);
    // It names him to those who read it, and nobody to the graph.
    const schemaId = await workspace.schema({ type: "object" }, null);
    const live = await watch(workspace);
    await workspace.collect(schemaId, { note: "gone@example.com" });
    await soon(() => assert.deepEqual(live.verdicts(), ["accepted"]));
    assert.equal((await eraseUntold("gone@example.com")).kind, "repeated");
    await soon(() => assert.deepEqual(live.verdicts(), ["accepted", "forget"]));
    assert.ok(!(await workspace.send("GET", "/v1/live")).text.includes("gone@"));
    await live.close();
  });

  it("ends when its key is revoked", async () => {
    const workspace = await app().workspace();
    const { body } = await workspace.send("POST", "/v1/keys", { role: "viewer" });
    const live = await watch(workspace, String(body["key"]));
    assert.equal(live.state.isOver, false);
    await workspace.send("DELETE", `/v1/keys/${String(body["key_id"])}`);
    await soon(() => assert.equal(live.state.isOver, true));
  });

  it("ends when its key expires", async () => {
    const workspace = await app().workspace();
    const expires_at = new Date(Date.now() + 1_500).toISOString();
    const { body } = await workspace.send("POST", "/v1/keys", { role: "viewer", expires_at });
    const live = await watch(workspace, String(body["key"]));
    assert.equal(live.response.status, 200);
    await soon(() => assert.ok(live.state.isOver));
  });

  it("takes twenty watchers of a workspace, and refuses the next", async () => {
    const workspace = await app().workspace();
    const all = await Promise.all(Array.from({ length: 20 }, () => watch(workspace)));
    assert.ok(all.every(({ response }) => response.status === 200));
    assert.equal((await workspace.send("GET", "/v1/live?follow=true")).status, 429);
    await Promise.all(all.map((one) => one.close()));
    await soon(async () => assert.equal((await workspace.send("GET", "/v1/live")).status, 200));
  });

  it("answers HEAD with the head alone, at once, and gives its place back", async () => {
    const workspace = await app().workspace();
    const key = await workspace.key("viewer");
    for (let n = 0; n < 21; n += 1) {
      const { status, headers, text } = await app().send("HEAD", "/v1/live?follow=true", { key });
      assert.deepEqual(
        [status, headers["content-type"], text],
        [200, "text/event-stream; charset=utf-8", ""],
        `HEAD ${n}`,
      );
    }
    assert.equal((await workspace.send("GET", "/v1/live")).status, 200);
  });

  it("is empty where nothing came in", async () => {
    const workspace = await app().workspace();
    await workspace.schema(SIGNUP_SCHEMA, null);
    assert.equal((await workspace.send("GET", "/v1/live")).text.replaceAll(":\n\n", ""), "");
  });
});
