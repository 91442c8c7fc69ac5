import assert from "node:assert/strict";
import { createAcceptEvent } from "../../commands/acceptance/accept.js";
import { createIdempotency } from "../../commands/acceptance/idempotency.js";
import { judgeItem } from "../../commands/sdk/judge-item.js";
import type { Caller, Services } from "../../commands/services.js";
import { contributeWith } from "../../app/worker.js";
import { readVocabulary } from "../../commands/search/vocabulary.js";
import { cacheCatalog } from "../../store/cached-catalog.js";
import type { SchemaVersion } from "../../core/catalog/catalog.js";
import type { AppError, ErrorItem } from "../../core/errors.js";
import type { EventRecord } from "../../core/event/event.js";
import { encodeMessage } from "../../core/event/message.js";
import { compilePlan } from "../../core/schema/plan.js";
import { newId, type KeyId, type SchemaId, type WorkspaceId } from "../../core/ids.js";
import { NO_METRICS } from "../../core/metrics.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import type { SdkItem } from "../../core/sdk/item.js";
import { at, errorPaths, listAt, now, submission, textAt, useApp, type TestWorkspace } from "../support/service/app.js";
import { aSchema } from "../support/builders.js";
import { assertWithin } from "../support/house/yardstick.js";
import { exchange } from "../support/service/raw.js";

const list = <T>(length: number, item: (at: number) => T): T[] => Array.from({ length }, (_, at) => item(at));

/** Few bytes that would make much work: one such request held the event loop for seconds, or took all memory. */
describe("A request of few bytes", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  before(async () => {
    workspace = await app().workspace();
  });

  it("with more annotated values than one event may hold is 422 at the first one too many, and inline a fail", async () => {
    const namespaces = list(390, (at) => ({ "x-identity": { namespace: `n${at}` } }));
    const items = { type: "string", allOf: namespaces };
    const schemaId = await workspace.schema({ properties: { a: { type: "array", items } } });
    const event = submission(schemaId, { a: list(80_000, () => "") });
    const refused = await workspace.send("POST", "/v1/collect", event);
    assert.equal(refused.status, 422);
    assert.deepEqual(errorPaths(refused), ["a.2"]);
    const inline = await workspace.send("POST", "/v1/collect?syncValidation=true", event);
    assert.deepEqual([inline.status, inline.body["status"]], [200, "fail"]);
    assert.equal(textAt(inline.body, "errors.0.path"), "a.2");
  });

  it("may not put a text of more than 1,024 characters into a profile, which keeps it for ever", async () => {
    const tags = { type: "array", items: { type: "string", "x-trait": { name: "tags", merge: "union" } } };
    const schemaId = await workspace.schema({ properties: { tags } });
    const send = (text: string) =>
      workspace.send("POST", "/v1/collect", submission(schemaId, { tags: ["short", text] }));
    for (const character of ["x", "\u{1f600}"]) {
      assert.equal((await send(character.repeat(1_024))).status, 202);
      const refused = await send(character.repeat(1_025));
      assert.deepEqual([refused.status, errorPaths(refused)], [422, ["tags.1"]]);
    }
  });

  it("says 422 when a number of the payload is too large to be an identifier, and takes the same digits as a string", async () => {
    const numbered = await workspace.schema({
      properties: { a: { type: ["integer", "string"], "x-identity": { namespace: "customer_id" } } },
    });
    for (const literal of ["1e20", "9007199254740992", "-9007199254740992"]) {
      const body = `{"schema_id":"${numbered}","timestamp":"${now()}","payload":{"a":${literal}}}`;
      const refused = await workspace.send("POST", "/v1/collect", body);
      assert.deepEqual([refused.status, textAt(refused.body, "errors.0.path")], [422, "a"], literal);
    }
    for (const a of [Number.MAX_SAFE_INTEGER, "100000000000000000000"]) {
      await workspace.settled((await workspace.collect(numbered, { a })).body["event_id"]);
      const identifiers = [{ namespace: "customer_id", value: String(a) }];
      const { body } = await workspace.send("POST", "/v1/profiles/lookup", { identifiers });
      assert.deepEqual(at(body, "profiles.0.identifiers.0"), identifiers[0]);
    }
  });

  it("with hundreds of thousands of problems is told the first one", async () => {
    const answer = await workspace.send("POST", "/v1/identify", { identifiers: list(300_000, () => ({})) });
    assert.equal(answer.status, 422);
    assert.equal(listAt(answer.body, "errors").length, 1);
  });

  it("with a rule of hundreds of thousands of parts is read no further than a rule can be", async () => {
    let read = 0;
    const get = (target: object, name: string | symbol): unknown => {
      read += 1;
      return Reflect.get(target, name);
    };
    const parts = new Proxy(
      list(100_000, () => ({})),
      { get },
    );
    const { catalog } = app().service.backends;
    await readVocabulary({ catalog }, workspace.id as WorkspaceId, { $or: parts });
    assert.ok(read < 5_000, `${read}`);
    const key = `traits.${"a.".repeat(500_000)}`;
    for (const rule of [{ $or: list(500_000, () => 1) }, { $or: list(300_000, () => ({})) }, { [key]: 1 }])
      for (const target of ["profiles/search", "audiences/preview"]) {
        const answer = await workspace.send("POST", `/v1/${target}`, { rule });
        assert.equal(answer.status, 422);
        assert.ok(answer.text.length < 10_000, `${answer.text.length}`);
      }
  });
});

