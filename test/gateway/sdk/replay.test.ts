import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { listAt, textAt, until, useApp, type TestWorkspace } from "../../support/service/app.js";
import { openSdkDoor } from "../../support/service/sdk.js";

describe("Items of SDKs in quarantine", () => {
  const ahead = new Map<string, number>();
  const app = useApp({}, { ahead: (workspace) => ahead.get(workspace) ?? 0 });
  let workspace: TestWorkspace;
  let door: ReturnType<typeof openSdkDoor>;
  before(() => {
    door = openSdkDoor(app());
  });
  after(() => door.close());
  beforeEach(async () => {
    workspace = await app().workspace();
  });

  const put = async (what: "settings" | "plan", body: unknown): Promise<void> => {
    const answer = await workspace.send("PUT", `/v1/sdk/${what}`, body);
    assert.equal(answer.status, 200, answer.text);
  };
  const track = (changes: object = {}) => ({
    type: "track",
    event: "Order Completed",
    userId: "u-1",
    messageId: randomUUID(),
    ...changes,
  });
  const eventOf = (item: { readonly messageId: string }) =>
    workspace.settled(door.eventIdOf(workspace, item.messageId), "folded");
  const letter = (item: { readonly messageId: string }) =>
    until(
      () => workspace.send("GET", `/v1/dead-letters?event_id=${door.eventIdOf(workspace, item.messageId)}`),
      ({ body }) => listAt(body, "dead_letters").length > 0,
    );

  it("are replayed by the settings of now, those of their identifiers too", async () => {
    await put("settings", { unplanned: "quarantine" });
    const context = { device: { id: "d-1" }, traits: { email: "a@x.test", phone: "+49301234567" } };
    const item = track({ anonymousId: "a-1", context });
    await door.send(workspace, [item], "all");
    await letter(item);
    const replay = (query = "") => workspace.send("POST", `/v1/dead-letters/replay${query}`, { reason: "quarantined" });
    const refused = await replay("?dry_run=true");
    assert.deepEqual([refused.body["replayed"], listAt(refused.body, "skipped").length], [0, 1], refused.text);
    await put("settings", { unplanned: "accept", device_id: true });
    assert.equal((await replay("?dry_run=true")).body["replayed"], 1);
    assert.equal((await replay()).body["replayed"], 1);
    const id = textAt((await eventOf(item)).body, "profile_id");
    const { body } = await workspace.send("GET", `/v1/profiles/${id}/identifiers`);
    assert.deepEqual(
      listAt(body, "identifiers")
        .map((one) => `${textAt(one, "namespace")}=${textAt(one, "value")}`)
        .toSorted(),
      ["anonymous_id=a-1", "device_id=d-1", "email=a@x.test", "user_id=u-1"],
    );
  });

  it("keep the time at which they were received, however late they are replayed", async () => {
    await put("settings", { unplanned: "quarantine" });
    const item = track();
    await door.send(workspace, [item], "all");
    const received = textAt(listAt((await letter(item)).body, "dead_letters")[0], "at");
    ahead.set(workspace.id, 86_400_000);
    await put("settings", { unplanned: "accept" });
    const { body } = await workspace.send("POST", "/v1/dead-letters/replay", { reason: "quarantined" });
    assert.equal(body["replayed"], 1);
    const late = Date.parse(textAt((await eventOf(item)).body, "received_at")) - Date.parse(received);
    assert.ok(late <= 0, `received ${late} ms after it was quarantined`);
  });

  it("are judged, as rejects are, by a replay's dry run as by the replay, which alone makes anything known", async () => {
    await put("settings", { unplanned: "quarantine", keep_rejects: true, collect_only_adds_traits: true });
    const externalIds = [{ type: "crm_id", id: "c-1" }];
    const items = [1, 2, 3].map(() => track({ context: { externalIds } }));
    await door.send(workspace, items, "all");
    const schemaId = await workspace.schema({ type: "object", properties: { n: { type: "number" } } });
    assert.equal((await workspace.collect(schemaId, { n: "x", card: "k-1" })).status, 422);
    for (const item of items) await letter(item);
    const open = () => workspace.send("GET", "/v1/dead-letters?state=open");
    await until(open, ({ body }) => listAt(body, "dead_letters").length === 4);
    const replay = async (query: string) => {
      const { body } = await workspace.send("POST", `/v1/dead-letters/replay${query}`, {});
      const skipped = listAt(body, "skipped").map((one) => [textAt(one, "why"), textAt(one, "errors.0.path")]);
      return [body["replayed"], skipped.toSorted((a, b) => (a.join() < b.join() ? -1 : 1))];
    };
    const REFUSED = [
      0,
      [
        ["refused", "event"],
        ["refused", "event"],
        ["refused", "event"],
        ["refused", "n"],
      ],
    ];
    assert.deepEqual([await replay("?dry_run=true"), await replay("")], [REFUSED, REFUSED]);
    await put("settings", { unplanned: "accept" });
    const schema = { type: "object", properties: { card: { type: "string", "x-identity": { namespace: "card" } } } };
    const added = await workspace.send("POST", `/v1/schemas/${schemaId}/versions`, { schema, compatibility: "none" });
    assert.equal(added.status, 201, added.text);
    assert.deepEqual(await replay("?dry_run=true"), [4, []]);
    for (const name of ["crm_id", "card"])
      assert.equal((await workspace.send("GET", `/v1/namespaces/${name}`)).status, 404, name);
    assert.equal(listAt((await open()).body, "dead_letters").length, 4);
    assert.deepEqual(await replay(""), [4, []]);
    for (const name of ["crm_id", "card"])
      assert.equal((await workspace.send("GET", `/v1/namespaces/${name}`)).status, 200, name);
  });
});
