import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { silentLog } from "../../../app/logger.js";
import { continueErasure, isDeleted, type ContinueServices } from "../../../commands/erasures/continue.js";
import type { ErasureId, EventId, WorkspaceId } from "../../../core/ids.js";
import { at, listAt, SIGNUP_SCHEMA, textAt, until, useApp, type TestWorkspace } from "../../support/service/app.js";
import { openSdkDoor } from "../../support/service/sdk.js";

const email = (name: string) => ({ namespace: "email", value: `${name}@example.com` });

/** What came in between and never comes to be linked must go too. */
describe("A person who is erased again", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let schemaId: string;
  const erase = async (...identifiers: readonly unknown[]) => {
    const { body, status, text } = await workspace.send("POST", "/v1/erasures", { identifiers });
    assert.equal(status, 202, text);
    return textAt(body, "erasure_id");
  };
  const receipt = (erasureId: string) => workspace.send("GET", `/v1/erasures/${erasureId}`);
  const completed = (erasureId: string) =>
    until(
      () => receipt(erasureId),
      ({ body }) => body["status"] === "completed",
    );
  const event = (eventId: string) => workspace.send("GET", `/v1/events/${eventId}`);
  const kept = async (payload: object): Promise<string> => {
    const eventId = textAt((await workspace.collect(schemaId, payload)).body, "event_id");
    await workspace.settled(eventId, "stored");
    return eventId;
  };

  before(async () => {
    workspace = await app().workspace();
    await workspace.send("PUT", "/v1/sdk/settings", { unplanned: "quarantine" });
    schemaId = `notes-${randomUUID()}`;
    const properties = { email: { type: "string", "x-identity": { namespace: "email" } } };
    await workspace.send("POST", "/v1/schemas", {
      schema_id: schemaId,
      schema: { type: "object", properties },
    });
  });

  for (const suppress of [false, true])
    it(`loses the events and letters of the time between${suppress ? ", suppressed" : ""}, under the same id`, async () => {
      const [ada, bob] = [email(`ada-${suppress}`), email(`bob-${suppress}`)];
      await workspace.send("POST", "/v1/identify", { identifiers: [ada] });
      const erasureId = await erase(ada);
      const first = (await completed(erasureId)).body;
      const eventId = await kept({ email: ada.value, text: "secret" });
      const other = await kept({ email: bob.value });
      const door = openSdkDoor(app());
      const item = { type: "track", event: "Unplanned", messageId: randomUUID() };
      await door.send(workspace, [{ ...item, context: { traits: { email: ada.value } } }]);
      await door.close();
      const letters = () => workspace.send("GET", "/v1/dead-letters");
      await until(letters, ({ body }) => listAt(body, "dead_letters").length === 1);
      assert.equal(at((await event(eventId)).body, "payload.text"), "secret", "she came back");

      const again = await workspace.send("POST", "/v1/erasures", { identifiers: [ada], suppress });
      assert.deepEqual([again.status, again.body["erasure_id"]], [202, erasureId], again.text);
      const { body: gone } = await event(eventId);
      assert.deepEqual([gone["status"], gone["reason"], gone["payload"]], ["dropped", "erased", null]);
      const { body: last } = await completed(erasureId);
      assert.deepEqual([at(first, "removed.events"), at(first, "removed.dead_letters")], [0, 0]);
      assert.deepEqual([at(last, "removed.events"), at(last, "removed.dead_letters")], [1, 1], "not only hidden");
      assert.ok(textAt(last, "erased_at") > textAt(first, "erased_at"));
      assert.equal((await event(other)).body["status"], "stored");
      assert.deepEqual(listAt((await letters()).body, "dead_letters"), []);
    });

  it("is suppressed by each identifier, whichever erasure it is of", async () => {
    const all = [email("eve"), email("eva")];
    for (const one of all) await erase(one);
    await workspace.send("POST", "/v1/erasures", { identifiers: all, suppress: true });
    const check = await workspace.send("POST", "/v1/erasures/check", { identifiers: all });
    assert.deepEqual(
      listAt(check.body, "identifiers").map((one) => at(one, "suppressed")),
      [true, true],
    );
  });
});

describe("A person who is erased again before the first time is over", () => {
  /** The keeper finds no erasure that is open: the test goes on with it. */
  const app = useApp(
    {},
    { wrap: (backends) => ({ ...backends, graph: { ...backends.graph, openErasures: async () => [] } }) },
  );

  it("loses what came where the removal had passed", async () => {
    const workspace = await app().workspace();
    const id = workspace.id as WorkspaceId;
    const { backends, identity } = app().service;
    const log = { append: async () => undefined, entries: () => [] };
    const given = { ...backends, identity, erasures: backends.graph, erasureLog: log, log: silentLog, now: Date.now };
    const services = given as unknown as ContinueServices;
    const schemaId = await workspace.schema(SIGNUP_SCHEMA, false);
    const erased = async () => {
      const { body } = await workspace.send("POST", "/v1/erasures", { identifiers: [email("ada")] });
      const erasureId = textAt(body, "erasure_id") as ErasureId;
      for (;;) {
        const erasure = (await backends.graph.findErasure(id, erasureId))!;
        if (isDeleted(erasure)) return erasureId;
        await continueErasure(services, erasure);
      }
    };
    const first = await erased();
    const eventId = textAt((await workspace.collect(schemaId, { email: email("ada").value })).body, "event_id");
    await workspace.settled(eventId, "stored");
    assert.equal(await erased(), first);
    assert.equal((await backends.events.find(id, eventId as EventId))!.status, "dropped");
  });
});
