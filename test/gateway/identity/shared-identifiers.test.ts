import assert from "node:assert/strict";
import { at, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";
import { device, id, identityCalls, user, type IdentityCalls, type Named } from "../../support/identity/calls.js";

const kiosk = device("kiosk");
const people = [1, 2, 3, 4].map((n) => ({ login: user(`u-${n}`), email: id("email", `p${n}@example.com`) }));

describe("An identifier that crosses the shared identifier limit", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let calls: IdentityCalls;
  let schemaId: string;
  beforeEach(async () => {
    workspace = await app().workspace();
    calls = identityCalls(workspace);
    assert.equal((await workspace.send("PUT", "/v1/namespaces/user_id", { limit: 5 })).status, 200);
    await setLimit(2);
    schemaId = await workspace.schema({
      properties: {
        user: { type: "string", "x-identity": { namespace: "user_id" } },
        device: { type: "string", "x-identity": { namespace: "device_id" } },
        cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
        mail: { type: "string", "x-identity": { namespace: "email" }, "x-trait": { name: "mail" } },
        seen: { type: "string", "x-trait": { name: "seen" } },
      },
    });
  });
  const setLimit = async (limit: number | null): Promise<void> => {
    const set = await workspace.send("PUT", "/v1/identity/settings", { shared_identifier_limit: limit });
    assert.equal(set.status, 200, set.text);
  };
  const folded = async (payload: unknown): Promise<Readonly<Record<string, unknown>>> =>
    (await workspace.settled((await workspace.collect(schemaId, payload)).body["event_id"])).body;
  const lookUp = async (identifier: Named) =>
    at((await calls.post("profiles/lookup", { identifiers: [identifier] })).body, "profiles.0") as Readonly<
      Record<string, unknown>
    >;
  /** Two of them share it, and the profile of both has an e-mail. */
  const shareIt = async (): Promise<void> => {
    for (const [n, { login, email }] of people.slice(0, 2).entries()) {
      await calls.identify(login, kiosk);
      await folded({ user: `u-${n + 1}`, mail: email.value });
    }
    assert.equal((await lookUp(kiosk))["profile_id"], await calls.profileOf(people[0]!.login));
  };
  const changesOf = async () =>
    (await calls.changes("?outcome=unlinked")).filter((change) => textAt(change, "source") === "shared_identifier");

  it("belongs to nobody: its profile is its own, and nobody's data is in it", async () => {
    await shareIt();
    const { body } = await calls.identify(people[2]!.login, kiosk);
    assert.deepEqual(body["dropped"], [{ identifier: kiosk, rule: "shared_identifier" }]);
    const found = await lookUp(kiosk);
    assert.deepEqual([found["identifiers"], found["traits"]], [[kiosk], {}]);
    assert.deepEqual(found["shared_identifiers"], [kiosk]);
    const ids = await Promise.all(people.slice(0, 3).map(({ login }) => calls.profileOf(login)));
    assert.equal(new Set([...ids, found["profile_id"]]).size, 4, "what it alone held together is apart");
    assert.equal(at(await lookUp(people[0]!.login), "traits.mail"), people[0]!.email.value);
  });

  it("folds what it sends alone into the profile of its own", async () => {
    await shareIt();
    await folded({ user: "u-3", device: "kiosk" });
    const event = await folded({ device: "kiosk", seen: "alone" });
    const found = await lookUp(kiosk);
    assert.equal(event["profile_id"], found["profile_id"]);
    assert.deepEqual([found["identifiers"], found["traits"]], [[kiosk], { seen: "alone" }]);
    for (const { login } of people.slice(0, 3)) assert.equal(at(await lookUp(login), "traits.seen"), undefined);
  });

  it("crosses it by an event too, whose answer names the profile of now", async () => {
    await shareIt();
    const event = await folded({ user: "u-1", device: "kiosk", mail: people[2]!.email.value });
    assert.deepEqual(event["dropped"], []);
    const crossing = await folded({ user: "u-3", device: "kiosk" });
    assert.deepEqual(crossing["dropped"], [{ identifier: kiosk, rule: "shared_identifier" }]);
    assert.equal(crossing["profile_id_then"], await calls.profileOf(people[2]!.login));
    assert.deepEqual((await lookUp(kiosk))["identifiers"], [kiosk]);
  });

  it("has no facet of what names somebody beside it", async () => {
    await shareIt();
    await calls.identify(people[2]!.login, kiosk);
    const event = await folded({ device: "kiosk", cookie: "c-1", seen: "by a visitor" });
    assert.deepEqual(event["dropped"], [{ identifier: kiosk, rule: "shared_identifier" }]);
    assert.equal(event["profile_id"], await calls.profileOf(id("cookie_id", "c-1")));
    assert.deepEqual((await lookUp(kiosk))["traits"], {});
  });

  it("leaves one change, which a revert restores", async () => {
    await shareIt();
    const before = (await lookUp(kiosk))["profile_id"];
    await calls.identify(people[2]!.login, kiosk);
    const [change, ...others] = await changesOf();
    assert.deepEqual([others, listAt(change, "identifiers")], [[], [kiosk]]);
    assert.deepEqual(listAt(change, "before"), [before]);
    assert.equal(listAt(change, "after").length, 3);
    await setLimit(null);
    const reverted = await calls.revert(textAt(change, "change_id"));
    assert.deepEqual([reverted.body["outcome"], reverted.body["profile_ids"]], ["reverted", [before]]);
    assert.equal((await calls.identify(people[3]!.login, kiosk)).body["profile_id"], before);
  });

  it("is taken back again after a revert, as long as it is beyond the limit", async () => {
    await shareIt();
    await calls.identify(people[2]!.login, kiosk);
    await calls.revert(textAt((await changesOf())[0], "change_id"));
    assert.notDeepEqual((await lookUp(kiosk))["identifiers"], [kiosk]);
    await calls.identify(people[3]!.login, kiosk);
    assert.deepEqual((await lookUp(kiosk))["identifiers"], [kiosk]);
    assert.equal((await changesOf()).length, 2);
  });

  it("is unlinked once by many requests that come upon it together", async () => {
    await shareIt();
    const logins = Array.from({ length: 12 }, (_, n) => user(`v-${n}`));
    await Promise.all(logins.map((login) => calls.identify(login, kiosk)));
    assert.equal((await changesOf()).length, 1);
    const ids = await Promise.all([kiosk, ...logins].map((one) => calls.profileOf(one)));
    assert.equal(new Set(ids).size, ids.length);
  });
});
