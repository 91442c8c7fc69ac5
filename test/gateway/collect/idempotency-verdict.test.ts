import assert from "node:assert/strict";
import { createIdempotency } from "../../../commands/acceptance/idempotency.js";
import type { EventNotes } from "../../../core/event/notes.js";
import { encodeMessage } from "../../../core/event/message.js";
import { anEvent } from "../../support/builders.js";

describe("An Idempotency-Key whose event is in the queue", () => {
  const storedAs = (notes: EventNotes | null, fingerprint: string) => {
    const event = anEvent({ fingerprint: "first", notes });
    const queue = { findEarlier: async () => encodeMessage(event) };
    const events = { find: async () => null };
    return createIdempotency({ queue, events }).isStored(event.workspace, event.eventId, fingerprint);
  };

  it("counts as stored, but what is there only as a reject was never accepted", async () => {
    assert.equal(await storedAs(null, "first"), true);
    const verdict = { reason: "rejected", errors: [], send: null, origin: { kind: "collect" } } as const;
    const notes = { countsMismatch: true, violations: [], unfolded: [], verdict };
    assert.equal(await storedAs(notes, "first"), false);
    assert.equal(await storedAs(notes, "corrected"), false);
  });
});
