import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { judgeProfile, type Compiled } from "../../commands/audiences/judged.js";
import type { Judgeable } from "../../commands/read-profile.js";
import { readEvents, readEventsOfEach, type EventServices } from "../../commands/search/events.js";
import { NO_AUDIENCES, type AudienceSet } from "../../core/audience/audience.js";
import { instantOf } from "../../core/event/time.js";
import { newId, type EventId, type TallyId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { TallyRow, TallyStore } from "../../core/ports/tally-store.js";
import { compileRule, type EventCondition } from "../../core/rule/judge.js";
import { compileNeeds } from "../../core/rule/needs.js";
import type { Rule, Tally } from "../../core/rule/rule.js";
import { bigIntsOf } from "../support/big-ints.js";
import { held } from "../support/service/held.js";

const START = 1_800_000_000_000;
const SUMS = 5;
const workspace = newId<WorkspaceId>();
const tallies = Array.from({ length: SUMS }, (_, n): Tally => ({ schemaId: null, where: [], sum: [`n${n}`] }));
const set: AudienceSet = {
  ...NO_AUDIENCES,
  tallies: tallies.map((tally) => ({ tallyId: newId<TallyId>(), tally, filling: null })),
};
const sumOf = (tally: Tally, within: number | null = null) =>
  ({ kind: "sum", tally, tests: [{ op: "$gte", value: 0 }], within }) satisfies EventCondition;

/** For each tally of a profile so many rows, a second apart; the texts of each row are its own. */
function stored(count: number, amount: number) {
  let [underWay, most] = [0, 0];
  const asked: number[] = [];
  const rowAt = (n: number): TallyRow => ({
    effectiveTs: instantOf(START - n * 1_000),
    eventId: `${n}` as EventId,
    amount,
  });
  const rows = (from: number, limit: number, since: string | null): readonly TallyRow[] =>
    Array.from({ length: Math.max(0, Math.min(limit, count - from)) }, (_, n) => rowAt(from + n)).filter(
      ({ effectiveTs }) => since === null || effectiveTs > since,
    );
  const store: Pick<TallyStore, "newest" | "newestOfEach"> = {
    newestOfEach: async (_, asks) => {
      asked.push(asks.length);
      return asks.map(({ limit, since }) => rows(0, limit, since));
    },
    newest: async (_, _tally, _uids, { before, limit, since }) => {
      most = Math.max(most, (underWay += 1));
      await sleep(1);
      underWay -= 1;
      return rows(before === null ? 0 : Number(before.eventId) + 1, limit, since);
    },
  };
  const services = { tallies: store, audiences: { audiences: async () => set } } as unknown as EventServices;
  return { services, asked, most: () => most };
}

describe("What tallies have counted, added up", () => {
  it("takes a few pages at a time, and keeps no rows, also of several profiles", async () => {
    const { services, most } = stored(10_000, 1);
    const each = Array.from({ length: 4 }, () => ({ uids: [newId<Uid>()], needs: tallies.map((one) => sumOf(one)) }));
    const before = held();
    const read = await readEventsOfEach(services, workspace, { now: START, set, each });
    assert.ok(held() - before < 6_000_000, `${held() - before} bytes`);
    assert.ok(most() > 1 && most() <= 8, `${most()} pages at once`);
    const oldest = instantOf(START - 9_999_000);
    for (const { events, isPartial } of read) {
      assert.equal(isPartial, false);
      for (const one of tallies) assert.deepEqual(events.sumSince(one, null), { sum: 10_000, oldest });
    }
  });

  it("asks for a hundred tallies of profiles at a time: the rows of more would be in memory together", async () => {
    const { services, asked } = stored(3, 1);
    const each = Array.from({ length: 25 }, () => ({ uids: [newId<Uid>()], needs: tallies.map((one) => sumOf(one)) }));
    const read = await readEventsOfEach(services, workspace, { now: START, set, each });
    assert.deepEqual(asked, [100, 25]);
    for (const { events } of read) for (const one of tallies) assert.equal(events.sumSince(one, null).sum, 3);
  });

  it("leaves others a turn of the event loop before each page of a store that answers at once", async () => {
    const { services } = stored(200, 1);
    let [turns, isOver] = [0, false];
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    const rows = await services.tallies.newest(workspace, tallies[0] as never, [], {
      hasAmounts: true,
      before: null,
      limit: 200,
      since: null,
    });
    const atOnce = { ...services.tallies, newest: async () => rows };
    count();
    const asked = { uids: [newId<Uid>()], needs: tallies.map((one) => sumOf(one)), now: START, set };
    await readEvents({ ...services, tallies: atOnce }, workspace, asked);
    isOver = true;
    assert.ok(turns > SUMS, `${turns} turns`);
  });

  it("are the newest 10,000 of each window, and the answer says where there are more", async () => {
    const [tally] = tallies as [Tally];
    const windows = [null, 5_500, 100_000, 10_000_000, 10_001_000, 1, 20_000_000];
    for (const count of [0, 3, 100, 10_000, 10_001]) {
      const now = START + 500;
      const needs = windows.map((within) => sumOf(tally, within));
      const asked = { uids: [newId<Uid>()], needs, now, set };
      const { events, isPartial } = await readEvents(stored(count, 0.1).services, workspace, asked);
      assert.equal(isPartial, count > 10_000, `${count}`);
      for (const within of windows) {
        // Younger than the window: a row n seconds old is in it while n * 1,000 + 500 < within.
        const its = Math.min(
          count,
          10_000,
          within === null ? Infinity : Math.max(0, Math.ceil((within - 500) / 1_000)),
        );
        const expected = { sum: its / 10, oldest: its === 0 ? null : instantOf(START - (its - 1) * 1_000) };
        const since = within === null ? null : instantOf(now - within);
        assert.deepEqual(events.sumSince(tally, since), expected, `${count}, ${within}`);
      }
    }
  });

  it("is added up once, however many audiences ask for it", async () => {
    const rule: Rule = { kind: "or", parts: [sumOf(tallies[0]!), sumOf({ ...tallies[0]! }, 1_000_000)] };
    const all = Array.from({ length: 20 }, (): Compiled => ({
      audience: {} as Compiled["audience"],
      judge: compileRule(rule),
      needs: compileNeeds(rule),
      isOfEvents: true,
    }));
    const profile = { uids: [newId<Uid>()], facet: {}, identifiers: [] } as unknown as Judgeable;
    const made = await bigIntsOf(async () => {
      const { verdicts } = await judgeProfile(stored(1_000, 12.25).services, workspace, { set, all }, profile, START);
      assert.ok(verdicts.every(({ is }) => is === true));
    });
    assert.ok(made <= 1_100, `${made}`);
  });
});
