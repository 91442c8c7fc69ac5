import assert from "node:assert/strict";
import { readEvents, type EventServices } from "../../commands/search/events.js";
import { NO_AUDIENCES, type AudienceSet } from "../../core/audience/audience.js";
import { instantOf } from "../../core/event/time.js";
import type { StoredEvent } from "../../core/event/event.js";
import { newId, type TallyId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { EventStore } from "../../core/ports/event-store.js";
import type { EventCondition } from "../../core/rule/needs.js";
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
  const places = new Map(all.map(({ eventId }, n) => [eventId, n]));
  return {
    timeline: async (_workspace, _facets, { limit, before }) => {
      const from = before === null ? 0 : places.get(before.eventId)! + 1;
      return all.slice(from, from + Math.min(limit, 70));
    },
  };
}

const counted: Tally = { schemaId: null, where: [], sum: null };
const summed: Tally = { ...counted, sum: ["total"] };
const needOf = (tally: Tally): EventCondition =>
  tally.sum === null
    ? { kind: "count", tally, atLeast: 1, within: null }
    : { kind: "sum", tally, tests: [], within: null };
const read = (count: number, ...tallies: readonly Tally[]) => {
  const asked = { uids: [newId<Uid>()], needs: tallies.map(needOf), now: 0, set: NO_AUDIENCES };
  return readEvents({ events: events(count) } as unknown as EventServices, newId<WorkspaceId>(), asked);
};

describe("The events that a search looks at", () => {
  it("are all of a profile, up to 1,000, and up to 10,000 where they are added up", async () => {
    for (const count of [0, 1, 999, 1_000]) assert.equal((await read(count, counted)).isPartial, false, `${count}`);
    for (const count of [0, 1, 1_001, 10_000]) {
      const found = await read(count, summed, counted);
      assert.equal(found.isPartial, false, `${count}`);
      assert.equal(found.events.sumSince(summed, null).sum, count / 10);
    }
  });

  it("are the newest if there are more, and the answer says so", async () => {
    const few = await read(1_001, counted);
    assert.equal(few.isPartial, true);
    assert.equal(few.events.nthNewest(counted, 1), instantOf(1_800_000_000_000));
    assert.equal(few.events.nthNewest(counted, 1_000), instantOf(1_800_000_000_000 - 999));
    assert.equal(few.events.nthNewest(counted, 1_001), null);
    const many = await read(10_001, summed);
    assert.equal(many.isPartial, true);
    assert.equal(many.events.sumSince(summed, null).sum, 1_000);
  });

  it("are told by the events themselves where the tally that told them is being forgotten meanwhile", async () => {
    const tallyId = newId<TallyId>();
    const set: AudienceSet = { ...NO_AUDIENCES, tallies: [{ tallyId, tally: counted, filling: null }] };
    const counts = async (later: AudienceSet) => {
      const services = {
        events: events(3),
        tallies: { newestOfEach: async (_: WorkspaceId, asks: readonly object[]) => asks.map(() => []) },
        audiences: { audiences: async () => later },
      } as unknown as EventServices;
      const asked = { uids: [newId<Uid>()], needs: [needOf(counted)], now: 0, set };
      const { events: found } = await readEvents(services, newId<WorkspaceId>(), asked);
      return found.nthNewest(counted, 3);
    };
    assert.equal(await counts(set), null, "what the tally tells");
    assert.equal(await counts({ ...set, version: "later" }), null, "it stands still, beside other changes");
    const gone = { ...set, version: "later", tallies: [] };
    assert.equal(await counts(gone), instantOf(1_800_000_000_000 - 2));
    const anew = { ...gone, tallies: [{ tallyId: newId<TallyId>(), tally: counted, filling: null }] };
    assert.equal(await counts(anew), instantOf(1_800_000_000_000 - 2), "another one of the same form");
  });
});
