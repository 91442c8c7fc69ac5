import assert from "node:assert/strict";
import { readEvents, type EventServices } from "../../commands/search/events.js";
import { NO_AUDIENCES, type AudienceSet } from "../../core/audience/audience.js";
import { instantOf } from "../../core/event/time.js";
import type { StoredEvent } from "../../core/event/event.js";
import { newId, type TallyId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { EventStore } from "../../core/ports/event-store.js";
import type { EventCondition } from "../../core/rule/judge.js";
import type { Tally } from "../../core/rule/rule.js";
import { DAMAGED } from "../../store/stored-event.js";
import { readTimeline } from "../../store/timeline.js";
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
    ? { kind: "count", tally, atLeast: 1_001, within: null }
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

  it("tell nothing of a condition that was not asked, also where another one asked of the same events", async () => {
    const [asked, other] = [needOf(counted), { ...needOf(counted), atLeast: 2 }];
    const request = { uids: [newId<Uid>()], needs: [asked], now: 0, set: NO_AUDIENCES };
    const services = { events: events(1) } as unknown as EventServices;
    const { events: found } = await readEvents(services, newId<WorkspaceId>(), request);
    assert.deepEqual([found.has(asked), found.has(other)], [true, false]);
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

  it("are as many where they are damaged, some at a time: all are met once, and the log has one line for them", async () => {
    const damaged = async (soundAt: readonly number[], count: number) => {
      const reads: number[] = [];
      const lines: Readonly<Record<string, unknown>>[] = [];
      const all = Array.from({ length: count }, (_, n) => anEvent({ effectiveTs: instantOf(1_800_000_000_000 - n) }));
      const entries = [...all.keys()];
      const timeline: EventStore["timeline"] = (_workspace, _facets, page) => {
        const from = page.before === null ? 0 : all.findIndex(({ eventId }) => eventId === page.before!.eventId) + 1;
        reads.push(0);
        return readTimeline<number>(page, {
          look: async (behind, limit) => entries.slice(behind === null ? from : behind + 1).slice(0, limit),
          read: async (found, take) => {
            for (const n of found) {
              reads[reads.length - 1]! += 1;
              const rest = { status: "folded", facet: null, profileIdThen: null, reason: null } as const;
              if (!take(n, soundAt.includes(n) ? { ...all[n]!, ...rest } : DAMAGED)) return;
            }
          },
          positionOf: (n) => all[n]!,
        });
      };
      const log = { error: (fields: (typeof lines)[number]) => void lines.push(fields) };
      const services = { events: { timeline }, log } as unknown as EventServices;
      const asked = { uids: [newId<Uid>()], needs: [needOf(counted)], now: 0, set: NO_AUDIENCES };
      const workspace = newId<WorkspaceId>();
      const found = await readEvents(services, workspace, asked);
      await readEvents(services, workspace, asked);
      const told = lines.map(({ eventId, events: passed }) => [eventId, passed]);
      return { found, reads, told, first: all.find((_, n) => !soundAt.includes(n))!.eventId };
    };
    const few = await damaged([0, 3, 500], 502);
    assert.deepEqual([few.found.isPartial, few.told], [false, [[few.first, 499]]]);
    assert.equal(few.found.events.nthNewest(counted, 3), instantOf(1_800_000_000_000 - 500));
    const many = await damaged([0, 950, 1_500], 5_000);
    assert.deepEqual([many.found.isPartial, many.told], [true, [[many.first, 1_000]]]);
    const newest = [1, 2, 3].map((n) => many.found.events.nthNewest(counted, n));
    assert.deepEqual(newest, [instantOf(1_800_000_000_000), instantOf(1_800_000_000_000 - 950), null]);
    assert.ok(Math.max(...many.reads) < 200, "read by one call");
    assert.ok(many.reads.reduce((sum, one) => sum + one) < 2_300, "read by both");
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
