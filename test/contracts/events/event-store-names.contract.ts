import assert from "node:assert/strict";
import { identifierKey, type EventRecord, type Identifier } from "../../../core/event/event.js";
import { encodeMessage } from "../../../core/event/message.js";
import { newId, type EventId, type WorkspaceId } from "../../../core/ids.js";
import type { DeadLetter, EventStore, Naming } from "../../../core/ports/event-store.js";
import { aDeadLetter, aFold, anEvent, aUidOf, tombOf } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";

const email = (value: string): Identifier => ({ namespace: "email", value });
const ADA = email("ada@example.com");
const BOB = email("bob@example.com");
const tombsOf = (workspace: WorkspaceId, ...some: readonly Identifier[]) =>
  some.map((one) => tombOf(identifierKey(workspace, one)));
const ALL = { limit: 100, after: null };

const letterOf = (event: EventRecord, changes: Partial<DeadLetter> = {}): DeadLetter =>
  aDeadLetter({ workspace: event.workspace, eventId: event.eventId, message: encodeMessage(event), ...changes });

const nameOf = (naming: Naming): string => {
  if (naming.kind === "letter") return naming.letter.deadLetterId;
  return naming.kind === "event" ? naming.event.eventId : naming.eventId;
};
const found = async (port: EventStore, workspace: WorkspaceId, ...some: readonly Identifier[]) =>
  (await port.naming(workspace, tombsOf(workspace, ...some), ALL)).found.map(nameOf).toSorted();

