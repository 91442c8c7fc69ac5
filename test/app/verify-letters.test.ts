import assert from "node:assert/strict";
import { createFindings } from "../../app/verify/findings.js";
import { verifyDocuments } from "../../app/verify/documents.js";
import type { EventRecord } from "../../core/event/event.js";
import { newId, type WorkspaceId } from "../../core/ids.js";
import { emptyFacet } from "../../core/profile/fold.js";
import { aDeadLetter, anEvent } from "../support/builders.js";
import { useApp } from "../support/service/app.js";

const HOUR_MS = 3_600_000;

describe("npm run verify, of dead letters", () => {
  const app = useApp({});
  const given = () => ({
    backends: app().service.backends,
    identity: app().service.identity,
    isRepair: true,
    gainOf: async () => emptyFacet,
    now: Date.now,
  });

  /** It was stored, and the process died before the letter marked it. */
  const dying = async (receivedAt: number): Promise<EventRecord> => {
    const { events } = app().service.backends;
    const event = anEvent({ receivedAt });
    const { workspace, eventId } = event;
    for (let n = 0; n < 20; n += 1)
      await events.bury(aDeadLetter({ workspace, eventId, at: n + 1, killsEvent: n === 0 }));
    await events.insert(workspace, [event]);
    return event;
  };
  const repair = async (queued: Buffer[]): Promise<readonly string[]> => {
    const { backends } = app().service;
    const publish = async (message: Buffer): Promise<void> => void queued.push(message);
    const queue = { ...backends.queue, depth: async () => 0, publish };
    const findings = createFindings();
    await verifyDocuments({ ...given(), backends: { ...backends, queue }, findings });
    return findings.lines();
  };
  const statusOf = async ({ workspace, eventId }: EventRecord): Promise<unknown> =>
    (await app().service.backends.events.find(workspace, eventId))?.status;

  it("marks an event as dead whose letter is open, and does not queue it too", async () => {
    const [event, queued] = [await dying(Date.now() - HOUR_MS), [] as Buffer[]];
    assert.match((await repair(queued)).join("\n"), /^unmarked_letters: 1 [^\n]*; 1 mended [^\n]*$/);
    assert.deepEqual([await statusOf(event), queued], ["dead", []]);
  });

  it("leaves one as it is that came after the queue was looked at: it may be queued, and its letter of an earlier time", async () => {
    const event = await dying(Date.now());
    assert.deepEqual(await repair([]), ["not compared: 1 events that may still be queued"]);
    assert.equal(await statusOf(event), "stored");
  });

  it("leaves an event as it is whose dead letter was replayed: it waits in the queue, and retention drops what is dead", async () => {
    const { backends } = app().service;
    const { documents } = backends.copying;
    const workspace = newId<WorkspaceId>();
    const event = anEvent({ workspace });
    const letter = aDeadLetter({ workspace, eventId: event.eventId });
    // It died before it was stored.
    await backends.events.bury(letter);
    await backends.events.insert(workspace, [event]);
    const look = async (queued: number, rows = documents): Promise<string> => {
      const findings = createFindings();
      const queue = { ...backends.queue, depth: async () => queued, publish: async () => undefined };
      const copying = { ...backends.copying, documents: rows };
      await verifyDocuments({ ...given(), backends: { ...backends, queue, copying }, findings });
      return findings.lines().join("\n");
    };
    // As where a replay is queued and not noted yet.
    assert.match(await look(1), /^not compared: \d+ events that may still be queued$/m);
    const before = await documents.dump("deadLetters", { limit: 1_000, after: null });
    await backends.events.noteReplay(workspace, letter.deadLetterId, 1, Date.now());
    const dump = (async (kind, page) =>
      kind === "deadLetters" ? before : documents.dump(kind, page)) as typeof documents.dump;
    for (const rows of [documents, { ...documents, dump }]) assert.doesNotMatch(await look(0, rows), /letters/);
    assert.equal((await backends.events.find(workspace, event.eventId))?.status, "stored");
    await backends.events.bury({ ...letter, times: 2, killsEvent: false });
    assert.doesNotMatch(await look(0, { ...documents, dump }), /letters/);
  });
});
