import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { AppError } from "../../../core/errors.js";
import type { EventRecord } from "../../../core/event/event.js";
import { encodeMessage } from "../../../core/event/message.js";
import { newId, type EventId, type WorkspaceId } from "../../../core/ids.js";
import { aDeadLetter, anEvent } from "../../support/builders.js";
import { eventually } from "../../support/eventually.js";
import { at, listAt, submission, textAt, useApp, type Answer, type TestWorkspace } from "../../support/service/app.js";

const MARKER = "zq-marker@example.com";

describe("A dead letter", () => {
  let isDamaged = false;
  const app = useApp(
    {},
    {
      wrap: (backends) => ({
        ...backends,
        events: {
          ...backends.events,
          find: async (...given) => {
            if (isDamaged) throw new AppError("damaged", "It cannot be read.");
            return backends.events.find(...given);
          },
        },
      }),
    },
  );
  afterEach(() => (isDamaged = false));
  let workspace: TestWorkspace;
  beforeEach(async () => {
    workspace = await app().workspace();
    await workspace.send("PUT", "/v1/sdk/settings", { keep_rejects: true });
  });
  const letters = async (query = "wait=10"): Promise<readonly unknown[]> =>
    listAt((await workspace.send("GET", `/v1/dead-letters?${query}`)).body, "dead_letters");
  const remove = (id: string): Promise<Answer> => workspace.send("DELETE", `/v1/dead-letters/${id}`);

  it("that was never accepted is deleted by an admin, whatever it names: no schema says whom, or for how long", async () => {
    const unnamed = { timestamp: new Date().toISOString(), payload: { who: MARKER } };
    assert.equal((await workspace.send("POST", "/v1/collect", unnamed)).status, 422);
    const [rejected] = await letters();
    const id = textAt(rejected, "dead_letter_id");
    assert.match((await workspace.send("GET", `/v1/dead-letters/${id}`)).text, new RegExp(MARKER));
    assert.equal((await workspace.as("editor", "DELETE", `/v1/dead-letters/${id}`)).status, 403);
    assert.equal((await (await app().workspace()).send("DELETE", `/v1/dead-letters/${id}`)).status, 404);
    const deleted = await remove(id);
    assert.deepEqual([deleted.status, deleted.text], [204, ""]);
    assert.equal((await workspace.send("GET", `/v1/dead-letters/${id}`)).status, 404);
    assert.equal((await remove(id)).status, 404);
    const told = app().records.filter((record) => record.includes("a dead letter was deleted") && record.includes(id));
    assert.equal(told.length, 1);
    assert.ok(!told[0]!.includes(MARKER));
  });

  it("that is deleted is shown by the live events no longer", async () => {
    const shown = async (): Promise<boolean> => (await workspace.as("viewer", "GET", "/v1/live")).text.includes(MARKER);
    assert.equal(await shown(), false);
    const unnamed = { timestamp: new Date().toISOString(), payload: { who: MARKER } };
    assert.equal((await workspace.send("POST", "/v1/collect", unnamed)).status, 422);
    await eventually("it is shown", shown);
    const [rejected] = await letters();
    assert.equal((await remove(textAt(rejected, "dead_letter_id"))).status, 204);
    await eventually("it is shown no longer", async () => !(await shown()));
  });

  it("of an event that was accepted stays, also where it was rejected first and replayed since", async () => {
    const { events } = app().service.backends;
    const accepted = aDeadLetter({ workspace: workspace.id as WorkspaceId });
    await events.bury(accepted);
    assert.deepEqual(await (async ({ status, body }) => [status, body["code"]])(await remove(accepted.deadLetterId)), [
      409,
      "conflict",
    ]);
    const schema = `late-${randomUUID().slice(0, 8)}`;
    assert.equal((await workspace.send("POST", "/v1/collect", submission(schema, { city: "Kiel" }))).status, 422);
    const [rejected] = await letters("wait=10&reason=rejected");
    await workspace.send("POST", "/v1/schemas", { schema: { type: "object" }, schema_id: schema });
    const replayed = await workspace.send("POST", "/v1/dead-letters/replay", { reason: "rejected" });
    assert.equal(replayed.body["replayed"], 1, replayed.text);
    assert.equal((await remove(textAt(rejected, "dead_letter_id"))).status, 409);
    assert.equal(at((await workspace.settled(at(rejected, "event_id"), "stored")).body, "status"), "stored");
    isDamaged = true;
    const { status, body, text } = await remove(textAt(rejected, "dead_letter_id"));
    assert.deepEqual([status, body["code"]], [409, "conflict"], text);
    assert.match(textAt(body, "detail"), /damaged/);
  });

  it("of an Idempotency-Key's second body is deleted once the first is stored: no replay can ever store it", async () => {
    const { events } = app().service.backends;
    const [own, eventId] = [workspace.id as WorkspaceId, newId<EventId>()];
    const [first, second] = ["a", "b"].map((sign) =>
      anEvent({ workspace: own, eventId, folds: false, fingerprint: sign.repeat(64) }),
    ) as [EventRecord, EventRecord];
    const bury = async (message: Buffer): Promise<string> => {
      const letter = aDeadLetter({
        workspace: own,
        eventId,
        reason: "idempotency_mismatch",
        message,
        killsEvent: false,
      });
      await events.bury(letter);
      return letter.deadLetterId;
    };
    const [id, same] = [await bury(encodeMessage(second)), await bury(encodeMessage(first))];
    assert.equal((await remove(id)).status, 409, "it may be all that is left");
    await events.insert(own, [first]);
    assert.equal((await remove(same)).status, 409);
    assert.equal((await remove(await bury(Buffer.from("unreadable")))).status, 409);
    assert.equal((await remove(id)).status, 204);
    assert.equal((await events.find(own, eventId))?.fingerprint, first.fingerprint);
  });

  it("is made of no event that an atomic batch refuses: a replay would store what nobody was told is stored", async () => {
    const schemaId = await workspace.schema();
    const events = [submission(schemaId, { email: "ada@example.com" }), submission(schemaId, { email: 7 })];
    const refused = await workspace.send("POST", "/v1/collect/batch?atomic=true", { events });
    assert.equal(refused.status, 422);
    assert.equal((await workspace.collect(schemaId, { email: 8 })).status, 422);
    const kept = await letters("wait=10&reason=rejected");
    const whole = await workspace.send("GET", `/v1/dead-letters/${textAt(kept[0], "dead_letter_id")}`);
    assert.deepEqual([kept.length, at(whole.body, "payload.payload.email")], [1, 8]);
  });
});
