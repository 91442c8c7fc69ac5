import assert from "node:assert/strict";
import { parseAnyOffset, shift } from "../../../core/sdk/time.js";
import { mapOne, NOW, unfitOf } from "../../support/sdk/mapping.js";

const HOUR_MS = 3_600_000;
const at = (ms: number): string => new Date(NOW + ms).toISOString();

describe("A time with any offset", () => {
  const cases: readonly (readonly [string, string | null])[] = [
    ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000000000Z"],
    ["2026-01-31T13:00:00.123+01:00", "2026-01-31T12:00:00.123000000Z"],
    ["2026-01-31T12:00:00.123456789+01:00", "2026-01-31T11:00:00.123456789Z"],
    ["2026-01-31T12:00:00.1234567899Z", "2026-01-31T12:00:00.123456789Z"],
    ["2026-01-31T00:15-0530", "2026-01-31T05:45:00.000000000Z"],
    ["2026-12-31T23:59:59-01", "2027-01-01T00:59:59.000000000Z"],
    ["2026-11-22T15:20:26.784187+00:00", "2026-11-22T15:20:26.784187000Z"],
    ["1970-01-01T00:30:00+01:00", null],
    ["1969-12-31T23:30:00-01:00", "1970-01-01T00:30:00.000000000Z"],
    ["1969-12-31T12:00:00.123456789-1200", "1970-01-01T00:00:00.123456789Z"],
    ["1969-12-31T12:00:00-11:59", null],
    ["1969-12-31T23:59:59Z", null],
    ["1969-02-29T23:59:59-01:00", null],
    ["1969-13-31T23:30:00-01:00", null],
    ["9999-12-31T23:30:00-01:00", null],
    ["2026-01-31T12:00:00", null],
    ["2026-02-30T12:00:00Z", null],
    ["2026-01-31 12:00:00Z", null],
    ["2026-01-31T12:00:00+24:00", null],
    ["1795360639", null],
    ["", null],
  ];
  for (const [text, expected] of cases)
    it(`reads ${JSON.stringify(text)}`, () => assert.equal(parseAnyOffset(text), expected));

  it("moves with all its digits", () => {
    assert.equal(shift("2026-01-31T12:00:00.123456789Z", -HOUR_MS), "2026-01-31T11:00:00.123456789Z");
    assert.equal(shift("1970-01-01T00:00:00.000000000Z", -1), null);
  });
});

describe("When an SDK's call happened", () => {
  const timeOf = (item: object, around: object = {}, options: object = {}): string =>
    mapOne({ type: "track", ...item }, options, around).timestamp;

  it("is originalTimestamp, else timestamp, else when it came", () => {
    assert.equal(timeOf({ originalTimestamp: at(-2_000), timestamp: at(-1_000) }), at(-2_000));
    assert.equal(timeOf({ originalTimestamp: "", timestamp: at(-1_000) }), at(-1_000));
    assert.equal(timeOf({ timestamp: null }), at(0));
  });

  it("of RudderStack's SDK for Node is the timestamp that its caller gave, because it fills in originalTimestamp itself", () => {
    const node = { channel: "server", context: { library: { name: "analytics-node" } }, originalTimestamp: at(-1_000) };
    assert.equal(timeOf({ ...node, timestamp: at(-2_000_000) }), at(-2_000_000));
    assert.equal(timeOf(node), at(-1_000));
    assert.equal(timeOf({ ...node, timestamp: null }), at(-1_000));
    assert.equal(timeOf({ ...node, channel: "web", timestamp: at(-2_000_000) }), at(-1_000));
    const ahead = unfitOf({ type: "track", ...node, timestamp: at(48 * HOUR_MS) });
    assert.equal(ahead.errors[0]?.path, "timestamp");
  });

  it("is corrected by as much as the sender's clock is wrong", () => {
    assert.equal(timeOf({ timestamp: at(-HOUR_MS - 5_000) }, { sentAt: at(-HOUR_MS) }), at(-5_000));
    assert.equal(timeOf({ timestamp: at(HOUR_MS - 5_000), sentAt: at(HOUR_MS) }), at(-5_000));
    assert.equal(
      timeOf({ timestamp: at(-365 * 24 * HOUR_MS) }, { sentAt: at(-365 * 24 * HOUR_MS + 1_000) }),
      at(-1_000),
    );
  });

  it("takes the envelope's sentAt before the item's", () => {
    assert.equal(
      timeOf({ timestamp: at(-HOUR_MS), sentAt: at(-2 * HOUR_MS) }, { sentAt: at(-HOUR_MS + 1_000) }),
      at(-1_000),
    );
  });

  const uncorrected: readonly (readonly [string, object, object, object])[] = [
    ["a minute or less", {}, { sentAt: at(-60_000) }, {}],
    ["a server by its channel", { channel: "server" }, { sentAt: at(-HOUR_MS) }, {}],
    ["a server by its library", { context: { library: { name: "analytics-python" } } }, { sentAt: at(-HOUR_MS) }, {}],
    [
      "a server whose library stands outside",
      {},
      { sentAt: at(-HOUR_MS), context: { library: { name: "analytics-go" } } },
      {},
    ],
    ["sentAt made with the item", { sentAt: at(-2 * HOUR_MS) }, { sentAt: at(-HOUR_MS) }, {}],
    ["no sentAt", {}, {}, {}],
    ["a sentAt that is none", {}, { sentAt: "soon" }, {}],
    ["an archive that does not say when it came", {}, { sentAt: at(-HOUR_MS) }, { receivedAt: "in_item" }],
    [
      "an archive that does not say when it was sent",
      { receivedAt: at(-HOUR_MS) },
      { sentAt: at(0) },
      { receivedAt: "in_item" },
    ],
  ];
  for (const [name, item, around, options] of uncorrected)
    it(`is as claimed: ${name}`, () =>
      assert.equal(timeOf({ timestamp: at(-2 * HOUR_MS), ...item }, around, options), at(-2 * HOUR_MS)));

  it("compares with the archive's own time where it has one", () => {
    const item = { timestamp: at(-101 * HOUR_MS), sentAt: at(-101 * HOUR_MS + 5), receivedAt: at(-100 * HOUR_MS) };
    for (const around of [{}, { sentAt: at(0) }])
      assert.equal(timeOf(item, around, { receivedAt: "in_item" }), at(-100 * HOUR_MS - 5));
  });

  it("names a time that is none, or more than a day ahead after all", () => {
    const problem = (item: object, around: object = {}) => unfitOf({ type: "track", ...item }, {}, around).errors;
    assert.equal(problem({ timestamp: "yesterday" })[0]?.path, "timestamp");
    assert.equal(problem({ originalTimestamp: 5 })[0]?.path, "originalTimestamp");
    const ahead = at(25 * HOUR_MS);
    assert.match(String(problem({ timestamp: ahead, channel: "server" })[0]?.message), /24 hours ahead/);
    assert.equal(timeOf({ timestamp: ahead }, { sentAt: at(25 * HOUR_MS + 1_000) }), at(-1_000));
  });
});
