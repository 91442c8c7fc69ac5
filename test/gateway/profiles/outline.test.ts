import assert from "node:assert/strict";
import { at, errorPaths, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";
import { device, id, identityCalls, user, type IdentityCalls } from "../../support/identity/calls.js";

const [ada, phone, tablet, cookie] = [user("ada"), device("phone"), device("tablet"), id("cookie_id", "c")];

const without = (name: string, one: unknown) =>
  Object.fromEntries(Object.entries(one as object).filter(([other]) => other !== name));

describe("POST /v1/profiles/{id}/outline", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let calls: IdentityCalls;
  beforeEach(async () => {
    workspace = await app().workspace();
    calls = identityCalls(workspace);
  });
  const outline = async (profileId: unknown, body?: unknown) => {
    const answer = await calls.post(`profiles/${String(profileId)}/outline`, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  /** Many devices of one person, some to a call. */
  const crowd = async (name: string, count: number): Promise<void> => {
    for (let from = 0; from < count; from += 19)
      await calls.identify(
        user(name),
        ...Array.from({ length: Math.min(19, count - from) }, (_, n) => device(`${name}-${from + n}`)),
      );
  };

  it("answers a small graph whole: each link with its evidence as /graph has it, and bridges with their smaller side", async () => {
    await calls.identify(ada, phone);
    await calls.identify(phone, tablet);
    const { body } = await calls.identify(tablet, cookie);
    const told = await outline(body["profile_id"]);
    const graph = (await calls.get(`profiles/${textAt(body, "profile_id")}/graph?limit=100`)).body;
    assert.deepEqual(
      listAt(told, "links").map((one) => without("bridge", one)),
      listAt(graph, "links"),
    );
    assert.deepEqual(
      listAt(told, "nodes").map((one) => without("links", one)),
      listAt(graph, "nodes"),
    );
    assert.deepEqual(
      listAt(told, "nodes").map((node) => at(node, "links")),
      [1, 2, 2, 1],
    );
    assert.deepEqual(
      listAt(told, "links").flatMap((link) => at(link, "bridge") ?? []),
      [2],
    );
    assert.deepEqual([at(told, "size"), told["groups"], told["bundles"]], [{ identifiers: 4, links: 3 }, [], []]);
    assert.equal("partial" in told, false);
  });

  it("counts those of a large one by namespace, on each side of a bridge, and leaves alone what is to be kept", async () => {
    await crowd("ada", 400);
    await crowd("bob", 150);
    const { body } = await calls.alias(user("ada"), user("bob"));
    const profileId = body["profile_id"];
    const names = (told: unknown) =>
      listAt(told, "nodes").map((node) => `${textAt(node, "namespace")} ${textAt(node, "value")}`);
    const counts = (told: unknown) =>
      listAt(told, "groups").map((group) => [at(group, "namespace"), at(group, "count")] as const);
    const told = await outline(profileId, { keep: device("ada-77") });
    assert.ok(names(told).includes("device_id ada-77"));
    assert.ok(names(told).includes("user_id ada") && names(told).includes("user_id bob"));
    const all = counts(told).reduce((sum, [, count]) => sum + Number(count), listAt(told, "nodes").length);
    assert.equal(all, 552);
    assert.equal(at(told, "size.identifiers"), 552);
    assert.deepEqual(
      counts(told).map(([namespace]) => namespace),
      ["device_id", "device_id"],
    );
    const bridges = listAt(told, "links").filter((link) => at(link, "bridge") !== undefined);
    assert.deepEqual(
      bridges.map((link) => at(link, "bridge")),
      [151],
    );
    // Every group hangs on something.
    for (const group of listAt(told, "groups"))
      assert.ok(listAt(told, "bundles").some((one) => [at(one, "from"), at(one, "to")].includes(at(group, "id"))));
    assert.equal(names(await outline(profileId)).includes("device_id ada-77"), false);
    assert.equal(names(await outline(profileId, { keep: user("nobody") })).length, listAt(told, "nodes").length - 1);
  }).timeout(60_000);

  it("follows an id that was merged, and marks shared identifiers by the present limit", async () => {
    await workspace.send("PUT", "/v1/namespaces/user_id", { kind: "person", limit: 1 });
    await workspace.send("PUT", "/v1/identity/settings", { shared_identifier_limit: 1 });
    const first = await calls.identify(ada, phone);
    await calls.post("identify", { identifiers: [user("bob"), phone] });
    await calls.post("identify", { identifiers: [user("eve"), phone] });
    const shared = listAt(await outline(first.body["profile_id"]), "nodes").concat(
      listAt(await outline(await calls.profileOf(phone)), "nodes"),
    );
    const isShared = shared.filter((node) => at(node, "shared") === true).map((node) => at(node, "value"));
    assert.deepEqual(new Set(isShared), new Set(["phone"]));
    await workspace.send("PUT", "/v1/identity/settings", { shared_identifier_limit: null });
    const after = listAt(await outline(await calls.profileOf(phone)), "nodes");
    assert.ok(after.every((node) => at(node, "shared") === undefined));
    const [one, other] = [await calls.identify(tablet), await calls.identify(cookie)];
    await calls.alias(tablet, cookie);
    for (const { body } of [one, other]) assert.equal(listAt(await outline(body["profile_id"]), "nodes").length, 2);
  });

  it("keeps workspaces apart, and tells what is wrong with the question", async () => {
    const { body } = await calls.identify(ada, phone);
    const target = `profiles/${textAt(body, "profile_id")}/outline`;
    const foreign = await identityCalls(await app().workspace()).post(target);
    assert.deepEqual([foreign.status, textAt(foreign.body, "code")], [404, "not_found"]);
    const wrong = await calls.post(target, { keep: { namespace: "No Name", value: "x" } });
    assert.deepEqual([wrong.status, errorPaths(wrong)], [422, ["keep.namespace"]]);
    assert.equal((await calls.post("profiles/01900000-0000-7000-8000-000000000000/outline")).status, 404);
  });
});
