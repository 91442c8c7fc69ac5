import assert from "node:assert/strict";
import { startClock } from "../../app/clock.js";
import { createLifecycle } from "../../app/lifecycle.js";
import { silentLog } from "../../app/logger.js";
import { withApp } from "../support/faults.js";

const HOUR_MS = 3_600_000;
/** The ids of all tests follow the latest time. */
const LONG_AGO = Date.now() - 100 * 24 * HOUR_MS;

/** The time of an installation, and processes that use it; all clocks stand still. */
function installation() {
  const kept = { ms: 0, sureMs: 0, beats: 0, waitedMs: 0 };
  const catalog = {
    timeKept: async () => ({ ...kept }),
    advanceTime: async (ms: number, believable: number) => {
      kept.ms = Math.max(kept.ms > believable ? 0 : kept.ms, ms);
      return kept.ms;
    },
  };
  const start = async (clock: { ms: number; steadyMs: number }) => {
    const lines: string[] = [];
    const add = (level: string) => (fields: object, message: string) =>
      void lines.push(`${level} ${JSON.stringify(fields)} ${message}`);
    const lifecycle = createLifecycle(silentLog);
    const log = { info: add("info"), warn: add("warn"), error: add("error") };
    const [machine, steady] = [() => clock.ms, () => clock.steadyMs];
    const started = await startClock({ catalog, machine, steady, isShared: true, lifecycle, log });
    /** Asks the others for their time. */
    const look = async () => {
      started.tick();
      await new Promise((resolve) => setImmediate(resolve));
    };
    return { ...started, lines, look, stop: () => lifecycle.close() };
  };
  return { start };
}

describe("Machines whose clocks are apart", () => {
  it("say so: the one that follows another once an hour, the one that moves the time when it starts", async () => {
    const { start } = installation();
    const right = { ms: LONG_AGO, steadyMs: 0 };
    const one = await start(right);
    const ahead = await start({ ms: LONG_AGO + HOUR_MS, steadyMs: 0 });
    assert.match(ahead.lines.join("\n"), /^info \{"seconds":3600\} .*clock/);
    assert.equal(ahead.behindMs(), 0);
    assert.deepEqual(one.lines, []);
    for (let looks = 0; looks < 3; looks += 1) await one.look();
    assert.match(one.lines.join("\n"), /^warn \{"seconds":3600\} .*clock.*NTP/);
    assert.equal(one.lines.length, 1);
    assert.ok(one.behindMs() >= HOUR_MS);
    right.steadyMs += HOUR_MS;
    await one.look();
    assert.equal(one.lines.length, 2);
    const late = await start({ ms: LONG_AGO - 48 * HOUR_MS, steadyMs: 0 });
    assert.match(late.lines.join("\n"), /^warn \{"seconds":176400\}/, "also where it is too late to follow");
    for (const process of [one, ahead, late]) await process.stop();
  });

  it("say nothing of seconds", async () => {
    const { start } = installation();
    const [one, other] = [
      await start({ ms: LONG_AGO, steadyMs: 0 }),
      await start({ ms: LONG_AGO + 5_000, steadyMs: 0 }),
    ];
    await one.look();
    assert.deepEqual([one.lines, other.lines], [[], []]);
    for (const process of [one, other]) await process.stop();
  });

  it("are seen in the metrics", () => {
    const clock = { ms: LONG_AGO };
    return withApp({}, { now: () => clock.ms }, async (app) => {
      assert.match((await app.send("GET", "/metrics")).text, /^onym_clock_behind_seconds 0$/m);
      clock.ms -= HOUR_MS;
      assert.match((await app.send("GET", "/metrics")).text, /^onym_clock_behind_seconds 36\d\d/m);
    });
  });
});
