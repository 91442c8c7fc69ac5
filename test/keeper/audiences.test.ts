import assert from "node:assert/strict";
import type { Entry } from "../../core/audience/seat.js";
import { AppError } from "../../core/errors.js";
import type { AudienceId, WorkspaceId } from "../../core/ids.js";
import { at, listAt, textAt, useApp, type TestWorkspace } from "../support/service/app.js";

const SHOP = {
  type: "object",
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
    city: { type: "string", "x-trait": { name: "city" } },
    total: { type: "number", "x-trait": { name: "largest_order", merge: "max" } },
  },
};
const IN_PARIS = { "traits.city": "Paris" };
const DAY_MS = 86_400_000;

describe("The stored members of audiences", () => {
  const ahead = new Map<WorkspaceId, number>();
  const app = useApp({}, { ahead: (workspace) => ahead.get(workspace) ?? 0 });
  let workspace: TestWorkspace;
  let id: WorkspaceId;
  let schemaId: string;

  const rest = () => app().service.keeper!.rest();
  const create = async (name: string, rule: object): Promise<AudienceId> => {
    const { status, body } = await workspace.send("POST", "/v1/audiences", { name, rule });
    assert.equal(status, 201, JSON.stringify(body));
    await rest();
    return textAt(body, "audience_id") as AudienceId;
  };
  const event = async (payload: object, timestamp = new Date(Date.now() + (ahead.get(id) ?? 0)).toISOString()) => {
    const sent = await workspace.send("POST", "/v1/collect", { schema_id: schemaId, timestamp, payload });
    assert.equal(sent.status, 202, sent.text);
    return textAt((await workspace.settled(sent.body["event_id"])).body, "profile_id");
  };
  const membersOf = async (audienceId: AudienceId) => {
    const { seats } = app().service.backends;
    return (await seats.members(id, audienceId, { limit: 100, after: null })).map(
      ({ profileId }) => profileId as string,
    );
  };
  const feed = async () => {
    const { entries } = await app().service.backends.seats.feed(id, 0, 1_000);
    return entries.map(({ entry }) => entry);
  };
  const told = async (audienceId: AudienceId) =>
    (await feed()).flatMap((entry) =>
      entry.type !== "profile_erased" && entry.audienceId === audienceId ? [textOf(entry)] : [],
    );
  const textOf = (entry: Entry): string =>
    "cause" in entry ? `${entry.profileId} ${entry.type} ${entry.cause}` : entry.type;
  const audienceOf = async (audienceId: AudienceId) =>
    (await workspace.send("GET", `/v1/audiences/${audienceId}`)).body;

  beforeEach(async () => {
    workspace = await app().workspace();
    id = workspace.id as WorkspaceId;
    schemaId = await workspace.schema(SHOP);
  });

  it("leave no seat behind that waits for a time, once there are no audiences any more", async () => {
    const quiet = await create("Quiet", { $not: { $events: { within: "7d" } } });
    const profileId = await event({ email: "ann@example.com" });
    await rest();
    assert.equal((await workspace.send("DELETE", `/v1/audiences/${quiet}`)).status, 204);
    await rest();
    const dueAt = async (ms: number) =>
      (await app().service.backends.seats.due(id, ms, { limit: 10, after: null })).map((one) => one.profileId);
    assert.deepEqual(await dueAt(Date.now() + 8 * DAY_MS), [profileId]);
    ahead.set(id, 8 * DAY_MS);
    await rest();
    assert.deepEqual(await dueAt(Date.now() + 8 * DAY_MS), []);
  });

  it("leave no notes behind where an audience was refused", async () => {
    const refused = await workspace.send("POST", "/v1/audiences", { name: "a", rule: { "traits.town": "Paris" } });
    assert.equal(refused.status, 422);
    await workspace.send("POST", "/v1/identify", { identifiers: [{ namespace: "email", value: "ann@example.com" }] });
    await rest();
    assert.deepEqual(await app().service.backends.graph.moved(id, 10), []);
  });

  it("are those that stood when the audience was made, and those that come and go", async () => {
    const ann = await event({ email: "ann@example.com", city: "Paris" });
    await event({ email: "bob@example.com", city: "Lyon" });
    const parisians = await create("Parisians", IN_PARIS);
    await rest();
    assert.deepEqual(await membersOf(parisians), [ann]);
    const first = await audienceOf(parisians);
    assert.deepEqual([at(first, "state"), at(first, "size"), at(first, "as_of_seq")], ["live", 1, 1]);
    const cid = await event({ email: "cid@example.com", city: "Paris" });
    await event({ email: "ann@example.com", city: "Lyon" });
    await rest();
    assert.deepEqual(await membersOf(parisians), [cid]);
    assert.deepEqual(
      (await told(parisians)).toSorted(),
      [`${ann} entered built`, `${ann} left changed`, `${cid} entered changed`].toSorted(),
    );
    assert.equal(at(await audienceOf(parisians), "size"), 1);
  });

  it("follow another rule, also of an audience that this one refers to", async () => {
    const rich = await create("rich", { "traits.largest_order": { $gte: 100 } });
    const poor = await create("poor", { $not: { $audience: rich } });
    const ann = await event({ email: "ann@example.com", total: 50 });
    await rest();
    assert.deepEqual([await membersOf(rich), await membersOf(poor)], [[], [ann]]);
    const changed = await workspace.send("PUT", `/v1/audiences/${rich}`, {
      rule: { "traits.largest_order": { $gte: 10 } },
    });
    assert.deepEqual([changed.status, at(changed.body, "state")], [200, "building"]);
    await rest();
    assert.deepEqual([await membersOf(rich), await membersOf(poor)], [[ann], []]);
    assert.deepEqual(await told(poor), [`${ann} entered changed`, `${ann} left rule`]);
    assert.deepEqual(await told(rich), [`${ann} entered rule`]);
    const renamed = await workspace.send("PUT", `/v1/audiences/${rich}`, { name: "wealthy" });
    assert.equal(at(renamed.body, "state"), "live", "a name is no rule");
    const rule = { "traits.largest_order": { $gte: 10 } };
    const again = await workspace.send("PUT", `/v1/audiences/${rich}`, { name: "wealthier", rule });
    assert.deepEqual(
      [at(again.body, "state"), at(again.body, "version")],
      ["live", 4],
      "the same rule is no other one",
    );
    const same = await workspace.send("PUT", `/v1/audiences/${rich}`, { name: "wealthier", rule });
    assert.deepEqual([at(same.body, "state"), at(same.body, "version")], ["live", 4], "nothing changed");
  });

  it("leave by themselves when a window ends", async () => {
    const buyers = await create("buyers of a week", { $events: { schema_id: schemaId, within: "7d" } });
    const ann = await event({ email: "ann@example.com", total: 50 });
    await rest();
    assert.deepEqual(await membersOf(buyers), [ann]);
    ahead.set(id, 7 * DAY_MS - 60_000);
    await rest();
    assert.deepEqual(await membersOf(buyers), [ann]);
    ahead.set(id, 7 * DAY_MS);
    await rest();
    assert.deepEqual(await membersOf(buyers), []);
    assert.deepEqual(await told(buyers), [`${ann} entered changed`, `${ann} left time`]);
    const { body } = await workspace.send("GET", `/v1/profiles/${ann}`);
    assert.deepEqual(listAt(body, "audiences"), []);
  });

  it("end with the audience: the feed says so once, and nothing of it afterwards", async () => {
    const parisians = await create("Parisians", IN_PARIS);
    const everybody = await create("everybody", {});
    const ann = await event({ email: "ann@example.com", city: "Paris" });
    await rest();
    assert.equal((await workspace.send("DELETE", `/v1/audiences/${parisians}`)).status, 204);
    await rest();
    assert.deepEqual([await membersOf(parisians), await membersOf(everybody)], [[], [ann]]);
    assert.deepEqual(await told(parisians), [`${ann} entered changed`, "audience_deleted"]);
    const { sizes } = await app().service.backends.seats.sizes(id);
    assert.deepEqual([...sizes], [[everybody, 1]]);
    assert.deepEqual((await app().service.backends.audiences.audiences(id)).deleted, []);
  });

  it("end with the audience also where a profile cannot be read, which stays in its other ones", async () => {
    const [one, other] = [await create("One", IN_PARIS), await create("Other", IN_PARIS)];
    const person = await event({ email: "ada@example.com", city: "Paris" });
    await rest();
    const { profiles } = app().service.backends;
    const findSome = profiles.findSome.bind(profiles);
    Object.assign(profiles, { findSome: () => Promise.reject(new AppError("damaged", "a facet is damaged")) });
    try {
      await workspace.send("DELETE", `/v1/audiences/${one}`);
      await rest();
      assert.deepEqual(await membersOf(other), [person]);
      assert.deepEqual((await told(one)).at(-1), "audience_deleted");
    } finally {
      Object.assign(profiles, { findSome });
    }
  });

  it("are left by a person who is erased, and the feed says that the profile is no more", async () => {
    const [parisians, everybody] = [await create("Parisians", IN_PARIS), await create("everybody", {})];
    const ann = await event({ email: "ann@example.com", city: "Paris" });
    const bob = await event({ email: "bob@example.com", city: "Paris" });
    await rest();
    const { body } = await workspace.send("POST", "/v1/erasures", { profile_id: ann });
    await rest();
    assert.deepEqual([await membersOf(parisians), await membersOf(everybody)], [[bob], [bob]]);
    const receipt = await workspace.send("GET", `/v1/erasures/${textAt(body, "erasure_id")}`);
    assert.deepEqual(
      [at(receipt.body, "status"), at(receipt.body, "removed.memberships")],
      ["completed", 2],
      receipt.text,
    );
    const last = (await feed()).slice(-3).map((entry) => textOf(entry));
    assert.deepEqual(last, [`${ann} left erased`, `${ann} left erased`, "profile_erased"]);
  });

  it("follow events that retention deletes", async () => {
    const buyers = await create("buyers of nearly a week", { $events: { schema_id: schemaId, within: "167h" } });
    const { body } = await workspace.send("GET", "/v1/datasets");
    const dataset = `/v1/datasets/${textAt(listAt(body, "datasets")[0], "dataset_id")}`;
    assert.equal((await workspace.send("PATCH", dataset, { retention_days: 7 })).status, 200);
    const tomorrow = new Date(Date.now() + DAY_MS).toISOString();
    const ann = await event({ email: "ann@example.com", total: 50 }, tomorrow);
    await rest();
    assert.deepEqual(await membersOf(buyers), [ann]);
    // By its own time it would stay for another day.
    ahead.set(id, 7 * DAY_MS + 60_000);
    await rest();
    assert.deepEqual(await membersOf(buyers), []);
    assert.deepEqual(await told(buyers), [`${ann} entered changed`, `${ann} left changed`]);
  });

  it("follow merges and their undo: the retired profile leaves into the other one, and comes back as what it is", async () => {
    const parisians = await create("Parisians", IN_PARIS);
    const rich = await create("rich Parisians", { $and: [IN_PARIS, { "traits.largest_order": { $gte: 100 } }] });
    const known = await create("known by cookie", { "identifiers.cookie_id": { $exists: true } });
    const cookie = await event({ cookie: "c-1", total: 200 });
    const ann = await event({ email: "ann@example.com", city: "Paris" });
    await rest();
    assert.deepEqual(
      [await membersOf(parisians), await membersOf(rich), await membersOf(known)],
      [[ann], [], [cookie]],
    );
    const identifiers = [
      { namespace: "email", value: "ann@example.com" },
      { namespace: "cookie_id", value: "c-1" },
    ];
    const merged = await workspace.send("POST", "/v1/identify", { identifiers });
    assert.equal(textAt(merged.body, "profile_id"), cookie, "the older one survives");
    await rest();
    assert.deepEqual(
      [await membersOf(parisians), await membersOf(rich), await membersOf(known)],
      [[cookie], [cookie], [cookie]],
    );
    const left = (await feed()).find((entry) => entry.type === "left");
    assert.deepEqual(left, { ...left, profileId: ann, cause: "merged", into: cookie });
    const entered = (await told(rich)).at(-1);
    assert.equal(entered, `${cookie} entered merged`);
    await workspace.send("POST", `/v1/changes/${textAt(merged.body, "change_id")}/revert`);
    await rest();
    assert.deepEqual(
      [await membersOf(parisians), await membersOf(rich), await membersOf(known)],
      [[ann], [], [cookie]],
    );
    assert.deepEqual((await told(rich)).at(-1), `${cookie} left split`);
    // Nobody folds anything: only identifiers change.
    await workspace.send("POST", "/v1/identify", {
      identifiers: [
        { namespace: "email", value: "ann@example.com" },
        { namespace: "cookie_id", value: "c-2" },
      ],
    });
    await workspace.send("POST", "/v1/identify", { identifiers: [{ namespace: "cookie_id", value: "c-3" }] });
    await rest();
    assert.equal((await membersOf(known)).length, 3);
    await workspace.send("POST", "/v1/identity/unlink", {
      from: { namespace: "email", value: "ann@example.com" },
      to: { namespace: "cookie_id", value: "c-2" },
      forbid: false,
    });
    await rest();
    const members = await membersOf(known);
    assert.deepEqual([members.length, members.includes(ann)], [3, false], "the cookie alone is somebody else");
  });

  it("are what a late event makes them, and nothing is told twice", async () => {
    const last = await create("ordered in a day", { $events: { schema_id: schemaId, within: "1d" } });
    const never = await create("never in Lyon", { "traits.city": { $ne: "Lyon" } });
    const ann = await event({ email: "ann@example.com", city: "Paris" }, "2026-01-02T00:00:00Z");
    await rest();
    assert.deepEqual([await membersOf(last), await membersOf(never)], [[], [ann]]);
    await event({ email: "ann@example.com", city: "Lyon" }, "2026-01-01T00:00:00Z");
    await rest();
    assert.deepEqual(await membersOf(never), [ann], "an older city does not replace a newer one");
    await event({ email: "ann@example.com" }, new Date(Date.now() - DAY_MS + 60_000).toISOString());
    await rest();
    assert.deepEqual(await membersOf(last), [ann]);
    ahead.set(id, 60_001);
    await rest();
    assert.deepEqual(await membersOf(last), []);
    assert.deepEqual(await told(never), [`${ann} entered changed`]);
  });
});
