import assert from "node:assert/strict";
import {
  collect,
  email,
  expectStatus,
  folded,
  identify,
  lookUp,
  type Checks,
  type Identifier,
  type Json,
} from "./world.js";

const CLIENTS = 16;

/** Who is the same person. */
export const IDENTITY: Checks = {
  "identify answers the profile id: created, then unchanged, then linked": async (world) => {
    const [login, mail] = [{ namespace: "user_id", value: world.fresh("u") }, email(world.fresh("mail"))];
    const created = await identify(world, [login]);
    assert.equal(created["outcome"], "created");
    const repeated = await identify(world, [login]);
    assert.deepEqual([repeated["outcome"], repeated["profile_id"]], ["unchanged", created["profile_id"]]);
    const linked = await identify(world, [login, mail]);
    assert.deepEqual([linked["outcome"], linked["profile_id"]], ["linked", created["profile_id"]]);
    assert.equal((await lookUp(world, mail))["profile_id"], created["profile_id"]);
  },

  "alias makes one profile of two, with the data of both, and both ids keep working": async (world) => {
    const { ask } = world;
    const [name, cookie] = [world.fresh("known"), world.fresh("cookie")];
    await folded(world, await collect(world, { email: `${name}@example.com`, city: "Oslo" }));
    const anonymous: Identifier = { namespace: "cookie_id", value: cookie };
    const before = [
      (await lookUp(world, email(name)))["profile_id"],
      (await identify(world, [anonymous]))["profile_id"],
    ];
    const body = { anonymous, known: email(name) };
    const merged = expectStatus(await ask("POST", "/v1/alias", { body }), 200).body;
    assert.equal(merged["outcome"], "merged");
    for (const id of before) {
      const profile = expectStatus(await ask("GET", `/v1/profiles/${String(id)}`), 200).body;
      assert.equal(profile["profile_id"], merged["profile_id"]);
      assert.deepEqual(profile["traits"], { city: "Oslo" });
    }
  },

  "an event with two identifiers links them": async (world) => {
    const [name, cookie] = [world.fresh("both"), world.fresh("cookie")];
    await folded(world, await collect(world, { email: `${name}@example.com`, cookie }));
    const ids = [email(name), { namespace: "cookie_id", value: cookie }];
    const profiles = await Promise.all(ids.map((id) => lookUp(world, id)));
    assert.equal(profiles[0]!["profile_id"], profiles[1]!["profile_id"]);
  },

  [`${CLIENTS} identifies that meet in one person, sent at once, end in one profile`]: async (world) => {
    const people = Array.from({ length: CLIENTS }, () => email(world.fresh("ring")));
    const pairs = people.map((one, i) => [one, people[(i + 1) % CLIENTS]!]);
    const answers = await Promise.all(pairs.map((pair) => identify(world, pair)));
    const profiles = await Promise.all(people.map((one) => lookUp(world, one)));
    const ids = new Set(profiles.map((profile: Json) => profile["profile_id"]));
    assert.equal(ids.size, 1);
    for (const { profile_id } of answers as readonly { readonly profile_id?: unknown }[]) {
      const path = `/v1/profiles/${String(profile_id)}`;
      const { body } = expectStatus(await world.ask("GET", path), 200);
      assert.ok(ids.has(body["profile_id"]));
    }
  },
};