describe("An item of an SDK with thousands of values that must not become traits", () => {
  const names = list(30, (at) => "k".repeat(126) + String(at + 10));
  const items = { type: "string", "x-trait": { name: "tags", merge: "union" } };
  const plan = names.reduceRight<object>((inner, name) => ({ type: "object", properties: { [name]: inner } }), {
    type: "array",
    maxItems: 50,
    items,
  });
  const payload = names.reduceRight<unknown>(
    (inner, name) => ({ [name]: inner }),
    list(10_000, () => ""),
  );
  const bytes = Buffer.from(JSON.stringify(payload));

  const judged = (...errors: readonly ErrorItem[]): Promise<EventRecord> => {
    const validator = { check: () => errors, checkAll: async () => errors, plan: () => compilePlan(plan) };
    const schema = aSchema();
    const services = {
      catalog: { findSchema: async () => schema, isUnified: async () => true, traits: async () => new Map() },
      validator,
      limits: {},
    } as unknown as Parameters<typeof judgeItem>[0];
    const sdk = {
      settings: { violations: "mark" },
      plan: [{ name: "Tagged", schemaId: schema.schemaId, unplanned: null, violations: null }],
    } as unknown as Parameters<typeof judgeItem>[2];
    const item = { type: "track", name: "Tagged", payload, bytes, instant: "2026-03-01T10:00:00.000000000Z" };
    const caller = { workspace: schema.workspace, keyId: "k", sender: "k", send: "collect", now: Date.now() };
    return judgeItem(services, caller as Caller, sdk, item as unknown as SdkItem, { named: [], dropped: [] });
  };
  const folded = ({ notes }: EventRecord): number => {
    const contribute = contributeWith({ plan: () => compilePlan(plan) });
    return contribute(aSchema(), payload, bytes, notes!.unfolded).length;
  };

  it("is a message of about its own size, of which no value is folded", async () => {
    for (const path of [names.join("."), names[0]!, ""]) {
      const event = await judged({ path, message: "must have at most 50 items" });
      assert.deepEqual(event.notes?.unfolded, [path]);
      assert.ok(encodeMessage(event).length < bytes.length + 20_000, `${encodeMessage(event).length}`);
      assert.equal(folded(event), 0);
    }
  });

  it("folds those that no problem is at or above, and none of a list where their places are longer than an event may carry", async () => {
    const at = (...places: readonly number[]) => places.map((n) => ({ path: [...names, n].join("."), message: "no" }));
    assert.equal(folded(await judged(...at(0, 1, 11))), 9_997);
    const many = await judged(...at(...list(100, (n) => n)));
    assert.deepEqual(many.notes?.unfolded, [names.join(".")]);
    assert.equal(folded(many), 0);
  });
});

describe("A rule with many tests of an event that is one long list", () => {
  const app = useApp();
  const names = list(49, (n) => `k${n}`);
  const where = Object.fromEntries(names.map((name) => [`a.${name}`, { $ne: 1 }]));
  const items = {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, { type: "number" }])),
  };
  const email = { type: "string", "x-identity": { namespace: "email" } };

  it("holds up nobody: neither in a search, nor where events are counted", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema({ properties: { email, a: { type: "array", items } } });
    const sent = await workspace.collect(schemaId, { email: "ann@example.com", a: list(85_000, () => ({})) });
    const profileId = textAt((await workspace.settled(sent.body["event_id"])).body, "profile_id");
    const rule = { $events: { schema_id: schemaId, where } };
    const search = async () => {
      const { body } = await workspace.send("POST", "/v1/profiles/search", { rule });
      assert.equal(textAt(body, "profiles.0.profile_id"), profileId);
    };
    await search();
    await assertWithin(TURN_MS_MAX, () => longestTurn(search), "a turn");
    const count = async () => {
      const made = await workspace.send("POST", "/v1/audiences", { name: "many tests", rule });
      assert.equal(made.status, 201, made.text);
      await app().service.keeper!.rest();
      const { body } = await workspace.send("GET", `/v1/audiences/${textAt(made.body, "audience_id")}`);
      assert.deepEqual([body["state"], body["size"]], ["live", 1]);
      assert.equal((await workspace.send("DELETE", `/v1/audiences/${textAt(made.body, "audience_id")}`)).status, 204);
      await app().service.keeper!.rest();
    };
    await assertWithin(TURN_MS_MAX, () => longestTurn(count), "a turn");
  });
});

