import assert from "node:assert/strict";
import { createIdempotency } from "../../../commands/acceptance/idempotency.js";
import { encodeMessage } from "../../../core/event/message.js";
import { anEvent } from "../../support/builders.js";
import { isAppError } from "../../support/errors.js";

describe("An Idempotency-Key whose event is in the queue", () => {
  const event = anEvent({ fingerprint: "first" });
  const queue = { findEarlier: async () => encodeMessage(event) };
  const events = { find: async () => null };
  const isStored = (fingerprint: string) =>
    createIdempotency({ queue, events }).isStored(event.workspace, event.eventId, fingerprint);

  it("counts as stored, and was used with another body", async () => {
    assert.equal(await isStored("first"), true);
    await assert.rejects(isStored("other"), isAppError("idempotency_mismatch"));
  });
});