export const nameSentences: Contract<EventStore> = {
  "finds the events that do not fold by each of their identifiers, as they are stored": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const both = anEvent({ workspace, folds: false, identifiers: [ADA, BOB] });
    const bobs = anEvent({ workspace, folds: false, identifiers: [BOB] });
    const folding = anEvent({ workspace, identifiers: [ADA] });
    const nobodys = anEvent({ workspace, folds: false, identifiers: [] });
    const stored = await port.insert(workspace, [both, bobs, folding, nobodys]);
    assert.deepEqual((await port.naming(workspace, tombsOf(workspace, ADA), ALL)).found, [
      { kind: "event", event: stored[0] },
    ]);
    assert.deepEqual(await found(port, workspace, BOB), [both.eventId, bobs.eventId].toSorted());
    assert.deepEqual(await found(port, workspace, ADA, BOB), [both.eventId, bobs.eventId].toSorted(), "each once");
    assert.deepEqual(await found(port, workspace, email("eve@example.com")), []);
  },

  "finds dead letters by the identifiers of their messages, also of an event that folds": async ({ port }) => {
    const event = anEvent({ identifiers: [ADA] });
    const { workspace } = event;
    const letter = letterOf(event);
    await port.bury(letter);
    await port.bury(letter);
    await port.bury(aDeadLetter({ workspace }));
    assert.deepEqual((await port.naming(workspace, tombsOf(workspace, ADA), ALL)).found, [{ kind: "letter", letter }]);
  },

  "does not find an event that was folded after all": async ({ port }) => {
    const event = anEvent({ folds: false, identifiers: [ADA] });
    await port.insert(event.workspace, [event]);
    await port.fold(event.workspace, [aFold(event)]);
    assert.deepEqual(await found(port, event.workspace, ADA), []);
  },

  "does not find an event that was dropped": async ({ port }) => {
    const event = anEvent({ folds: false, identifiers: [ADA] });
    await port.insert(event.workspace, [event]);
    await port.bury(letterOf(event));
    await port.drop(event.workspace, [event.eventId], "erased");
    await port.insert(event.workspace, [event]);
    assert.deepEqual(await found(port, event.workspace, ADA), []);
  },

  "finds each once in pages that go on behind one another": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const events = Array.from({ length: 7 }, (_, n) =>
      anEvent({ workspace, folds: false, identifiers: n % 2 === 0 ? [ADA, BOB] : [BOB] }),
    );
    await port.insert(workspace, events);
    const letters = events.slice(0, 4).map((event) => letterOf(event, { killsEvent: false }));
    for (const letter of letters) await port.bury(letter);
    const met: string[] = [];
    for (let after: string | null = null, pages = 0; ; pages += 1) {
      const page = await port.naming(workspace, tombsOf(workspace, ADA, BOB), { limit: 3, after });
      assert.ok(page.found.length <= 3);
      met.push(...page.found.map(nameOf));
      if (page.next === null) break;
      assert.ok(pages < 10);
      after = page.next;
    }
    const ids = [...events.map(({ eventId }) => eventId), ...letters.map(({ deadLetterId }) => deadLetterId)];
    assert.deepEqual(met.toSorted(), ids.toSorted());
  },

  "removes dead letters, and answers how many there were": async ({ port }) => {
    const events = ["a", "b"].map(() => anEvent({ identifiers: [ADA] }));
    const workspace = events[0]!.workspace;
    const letters = events.map((event) => letterOf({ ...event, workspace }));
    for (const letter of letters) await port.bury(letter);
    const [first, second] = letters.map(({ deadLetterId }) => deadLetterId);
    assert.equal(await port.removeLetters(workspace, [first!]), 1);
    assert.equal(await port.findDeadLetter(workspace, first!), null);
    assert.deepEqual(await found(port, workspace, ADA), [second]);
    assert.equal(await port.removeLetters(workspace, [first!, second!]), 1);
  },

  "names at most so many folded events of facets": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const events = Array.from({ length: 5 }, () => anEvent({ workspace }));
    const [x, y] = [aUidOf(workspace, "x"), aUidOf(workspace, "y")];
    await port.insert(workspace, [...events, anEvent({ workspace })]);
    const marks = events.map((event, n) => aFold(event, { facet: n < 3 ? x : y }));
    await port.fold(workspace, marks);
    const ids = events.map(({ eventId }) => eventId);
    assert.deepEqual((await port.foldedInto(workspace, [x, y], 10)).toSorted(), ids.toSorted());
    assert.deepEqual((await port.foldedInto(workspace, [x], 10)).toSorted(), ids.slice(0, 3).toSorted());
    assert.equal((await port.foldedInto(workspace, [x, y], 4)).length, 4);
    await port.drop(workspace, ids.slice(0, 2), "erased");
    assert.deepEqual(await port.foldedInto(workspace, [x], 10), [ids[2]]);
  },

  "naming, removeLetters and foldedInto keep workspaces apart": async ({ port }) => {
    const eventId = newId<EventId>();
    const [a, b] = [anEvent({ eventId, folds: false }), anEvent({ eventId, folds: false })];
    for (const one of [a, b]) {
      await port.insert(one.workspace, [one]);
      await port.bury(letterOf(one, { deadLetterId: aDeadLetter().deadLetterId, killsEvent: false }));
    }
    for (const [own, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const foreign = tombsOf(other.workspace, ...other.identifiers);
      assert.deepEqual((await port.naming(own.workspace, foreign, ALL)).found, []);
      const ours = await port.naming(own.workspace, tombsOf(own.workspace, ...own.identifiers), ALL);
      const [event, letter] = ours.found;
      assert.equal(event?.kind === "event" && event.event.workspace, own.workspace);
      const ids = letter?.kind === "letter" ? [letter.letter.deadLetterId] : [];
      assert.equal(await port.removeLetters(other.workspace, ids), 0);
      assert.deepEqual(await port.naming(own.workspace, tombsOf(own.workspace, ...own.identifiers), ALL), ours);
      const mark = aFold(own);
      await port.fold(own.workspace, [mark]);
      assert.deepEqual(await port.foldedInto(other.workspace, [mark.facet], 10), []);
      assert.deepEqual(await port.foldedInto(own.workspace, [mark.facet], 10), [eventId]);
    }
  },

  "finds what names somebody across close and reopen": async ({ port, reopen }) => {
    const event = anEvent({ folds: false });
    await port.insert(event.workspace, [event]);
    assert.deepEqual(await found(await reopen(), event.workspace, ...event.identifiers), [event.eventId]);
  },
};
