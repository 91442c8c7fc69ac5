import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { servicesOf } from "../../app/gateway.js";
import { createFindings } from "../../app/verify/findings.js";
import { verifyDocuments } from "../../app/verify/documents.js";
import { verifyMembers } from "../../app/verify/members.js";
import { watchRetention } from "../../app/verify/retention.js";
import { createPurge } from "../../commands/erasures/purge.js";
import { AppError } from "../../core/errors.js";
import { readConfig } from "../../core/config.js";
import type { StoredEvent } from "../../core/event/event.js";
import { newId, type EventId, type SchemaId, type WorkspaceId } from "../../core/ids.js";
import type { Log } from "../../core/log.js";
import type { EventRow } from "../../core/ports/copying.js";
import { NO_METRICS } from "../../core/metrics.js";
import { emptyFacet } from "../../core/profile/fold.js";
import { openValidator } from "../../core/schema/validation/validator.js";
import { aDataset, aDeadLetter, aWorkspace } from "../support/builders.js";
import { at, listAt, textAt, useApp, type TestWorkspace } from "../support/service/app.js";

const SILENT: Log = { info: () => {}, warn: () => {}, error: () => {} };
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

describe("npm run verify, of what ends by itself while it runs", () => {
  const app = useApp({});
  const config = readConfig({});
  const validator = openValidator({ compileMs: config.SCHEMA_COMPILE_MS, validationMs: config.VALIDATION_MS });
  after(() => validator.close());

  /** Of one person. */
  const twoEvents = async (retentionDays: number) => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema({
      type: "object",
      properties: { email: { type: "string", "x-identity": { namespace: "email" } } },
    });
    const [first, second] = [
      await workspace.collect(schemaId, { email: "bob@example.com" }),
      await workspace.collect(schemaId, { email: "bob@example.com" }),
    ];
    for (const { body } of [first, second]) await workspace.settled(body["event_id"]);
    const dataset = listAt((await workspace.send("GET", "/v1/datasets")).body, "datasets")[0];
    const target = `/v1/datasets/${textAt(dataset, "dataset_id")}`;
    assert.equal((await workspace.send("PATCH", target, { retention_days: retentionDays })).status, 200);
    return { workspace, first };
  };
  /** The row of an event that is in a profile. */
  const oneOf = async (workspace: TestWorkspace): Promise<EventRow> => {
    const schemaId = await workspace.schema({
      type: "object",
      properties: { email: { type: "string", "x-identity": { namespace: "email" } } },
    });
    const { body } = await workspace.collect(schemaId, { email: "bob@example.com" });
    await workspace.settled(body["event_id"]);
    const page = { limit: 1_000, after: null };
    const { rows } = await app().service.backends.copying.documents.dump("events", page);
    const row = rows.find(({ eventId }) => eventId === body["event_id"]);
    assert.ok(row?.fold?.isDone === true);
    return row;
  };
  const countOf = async (workspace: TestWorkspace): Promise<unknown> => {
    const asked = { identifiers: [{ namespace: "email", value: "bob@example.com" }] };
    return at((await workspace.send("POST", "/v1/profiles/lookup", asked)).body, "profiles.0.event_count");
  };
  /** A repair, where each event adds itself and nothing else. */
  const given = () => ({
    backends: app().service.backends,
    identity: app().service.identity,
    isRepair: true,
    gainOf: async ({ effectiveTs }: StoredEvent) => ({
      ...emptyFacet,
      firstSeen: effectiveTs,
      lastSeen: effectiveTs,
      eventCount: 1,
    }),
    now: Date.now,
  });

  it("leaves a facet alone whose first events expire between the look at the events and at the facet", async () => {
    const { workspace, first } = await twoEvents(1);
    const { backends } = app().service;
    const findings = createFindings();
    const { documents: rows } = backends.copying;
    let isDropped = false;
    const dump: typeof rows.dump = async (kind, page) => {
      if (kind === "facets" && !isDropped) {
        isDropped = true;
        await backends.events.drop(workspace.id as WorkspaceId, [textAt(first.body, "event_id") as EventId], "expired");
      }
      return rows.dump(kind, page);
    };
    const copying = { ...backends.copying, documents: { ...rows, dump } };
    await verifyDocuments({ ...given(), backends: { ...backends, copying }, findings });
    assert.ok(isDropped);
    assert.deepEqual(findings.lines(), ["not compared: 1 facets of events that may have expired"]);
    assert.equal(await countOf(workspace), 2);
  });

  it("leaves alone a facet that an event which expired is in, though a newer one which it lacks makes up the number", async () => {
    const { workspace, first } = await twoEvents(1);
    const { backends } = app().service;
    const [id, eventId] = [workspace.id as WorkspaceId, textAt(first.body, "event_id") as EventId];
    const { facet: uid, effectiveTs } = (await backends.events.find(id, eventId))!;
    const { rev, pending } = (await backends.profiles.find(id, [uid!])).get(uid!)!;
    const facet = { ...emptyFacet, firstSeen: effectiveTs, lastSeen: effectiveTs, eventCount: 1 };
    assert.deepEqual(await backends.profiles.save(id, [{ uid: uid!, facet, pending, expectedRev: rev }]), [true]);
    await backends.events.drop(id, [eventId], "expired");
    const findings = createFindings();
    await verifyDocuments({ ...given(), findings });
    // Those of the tests before stand in the same store.
    assert.match(findings.lines().join("\n"), /^not compared: \d facets of events that may have expired$/);
    assert.deepEqual((await backends.profiles.find(id, [uid!])).get(uid!)!.facet, facet);
  });

  it("mends a facet with an event too many where a retention is set that takes nothing meanwhile", async () => {
    const { workspace, first } = await twoEvents(365);
    const { backends } = app().service;
    const id = workspace.id as WorkspaceId;
    const { facet: uid } = (await backends.events.find(id, textAt(first.body, "event_id") as EventId))!;
    const { facet, rev, pending } = (await backends.profiles.find(id, [uid!])).get(uid!)!;
    const wrong = { uid: uid!, facet: { ...facet, eventCount: 3 }, pending, expectedRev: rev };
    assert.deepEqual(await backends.profiles.save(id, [wrong]), [true]);
    const findings = createFindings();
    await verifyDocuments({ ...given(), findings });
    assert.match(findings.lines()[0]!, /^wrong_facets: 1 .*; 1 mended/);
    assert.equal(findings.open(), 0);
    assert.equal(await countOf(workspace), 2);
  });

  it("goes on where the queue cannot be counted", async () => {
    const { backends } = app().service;
    const depth = () => Promise.reject(new AppError("unavailable", "a worker does not answer"));
    const findings = createFindings();
    await verifyDocuments({ ...given(), backends: { ...backends, queue: { ...backends.queue, depth } }, findings });
    assert.equal(findings.open(), 0);
  });

  it("takes no dead letter for whole whose event could not be read", async () => {
    const { backends } = app().service;
    const letter = aDeadLetter({ workspace: newId<WorkspaceId>(), eventId: newId<EventId>(), killsEvent: true });
    const { documents } = backends.copying;
    const dump = (async (kind, page) =>
      kind === "deadLetters"
        ? { rows: [{ letter }], next: null }
        : documents.dump(kind, page)) as typeof documents.dump;
    const find = () => Promise.reject(new AppError("unavailable", "The database did not answer in time."));
    const copying = { ...backends.copying, documents: { ...documents, dump } };
    const busy = { ...backends, copying, events: { ...backends.events, find } };
    const looking = verifyDocuments({ ...given(), isRepair: false, backends: busy, findings: createFindings() });
    await assert.rejects(looking, { code: "unavailable" });
  });

  it("says nothing of an event that came after the queue was seen empty", async () => {
    const workspace = await app().workspace();
    const { backends } = app().service;
    const row = await oneOf(workspace);
    // An event is folded a moment before its message leaves the queue.
    while ((await backends.queue.depth()) > 0) await nextTurn();
    // A worker stopped behind the store, and is back soon.
    const { documents: rows } = backends.copying;
    let time = row.receivedAt - HOUR_MS;
    const dump: typeof rows.dump = async (kind, page) => {
      time = row.receivedAt + HOUR_MS;
      const read = await rows.dump(kind, page);
      const isOurs = (one: object): boolean => "eventId" in one && one.eventId === row.eventId;
      return { ...read, rows: read.rows.map((one) => (isOurs(one) ? { ...one, fold: null } : one)) };
    };
    const look = async (): Promise<readonly string[]> => {
      const findings = createFindings();
      const copying = { ...backends.copying, documents: { ...rows, dump } };
      const verified = { ...given(), isRepair: false, now: () => time, backends: { ...backends, copying } };
      await verifyDocuments({ ...verified, findings });
      return findings.lines().filter((line) => line.startsWith("unfolded_events"));
    };
    assert.deepEqual(await look(), []);
    assert.equal((await look()).length, 1, "it stood there before the second one asked");
  });

  it("says nothing of an event whose person was erased since it was read", async () => {
    const workspace = await app().workspace();
    const id = workspace.id as WorkspaceId;
    const { backends } = app().service;
    const row = await oneOf(workspace);
    const { documents: rows } = backends.copying;
    let isErased = false;
    const dump: typeof rows.dump = async (kind, page) => {
      const read = await rows.dump(kind, page);
      if (isErased || !read.rows.some((one) => "eventId" in one && one.eventId === row.eventId)) return read;
      isErased = true;
      const asked = { identifiers: [{ namespace: "email", value: "bob@example.com" }] };
      const { body } = await workspace.send("POST", "/v1/profiles/lookup", asked);
      const erased = await workspace.as("admin", "DELETE", `/v1/profiles/${textAt(body, "profiles.0.profile_id")}`);
      assert.ok(erased.status < 300, erased.text);
      await app().service.keeper!.rest();
      assert.equal(await backends.graph.resolve(id, row.fold!.facet), null);
      return read;
    };
    const findings = createFindings();
    const copying = { ...backends.copying, documents: { ...rows, dump } };
    await verifyDocuments({ ...given(), isRepair: false, backends: { ...backends, copying }, findings });
    assert.ok(isErased);
    assert.deepEqual(
      findings.lines().filter((line) => line.includes("unknown")),
      ["not compared: 1 events and facets of unknown identifiers where an erasure is under way, or was"],
    );
  });

  it("knows of each workspace whether its retention takes events, though all use the same schema ids", async () => {
    const schemaId = "order" as SchemaId;
    const workspaces = [aWorkspace(), aWorkspace(), aWorkspace()].toSorted((a, b) =>
      a.workspaceId < b.workspaceId ? -1 : 1,
    );
    const [taken, kept, none] = workspaces.map(({ workspaceId }) => workspaceId) as [
      WorkspaceId,
      WorkspaceId,
      WorkspaceId,
    ];
    const firsts = new Map([taken, kept].map((workspace) => [workspace, newId<EventId>()]));
    const catalog = {
      workspaces: async ({ after }: { readonly after: WorkspaceId | null }) => (after === null ? workspaces : []),
      datasets: async (workspace: WorkspaceId) => [aDataset({ workspace, schemaId, retentionDays: 30 })],
    };
    const ofSchema = async (workspace: WorkspaceId) =>
      firsts.has(workspace) ? [{ eventId: firsts.get(workspace)!, receivedAt: Date.now(), facet: null }] : [];
    const backends = { catalog, events: { ofSchema } } as unknown as Parameters<typeof watchRetention>[0];
    const mayHaveTaken = await watchRetention(backends, Date.now);
    firsts.set(taken, newId());
    assert.deepEqual(await Promise.all([taken, kept, none].map(mayHaveTaken)), [true, false, false]);
  });

  it("judges a profile by a time that is later than the look at it", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema({
      type: "object",
      properties: { email: { type: "string", "x-identity": { namespace: "email" } } },
    });
    const rule = { $events: { schema_id: schemaId, within: "1h" } };
    const audience = (await workspace.send("POST", "/v1/audiences", { name: "of the hour", rule })).body;
    const over = new Date(Date.now() - HOUR_MS - MINUTE_MS).toISOString();
    const sent = await workspace.send("POST", "/v1/collect", {
      schema_id: schemaId,
      payload: { email: "ada@example.com" },
      timestamp: over,
    });
    await workspace.settled(sent.body["event_id"]);
    await app().service.keeper!.rest();
    const listed = await workspace.send("GET", `/v1/audiences/${textAt(audience, "audience_id")}/members`);
    assert.equal(listAt(listed.body, "members").length, 0);

    const { backends, identity } = app().service;
    const { stats } = backends;
    const purge = createPurge(backends.purge);
    const parts = {
      config,
      log: SILENT,
      now: Date.now,
      backends,
      identity,
      validator,
      purge,
      metrics: NO_METRICS,
      stats,
    };
    const services = servicesOf(parts);
    const findings = createFindings();
    // It began when the window was open, and the seats were read when it was over.
    let time = Date.now() - 10 * MINUTE_MS;
    const { members: rows } = backends.copying;
    const seatsOf: typeof rows.seatsOf = (...asked) => {
      time = Date.now();
      return rows.seatsOf(...asked);
    };
    const copying = { ...backends.copying, members: { ...rows, seatsOf } };
    await verifyMembers({ backends: { ...backends, copying }, services, findings, isRepair: false, now: () => time });
    assert.deepEqual(findings.lines(), []);
  });
});
