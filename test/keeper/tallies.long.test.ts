import assert from "node:assert/strict";
import { silentLog } from "../../app/logger.js";
import { openMemberships } from "../../commands/audiences/memberships.js";
import { allow, readProfile, type Profile } from "../../commands/read-profile.js";
import type { AudienceStore } from "../../core/ports/audience-store.js";
import type { Copied, TallyRow } from "../../core/ports/copying.js";
import type { EventId, ProfileId, WorkspaceId } from "../../core/ids.js";
import { createRandom, SEED, type Random } from "../support/random/random.js";
import { at, listAt, textAt, useApp, type TestWorkspace } from "../support/service/app.js";
import { openTallyShop, type TallyShop } from "../support/service/tally-shop.js";

const DAY_MS = 86_400_000;

describe("Tallies", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let id: WorkspaceId;
  let schemaId: string;

  const backends = () => app().service.backends;
  const rest = () => app().service.keeper!.rest();
  const create = (rule: object) => workspace.send("POST", "/v1/audiences", { name: "a", rule });
  const stateOf = async (audienceId: unknown) =>
    (await workspace.send("GET", `/v1/audiences/${String(audienceId)}`)).body["state"];
  const namesOf = async (profileId: unknown) =>
    listAt((await workspace.send("GET", `/v1/profiles/${String(profileId)}`)).body, "audiences").map((one) =>
      textAt(one, "audience_id"),
    );
  const rows = async () => {
    let found = 0;
    for (let after: string | null = null; ;) {
      const page: Copied<TallyRow> = await backends().copying.documents.dump("tallies", { limit: 500, after });
      found += page.rows.filter((row) => row.workspace === id).length;
      if (page.next === null) return found;
      after = page.next;
    }
  };
  let shop: TallyShop;
  beforeEach(async () => {
    shop = await openTallyShop(app());
    ({ workspace, id, schemaId } = shop);
  });
  const event: TallyShop["event"] = (...sent) => shop.event(...sent);
  const storeMany: TallyShop["storeMany"] = (...asked) => shop.storeMany(...asked);

  it("add up the list of an event to the largest double where it is more, and judge its profile", async () => {
    const listed = await workspace.schema({
      properties: {
        email: { type: "string", "x-identity": { namespace: "email" } },
        prices: { type: "array", items: { type: "number" } },
      },
    });
    const sum = (is: object) => create({ $events: { schema_id: listed, sum: "prices", is } });
    const [much, most] = [await sum({ $gte: 500 }), await sum({ $gt: Number.MAX_VALUE })];
    await rest();
    const payload = { email: "ada@example.com", prices: [1e308, 1e308] };
    const body = { schema_id: listed, timestamp: new Date().toISOString(), payload };
    const sent = await workspace.send("POST", "/v1/collect", body);
    const { profile_id } = (await workspace.settled(sent.body["event_id"])).body;
    assert.equal(most.status, 201);
    assert.deepEqual(await namesOf(profile_id), [much.body["audience_id"]]);
    await rest();
    const { entries } = await backends().seats.feed(id, 0, 100);
    assert.deepEqual(
      entries.map(({ entry }) => ("audienceId" in entry ? entry.audienceId : null)),
      [much.body["audience_id"]],
    );
  });

  it("count events however old they are, those that came before the audience and those after", async () => {
    await storeMany("ada@example.com", 1_300);
    const old = { schema_id: schemaId, where: { n: { $gte: 0, $lt: 50 } } };
    const [few, many] = [
      await create({ $events: { ...old, at_least: 50 } }),
      await create({ $events: { ...old, at_least: 51 } }),
    ];
    assert.deepEqual([few.body["state"], many.body["state"]], ["counting", "counting"]);
    await rest();
    assert.deepEqual([await stateOf(few.body["audience_id"]), await rows()], ["live", 50]);
    const { profile_id } = await event("ada@example.com", { n: 2_000 });
    assert.deepEqual(await namesOf(profile_id), [few.body["audience_id"]]);
    const shown = (await workspace.send("GET", `/v1/profiles/${String(profile_id)}`)).body;
    assert.equal(at(shown, "partial"), undefined);
    await event("ada@example.com", { n: 7 });
    assert.deepEqual(await namesOf(profile_id), [few.body["audience_id"], many.body["audience_id"]]);
    await rest();
    const { entries } = await backends().seats.feed(id, 0, 100);
    assert.deepEqual(
      entries.map(({ entry }) => ("cause" in entry ? [entry.audienceId, entry.cause] : [])),
      [
        [few.body["audience_id"], "built"],
        [many.body["audience_id"], "changed"],
      ],
    );
  });

  it("add up 10,000 events exactly, and say so if there are more", async () => {
    await storeMany("ada@example.com", 9_999);
    const { body } = await create({ $events: { schema_id: schemaId, sum: "total", is: { $eq: 999.8 } } });
    await rest();
    const { profile_id } = await event("ada@example.com", { total: 0 });
    const shown = await workspace.send("GET", `/v1/profiles/${String(profile_id)}`);
    // There are 10,001 now, two of them without an amount, and the oldest is not added up.
    assert.deepEqual([await namesOf(profile_id), shown.body["partial"]], [[body["audience_id"]], true]);
  }).timeout(60_000);

  it("go with the audience that needed them, and with their events", async () => {
    const all = await storeMany("ada@example.com", 20);
    const { body } = await create({ $events: { schema_id: schemaId, where: { n: { $gte: 0 } } } });
    await rest();
    assert.equal(await rows(), 20);
    await backends().events.drop(
      id,
      all.slice(0, 5).map(({ eventId }) => eventId),
      "expired",
    );
    assert.equal(await rows(), 15);
    assert.equal((await workspace.send("DELETE", `/v1/audiences/${String(body["audience_id"])}`)).status, 204);
    await rest();
    assert.equal(await rows(), 0);
    assert.deepEqual((await backends().audiences.audiences(id)).forgotten, []);
  });

  it("are at most 50", async () => {
    const rule = (from: number, count: number) => ({
      $or: Array.from({ length: count }, (_, n) => ({
        $events: { schema_id: schemaId, where: { n: from + n }, at_least: 1 + n },
      })),
    });
    assert.equal((await create(rule(0, 25))).status, 201);
    assert.equal((await create(rule(10, 15))).status, 201);
    assert.equal((await create(rule(25, 24))).status, 201);
    const refused = await create(rule(49, 2));
    assert.equal(refused.status, 422);
    assert.match(JSON.stringify(refused.body["errors"]), /more than 50 different/);
    assert.equal((await create(rule(49, 1))).status, 201);
  });

  it(`judge as the events themselves do, random rules, events and drops (SEED=${SEED})`, async () => {
    const random = createRandom(SEED);
    let [ins, rounds] = [0, 0];
    for (let round = 0; round < 4; round += 1) {
      const people = Array.from({ length: 5 }, (_, n) => `p${n}@example.com`);
      const profiles = new Map<string, string>();
      const ids: EventId[] = [];
      const sendSome = async (count: number): Promise<void> => {
        for (let n = 0; n < count; n += 1) {
          const email = random.pick(people);
          const payload = { n: random.below(4), ...(random.below(4) > 0 && { total: random.below(100) / 10 }) };
          const body = await event(email, payload, new Date(Date.now() - random.below(10) * DAY_MS).toISOString());
          profiles.set(email, textAt(body, "profile_id"));
          ids.push(textAt(body, "event_id") as EventId);
        }
      };
      await sendSome(25);
      for (let n = 0; n < 8; n += 1) assert.equal((await create(aRule(random, schemaId, 2))).status, 201);
      await Promise.all([rest(), sendSome(25)]);
      await backends().events.drop(
        id,
        [random.pick(ids), random.pick(ids)],
        random.pick(["expired", "erased"] as const),
      );
      await rest();
      const set = await backends().audiences.audiences(id);
      assert.ok(set.tallies.every(({ filling }) => filling === null));
      const without: Pick<AudienceStore, "audiences"> = {
        audiences: async () => ({ ...set, tallies: [], forgotten: [] }),
      };
      const now = Date.now();
      const [byTallies, byEvents] = [
        await openMemberships({ ...backends(), log: silentLog }, id, now),
        await openMemberships(
          { ...backends(), log: silentLog, audiences: { ...backends().audiences, ...without } },
          id,
          now,
        ),
      ];
      for (const profileId of profiles.values()) {
        const profile = await read(profileId as ProfileId);
        const found = await byTallies(profile);
        assert.deepEqual(found, await byEvents(profile), `round ${round}`);
        ins += found.audiences.length;
        rounds += set.audiences.length;
      }
    }
    assert.ok(ins > rounds / 10 && ins < rounds, `${ins} of ${rounds}`);
  }).timeout(120_000);

  const read = async (profileId: ProfileId): Promise<Profile> => {
    const { service } = app();
    const services = { ...backends(), identity: service.identity, limits: { profileIdentifiersMax: 100 } };
    const allowance = await allow(services as never, () => Promise.resolve(false), [10]);
    return readProfile(services as never, id, profileId, allowance);
  };
});

function aRule(random: Random, schemaId: string, depth: number): Record<string, unknown> {
  const within = random.below(3) === 0 ? {} : { within: `${1 + random.below(9)}d` };
  const where = random.pick([
    {},
    { n: random.below(4) },
    { n: { $gte: random.below(3) } },
    { total: { $exists: true } },
  ]);
  switch (random.below(depth === 0 ? 2 : 5)) {
    case 0:
      return { $events: { schema_id: schemaId, where, ...within, at_least: 1 + random.below(4) } };
    case 1:
      return { $events: { schema_id: schemaId, where, sum: "total", is: { $gte: random.below(30) }, ...within } };
    case 2:
      return { $not: aRule(random, schemaId, depth - 1) };
    default:
      return {
        [random.pick(["$and", "$or"])]: [aRule(random, schemaId, depth - 1), aRule(random, schemaId, depth - 1)],
      };
  }
}
