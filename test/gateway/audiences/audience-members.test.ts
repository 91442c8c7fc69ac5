import assert from "node:assert/strict";
import { silentLog } from "../../../app/logger.js";
import { previewAudience } from "../../../commands/audiences/preview.js";
import type { Services } from "../../../commands/services.js";
import { newId, type AudienceId, type ClaimId, type ProfileId, type WorkspaceId } from "../../../core/ids.js";
import { createRandom, SEED } from "../../support/random/random.js";
import { at, errorPaths, listAt, startApp, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const IN_PARIS = { "traits.city": "Paris" };
const NOBODY = "0190f0f0-0000-7000-8000-000000000000";

describe("Members of audiences, and previews", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let schemaId: string;
  beforeEach(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema({
      type: "object",
      properties: {
        email: { type: "string", "x-identity": { namespace: "email" } },
        city: { type: "string", "x-trait": { name: "city" } },
      },
    });
  });

  const people = async (cities: readonly string[]) => {
    const ids: string[] = [];
    for (const [n, city] of cities.entries()) {
      const sent = await workspace.collect(schemaId, { email: `p${n}@example.com`, city });
      ids.push(textAt((await workspace.settled(sent.body["event_id"])).body, "profile_id"));
    }
    return ids;
  };
  const create = async (rule: object) =>
    textAt((await workspace.send("POST", "/v1/audiences", { name: "a", rule })).body, "audience_id");
  const members = (id: string, query = "") => workspace.as("viewer", "GET", `/v1/audiences/${id}/members${query}`);
  const preview = (body: object) => workspace.as("viewer", "POST", "/v1/audiences/preview", body);
  const idsIn = (body: unknown, list: string) => listAt(body, list).map((one) => textAt(one, "profile_id"));

  it("are read on from an entry that no crash takes back, as a new webhook is", async () => {
    const head = 7;
    const own = await startApp(
      {},
      {
        wrap: (backends) => ({
          ...backends,
          seats: { ...backends.seats, sizes: async () => ({ sizes: new Map(), head }) },
        }),
      },
    );
    try {
      const other = await own.workspace();
      const made = await other.send("POST", "/v1/audiences", { name: "a", rule: {} });
      const read = await other.send("GET", `/v1/audiences/${textAt(made.body, "audience_id")}/members`);
      const webhook = await other.send("POST", "/v1/webhooks", { url: "https://hooks.example.com/onym" });
      assert.deepEqual([at(read.body, "as_of_seq"), at(webhook.body, "delivered")], [head, head], read.text);
    } finally {
      await own.close();
    }
  });

  it("are listed by id in pages, with the number in the feed behind which to read on", async () => {
    const id = await create(IN_PARIS);
    const ids = await people(["Paris", "Lyon", "Paris", "Paris"]);
    const inParis = [ids[0]!, ids[2]!, ids[3]!].toSorted();
    await app().service.keeper!.rest();
    const all = await members(id);
    assert.deepEqual(idsIn(all.body, "members"), inParis);
    assert.deepEqual(
      [at(all.body, "state"), at(all.body, "next_cursor"), at(all.body, "as_of_seq")],
      ["live", null, 3],
    );
    const first = await members(id, "?limit=2");
    assert.deepEqual(idsIn(first.body, "members"), inParis.slice(0, 2));
    const rest = await members(id, `?limit=2&cursor=${textAt(first.body, "next_cursor")}`);
    assert.deepEqual([idsIn(rest.body, "members"), at(rest.body, "next_cursor")], [inParis.slice(2), null]);
    await workspace.collect(schemaId, { email: "p0@example.com", city: "Lyon" });
    const feed = await workspace.as("viewer", "GET", `/v1/feed?after=3&wait=10&audience_id=${id}`);
    assert.deepEqual(
      listAt(feed.body, "entries").map((one) => [textAt(one, "type"), textAt(one, "profile_id")]),
      [["left", ids[0]]],
    );
    assert.deepEqual(idsIn((await members(id)).body, "members"), [ids[2]!, ids[3]!].toSorted());
  });

  it("name nobody who was erased, from the answer to the erasure on", async () => {
    const id = await create(IN_PARIS);
    const ids = await people(["Paris", "Paris", "Lyon"]);
    await app().service.keeper!.rest();
    const [erased, other] = [ids[0]!, ids[1]!];
    const all = await members(id);
    assert.deepEqual(idsIn(all.body, "members"), [erased, other].toSorted());
    // Over the wire the keeper may have been there before, so the seat is put back as it stood until then.
    const { seats } = app().service.backends;
    const [ws, audienceId, profileId] = [workspace.id as WorkspaceId, id as AudienceId, erased as ProfileId];
    assert.equal((await workspace.send("DELETE", `/v1/profiles/${erased}`)).status, 202);
    await app().service.keeper!.rest();
    const claim = newId<ClaimId>();
    await seats.claim(ws, claim, [profileId]);
    const seat = { profileId, memberships: [{ audienceId, since: 1 }], untils: [] };
    assert.deepEqual(await seats.save(ws, claim, [{ seat, entries: [] }]), [true]);
    const after = await members(id);
    assert.deepEqual(idsIn(after.body, "members"), [other]);
    // The next one comes in the place of who was erased.
    const first = await members(id, "?limit=1");
    assert.deepEqual([idsIn(first.body, "members"), at(first.body, "next_cursor")], [[other], null]);
  });

  it("of an unknown audience, or of another workspace's, are 404", async () => {
    const id = await create(IN_PARIS);
    const other = await app().workspace();
    assert.equal((await members(NOBODY)).status, 404);
    assert.equal((await other.as("viewer", "GET", `/v1/audiences/${id}/members`)).status, 404);
    assert.equal((await members("x")).status, 404);
  });

  it("a preview counts what the audience then has, and shows some of it", async () => {
    await people(["Paris", "Lyon", "Paris", "Nice"]);
    const { status, body } = await preview({ rule: IN_PARIS, sample: 5 });
    assert.equal(status, 200, JSON.stringify(body));
    const { as_of: asOf, sample, ...counted } = body;
    assert.ok(typeof asOf === "string");
    assert.deepEqual(counted, { count: 2, exact: true, low: 2, high: 2, profiles: 4, looked_at: 4 });
    assert.deepEqual(
      (sample as unknown[]).map((one) => textAt(at(one, "traits"), "city")),
      ["Paris", "Paris"],
    );
    const id = await create(IN_PARIS);
    await app().service.keeper!.rest();
    assert.equal(at((await workspace.send("GET", `/v1/audiences/${id}`)).body, "size"), 2);
    const one = await preview({ rule: { $or: [{ $audience: id }, { "traits.city": "Nice" }] }, sample: 1 });
    assert.deepEqual([at(one.body, "count"), listAt(one.body, "sample").length], [3, 1]);
    const named = await preview({ rule: { "identifiers.email": "p1@example.com" } });
    assert.deepEqual(
      ["count", "exact", "profiles", "looked_at", "sample"].map((name) => at(named.body, name)),
      [1, true, 4, 1, []],
    );
    const everybody = await preview({ rule: {} });
    assert.deepEqual(at(everybody.body, "count"), 4);
  });

  it("a preview of a wrong rule names the place", async () => {
    const refused = await preview({ rule: { $and: [IN_PARIS, { "traits.town": 1 }] } });
    assert.deepEqual([refused.status, errorPaths(refused)], [422, ["rule.$and.1.traits.town"]]);
    const long = { "identifiers.email": { $in: Array.from({ length: 1_000 }, (_, n) => `person${n}@example.com`) } };
    const tooLong = await preview({ rule: long });
    assert.deepEqual([tooLong.status, errorPaths(tooLong)], [422, ["rule"]], "no audience may have it");
    assert.equal((await workspace.send("POST", "/v1/profiles/search", { rule: long })).status, 200);
    assert.deepEqual(errorPaths(await preview({ rule: {}, sample: 21 })), ["sample"]);
    assert.deepEqual(errorPaths(await preview({})), ["rule"]);
  });

  it("a preview of many looks at some that are drawn, and says so", async () => {
    const cities = Array.from({ length: 60 }, (_, n) => (n % 3 === 0 ? "Paris" : "Lyon"));
    await people(cities);
    const random = createRandom(SEED);
    const options = { allMax: 50, drawnMax: 30, random: () => random.below(1_000_000) / 1_000_000 };
    const asked = { rule: IN_PARIS, sample: 3, now: Date.now() };
    const { backends, identity } = app().service;
    const limits = { profileIdentifiersMax: 10_000, payloadBytesMax: 1_048_576 } as Services["limits"];
    const services = { ...backends, identity, limits, log: silentLog };
    const own = workspace.id as WorkspaceId;
    const seen = new Set<number>();
    for (let n = 0; n < 5; n += 1) {
      const found = await previewAudience(services, own, asked, async () => false, options);
      assert.deepEqual([found.isExact, found.profiles, found.lookedAt, found.sample.length], [false, 60, 30, 3]);
      assert.ok(found.low <= found.count && found.count <= found.high && found.high - found.low > 5);
      assert.ok(found.low <= 20 && 20 <= found.high, `${found.low} to ${found.high}`);
      seen.add(found.count);
    }
    assert.ok(seen.size > 1, "another draw each time");
    const late = {
      ...options,
      allMax: 1_000,
      clock: (
        (now) => () =>
          (now += 4_000)
      )(0),
    };
    const cut = await previewAudience(services, own, asked, async () => false, late);
    assert.equal(cut.isExact, false);
    assert.ok(cut.lookedAt >= 1 && cut.lookedAt < 30 && cut.high - cut.low > 20);
  });
});
