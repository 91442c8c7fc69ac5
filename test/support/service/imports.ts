import assert from "node:assert/strict";
import { createRandom } from "../random/random.js";
import { listAt, textAt, type TestWorkspace } from "./app.js";
import { NDJSON } from "./batch.js";

/** Exports of a workspace, and an import of them into another. */

export const identifier = (namespace: string, value: string) => ({ namespace, value });
export const KINDS = ["catalog", "profiles", "changes", "links", "events"] as const;
export type Line = Readonly<Record<string, unknown>>;

const SHOP = {
  type: "object",
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
    user: { type: "string", "x-identity": { namespace: "user_id" } },
    city: { type: "string", "x-trait": { name: "city" } },
    first: { type: "string", "x-trait": { name: "first", merge: "first" } },
    total: { type: "number", "x-trait": { name: "largest", merge: "max" } },
    amount: { type: "number", "x-trait": { name: "revenue", merge: "sum" } },
    visit: { type: "boolean", "x-trait": { name: "visits", merge: "count" } },
    tags: { type: "array", items: { type: "string", "x-trait": { name: "tags", merge: "union" } } },
  },
};

/** Everything of a workspace that an import must bring along, without what names the installation. */
export async function shownOf(workspace: TestWorkspace) {
  const list = async (path: string, name: string) => {
    const all: unknown[] = [];
    for (let cursor = ""; ;) {
      const { status, body, text } = await workspace.send("GET", `${path}?limit=100${cursor}`);
      assert.equal(status, 200, text);
      all.push(...listAt(body, name));
      if (body["next_cursor"] === null) return all;
      cursor = `&cursor=${textAt(body, "next_cursor")}`;
    }
  };
  const profiles = await list("/v1/profiles", "profiles");
  const graphs = await Promise.all(
    profiles.map(async (profile) => {
      const profileId = textAt(profile, "profile_id");
      const graph = (await workspace.send("GET", `/v1/profiles/${profileId}/graph`)).body;
      const events = await list(`/v1/profiles/${profileId}/events`, "events");
      const history = await list(`/v1/profiles/${profileId}/history`, "changes");
      // A cursor is signed by its installation.
      return { graph: { ...graph, next_cursor: null }, events, history };
    }),
  );
  const pairs = await list("/v1/identity/forbidden-pairs", "forbidden_pairs");
  const audiences = await list("/v1/audiences", "audiences");
  const members = await Promise.all(
    audiences.map(async (one) => {
      const found = await list(`/v1/audiences/${textAt(one, "audience_id")}/members`, "members");
      return found.map((member) => textAt(member, "profile_id"));
    }),
  );
  return {
    profiles,
    // The number in the feed is of an installation.
    audiences: audiences.map((one) => ({ ...(one as Line), as_of_seq: null })),
    members,
    graphs,
    events: await list("/v1/events", "events"),
    changes: await list("/v1/changes", "changes"),
    schemas: await list("/v1/schemas", "schemas"),
    datasets: await list("/v1/datasets", "datasets"),
    namespaces: await list("/v1/namespaces", "namespaces"),
    shared: await list("/v1/identity/shared-identifiers", "shared_identifiers"),
    settings: (await workspace.send("GET", "/v1/identity/settings")).body,
    // The id of a pair names its workspace.
    pairs: pairs.map((pair) => JSON.stringify({ ...(pair as Line), forbidden_pair_id: null })).toSorted(),
  };
}

export const exportOf = async (workspace: TestWorkspace, kind: string): Promise<readonly string[]> => {
  const { status, text } = await workspace.send("GET", `/v1/exports/${kind}`);
  assert.equal(status, 200, text);
  return text.trimEnd().split("\n");
};
export const createAudience = async (workspace: TestWorkspace, name: string, rule: object): Promise<string> => {
  const { status, body, text } = await workspace.send("POST", "/v1/audiences", { name, rule });
  assert.equal(status, 201, text);
  return textAt(body, "audience_id");
};
export const feedOf = async (workspace: TestWorkspace) =>
  listAt((await workspace.send("GET", "/v1/feed?limit=1000")).body, "entries").map((one) =>
    ["type", "cause", "audience_id", "profile_id"].map((name) => textAt(one, name)).join(" "),
  );
