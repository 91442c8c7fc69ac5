import assert from "node:assert/strict";
import { readEvents } from "../../commands/search/events.js";
import { instantOf } from "../../core/event/time.js";
import type { StoredEvent } from "../../core/event/event.js";
import { newId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { EventStore } from "../../core/ports/event-store.js";
import type { Tally } from "../../core/rule/rule.js";
import { anEvent } from "../support/builders.js";

/** So many events of one profile, the newest first; the list ends early now and then, as a list of large payloads does. */
function events(count: number): Pick<EventStore, "timeline"> {
  const all = Array.from({ length: count }, (_, n): StoredEvent => ({
    ...anEvent({ effectiveTs: instantOf(1_800_000_000_000 - n), payload: Buffer.from('{"total":0.1}') }),
    status: "folded",
    facet: null,
    profileIdThen: null,
    reason: null,
  }));
  return {
    timeline: async (_workspace, _facets, { limit, before }) => {
      const from = before === null ? 0 : all.findIndex(({ eventId }) => eventId === before.eventId) + 1;
      return all.slice(from, from + Math.min(limit, 70));
    },
  };
}

const tally: Tally = { schemaId: null, where: [], sum: ["total"] };
const read = (count: number) =>
  readEvents({ events: events(count) as EventStore }, newId<WorkspaceId>(), [newId<Uid>()], [tally]);

describe("The events that a search looks at", () => {
  it("are all of a profile, up to 1,000", async () => {
    for (const count of [0, 1, 999, 1_000]) {
      const found = await read(count);
      assert.equal(found.isPartial, false, `${count}`);
      assert.equal(found.events.sumSince(tally, null).sum, count / 10);
    }
  });

  it("are the newest 1,000 if there are more, and the answer says so", async () => {
    const { events: seen, isPartial } = await read(1_001);
    assert.equal(isPartial, true);
    assert.equal(seen.sumSince(tally, null).sum, 100);
    assert.equal(seen.nthNewest(tally, 1), instantOf(1_800_000_000_000));
    assert.equal(seen.nthNewest(tally, 1_001), null);
  });
});
