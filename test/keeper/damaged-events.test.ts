import assert from "node:assert/strict";
import type { EventRecord } from "../../core/event/event.js";
import { encodeMessage } from "../../core/event/message.js";
import { newId, type EventId, type SchemaId, type WorkspaceId } from "../../core/ids.js";
import { aDeadLetter, anEvent } from "../support/builders.js";
import { damagedRow } from "../support/damaged.js";
import { textAt, until, useApp, type TestWorkspace } from "../support/service/app.js";

const SHOP = {
  type: "object",
  properties: { email: { type: "string", "x-identity": { namespace: "email" } }, n: { type: "integer" } },
};
const ADA = { namespace: "email", value: "ada@example.com" };
const BOB = { namespace: "email", value: "bob@example.com" };

type Line = Readonly<Record<string, unknown>>;

describe("A damaged event", () => {
  const app = useApp({});
  let workspace: TestWorkspace;
  let id: WorkspaceId;
  const backends = () => app().service.backends;
  const isTold = (message: string, eventId: string): boolean =>
    app().records.some((record) => record.includes(message) && record.includes(eventId));
  const load = (...rows: readonly ReturnType<typeof damagedRow>[]) => backends().copying.documents.load("events", rows);

  /** A damaged event in the facet of this one. */
  const damageBeside = async (schemaId: string, eventId: string): Promise<EventRecord> => {
    const { facet, profileIdThen } = (await backends().events.find(id, eventId as EventId))!;
    const damaged = anEvent({ workspace: id, schemaId: schemaId as SchemaId, identifiers: [ADA], receivedAt: 1 });
    const fold = { facet: facet!, profileId: profileIdThen!, dropped: null, isDone: true };
    await load(damagedRow(damaged, { fold }));
    return damaged;
  };

  beforeEach(async () => {
    workspace = await app().workspace();
    id = workspace.id as WorkspaceId;
  });

  it("keeps no audience counting: it counts for nothing, and the log says so", async () => {
    const schemaId = await workspace.schema(SHOP);
    const sent = await workspace.collect(schemaId, { email: ADA.value, n: 1 });
    const { body } = await workspace.settled(sent.body["event_id"]);
    const damaged = await damageBeside(schemaId, textAt(body, "event_id"));
    const rule = (times: number) => ({ $events: { schema_id: schemaId, at_least: times } });
    const made = await Promise.all(
      [1, 2].map((times) => workspace.send("POST", "/v1/audiences", { name: `${times}`, rule: rule(times) })),
    );
    await app().service.keeper!.rest();
    const shown = await Promise.all(
      made.map(({ body: { audience_id } }) => workspace.send("GET", `/v1/audiences/${String(audience_id)}`)),
    );
    assert.deepEqual(
      shown.map(({ body: one }) => [one["state"], one["size"]]),
      [
        ["live", 1],
        ["live", 0],
      ],
    );
    assert.ok(isTold("an audience counts without a damaged event", damaged.eventId));
  });

  it("ends no search, count or preview of its profile's events: it counts for nothing, and the log says so", async () => {
    const schemaId = await workspace.schema(SHOP);
    const sent = await workspace.collect(schemaId, { email: ADA.value, n: 1 });
    const { body } = await workspace.settled(sent.body["event_id"]);
    const damaged = await damageBeside(schemaId, textAt(body, "event_id"));
    const asked = [1, 2].flatMap((times) =>
      ["/v1/profiles/search", "/v1/profiles/count", "/v1/audiences/preview"].map((path) => ({ path, times })),
    );
    const counts: unknown[] = [];
    for (const { path, times } of asked) {
      const rule = { $events: { schema_id: schemaId, at_least: times } };
      const { status, body: found, text } = await workspace.send("POST", path, { rule });
      assert.equal(status, 200, text);
      counts.push(found["count"] ?? (found["profiles"] as readonly unknown[]).length);
    }
    assert.deepEqual(counts, [1, 1, 1, 0, 0, 0]);
    const message = "a profile is judged without damaged events";
    assert.ok(isTold(message, damaged.eventId));
    const told = app().records.filter((record) => record.includes(message) && record.includes(id));
    assert.equal(told.length, 1, "one line for all these reads");
  });

  it("ends no export: a line names it in its place, any line is gone on behind, and an import passes over it", async () => {
    const schemaId = await workspace.schema(SHOP);
    const sent = await workspace.collect(schemaId, { email: ADA.value, n: 1 });
    const { body } = await workspace.settled(sent.body["event_id"]);
    const [first, last] = [1_000, Date.now() + 3_600_000].map((receivedAt) =>
      anEvent({ workspace: id, schemaId: schemaId as SchemaId, receivedAt, folds: false }),
    ) as [EventRecord, EventRecord];
    await load(damagedRow(first), damagedRow(last));
    const exported = async (after = "") => {
      const answer = await workspace.as("admin", "GET", `/v1/exports/events${after}`);
      const lines = answer.text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as Line);
      return [answer.status, lines.slice(0, -1), lines.at(-1)] as const;
    };
    const [status, lines, end] = await exported();
    assert.deepEqual([status, end], [200, { type: "end", complete: true, lines: 3 }]);
    assert.deepEqual(
      lines.map((line) => [line["type"], line["event_id"]]),
      [
        ["damaged_event", first.eventId],
        ["event", body["event_id"]],
        ["damaged_event", last.eventId],
      ],
    );
    assert.deepEqual(lines[0], {
      type: "damaged_event",
      position: lines[0]!["position"],
      event_id: first.eventId,
      received_at: "1970-01-01T00:00:01.000Z",
    });
    for (const [n, line] of lines.entries())
      assert.deepEqual((await exported(`?after=${textAt(line, "position")}`))[1], lines.slice(n + 1));
    const into = await app().workspace();
    await into.send("POST", "/v1/imports");
    const imported = await into.send("POST", "/v1/imports/lines", { lines: [lines[0], lines[2], end] });
    assert.deepEqual([imported.status, imported.body], [200, { stored: 0, left_out: 0 }]);
    assert.equal((await into.send("DELETE", "/v1/imports")).status, 204);
  });

  it("keeps no erasure erasing: what names the person goes unread, and the receipt says how many did", async () => {
    const now = Date.now();
    const quiet = { workspace: id, folds: false, identifiers: [BOB, ADA] };
    const [old, young, dead] = [anEvent(quiet), anEvent({ ...quiet, ...later(now + 3_600_000) }), anEvent(quiet)];
    const dying = { ...dead, folds: true, identifiers: [ADA] };
    await load(damagedRow(old), damagedRow(young), damagedRow(dying, { reason: "damaged" }));
    const message = encodeMessage(dying);
    await backends().events.bury(aDeadLetter({ workspace: id, eventId: dying.eventId, message, reason: "damaged" }));
    const erased = await workspace.send("POST", "/v1/erasures", { identifiers: [ADA] });
    const receipt = await until(
      () => workspace.send("GET", `/v1/erasures/${textAt(erased.body, "erasure_id")}`),
      ({ body }) => body["status"] === "completed",
    );
    const { removed } = receipt.body as { readonly removed: Readonly<Record<string, number>> };
    assert.deepEqual([removed["events"], removed["damaged_events"], removed["dead_letters"]], [2, 2, 1]);
    const shown = await Promise.all(
      [old, young, dying].map(({ eventId }) => workspace.send("GET", `/v1/events/${eventId}`)),
    );
    assert.deepEqual(
      shown.map(({ status, body }) => [status, body["code"] ?? body["status"]]),
      [
        [200, "dropped"],
        [500, "damaged"],
        [200, "dropped"],
      ],
      "what came after the erasure is not the person's of then",
    );
    assert.ok(isTold("an erasure deletes a damaged event unread", old.eventId));
    assert.ok(isTold("an erasure deletes a damaged event unread", dying.eventId));
  });
});

const later = (at: number) => ({
  receivedAt: at,
  timestamp: new Date(at).toISOString(),
  effectiveTs: new Date(at).toISOString().replace("Z", "000000Z") as never,
  eventId: newId<never>(),
});
