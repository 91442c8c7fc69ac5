import assert from "node:assert/strict";
import { encodeMessage } from "../../../core/event/message.js";
import { newId, type EventId, type WorkspaceId } from "../../../core/ids.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { aDeadLetter, aKeyId, anEvent } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";

const ALL = { limit: 100, before: null, eventId: null, reason: null };

export const letterPageSentences: Contract<EventStore> = {
  "tells where so many letters of an event, else of a key, else of a reason end, and lists none that is older": async ({
    port,
  }) => {
    const workspace = newId<WorkspaceId>();
    const [keyId, eventId] = [aKeyId(), newId<EventId>()];
    const message = encodeMessage(anEvent({ workspace, keyId }));
    const all = Array.from({ length: 8 }, (_, at) =>
      aDeadLetter({
        workspace,
        at,
        reason: at < 6 ? "one" : "two",
        ...(at > 2 && { message }),
        ...(at > 4 && { eventId }),
      }),
    );
    for (const letter of [...all, aDeadLetter()]) await port.bury(letter);
    const endOf = async (asked: object, count: number) =>
      (await port.letterBehind(workspace, { ...ALL, ...asked }, count))?.at ?? null;
    for (const [asked, at] of [
      [{}, 6],
      [{ reason: "one" }, 4],
      [{ keyId, before: all[5]! }, 3],
      [{ keyId, reason: "one" }, 6],
      [{ eventId, keyId, reason: "one", state: "replayed", before: all[7]! }, 5],
      [{ before: all[1]! }, null],
    ] as const)
      assert.equal(await endOf(asked, 2), at, JSON.stringify(asked));
    assert.deepEqual([await endOf({ keyId }, 5), await endOf({ keyId }, 6)], [3, null]);
    const { at, deadLetterId } = all[4]!;
    assert.deepEqual(await port.letterBehind(workspace, { ...ALL, keyId, before: all[5]! }, 1), { at, deadLetterId });
    for (const [asked, found] of [
      [{}, [7, 6, 5, 4]],
      [{ before: all[6]!, state: "open" }, [5, 4]],
      [{ keyId, reason: "one" }, [5, 4]],
      [{ eventId, reason: "one" }, [5]],
      [{ keyId, reason: "two", state: "replayed" }, []],
    ] as const) {
      const page = { ...ALL, ...asked, downTo: all[4]! };
      assert.deepEqual(
        await port.deadLetters(workspace, page),
        found.map((n) => all[n]),
      );
    }
  },

  "letterBehind keeps workspaces apart": async ({ port }) => {
    const [a, b] = [aDeadLetter({ at: 1 }), aDeadLetter({ at: 2 })];
    const [one, other] = [a.workspace!, b.workspace!];
    for (const letter of [a, b]) await port.bury(letter);
    for (const [own, { at, deadLetterId }] of [
      [one, a],
      [other, b],
    ] as const) {
      assert.deepEqual(await port.letterBehind(own, ALL, 1), { at, deadLetterId });
      assert.equal(await port.letterBehind(own, ALL, 2), null);
    }
  },
};
