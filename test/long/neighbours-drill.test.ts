import assert from "node:assert/strict";
import { drillNeighbours } from "../../scripts/drill/neighbours/neighbours.js";
import { latencyOf, limitOf, type Measured } from "../../scripts/drill/neighbours/latency.js";
import { complaintsOf, type FloodResult } from "../../scripts/drill/neighbours/report.js";

const measured = (p99: number, failures = 0): Measured => {
  const latency = { p50: 1, p99 };
  return { latencies: { collect: latency, identify: latency, "look-up": latency, fold: latency }, failures };
};
const result = (during: Measured, megabytes = 200): FloodResult => ({
  name: "flood",
  cores: 1,
  megabytes,
  before: measured(1),
  during,
  control: measured(10),
  statuses: {},
});

describe("npm run drill -- --neighbours", () => {
  it("measures a neighbour before and during floods, and says of each whether it holds", async () => {
    const lines: string[] = [];
    const floods = ["identifies of one profile", "wrong secrets"];
    await drillNeighbours({ seconds: 0.4, floods, instance: null, print: (line) => lines.push(line) });
    const pair = String.raw`[\d.]+\/[\d.]+ > [\d.]+\/[\d.]+ \([\d.]+\)`;
    for (const [name, answers] of [
      [floods[0], "200x\\d+"],
      [floods[1], "4\\d\\dx\\d+.*"],
    ] as const)
      assert.match(
        lines.find((line) => line.startsWith(`| ${name}`)) ?? lines.join("\n"),
        new RegExp(`^\\| ${name} \\| [\\d.]+ \\| \\d+ \\| (?:${pair} \\| ){4}${answers} \\| (?:holds|BROKEN: .*) \\|$`),
      );
    assert.match(lines.at(-1)!, /^floods=2 holding=[012] memory=\d+MB$/);
  });

  it("refuses the name of a flood that is not there", async () => {
    const options = { seconds: 1, floods: ["rain"], instance: null, print: () => {} };
    await assert.rejects(drillNeighbours(options), /there is no flood rain; there are: pipelined pages, /);
  });

  it("breaks beyond twice the control's p99 plus 50 ms, at a failure, and from 600 MB on", () => {
    assert.equal(limitOf({ p50: 1, p99: 10 }), 70);
    assert.deepEqual(complaintsOf(result(measured(70))), []);
    assert.equal(complaintsOf(result(measured(71))).length, 4);
    assert.equal(complaintsOf(result(measured(NaN))).length, 4, "nothing was measured");
    assert.deepEqual(complaintsOf(result(measured(1, 2))), ["2 failures"]);
    assert.deepEqual(complaintsOf(result(measured(1), 600)), ["600 MB"]);
  });

  it("takes the percentiles by nearest rank", () => {
    const hundred = Array.from({ length: 100 }, (_, n) => 100 - n);
    assert.deepEqual(latencyOf(hundred), { p50: 50, p99: 99 });
    assert.deepEqual(latencyOf([7]), { p50: 7, p99: 7 });
  });
});
