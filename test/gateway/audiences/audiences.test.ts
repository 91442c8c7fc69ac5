import assert from "node:assert/strict";
import { at, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

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
const NOBODY = "0190f0f0-0000-7000-8000-000000000000";

describe("Audiences", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let schemaId: string;

  const create = async (name: string, rule: object) => {
    const { status, body } = await workspace.send("POST", "/v1/audiences", { name, rule });
    assert.equal(status, 201, JSON.stringify(body));
    return textAt(body, "audience_id");
  };
  const put = (id: string, body: object, headers = {}) => workspace.send("PUT", `/v1/audiences/${id}`, body, headers);
  const event = async (payload: object, timestamp = "2026-01-01T00:00:00Z") => {
    const sent = await workspace.send("POST", "/v1/collect", { schema_id: schemaId, timestamp, payload });
    return textAt((await workspace.settled(sent.body["event_id"])).body, "profile_id");
  };
  const namesOf = (profile: unknown) => listAt(profile, "audiences").map((audience) => textAt(audience, "name"));
  const audiencesOf = async (profileId: string) =>
    namesOf((await workspace.send("GET", `/v1/profiles/${profileId}`)).body);
  const problems = ({ status, body }: { status: number; body: unknown }) => {
    assert.equal(status, 422, JSON.stringify(body));
    return listAt(body, "errors").map((error) => `${textAt(error, "path")}: ${textAt(error, "message")}`);
  };

  beforeEach(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema(SHOP);
  });

  /** Without what changes by itself. */
  const defined = (audience: unknown) => {
    const { state, size, as_of_seq, progress, ...rest } = audience as Readonly<Record<string, unknown>>;
    assert.ok(["building", "live"].includes(String(state)));
    assert.deepEqual([typeof size, typeof as_of_seq, progress === undefined], ["number", "number", state === "live"]);
    return rest;
  };

  it("are created, listed, read, changed and deleted", async () => {
    const id = await create("Parisians", IN_PARIS);
    const read = await workspace.send("GET", `/v1/audiences/${id}`);
    const created = {
      audience_id: id,
      name: "Parisians",
      rule: IN_PARIS,
      version: 1,
      created_at: at(read.body, "created_at"),
    };
    assert.deepEqual(defined(read.body), created);
    const second = await create("All", {});
    const first = await workspace.send("GET", "/v1/audiences?limit=1");
    assert.deepEqual(listAt(first.body, "audiences").map(defined), [created]);
    const next = await workspace.send("GET", `/v1/audiences?cursor=${textAt(first.body, "next_cursor")}`);
    assert.deepEqual(
      listAt(next.body, "audiences").map((one) => textAt(one, "audience_id")),
      [second],
    );
    const changed = await put(id, { name: "People of Paris" });
    assert.deepEqual(defined(changed.body), { ...created, name: "People of Paris", version: 2 });
    const lyon = { "traits.city": { $in: ["Lyon"] } };
    assert.deepEqual(defined((await put(id, { rule: lyon })).body), {
      ...created,
      name: "People of Paris",
      rule: lyon,
      version: 3,
    });
    assert.equal((await workspace.send("DELETE", `/v1/audiences/${id}`)).status, 204);
    assert.equal((await workspace.send("GET", `/v1/audiences/${id}`)).status, 404);
    assert.equal((await put(id, { name: "a" })).status, 404);
    assert.equal((await workspace.send("DELETE", `/v1/audiences/${id}`)).status, 404);
  });

  it("are refused with the path of what is wrong, and nothing is stored", async () => {
    const refused = async (body: object) => problems(await workspace.send("POST", "/v1/audiences", body));
    assert.deepEqual(await refused({ name: "a", rule: { "traits.town": 1 } }), [
      "rule.traits.town: is not a trait of this workspace",
    ]);
    assert.deepEqual(await refused({ name: "a", rule: { $and: [IN_PARIS, { $audience: NOBODY }] } }), [
      "rule.$and.1.$audience: is not an audience of this workspace",
    ]);
    assert.deepEqual(await refused({ name: "a", rule: { "traits.city": "x".repeat(17_000) } }), [
      "rule: must have at most 16384 bytes",
    ]);
    assert.deepEqual(listAt((await workspace.send("GET", "/v1/audiences")).body, "audiences"), []);
  });

  it("are 100 at most", async () => {
    for (let n = 0; n < 100; n++) await create(`audience ${n}`, IN_PARIS);
    const refused = await workspace.send("POST", "/v1/audiences", { name: "one more", rule: IN_PARIS });
    assert.deepEqual(problems(refused), ["name: a workspace has at most 100 audiences"]);
  });

  it("change only for who saw the last version, if it names one", async () => {
    const id = await create("a", IN_PARIS);
    const { headers } = await workspace.send("GET", `/v1/audiences/${id}`);
    const seen = { "If-Match": headers["etag"] };
    assert.equal((await put(id, { name: "b" }, seen)).status, 200);
    assert.equal((await put(id, { name: "c" }, seen)).status, 412);
    const remove = (match: unknown) =>
      workspace.send("DELETE", `/v1/audiences/${id}`, undefined, { "If-Match": String(match) });
    assert.equal((await remove(headers["etag"])).status, 412, "nor is it deleted");
    assert.equal((await remove("x")).status, 400);
    const standing = await workspace.send("GET", `/v1/audiences/${id}`);
    assert.equal((await remove(standing.headers["etag"])).status, 204);
  });

  it("say on each read of a profile whether it is in them, judged by what that read shows", async () => {
    const rich = await create("rich", { "traits.largest_order": { $gte: 100 } });
    await create("rich Parisians", { $and: [{ $audience: rich }, IN_PARIS] });
    await create("not rich", { $not: { $audience: rich } });
    const profile = await event({ email: "ann@example.com", total: 10 });
    assert.deepEqual(await audiencesOf(profile), ["not rich"]);
    await event({ email: "ann@example.com", city: "Paris", total: 100 });
    assert.deepEqual(await audiencesOf(profile), ["rich", "rich Parisians"]);
    const lookup = { identifiers: [{ namespace: "email", value: "ann@example.com" }] };
    const found = await workspace.send("POST", "/v1/profiles/lookup", lookup);
    assert.deepEqual(listAt(found.body, "profiles").map(namesOf), [["rich", "rich Parisians"]]);
    const listed = await workspace.send("GET", "/v1/profiles");
    assert.deepEqual(listAt(listed.body, "profiles").map(namesOf), [["rich", "rich Parisians"]]);
    // Whoever refers to a rule follows each change of it.
    assert.equal((await put(rich, { rule: { "traits.largest_order": { $gte: 101 } } })).status, 200);
    assert.deepEqual(await audiencesOf(profile), ["not rich"]);
  });

  it("count events of a profile, and follow a merge and its undo", async () => {
    await create("buyers", { $events: { schema_id: schemaId, where: { total: { $gte: 50 } }, at_least: 2 } });
    const cookie = await event({ cookie: "c-1", total: 60 });
    const email = await event({ email: "ann@example.com", total: 70 });
    assert.deepEqual([await audiencesOf(cookie), await audiencesOf(email)], [[], []]);
    const identifiers = [
      { namespace: "email", value: "ann@example.com" },
      { namespace: "cookie_id", value: "c-1" },
    ];
    const merged = await workspace.send("POST", "/v1/identify", { identifiers });
    assert.deepEqual(await audiencesOf(textAt(merged.body, "profile_id")), ["buyers"]);
    await workspace.send("POST", `/v1/changes/${textAt(merged.body, "change_id")}/revert`);
    assert.deepEqual([await audiencesOf(cookie), await audiencesOf(email)], [[], []]);
  });

  it("may be searched by name of their rule", async () => {
    const id = await create("Parisians", IN_PARIS);
    const profile = await event({ email: "ann@example.com", city: "Paris" });
    await event({ email: "bob@example.com", city: "Lyon" });
    const found = await workspace.send("POST", "/v1/profiles/search", { rule: { $audience: id } });
    assert.deepEqual(
      listAt(found.body, "profiles").map((one) => textAt(one, "profile_id")),
      [profile],
    );
  });

  it("refuse a circle over others, and to be deleted while another refers to them", async () => {
    const a = await create("a", IN_PARIS);
    const b = await create("b", { $not: { $audience: a } });
    const c = await create("c", { $or: [{ $audience: b }, IN_PARIS] });
    const circle = ["rule.$audience: refers back to this audience"];
    const d = await create("d", { $and: [IN_PARIS, { $audience: c }] });
    // The last leads back over three others.
    for (const one of [a, b, c, d]) assert.deepEqual(problems(await put(a, { rule: { $audience: one } })), circle);
    const refused = await workspace.send("DELETE", `/v1/audiences/${a}`);
    assert.equal(refused.status, 409);
    assert.deepEqual([at(refused.body, "code"), at(refused.body, "audience_ids")], ["in_use", [b]]);
    for (const one of [d, c, b, a]) assert.equal((await workspace.send("DELETE", `/v1/audiences/${one}`)).status, 204);
  });

  it("refuse a rule of 51 conditions, its own or with those that it refers to", async () => {
    const many = (length: number) => ({ $and: Array.from({ length }, () => IN_PARIS) });
    const refused = async (rule: object) =>
      problems(await workspace.send("POST", "/v1/audiences", { name: "a", rule })).map((one) => one.split(": ")[1]);
    assert.deepEqual(await refused(many(51)), ["a rule has at most 50 conditions"]);
    const half = await create("half", many(25));
    await create("whole", { $or: [{ $audience: half }, many(25)] });
    assert.deepEqual(await refused({ $or: [{ $audience: half }, many(26)] }), ["a rule has at most 50 conditions"]);
  });

  it("count one for everybody as a condition: references to references to it stand for no more than 50", async () => {
    const fiftyOf = (part: object) => ({ $and: Array.from({ length: 50 }, () => part) });
    const all = await create("all", {});
    const fifty = await create("fifty", fiftyOf({ $audience: all }));
    const refused = async (rule: object) =>
      problems(await workspace.send("POST", "/v1/audiences", { name: "a", rule })).map((one) => one.split(": ")[1]);
    assert.deepEqual(await refused(fiftyOf({ $audience: fifty })), ["a rule has at most 50 conditions"]);
    assert.deepEqual(await refused({ $and: [fiftyOf({}), {}] }), ["a rule has at most 50 conditions"]);
    assert.deepEqual(problems(await put(all, { rule: { $or: [{}, {}] } })), [
      `rule: with this rule, audience ${fifty}, which refers to this one, has more than 50 conditions or more than 8 levels`,
    ]);
  });

  it("count each test of events, and the depth, through references as in one rule", async () => {
    const where = { total: { $gte: 1, $lt: 9 }, city: "Paris" };
    const four = { $events: { schema_id: schemaId, where } };
    const many = (of: object, length: number) => ({ $and: Array.from({ length }, () => of) });
    const first = await create("first", many(four, 12));
    const refused = async (rule: object) =>
      problems(await workspace.send("POST", "/v1/audiences", { name: "a", rule })).map((one) => one.split(": ")[1]);
    assert.deepEqual(await refused({ $and: [{ $audience: first }, many(IN_PARIS, 3)] }), [
      "a rule has at most 50 conditions",
    ]);
    const whole = await create("whole", { $and: [{ $audience: first }, many(IN_PARIS, 2)] });
    assert.deepEqual(problems(await put(first, { rule: many(four, 13) })), [
      "rule.$and.12.$events.where.total.$lt: a rule has at most 50 conditions",
    ]);
    assert.deepEqual(problems(await put(first, { rule: { $and: [many(four, 12), {}] } })), [
      `rule: with this rule, audience ${whole}, which refers to this one, has more than 50 conditions or more than 8 levels`,
    ]);
    const nested = (depth: number, of: object): object => (depth === 0 ? of : { $not: nested(depth - 1, of) });
    const six = await create("six", nested(5, IN_PARIS));
    const eight = await create("eight", nested(2, { $audience: six }));
    assert.deepEqual(await refused(nested(3, { $audience: six })), ["a rule has at most 8 levels"]);
    assert.deepEqual(await refused({ $not: { $audience: eight } }), ["a rule has at most 8 levels"]);
    const search = await workspace.send("POST", "/v1/profiles/search", { rule: { $not: { $audience: eight } } });
    assert.deepEqual(problems(search), ["rule.$not.$audience: a rule has at most 8 levels"]);
    assert.deepEqual(problems(await put(six, { rule: nested(6, IN_PARIS) })), [
      `rule: with this rule, audience ${eight}, which refers to this one, has more than 50 conditions or more than 8 levels`,
    ]);
  });

  it("refuse a change that makes another too large", async () => {
    const a = await create("a", IN_PARIS);
    const b = await create("b", { $and: [{ $audience: a }, ...Array.from({ length: 49 }, () => IN_PARIS)] });
    assert.deepEqual(problems(await put(a, { rule: { "traits.city": { $gte: "A", $lt: "B" } } })), [
      `rule: with this rule, audience ${b}, which refers to this one, has more than 50 conditions or more than 8 levels`,
    ]);
  });

  it("look at no events that are deleted by then, and no retention becomes shorter than they look back", async () => {
    const { body } = await workspace.send("GET", "/v1/datasets");
    const dataset = `/v1/datasets/${textAt(listAt(body, "datasets")[0], "dataset_id")}`;
    const keep = (days: number | null) => workspace.send("PATCH", dataset, { retention_days: days });
    const ordered = (within?: string, id: string | null = schemaId) => ({
      $events: { ...(id !== null && { schema_id: id }), ...(within !== undefined && { within }) },
    });
    assert.equal((await keep(30)).status, 200);
    const message = "must be less than 30d: by then the events are deleted (retention_days of their datasets)";
    for (const rule of [ordered("30d"), ordered(), ordered("720h"), ordered("31d", null)]) {
      const refused = await workspace.send("POST", "/v1/audiences", { name: "a", rule: { $or: [IN_PARIS, rule] } });
      assert.deepEqual(problems(refused), [`rule.$or.1.$events.within: ${message}`]);
      assert.equal(at(refused.body, "code"), "window_exceeds_retention");
      const preview = await workspace.send("POST", "/v1/audiences/preview", { rule: { $or: [IN_PARIS, rule] } });
      assert.deepEqual(problems(preview), [`rule.$or.1.$events.within: ${message}`], "a preview says so too");
      assert.equal(at(preview.body, "code"), "window_exceeds_retention");
      const search = await workspace.send("POST", "/v1/profiles/search", { rule });
      assert.equal(search.status, 200, "a search looks at what stands");
    }
    const month = await create("a month", ordered("719h"));
    await create("rests on it", { $not: { $audience: month } });
    const week = await create("a week of anything", ordered("7d", null));
    assert.equal((await keep(30)).status, 200);
    const refused = await keep(29);
    assert.deepEqual(
      [refused.status, at(refused.body, "code"), at(refused.body, "audience_ids")],
      [409, "in_use", [month]],
    );
    assert.deepEqual(at((await keep(7)).body, "audience_ids"), [month, week], "just as long is too short");
    const again = { name: "short", schema_id: schemaId, retention_days: 1 };
    assert.equal(
      (await workspace.send("POST", "/v1/datasets", again)).status,
      201,
      "the longest of the datasets counts",
    );
    assert.equal((await keep(null)).status, 200);
    await create("ever", ordered());
    assert.equal((await keep(3_000)).status, 409);
  });

  it("keep workspaces apart", async () => {
    const id = await create("Parisians", IN_PARIS);
    const other = await app().workspace();
    assert.equal((await other.send("GET", `/v1/audiences/${id}`)).status, 404);
    assert.equal((await other.send("PUT", `/v1/audiences/${id}`, { name: "mine" })).status, 404);
    assert.equal((await other.send("DELETE", `/v1/audiences/${id}`)).status, 404);
    const refused = await other.send("POST", "/v1/profiles/search", { rule: { $audience: id } });
    assert.deepEqual(problems(refused), ["rule.$audience: is not an audience of this workspace"]);
  });
});
