import assert from "node:assert/strict";
import { isTrimmed } from "../../commands/audiences/feed.js";
import { newId, type AudienceId } from "../../core/ids.js";

describe("A position in the feed", () => {
  const entriesFrom = (seq: number) =>
    [{ seq, entry: { type: "audience_deleted", at: 1, audienceId: newId<AudienceId>() } }] as const;

  it("is before what is kept where the next entry is not there any more, whichever read tells of it", () => {
    assert.equal(isTrimmed(5, { oldest: 7, entries: [] }), true);
    assert.equal(isTrimmed(5, { oldest: 1, entries: entriesFrom(7) }), true, "trimmed between two reads");
    assert.equal(isTrimmed(5, { oldest: 6, entries: entriesFrom(6) }), false);
    assert.equal(isTrimmed(5, { oldest: 6, entries: [] }), false);
  });
});