export const sendLines = (workspace: TestWorkspace, lines: readonly string[]) =>
  workspace.send("POST", "/v1/imports/lines", lines.join("\n"), NDJSON);
export const sendAll = async (workspace: TestWorkspace, lines: readonly string[], some: number) => {
  for (let next = 0; next < lines.length; next += some) {
    const { status, text } = await sendLines(workspace, lines.slice(next, next + some));
    assert.equal(status, 200, text);
  }
};

/** A small world: people who are seen, linked, merged, taken apart and forbidden, identifiers that many share. */
export async function aWorld(workspace: TestWorkspace, seed: number): Promise<void> {
  const random = createRandom(seed);
  const integer = (bound: number): number => random.below(bound);
  const pick = <T>(list: readonly T[]): T => random.pick(list);
  await workspace.send("PUT", "/v1/identity/settings", {
    shared_identifier_limit: 2,
    sending_keys_add_namespaces: true,
  });
  await workspace.send("PUT", "/v1/namespaces/crm_id", { kind: "person", limit: 1, blocked: ["none"] });
  const schemaId = await workspace.schema(SHOP);
  const quiet = await workspace.schema(SHOP, false);
  const known = () =>
    pick([
      identifier("email", `e${integer(6)}@example.com`),
      identifier("cookie_id", `c${integer(8)}`),
      identifier("user_id", `u${integer(5)}`),
      identifier("crm_id", `k${integer(4)}`),
    ]);
  await aSetOfAudiences(workspace, schemaId);
  const sent: unknown[] = [];
  for (let n = 0; n < 60; n++) {
    const act = integer(10);
    if (act < 4) {
      const payload = {
        ...(integer(2) === 0 && { email: `E${integer(6)}@example.com` }),
        ...(integer(2) === 0 && { user: `u${integer(5)}` }),
        cookie: pick([`c${integer(8)}`, "n/a", "kiosk"]),
        city: pick(["Paris", "Lyon"]),
        first: `f${n}`,
        total: integer(1_000) / 100,
        amount: integer(10_000) / 100,
        ...(integer(2) === 0 && { visit: true }),
        tags: [`t${integer(5)}`],
      };
      const answer = await workspace.collect(integer(8) === 0 ? quiet : schemaId, payload);
      if (answer.status === 202) sent.push(answer.body["event_id"]);
    } else if (act < 8) await workspace.send("POST", "/v1/identify", { identifiers: [known(), known()] });
    else {
      const forbid = integer(2) === 0;
      await workspace.send("POST", "/v1/identity/unlink", { from: known(), to: known(), ...(forbid && { forbid }) });
      if (integer(3) === 0) {
        const changes = listAt((await workspace.send("GET", "/v1/changes?limit=5")).body, "changes");
        const one = changes[integer(changes.length)];
        if (one !== undefined) await workspace.send("POST", `/v1/changes/${textAt(one, "change_id")}/revert`);
      }
    }
  }
  for (const eventId of sent) {
    for (;;) {
      const { body } = await workspace.send("GET", `/v1/events/${String(eventId)}?wait=5`);
      if (body["status"] === "folded" || body["status"] === "dead" || body["reason"] !== null) break;
    }
  }
}

/** Some of which refer to others, also to younger ones. */
async function aSetOfAudiences(workspace: TestWorkspace, schemaId: string): Promise<void> {
  const $events = { schema_id: schemaId, within: "30d" };
  const visited = await createAudience(workspace, "visited twice", { $events: { ...$events, at_least: 2 } });
  const spent = await createAudience(workspace, "spent", { $events: { ...$events, sum: "amount", is: { $gte: 10 } } });
  const city = await createAudience(workspace, "Paris", { "traits.city": "Paris", "traits.revenue": { $gte: 0.01 } });
  await createAudience(workspace, "both", { $and: [{ $audience: visited }, { $audience: city }] });
  await createAudience(workspace, "neither", {
    $not: { $or: [{ $audience: spent }, { "identifiers.user_id": { $exists: true } }] },
  });
  const rule = { $or: [{ $audience: spent }, { $events: { schema_id: schemaId, where: { total: { $gte: 2 } } } }] };
  const changed = await workspace.send("PUT", `/v1/audiences/${visited}`, { rule });
  assert.equal(changed.status, 200, changed.text);
}
