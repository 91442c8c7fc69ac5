import assert from "node:assert/strict";
import { errorPaths, listAt, textAt, useApp, type Answer, type TestWorkspace } from "../../support/service/app.js";

const idsOf = ({ body }: Answer) => listAt(body, "events").map((event) => textAt(event, "event_id"));

describe("GET /v1/events", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let signup: string;
  let visit: string;
  const sent: string[] = [];
  before(async () => {
    workspace = await app().workspace();
    signup = await workspace.schema();
    visit = await workspace.schema({ type: "object" }, null);
    for (let n = 0; n < 6; n += 1) {
      const answer =
        n % 3 === 0
          ? await workspace.collect(signup, { email: `e${n}@example.com` })
          : await workspace.collect(visit, { n });
      sent.push(textAt(answer.body, "event_id"));
      await workspace.settled(sent.at(-1), n % 3 === 0 ? "folded" : "stored");
    }
  });
  const list = (query: string) => workspace.as("viewer", "GET", `/v1/events${query}`);

  it("lists all events as they were received, the newest first, or the oldest", async () => {
    const newest = await list("");
    assert.equal(newest.status, 200, newest.text);
    assert.deepEqual([idsOf(newest), newest.body["next_cursor"]], [sent.toReversed(), null]);
    assert.deepEqual(idsOf(await list("?order=oldest")), sent);
  });

  it("shows each event as GET /v1/events/{id} does, with its profile of now", async () => {
    const { body } = await list("?order=oldest");
    for (const event of listAt(body, "events")) {
      const alone = await workspace.as("viewer", "GET", `/v1/events/${textAt(event, "event_id")}`);
      assert.deepEqual(event, alone.body);
    }
    assert.notEqual(listAt(body, "events")[0], null);
    assert.match(textAt(body, "events.0.profile_id"), /^[0-9a-f-]{36}$/);
  });

  it("follows a merge: the event shows the profile that it stands in now", async () => {
    const other = await app().workspace();
    const schema = await other.schema();
    for (const email of ["a@example.com", "b@example.com"])
      await other.settled((await other.collect(schema, { email })).body["event_id"]);
    const identifiers = ["a@example.com", "b@example.com"].map((value) => ({ namespace: "email", value }));
    const merged = await other.send("POST", "/v1/identify", { identifiers });
    const { body } = await other.send("GET", "/v1/events");
    const profiles = listAt(body, "events").map((event) => textAt(event, "profile_id"));
    assert.deepEqual(profiles, [merged.body["profile_id"], merged.body["profile_id"]]);
  });

  it("takes the events of a schema, of a status and of a key, page by page", async () => {
    const expected = sent.filter((_, n) => n % 3 !== 0);
    const found: string[] = [];
    for (let cursor = ""; ;) {
      const page = await list(`?schema_id=${visit}&order=oldest&limit=3${cursor}`);
      found.push(...idsOf(page));
      if (page.body["next_cursor"] === null) break;
      cursor = `&cursor=${textAt(page.body, "next_cursor")}`;
    }
    assert.deepEqual(found, expected);
    assert.deepEqual(idsOf(await list("?status=folded")), [sent[3], sent[0]]);
    assert.deepEqual(idsOf(await list("?status=dead")), []);
    const all = await workspace.send("GET", "/v1/keys?limit=100");
    const keys = listAt(all.body, "keys").map((key) => textAt(key, "key_id"));
    const counts = await Promise.all(keys.map(async (id) => idsOf(await list(`?key_id=${id}`)).length));
    assert.deepEqual(
      counts.filter((count) => count > 0),
      [6],
    );
  });

  it("takes what was received since one time and before another", async () => {
    const { body } = await list("?order=oldest");
    const at = (n: number) => textAt(body, `events.${n}.received_at`);
    const between = idsOf(await list(`?order=oldest&since=${at(1)}&until=${at(4)}`));
    assert.deepEqual(
      between,
      sent.filter((_, n) => at(n) >= at(1) && at(n) < at(4)),
    );
    assert.deepEqual(idsOf(await list(`?order=oldest&since=${at(5).replace("Z", "000001Z")}`)), []);
  });

  it("refuses wrong parameters by name, and the cursor of another list", async () => {
    for (const [query, path] of [
      ["?since=yesterday", "since"],
      ["?until=2026-02-30T00:00:00Z", "until"],
      ["?order=biggest", "order"],
      ["?status=lost", "status"],
      ["?limit=0", "limit"],
      ["?schema=x", "schema"],
      ["?cursor=AAAA", "cursor"],
    ] as const) {
      const answer = await list(query);
      assert.deepEqual([answer.status, errorPaths(answer)], [400, [path]], query);
    }
    const { body } = await list("?limit=1");
    const other = await list(`?limit=1&order=oldest&cursor=${textAt(body, "next_cursor")}`);
    assert.deepEqual([other.status, errorPaths(other)], [400, ["cursor"]]);
  });

  it("ends a page of large events early", async () => {
    const other = await app().workspace();
    const schema = await other.schema({ type: "object" }, null);
    const text = "x".repeat(200_000);
    let last: unknown;
    for (let n = 0; n < 12; n += 1) last = (await other.collect(schema, { n, text })).body["event_id"];
    await other.settled(last, "stored");
    const first = await other.send("GET", "/v1/events?order=oldest");
    assert.equal(idsOf(first).length, 10);
    const second = await other.send("GET", `/v1/events?order=oldest&cursor=${textAt(first.body, "next_cursor")}`);
    assert.deepEqual([idsOf(second).length, second.body["next_cursor"]], [2, null]);
  });
});
