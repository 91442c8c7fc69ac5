import assert from "node:assert/strict";
import * as fc from "fast-check";
import { effectiveTs, instantOf, isFarAhead, parseTimestamp, showInstant, showTime } from "../../core/event/time.js";
import { SEED } from "../support/random/random.js";

const HOUR_MS = 3_600_000;
const NOW_MS = Date.parse("2026-03-01T00:00:00.000Z");

const REAL: readonly (readonly [string, string])[] = [
  ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000000000Z"],
  ["2026-01-31T12:00:00.5Z", "2026-01-31T12:00:00.500000000Z"],
  ["2026-01-31T23:59:59.123456789Z", "2026-01-31T23:59:59.123456789Z"],
  ["1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000000Z"],
  ["9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"],
  ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000000Z"],
  ["2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000000000Z"],
];

const WRONG: Readonly<Record<string, readonly string[]>> = {
  "a date that is not in the calendar": [
    "2026-02-29T00:00:00Z",
    "2100-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-00-10T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-32T00:00:00Z",
  ],
  "a time of day that is none, the leap second among them": [
    "2026-01-01T24:00:00Z",
    "2026-01-01T12:60:00Z",
    "2016-12-31T23:59:60Z",
  ],
  "a year before 1970 or after 9999": ["1969-12-31T23:59:59Z", "10000-01-01T00:00:00Z", "+010000-01-01T00:00:00Z"],
  "another form than T and Z": [
    "2026-01-01t00:00:00Z",
    "2026-01-01T00:00:00z",
    "2026-01-01 00:00:00Z",
    "2026-01-01T00:00:00",
    "2026-01-01T00:00:00+00:00",
    "2026-01-01T00:00Z",
    "2026-01-01",
    "20260101T000000Z",
    "",
    " 2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00Z\n",
    "٢٠٢٦-01-01T00:00:00Z",
  ],
  "an empty fraction or one of more than nine digits": [
    "2026-01-01T00:00:00.Z",
    "2026-01-01T00:00:00.1234567890Z",
    "2026-01-01T00:00:00,5Z",
  ],
};

describe("A timestamp", () => {
  it("is read to nine fraction digits, so that comparing the text compares the time", () => {
    for (const [text, instant] of REAL) assert.equal(parseTimestamp(text), instant, text);
  });

  for (const [what, texts] of Object.entries(WRONG))
    it(`is refused when it has ${what}`, () => {
      for (const text of texts) assert.equal(parseTimestamp(text), null, text);
    });

  it("that any clock writes is read back as the same moment and in the same order", () => {
    const moment = fc.integer({ min: 0, max: Date.parse("9999-12-31T23:59:59.999Z") });
    fc.assert(
      fc.property(moment, moment, (a, b) => {
        assert.equal(parseTimestamp(showTime(a)), instantOf(a));
        assert.equal(instantOf(a) < instantOf(b), a < b);
        assert.equal(showInstant(instantOf(a)), showTime(a));
      }),
      { seed: SEED },
    );
  });

  it("is shown with three fraction digits, or as many as it takes", () => {
    assert.equal(showInstant("2026-01-31T12:00:00.000000000Z"), "2026-01-31T12:00:00.000Z");
    assert.equal(showInstant("2026-01-31T12:00:00.120000000Z"), "2026-01-31T12:00:00.120Z");
    assert.equal(showInstant("2026-01-31T12:00:00.123450000Z"), "2026-01-31T12:00:00.12345Z");
    assert.equal(showInstant("2026-01-31T12:00:00.123456789Z"), "2026-01-31T12:00:00.123456789Z");
  });

  it("is too far ahead only beyond 24 hours", () => {
    assert.equal(isFarAhead(instantOf(NOW_MS + 24 * HOUR_MS), NOW_MS), false);
    assert.equal(isFarAhead(instantOf(NOW_MS + 24 * HOUR_MS + 1), NOW_MS), true);
  });

  it("counts as at most five minutes after the moment at which it was received", () => {
    const latest = instantOf(NOW_MS + 5 * 60_000);
    assert.equal(effectiveTs(instantOf(NOW_MS - HOUR_MS), NOW_MS), instantOf(NOW_MS - HOUR_MS));
    assert.equal(effectiveTs(latest, NOW_MS), latest);
    assert.equal(effectiveTs(instantOf(NOW_MS + HOUR_MS), NOW_MS), latest);
  });
});
