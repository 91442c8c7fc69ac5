import assert from "node:assert/strict";
import { collect, email, expectStatus, folded, lookUp, visit, type Checks, type Json } from "./world.js";

const PEOPLE = 20;
const VISITS = 10;

/** From the event to the profile. */
export const INGEST: Checks = {
  "an accepted event is stored as sent and folded into a profile": async (world) => {
    const name = world.fresh("ada");
    const payload = { email: `${name}@Example.com`, city: "London", spent: 12.5, "a.$b": { "": [null, true] } };
    const event = await folded(world, await collect(world, payload));
    assert.deepEqual(event["payload"], payload);
    const profile = await lookUp(world, email(name));
    assert.equal(event["profile_id"], profile["profile_id"]);
    assert.deepEqual(profile["traits"], { city: "London", largest_order: 12.5 });
    assert.equal(profile["event_count"], 1);
  },

  "a retry with the same Idempotency-Key is the same event and counts once": async (world) => {
    const { ask } = world;
    const name = world.fresh("retry");
    const headers = { "Idempotency-Key": name };
    // The very same bytes, as a retry sends them.
    const body = JSON.stringify(visit({ email: `${name}@example.com` }));
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask("POST", "/v1/collect", { body, headers })));
    const ids = new Set(answers.map((answer) => expectStatus(answer, 202).body["event_id"]));
    assert.equal(ids.size, 1);
    await folded(world, String([...ids][0]));
    await folded(world, await collect(world, { email: `${name}@example.com` }));
    assert.equal((await lookUp(world, email(name)))["event_count"], 2);
  },

  "an Idempotency-Key that comes again with another body does not replace what is stored": async (world) => {
    const { ask } = world;
    const key = world.fresh("key");
    const first = { email: `${key}@example.com`, city: "Paris" };
    const eventId = await collect(world, first, key);
    await folded(world, eventId);
    const other = visit({ email: `${key}@example.com`, city: "Rome" });
    const again = await ask("POST", "/v1/collect", { body: other, headers: { "Idempotency-Key": key } });
    assert.ok([202, 422].includes(again.status), `answered ${again.status}`);
    // Behind it in the queue: by then the worker has seen the other body.
    await folded(world, await collect(world, { email: `${world.fresh("marker")}@example.com` }));
    assert.deepEqual((await folded(world, eventId))["payload"], first);
    assert.deepEqual((await lookUp(world, email(key)))["traits"], { city: "Paris" });
  },

  [`${PEOPLE * VISITS} events of ${PEOPLE} people, sent at once, are each folded once`]: async (world) => {
    const people = Array.from({ length: PEOPLE }, () => world.fresh("person"));
    const events = people.flatMap((name) => Array.from({ length: VISITS }, (_, spent) => ({ name, spent })));
    const ids = await Promise.all(
      events.map(({ name, spent }) => collect(world, { email: `${name}@example.com`, spent })),
    );
    assert.equal(new Set(ids).size, events.length);
    for (const id of ids) await folded(world, id);
    for (const name of people) {
      const profile = await lookUp(world, email(name));
      assert.equal(profile["event_count"], VISITS);
      assert.deepEqual(profile["traits"], { largest_order: VISITS - 1 });
    }
  },

  "a profile's events come in pages, each event once": async (world) => {
    const { ask } = world;
    const name = world.fresh("pages");
    const sent = await Promise.all(Array.from({ length: 5 }, () => collect(world, { email: `${name}@example.com` })));
    for (const id of sent) await folded(world, id);
    const profileId = String((await lookUp(world, email(name)))["profile_id"]);
    const seen: unknown[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page: string = `/v1/profiles/${profileId}/events?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`;
      const { body } = expectStatus(await ask("GET", page), 200);
      seen.push(...(body["events"] as readonly Json[]).map((event) => event["event_id"]));
      cursor = body["next_cursor"] as string | null;
    }
    assert.equal(seen.length, sent.length);
    assert.deepEqual(new Set(seen), new Set(sent));
  },

  "inline validation passes a good event, names the field of a bad one and stores neither": async (world) => {
    const { ask } = world;
    const name = world.fresh("inline");
    const check = (payload: Json) => ask("POST", "/v1/collect?syncValidation=true", { body: visit(payload) });
    const good = expectStatus(await check({ email: `${name}@example.com` }), 200);
    assert.deepEqual(good.body, { status: "pass", errors: [] });
    const bad = expectStatus(await check({ email: `${name}@example.com`, spent: "much" }), 200);
    assert.equal(bad.body["status"], "fail");
    assert.deepEqual(
      (bad.body["errors"] as readonly Json[]).map((error) => error["path"]),
      ["spent"],
    );
    const found = await ask("POST", "/v1/profiles/lookup", { body: { identifiers: [email(name)] } });
    assert.deepEqual(expectStatus(found, 200).body["profiles"], []);
  },
};