/** Such a rule takes 200 ms for such an event. */
const TURN_MS_MAX = 50;

/** The longest that the event loop was held while the work went on, milliseconds. */
async function longestTurn(work: () => Promise<void>): Promise<number> {
  let [longest, last, isOver] = [0, performance.now(), false];
  const look = (): void => {
    const at = performance.now();
    longest = Math.max(longest, at - last);
    last = at;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  return longest;
}

describe("What follows a whole request on its connection", () => {
  const app = useApp();

  it("does not take that request's answer away when it is no HTTP", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema();
    const key = await workspace.key("editor");
    const body = JSON.stringify({ schema_id: schemaId, timestamp: now(), payload: { email: "whole@example.com" } });
    const lines = ["POST /v1/collect HTTP/1.1", "Host: a", `Authorization: Bearer ${key}`];
    const head = [...lines, "Content-Type: application/json", `Content-Length: ${body.length}`].join("\r\n");
    const answers = await exchange(app().url, `${head}\r\n\r\n${body}GARBAGE\r\n\r\n`);
    assert.deepEqual(answers.match(/HTTP\/1\.1 \d{3}/g), ["HTTP/1.1 202"]);
  });
});

describe("The cached catalog", () => {
  it("neither looks up nor remembers what cannot be a schema's id", async () => {
    const looked: string[] = [];
    const findSchema = async (_: WorkspaceId, schemaId: string): Promise<null> => {
      looked.push(schemaId);
      return null;
    };
    const catalog = cacheCatalog({ findSchema } as unknown as CatalogStore, {
      ttlMs: 1_000,
      staleMs: 0,
      isShared: false,
    });
    for (const schemaId of ["a".repeat(129), "é", "a:b", "", "a b"])
      assert.equal(await catalog.findSchema(newId(), schemaId as SchemaId, null), null);
    assert.deepEqual(looked, []);
    await catalog.findSchema(newId(), "a".repeat(128) as SchemaId, null);
    assert.equal(looked.length, 1);
  });

  it("neither looks up nor remembers what cannot be a key's id", async () => {
    const looked: string[] = [];
    const findKey = async (keyId: string): Promise<null> => {
      looked.push(keyId);
      return null;
    };
    const catalog = cacheCatalog({ findKey } as unknown as CatalogStore, { ttlMs: 1_000, staleMs: 0, isShared: false });
    for (const keyId of ["a".repeat(16_000), "a".repeat(11), "a".repeat(9), "abc-456789", ""])
      assert.equal(await catalog.findKey(keyId as KeyId), null);
    assert.deepEqual(looked, []);
    await catalog.findKey("a".repeat(10) as KeyId);
    assert.equal(looked.length, 1);
  });
});

describe("Two bodies at once under one Idempotency-Key", () => {
  it("end in one 202 and one 422, also when both were validated before either was queued", async () => {
    const schema: SchemaVersion = aSchema();
    const validations: (() => void)[] = [];
    const published: Buffer[] = [];
    const services = {
      catalog: { findSchema: async () => schema, isUnified: async () => false, namespaces: async () => [] },
      queue: {
        publish: async (message: Buffer) => void published.push(message),
        findEarlier: async () => null,
      },
      events: { find: async () => null },
      validator: {
        check: () => new Promise((resolve) => validations.push(() => resolve([]))),
        plan: () => compilePlan({}),
      },
      metrics: NO_METRICS,
      limits: { payloadBytesMax: 262_144, depthMax: 64, identifiersMax: 20, namespacesMax: 100 },
    } as unknown as Services;
    const acceptEvent = createAcceptEvent(services, createIdempotency(services));
    const caller = {
      workspace: schema.workspace,
      keyId: "k" as KeyId,
      sender: "k" as KeyId,
      send: null,
      now: Date.now(),
    };
    const collect = (payload: unknown): Promise<string> => {
      const bytes = Buffer.from(JSON.stringify(submission(schema.schemaId, payload)));
      return acceptEvent(caller, { bytes, idempotencyKey: "once" }).then(
        () => "accepted",
        (error: AppError) => error.code,
      );
    };
    const answers = [collect({ v: 1 }), collect({ v: 2 })];
    while (validations.length < 2) await new Promise((resolve) => setImmediate(resolve));
    for (const finish of validations) finish();
    assert.deepEqual(await Promise.all(answers), ["accepted", "idempotency_mismatch"]);
    assert.equal(published.length, 1);
  });
});
