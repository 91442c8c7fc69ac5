import assert from "node:assert/strict";
import * as fc from "fast-check";
import { dueOf, seatAfter, stays, type Judged, type Look, type Seat } from "../../../core/audience/seat.js";
import type { AudienceId, ProfileId } from "../../../core/ids.js";
import { SCALE, SEED } from "../../support/random/random.js";

const AUDIENCE = "a" as AudienceId;
const PROFILE = "p" as ProfileId;
const inSeat = (due: number | null): Seat => ({
  profileId: PROFILE,
  memberships: [{ audienceId: AUDIENCE, since: 1 }],
  untils: due === null ? [] : [{ audienceId: AUDIENCE, until: due }],
});
const judged = (is: boolean | null, until: number): readonly Judged[] => [
  { audienceId: AUDIENCE, is, until, cause: null },
];
const look = (at: number): Look => ({ at, cause: "changed", into: null });
const dueAfter = (before: number | null, until: number, at: number): number | null =>
  dueOf(seatAfter(inSeat(before), judged(true, until), look(at)).seat);

describe("When a seat is due", () => {
  it("stays where it is as long as that is not far too early", () => {
    assert.equal(dueAfter(1_000, 1_100, 100), 1_000);
    assert.equal(dueAfter(600, 1_100, 100), 600);
    assert.equal(dueAfter(599, 1_100, 100), 1_100);
    assert.equal(dueAfter(1_000, 1_000, 100), 1_000);
  });

  it("moves where time comes earlier, has come, or never comes", () => {
    assert.equal(dueAfter(1_000, 900, 100), 900);
    assert.equal(dueAfter(100, 200, 100), 200);
    assert.equal(dueAfter(50, 200, 100), 200);
    assert.equal(dueAfter(null, 200, 100), 200);
    assert.equal(dueAfter(1_000, Infinity, 100), null);
  });

  it("is exact where somebody enters or leaves", () => {
    const { seat, entries } = seatAfter(inSeat(1_000), judged(false, 1_100), look(100));
    assert.deepEqual([dueOf(seat), entries.length], [1_100, 1]);
  });

  it("is when the first of its audiences may change, whichever that is", () => {
    for (const untils of [
      [300, 200, Infinity],
      [200, Infinity, 300],
      [Infinity, 300, 200],
    ]) {
      const all = untils.map((until, n) => ({ audienceId: `a${n}` as AudienceId, is: true, until, cause: null }));
      assert.equal(dueOf(seatAfter(inSeat(null), all, look(100)).seat), 200);
    }
  });

  it("is kept of an audience that is not judged, and forgotten of one that is counted anew or no more", () => {
    const [x, y] = ["x", "y"] as string[] as [AudienceId, AudienceId];
    const untils = [AUDIENCE, x, y].map((audienceId, n) => ({ audienceId, until: 500 + n }));
    const after = (...all: readonly Judged[]) => seatAfter({ ...inSeat(null), untils }, all, look(499)).seat.untils;
    const counted: Judged = { audienceId: y, is: null, until: Infinity, cause: null };
    for (const [until, more] of [
      [500, []],
      [500, [counted]],
      [900, [counted]],
    ] as const)
      assert.deepEqual(after(...judged(true, until), stays(x), ...more), [
        { audienceId: AUDIENCE, until },
        { audienceId: x, until: 501 },
      ]);
  });

  it("moves for all of its audiences, or for none", () => {
    const other = "x" as AudienceId;
    const seat = { ...inSeat(1_000), untils: [...inSeat(1_000).untils, { audienceId: other, until: 2_000 }] };
    const untilsAfter = (until: number) => {
      const all = [...judged(true, 1_100), { audienceId: other, is: false, until, cause: null }];
      return seatAfter(seat, all, look(100)).seat.untils.map((one) => one.until);
    };
    assert.deepEqual(untilsAfter(2_100), [1_000, 2_000]);
    assert.deepEqual(untilsAfter(1_999), [1_100, 1_999]);
    assert.deepEqual(untilsAfter(Infinity), [1_100]);
  });

  it("is never too late, and ahead of the look", () => {
    const time = fc.integer({ min: 0, max: 2_000 });
    fc.assert(
      fc.property(fc.option(time), time, time, fc.boolean(), (before, until, at, is) => {
        fc.pre(until > at);
        const due = dueOf(seatAfter(inSeat(before), judged(is, until), look(at)).seat);
        assert.ok(due !== null && due <= until && due > at);
      }),
      { seed: SEED, numRuns: 1_000 * SCALE },
    );
  });
});

describe("Who stays in an audience", () => {
  it("is in it since the look that let them in", () => {
    const since = (is: boolean | null) => seatAfter(inSeat(null), judged(is, Infinity), look(100)).seat.memberships;
    assert.deepEqual(since(true), [{ audienceId: AUDIENCE, since: 1 }]);
    assert.deepEqual(since(null), [{ audienceId: AUDIENCE, since: 1 }]);
    assert.deepEqual(since(false), []);
    const outside = { ...inSeat(null), memberships: [] };
    const entered = seatAfter(outside, judged(true, Infinity), look(100)).seat.memberships;
    assert.deepEqual(entered, [{ audienceId: AUDIENCE, since: 100 }]);
  });
});
