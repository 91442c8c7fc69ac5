import assert from "node:assert/strict";
import type { EventRecord } from "../../../core/event/event.js";
import { encodeMessage } from "../../../core/event/message.js";
import { newId, type DeadLetterId, type KeyId, type SchemaId, type WorkspaceId } from "../../../core/ids.js";
import type { DeadLetter, EventStore } from "../../../core/ports/event-store.js";
import { aDeadLetter, aKeyId, anEvent, aFold, HOSTILE_TEXTS, counted } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";

const ALL = { limit: 100, before: null, eventId: null, reason: null };
const idsOf = (letters: readonly DeadLetter[]): readonly DeadLetterId[] =>
  letters.map(({ deadLetterId }) => deadLetterId);

export const deadLetterSentences: Contract<EventStore> = {
  "makes the stored event dead, with the reason": async ({ port }) => {
    const event = anEvent();
    const { workspace, eventId } = event;
    await port.insert(workspace, [event]);
    await port.bury(aDeadLetter({ workspace, eventId, reason: "tries_exceeded" }));
    const found = await port.find(workspace, eventId);
    assert.deepEqual([found?.status, found?.reason, found?.profileIdThen], ["dead", "tries_exceeded", null]);
  },

  "leaves a folded event folded": async ({ port }) => {
    const event = anEvent();
    const { workspace, eventId } = event;
    await port.insert(workspace, [event]);
    await port.fold(workspace, [aFold(event)]);
    const before = await port.find(workspace, eventId);
    await port.bury(aDeadLetter({ workspace, eventId }));
    assert.deepEqual(await port.find(workspace, eventId), before);
  },

  "leaves the stored event alone when it is not what died": async ({ port }) => {
    const event = anEvent();
    const { workspace, eventId } = event;
    await port.insert(workspace, [event]);
    await port.bury(aDeadLetter({ workspace, eventId, killsEvent: false }));
    assert.equal((await port.find(workspace, eventId))?.status, "stored");
  },

  "makes a dead event folded when it folds after all": async ({ port }) => {
    const event = anEvent();
    const { workspace, eventId } = event;
    const mark = aFold(event);
    await port.insert(workspace, [event]);
    await port.bury(aDeadLetter({ workspace, eventId }));
    await port.fold(workspace, [mark]);
    const found = await port.find(workspace, eventId);
    assert.deepEqual([found?.status, found?.reason], ["folded", null]);
    assert.equal(await counted(port, workspace, [mark.facet]), 1);
  },

  "keeps a dead letter once per id, as it came first": async ({ port }) => {
    const letter = aDeadLetter();
    const answers = await Promise.all(Array.from({ length: 20 }, () => port.bury(letter)));
    assert.equal(answers.filter(Boolean).length, 1);
    assert.equal(await port.bury({ ...letter, reason: "another", at: letter.at + 1 }), false);
    assert.deepEqual(await port.deadLetters(letter.workspace!, ALL), [letter]);
    const again = { ...letter, times: letter.times + 1 };
    assert.deepEqual([await port.bury(again), await port.bury(again), await port.bury(letter)], [true, false, false]);
  },

  "gives back a dead letter's message byte for byte, and any reason": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const message = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    for (const reason of HOSTILE_TEXTS) {
      const letter = aDeadLetter({ workspace, reason, message, eventId: null });
      await port.bury(letter);
      assert.deepEqual(await port.deadLetters(workspace, { ...ALL, reason }), [letter]);
    }
  },

  "lists dead letters newest first, each once over the pages": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const letters = [3, 1, 2, 5, 4].map((at) => aDeadLetter({ workspace, at }));
    for (const letter of letters) await port.bury(letter);
    const newestFirst = letters.toSorted((a, b) => b.at - a.at);
    assert.deepEqual(await port.deadLetters(workspace, ALL), newestFirst);
    const listed: DeadLetter[] = [];
    for (let page = 0; page < 3; page += 1)
      listed.push(...(await port.deadLetters(workspace, { ...ALL, limit: 2, before: listed.at(-1) ?? null })));
    assert.deepEqual(idsOf(listed), idsOf(newestFirst));
  },

  "gives dead letters of one millisecond each once over the pages": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const letters = Array.from({ length: 7 }, () => aDeadLetter({ workspace }));
    for (const letter of letters) await port.bury(letter);
    const listed: DeadLetter[] = [];
    for (let page = 0; page < 4; page += 1)
      listed.push(...(await port.deadLetters(workspace, { ...ALL, limit: 2, before: listed.at(-1) ?? null })));
    assert.deepEqual(idsOf(listed).toSorted(), idsOf(letters).toSorted());
  },

  "goes on before the position of a dead letter that is gone, or that died again and is the newest": async ({
    port,
  }) => {
    const workspace = newId<WorkspaceId>();
    const [a, b, c, d] = [1, 2, 3, 4].map((at) => aDeadLetter({ workspace, at })) as [
      DeadLetter,
      DeadLetter,
      DeadLetter,
      DeadLetter,
    ];
    for (const letter of [a, b, c, d]) await port.bury(letter);
    assert.equal(await port.removeLetters(workspace, [d.deadLetterId]), 1);
    assert.deepEqual(await port.deadLetters(workspace, { ...ALL, before: d }), [c, b, a]);
    const again = { ...c, at: 9, times: 2 };
    await port.bury(again);
    assert.deepEqual(await port.deadLetters(workspace, { ...ALL, before: c }), [b, a]);
    assert.deepEqual(await port.deadLetters(workspace, { ...ALL, before: again }), [b, a]);
    assert.deepEqual(await port.deadLetters(workspace, ALL), [again, b, a]);
  },

  "filters dead letters by event and by exact reason": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const [a, b, c] = ["one", "one", "one more"].map((reason, at) => aDeadLetter({ workspace, reason, at })) as [
      DeadLetter,
      DeadLetter,
      DeadLetter,
    ];
    for (const letter of [a, b, c]) await port.bury(letter);
    assert.deepEqual(await port.deadLetters(workspace, { ...ALL, reason: "one" }), [b, a]);
    assert.deepEqual(await port.deadLetters(workspace, { ...ALL, reason: "one", before: b }), [a]);
    assert.deepEqual(await port.deadLetters(workspace, { ...ALL, eventId: c.eventId }), [c]);
    assert.deepEqual(await port.deadLetters(workspace, { ...ALL, eventId: c.eventId, reason: "one" }), []);
  },

  "filters dead letters by the key that sent their messages": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const [one, other] = [aKeyId(), aKeyId()];
    const sent = (keyId: KeyId, at: number, changes: Partial<DeadLetter> = {}): DeadLetter =>
      aDeadLetter({ workspace, at, message: encodeMessage(anEvent({ workspace, keyId })), ...changes });
    const strange = aDeadLetter({ workspace, at: 4 });
    // Somebody put it into the queue: it says whose it is, and is not.
    const forged = aDeadLetter({ workspace, at: 5, message: encodeMessage(anEvent({ keyId: one })) });
    const [a, b, c] = [sent(one, 1), sent(other, 2), sent(one, 3, { reason: "rejected" })];
    for (const letter of [a, b, c, strange, forged]) await port.bury(letter);
    assert.deepEqual(await port.deadLetters(workspace, { ...ALL, keyId: one }), [c, a]);
    assert.deepEqual(await port.deadLetters(workspace, { ...ALL, keyId: one, before: c }), [a]);
    assert.deepEqual(await port.deadLetters(workspace, { ...ALL, keyId: one, reason: "rejected" }), [c]);
    assert.deepEqual(await port.deadLetters(workspace, { ...ALL, keyId: aKeyId() }), []);
    assert.deepEqual(await port.deadLetters(newId<WorkspaceId>(), { ...ALL, keyId: one }), []);
    // As it comes when it is buried again.
    const again = sent(other, 6, { deadLetterId: a.deadLetterId, eventId: a.eventId, times: 2 });
    await port.bury(again);
    assert.deepEqual(await port.deadLetters(workspace, { ...ALL, keyId: other }), [again, b]);
  },

  "looseLetters answers those that kill no event which stands, of the schema, received before; the oldest first, and keeps workspaces apart":
    async ({ port, reopen }) => {
      const [workspace, other] = [newId<WorkspaceId>(), newId<WorkspaceId>()];
      const schemaId = "order" as SchemaId;
      const received = (receivedAt: number, changes: Partial<EventRecord> = {}, killsEvent = false): DeadLetter => {
        const event = anEvent({ workspace, schemaId, receivedAt, ...changes });
        const message = encodeMessage(event);
        return aDeadLetter({ workspace: event.workspace, eventId: event.eventId, message, killsEvent, at: 99 });
      };
      const [late, early, equal] = [received(30), received(10), received(10)];
      const others = [
        received(5, { schemaId: "refund" as SchemaId }),
        received(40),
        aDeadLetter({ workspace, killsEvent: false }),
      ];
      const foreign = received(5, { workspace: other });
      // Those of events that stand, more than a page.
      for (let n = 0; n < 5; n += 1) {
        const event = anEvent({ workspace, schemaId, receivedAt: 5 + n });
        await port.insert(workspace, [event]);
        const message = encodeMessage(event);
        others.push(aDeadLetter({ workspace, eventId: event.eventId, message, killsEvent: true }));
      }
      const neverStored = received(5, {}, true);
      for (const letter of [late, early, equal, ...others, foreign, neverStored]) await port.bury(letter);
      const page = { until: 40, limit: 9 };
      const equals = [early, equal].toSorted((a, b) => (a.deadLetterId < b.deadLetterId ? -1 : 1));
      const wanted = [neverStored, ...equals, late].map(({ deadLetterId }, n) => ({
        deadLetterId,
        receivedAt: [5, 10, 10, 30][n]!,
      }));
      assert.deepEqual(await port.looseLetters(workspace, schemaId, page), wanted);
      assert.deepEqual(await port.looseLetters(workspace, schemaId, { ...page, limit: 2 }), wanted.slice(0, 2));
      assert.deepEqual(await port.looseLetters(workspace, schemaId, { ...page, until: 30 }), wanted.slice(0, 3));
      const foreigns = [{ deadLetterId: foreign.deadLetterId, receivedAt: 5 }];
      assert.deepEqual(await port.looseLetters(other, schemaId, page), foreigns);
      await port.removeLetters(workspace, [wanted[0]!.deadLetterId]);
      assert.deepEqual(await (await reopen()).looseLetters(workspace, schemaId, page), wanted.slice(1));
    },

  "shows a dead letter without a workspace to nobody": async ({ port }) => {
    const letter = aDeadLetter({ workspace: null });
    await port.bury(letter);
    assert.deepEqual(await port.deadLetters(newId<WorkspaceId>(), ALL), []);
    assert.deepEqual(await port.deadLetters("null" as WorkspaceId, ALL), []);
    assert.deepEqual(await port.deadLetters("" as WorkspaceId, ALL), []);
  },

  "finds one dead letter, and notes the highest number of its replays": async ({ port, reopen }) => {
    const letter = aDeadLetter({ times: 3 });
    const [workspace, id] = [letter.workspace!, letter.deadLetterId];
    assert.equal(await port.findDeadLetter(workspace, id), null);
    await port.noteReplay(workspace, id, 1, 5);
    assert.equal(await port.findDeadLetter(workspace, id), null);
    await port.bury(letter);
    assert.deepEqual(await port.findDeadLetter(workspace, id), letter);
    for (const [replay, at, replayed, replayedAt] of [
      [2, 10, 2, 10],
      [1, 20, 2, 20],
      [3, 15, 3, 20],
      [2, 15, 3, 20],
    ] as const) {
      await port.noteReplay(workspace, id, replay, at);
      assert.deepEqual(await port.findDeadLetter(workspace, id), { ...letter, replayed, replayedAt });
    }
    const noted = { ...letter, replayed: 3, replayedAt: 20 };
    assert.deepEqual(await (await reopen()).findDeadLetter(workspace, id), noted);
  },

  "lets a dead letter stand as it comes when it was buried more often, whatever was noted before": async ({ port }) => {
    const letter = aDeadLetter({ at: 10 });
    const [workspace, id] = [letter.workspace!, letter.deadLetterId];
    const other = aDeadLetter({ workspace, at: 20 });
    for (const one of [letter, other]) await port.bury(one);
    const again = { ...letter, reason: "crashed", at: 30, message: Buffer.from("again"), killsEvent: false, times: 2 };
    // It died before its replay was noted.
    await port.bury(again);
    await port.noteReplay(workspace, id, 1, 25);
    const stands: DeadLetter = { ...again, replayed: 1, replayedAt: 25 };
    for (const late of [letter, { ...again, reason: "later", at: 40 }]) {
      await port.bury(late);
      assert.deepEqual(await port.findDeadLetter(workspace, id), stands);
    }
    assert.deepEqual(await port.deadLetters(workspace, ALL), [stands, other], "it is the newest now");
    assert.deepEqual(await port.deadLetters(workspace, { ...ALL, reason: "crashed" }), [stands]);
    assert.deepEqual(await port.deadLetters(workspace, { ...ALL, state: "open" }), [stands, other]);
    await port.noteReplay(workspace, id, 2, 50);
    const noted = { ...stands, replayed: 2, replayedAt: 50 };
    assert.deepEqual(await port.deadLetters(workspace, { ...ALL, state: "replayed" }), [noted]);
    assert.deepEqual(await port.deadLetters(workspace, { ...ALL, state: "open" }), [other]);
  },

  "lists and counts open dead letters oldest first, by reason and time, each once over the pages": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const letters = [3, 1, 2, 2, 5, 4].map((at) =>
      aDeadLetter({ workspace, at, reason: at % 2 === 0 ? "even" : "odd" }),
    );
    for (const letter of letters) await port.bury(letter);
    await port.noteReplay(workspace, letters[5]!.deadLetterId, 1, 9);
    const open = letters.slice(0, 5).toSorted((a, b) => a.at - b.at || (a.deadLetterId < b.deadLetterId ? -1 : 1));
    const every = { reason: null, before: null, after: null };
    assert.deepEqual(await port.openLetters(workspace, { ...every, limit: 9 }), open);
    assert.equal(await port.countOpenLetters(workspace, { ...every, max: 9 }), 5);
    assert.equal(await port.countOpenLetters(workspace, { ...every, max: 3 }), 3);
    const even = { ...every, reason: "even", before: 5 };
    assert.deepEqual(
      await port.openLetters(workspace, { ...even, limit: 9 }),
      open.filter(({ at }) => at === 2),
    );
    assert.equal(await port.countOpenLetters(workspace, { ...even, max: 9 }), 2);
    assert.equal(await port.countOpenLetters(workspace, { ...every, before: 3, max: 9 }), 3);
    const paged: DeadLetter[] = [];
    for (let page = 0; page < 3; page += 1) {
      const after = paged.at(-1) ?? null;
      assert.equal(await port.countOpenLetters(workspace, { ...every, after, max: 9 }), 5 - paged.length);
      paged.push(...(await port.openLetters(workspace, { ...every, after, limit: 2 })));
    }
    assert.deepEqual(paged, open);
  },

  "findDeadLetter, openLetters, countOpenLetters and noteReplay keep workspaces apart": async ({ port }) => {
    const [a, b] = [aDeadLetter(), aDeadLetter()];
    for (const one of [a, b]) await port.bury(one);
    assert.equal(await port.findDeadLetter(b.workspace!, a.deadLetterId), null);
    await port.noteReplay(b.workspace!, a.deadLetterId, 1, 1);
    assert.deepEqual(await port.findDeadLetter(a.workspace!, a.deadLetterId), a);
    const every = { reason: null, before: null, after: null };
    assert.deepEqual(await port.openLetters(a.workspace!, { ...every, limit: 9 }), [a]);
    assert.equal(await port.countOpenLetters(a.workspace!, { ...every, max: 9 }), 1);
    const nobodys = aDeadLetter({ workspace: null });
    await port.bury(nobodys);
    assert.equal(await port.findDeadLetter("null" as WorkspaceId, nobodys.deadLetterId), null);
  },

  "bury and deadLetters keep workspaces apart": async ({ port }) => {
    const eventId = anEvent().eventId;
    const [a, b] = [anEvent({ eventId }), anEvent({ eventId })];
    for (const { workspace } of [a, b]) await port.insert(workspace, [workspace === a.workspace ? a : b]);
    const buried: DeadLetter[] = [];
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const before = await port.find(other.workspace, eventId);
      const letter = aDeadLetter({ workspace: one.workspace, eventId, at: buried.length });
      await port.bury(letter);
      assert.deepEqual(await port.find(other.workspace, eventId), before);
      assert.deepEqual(await port.deadLetters(one.workspace, { ...ALL, eventId }), [letter]);
      // Before a position where another workspace's letter stands.
      assert.deepEqual(await port.deadLetters(other.workspace, { ...ALL, before: letter }), buried);
      buried.push(letter);
    }
  },
};
