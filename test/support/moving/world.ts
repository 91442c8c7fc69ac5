import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { identifierKey } from "../../../core/event/event.js";
import type { KeyId, WorkspaceId } from "../../../core/ids.js";
import { createRandom } from "../random/random.js";
import { send, textAt, type Answer, type App, type TestWorkspace } from "../service/app.js";

/** A workspace, and the key that may read all of it. */
export interface Seen {
  readonly id: string;
  readonly key: string;
}

const SCHEMA = {
  type: "object",
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
    user: { type: "string", "x-identity": { namespace: "user_id" } },
    city: { type: "string", "x-trait": { name: "city" } },
    total: { type: "number", "x-trait": { name: "spent", merge: "sum" } },
  },
};

/** What a workspace can hold of most things: links of every fate, events of every status, names, settings, schemas, keys. */
export async function fillWorkspace(app: App, events: number): Promise<Seen> {
  const workspace = await app.workspace();
  const random = createRandom(events);
  const schema = await workspace.schema(SCHEMA);
  const quiet = await workspace.schema(SCHEMA, false);
  await ok(workspace.send("POST", `/v1/schemas/${schema}/versions`, { schema: { ...SCHEMA, title: "two" } }));
  await ok(workspace.send("POST", "/v1/keys", { role: "viewer", name: "a reader" }));
  await ok(workspace.send("PUT", "/v1/namespaces/loyalty_id", { kind: "person", limit: null }));
  await ok(workspace.send("PUT", "/v1/identity/settings", { shared_identifier_limit: 3 }));
  await ok(workspace.send("POST", "/v1/audiences", { name: "Parisians", rule: { "traits.city": "Paris" } }));
  const spent = { $events: { schema_id: schema, sum: "total", is: { $gte: 5 }, within: "30d" } };
  await ok(workspace.send("POST", "/v1/audiences", { name: "Spenders", rule: spent }));
  for (let n = 0; n < events; n += 1) {
    const person = random.below(12);
    const payload = {
      email: `p${person}@example.com`,
      ...(random.below(2) === 0 && { cookie: `c${random.below(8)}` }),
      ...(random.below(4) === 0 && { user: `u${person}` }),
      city: random.pick(["Paris", "Lyon", "Nice"]),
      total: random.below(1_000) / 100,
    };
    const sent = await workspace.collect(random.below(10) === 0 ? quiet : schema, payload, {
      "Idempotency-Key": `k${n}`,
    });
    assert.equal(sent.status, 202, sent.text);
  }
  await identify(workspace, { email: "p1@example.com", user_id: "u1" });
  await identify(workspace, { email: "p2@example.com", loyalty_id: "l2" });
  await identify(workspace, { email: "p3@example.com", loyalty_id: "l2" });
  const ends = { from: { namespace: "email", value: "p2@example.com" }, to: { namespace: "loyalty_id", value: "l2" } };
  await ok(workspace.send("POST", "/v1/identity/unlink", { ...ends, forbid: false }));
  const target = {
    identifiers: [
      { namespace: "email", value: "p5@example.com" },
      { namespace: "email", value: "nobody@example.com" },
    ],
  };
  const request = { target, keyId: "key0000001" as KeyId, now: Date.now, suppress: true, revision: null };
  const erased = await app.service.backends.graph.erase(workspace.id as WorkspaceId, request);
  assert.equal(erased.kind, "erased");
  await identify(workspace, { email: "p1@example.com", cookie_id: "back" });
  return { id: workspace.id, key: await workspace.key("owner") };
}

const identify = (workspace: TestWorkspace, identifiers: Readonly<Record<string, string>>): Promise<void> =>
  ok(
    workspace.send("POST", "/v1/identify", {
      identifiers: Object.entries(identifiers).map(([namespace, value]) => ({ namespace, value })),
    }),
  );

async function ok(asked: Promise<{ readonly status: number; readonly text: string }>): Promise<void> {
  const { status, text } = await asked;
  assert.ok(status < 300, text);
}

const LISTS: readonly (readonly [target: string, list: string])[] = [
  ["/v1/keys", "keys"],
  ["/v1/schemas", "schemas"],
  ["/v1/datasets", "datasets"],
  ["/v1/namespaces", "namespaces"],
  ["/v1/profiles", "profiles"],
  ["/v1/audiences", "audiences"],
  ["/v1/changes", "changes"],
  ["/v1/events", "events"],
  ["/v1/dead-letters", "dead_letters"],
  ["/v1/identity/forbidden-pairs", "forbidden_pairs"],
  ["/v1/identity/shared-identifiers", "identifiers"],
];
const SINGLE = ["/v1/identity/settings", "/v1/sdk/settings", "/v1/sdk/plan"];
const EXPORTS = ["catalog", "profiles", "events", "links", "changes"];

/** All that the routes answer of the workspace, whole. */
export async function answersOf(url: string, { key }: Seen): Promise<Readonly<Record<string, unknown>>> {
  const answers: Record<string, unknown> = {};
  for (const target of SINGLE) answers[target] = (await send(url, "GET", target, { key })).body;
  for (const [target, list] of LISTS) answers[target] = await whole(url, key, target, list);
  for (const profile of answers["/v1/profiles"] as readonly unknown[]) {
    const target = `/v1/profiles/${textAt(profile, "profile_id")}`;
    for (const part of ["", "/events", "/identifiers", "/graph", "/history"])
      answers[target + part] = (await send(url, "GET", target + part, { key })).body;
  }
  for (const name of EXPORTS) {
    const { text, status } = await send(url, "GET", `/v1/exports/${name}`, { key });
    assert.equal(status, 200, text);
    answers[`export ${name}`] = text
      .trim()
      .split("\n")
      .map((line) => line.replace(/"position":"[^"]*"/, ""))
      .toSorted();
  }
  return answers;
}

async function whole(url: string, key: string, target: string, list: string): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  for (let cursor: string | null = null; ;) {
    const page: Answer = await send(
      url,
      "GET",
      `${target}${cursor === null ? "" : `?cursor=${encodeURIComponent(cursor)}`}`,
      {
        key,
      },
    );
    assert.equal(page.status, 200, page.text);
    const [found] = [page.body[list] ?? Object.values(page.body).find(Array.isArray)];
    all.push(...((found ?? []) as readonly unknown[]));
    cursor = (page.body["next_cursor"] ?? null) as string | null;
    if (cursor === null) return all;
  }
}

/** The erasures of the workspace, and what they left of two identifiers. */
export async function erasuresOf(app: App, { id }: Seen): Promise<unknown> {
  const { graph } = app.service.backends;
  const workspace = id as WorkspaceId;
  const keys = ["p5@example.com", "nobody@example.com"].map((value) =>
    identifierKey(workspace, { namespace: "email", value }),
  );
  const records = await graph.erasures(workspace, { limit: 100, before: null });
  const tombstones = await graph.tombstones(workspace, keys);
  assert.deepEqual([records.length, tombstones.size], [1, 2]);
  const logged: unknown[] = [];
  for await (const entry of app.service.backends.erasureLog.entries()) logged.push(entry);
  return { records, tombstones, logged };
}

/** Until nothing is queued, every erasure is completed, and audiences are as they are to be. */
export async function atRest({ service: { backends, keeper } }: App): Promise<void> {
  while (
    (await backends.queue.depth()) > 0 ||
    (await backends.graph.openErasures({ limit: 1, after: null })).length > 0
  )
    await sleep(20);
  await keeper?.rest();
}
