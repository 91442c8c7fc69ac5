import assert from "node:assert/strict";
import { createRandom } from "../support/random.js";
import { at, listAt, startApp, textAt, useApp, type App, type TestWorkspace } from "../support/service/app.js";
import { EMBEDDED } from "../support/servers/servers.js";
import { NDJSON } from "../support/service/batch.js";

const id = (namespace: string, value: string) => ({ namespace, value });
const KINDS = ["catalog", "profiles", "changes", "links", "events"] as const;
type Line = Readonly<Record<string, unknown>>;

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
async function shownOf(workspace: TestWorkspace) {
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
  return {
    profiles,
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

const exportOf = async (workspace: TestWorkspace, kind: string): Promise<readonly string[]> => {
  const { status, text } = await workspace.send("GET", `/v1/exports/${kind}`);
  assert.equal(status, 200, text);
  return text.trimEnd().split("\n");
};
const send = (workspace: TestWorkspace, lines: readonly string[]) =>
  workspace.send("POST", "/v1/imports/lines", lines.join("\n"), NDJSON);
const sendAll = async (workspace: TestWorkspace, lines: readonly string[], some: number) => {
  for (let next = 0; next < lines.length; next += some) {
    const { status, text } = await send(workspace, lines.slice(next, next + some));
    assert.equal(status, 200, text);
  }
};

/** A small world: people who are seen, linked, merged, taken apart and forbidden, identifiers that many share. */
async function aWorld(workspace: TestWorkspace, seed: number): Promise<void> {
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
      id("email", `e${integer(6)}@example.com`),
      id("cookie_id", `c${integer(8)}`),
      id("user_id", `u${integer(5)}`),
      id("crm_id", `k${integer(4)}`),
    ]);
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

describe("An import of exports", () => {
  const source = useApp();
  let target: App;
  before(async () => {
    target = await startApp(EMBEDDED);
  });
  after(() => target.close());

  // On the servers the second way is from the embedded store to them.
  for (const [seed, isBack] of [
    [1, false],
    [2, true],
    [3, false],
  ] as const)
    it(`into an empty workspace gives the same profiles, ids, links and counts (world ${seed})`, async () => {
      const [here, there] = isBack ? [target, source()] : [source(), target];
      const from = await here.workspace();
      await aWorld(from, seed);
      const into = await there.workspace();
      assert.deepEqual((await into.send("POST", "/v1/imports")).body, { open: true, stands: [] });
      for (const kind of KINDS) {
        const lines = await exportOf(from, kind);
        await sendAll(into, lines, 40);
        // As after a break.
        await sendAll(into, lines.slice(-30), 30);
      }
      assert.equal((await into.send("DELETE", "/v1/imports")).status, 204);
      const wanted = await shownOf(from);
      assert.ok(wanted.profiles.length > 1 && wanted.changes.length > 20, `${wanted.profiles.length} profiles`);
      assert.deepEqual(await shownOf(into), wanted);
      // And what it exports is what was imported.
      for (const kind of KINDS) {
        // Which events of a facet wait for their marks is another thing on each backend.
        const settled = (one: unknown) => {
          const facet = (one as Line)["facet"] as readonly unknown[] | undefined;
          return { ...(one as Line), facet: facet?.slice(0, 4) };
        };
        const without = (text: string): string => {
          const line = JSON.parse(text) as Line;
          const identifiers =
            line["type"] === "profile" ? listAt(line, "identifiers").map(settled) : line["identifiers"];
          return JSON.stringify({ ...line, identifiers, position: undefined });
        };
        const [again, first] = [await exportOf(into, kind), await exportOf(from, kind)];
        assert.deepEqual(again.map(without).toSorted(), first.map(without).toSorted(), kind);
      }
    });

  it("behaves like the original afterwards: what was unlinked stays apart, what was undone can be undone", async () => {
    const from = await source().workspace();
    const identify = (workspace: TestWorkspace, ...identifiers: readonly unknown[]) =>
      workspace.send("POST", "/v1/identify", { identifiers });
    const made = await identify(from, id("email", "ada@example.com"), id("cookie_id", "c-1"));
    await identify(from, id("email", "bob@example.com"));
    await from.send("POST", "/v1/identity/unlink", {
      from: id("email", "ada@example.com"),
      to: id("email", "bob@example.com"),
      forbid: true,
    });
    const into = await target.workspace();
    await into.send("POST", "/v1/imports");
    for (const kind of KINDS) await sendAll(into, await exportOf(from, kind), 1_000);
    await into.send("DELETE", "/v1/imports");
    const dropped = await identify(into, id("email", "ada@example.com"), id("email", "bob@example.com"));
    assert.deepEqual(
      listAt(dropped.body, "dropped").map((one) => at(one, "rule")),
      ["forbidden_pair"],
    );
    const undone = await into.send("POST", `/v1/changes/${textAt(made.body, "change_id")}/revert`);
    assert.deepEqual([undone.status, undone.body["outcome"]], [200, "reverted"]);
    const explained = await into.send("POST", "/v1/identity/explain", {
      from: id("email", "ada@example.com"),
      to: id("cookie_id", "c-1"),
    });
    assert.equal(explained.body["connected"], false);
  });

  it("is refused where anything stands, by its name, and without one that is open", async () => {
    const into = await target.workspace();
    const closed = await send(into, ['{"type":"end","complete":true,"lines":0}']);
    assert.deepEqual([closed.status, closed.body["code"]], [409, "conflict"]);
    await into.send("POST", "/v1/identify", { identifiers: [id("email", "ada@example.com")] });
    await into.schema();
    const stands = ["profiles", "changes", "schemas", "datasets", "traits"];
    assert.deepEqual((await into.send("POST", "/v1/imports?dry_run=true")).body, { open: false, stands });
    const refused = await into.send("POST", "/v1/imports");
    assert.deepEqual([refused.status, refused.body["stands"]], [409, stands]);
    assert.equal((await into.as("editor", "POST", "/v1/imports")).status, 403);
  });

  it("goes on when it was opened before, though things stand by then", async () => {
    const into = await target.workspace();
    await into.send("POST", "/v1/imports");
    await sendAll(into, ['{"type":"trait","position":"x","name":"city","merge":"latest","registered_itself":true}'], 1);
    assert.deepEqual((await into.send("POST", "/v1/imports")).body, { open: true, stands: ["traits"] });
  });

  it("says which line is wrong, and where: nothing of the request is stored", async () => {
    const into = await target.workspace();
    await into.send("POST", "/v1/imports");
    const uid = "0197a000-0000-7000-8000-00000000000";
    const profile = (last: string, ...identifiers: readonly object[]) =>
      JSON.stringify({
        type: "profile",
        position: "x",
        profile_id: uid + last,
        traits: {},
        first_seen: null,
        last_seen: null,
        event_count: 0,
        identifiers,
      });
    const good = profile("1", { uid: `${uid}1`, namespace: "email", value: "a@example.com" });
    const pathsOf = async (...lines: readonly string[]) => {
      const { status, body, text } = await send(into, lines);
      assert.equal(status, 422, text);
      return listAt(body, "errors").map((one) => textAt(one, "path"));
    };
    assert.deepEqual(await pathsOf(good, "no JSON"), ["lines.1"]);
    assert.deepEqual(await pathsOf(good, '{"type":"person"}'), ["lines.1.type"]);
    assert.deepEqual(await pathsOf('{"type":"dataset","position":"x"}'), [
      "lines.0.dataset_id",
      "lines.0.name",
      "lines.0.schema_id",
      "lines.0.unified_profile",
      "lines.0.retention_days",
      "lines.0.created_at",
    ]);
    assert.deepEqual(await pathsOf(profile("1", { uid: `${uid}1`, namespace: "email", value: "a", facet: [1, 2] })), [
      "lines.0.identifiers.0.facet",
    ]);
    assert.deepEqual(await pathsOf(profile("1")), ["lines.0.identifiers"]);
    assert.deepEqual(await pathsOf(profile("1", { uid: `${uid}2`, namespace: "email", value: "b@example.com" })), [
      "profile_id",
    ]);
    const link = { type: "link", position: "x", profile_id: `${uid}1`, from: `${uid}1`, to: `${uid}3` };
    const asserted = {
      source: "identify",
      event_id: null,
      change_id: `${uid}9`,
      key_id: "k",
      at: "2026-01-01T00:00:00.000Z",
    };
    assert.deepEqual(await pathsOf(JSON.stringify({ ...link, ...asserted })), ["change_id"]);
    assert.deepEqual((await into.send("GET", "/v1/profiles")).body["profiles"], []);
    assert.equal((await send(into, [good])).status, 200);
    // Its identifier has another uid here.
    const other = await send(into, [profile("5", { uid: `${uid}5`, namespace: "email", value: "a@example.com" })]);
    assert.equal(other.status, 409, other.text);
  });

  it("is refused beside the original: an id names one profile of an installation", async () => {
    const from = await target.workspace();
    await from.send("POST", "/v1/identify", { identifiers: [id("email", "ada@example.com")] });
    const into = await target.workspace();
    await into.send("POST", "/v1/imports");
    const refused = await send(into, await exportOf(from, "profiles"));
    assert.deepEqual([refused.status, refused.body["code"]], [409, "conflict"]);
  });
});
