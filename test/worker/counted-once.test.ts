import assert from "node:assert/strict";
import type { Backends } from "../../app/backends.js";
import { measureBackends } from "../../app/telemetry/measured.js";
import type { Config } from "../../core/config.js";
import type { Verdict } from "../../core/event/notes.js";
import { NO_METRICS } from "../../core/metrics.js";
import type { Delivery } from "../../core/ports/event-queue.js";
import { createProcessBatch } from "../../worker/process-batch.js";
import { anEvent, away, createBench, delivered, done } from "../support/worker-bench.js";

const AWAY = { kind: "away" } as const;
const EMBEDDED = { RABBITMQ_URL: "", MONGODB_URL: "", NEO4J_URL: "" } as Config;

describe("However often a message is tried while a dependency is away, the metrics count", () => {
  let counted: string[];
  let isAway: boolean;
  /** `first` is stored under its id already. */
  async function start(first: Delivery) {
    [counted, isAway] = [[], false];
    const metrics = {
      ...NO_METRICS,
      deadLetter: (reason: string) => void counted.push(reason),
      sdkMismatches: (events: number) => void counted.push(`sdk ${events}`),
    };
    const bench = createBench({
      wrap: (ports) => {
        const { events } = measureBackends({ events: ports.events } as unknown as Backends, EMBEDDED, metrics);
        return { ...ports, events };
      },
    });
    const late = { ...bench.deps.late, lookAfter: async () => (isAway ? Promise.reject(away()) : undefined) };
    const run = createProcessBatch({ ...bench.deps, metrics, late });
    assert.deepEqual(await run([first]), [done]);
    isAway = true;
    bench.ports.hook = (step) => {
      if (step === "assertAll" && isAway) throw away();
    };
    return run;
  }
  const first = delivered(anEvent(1, { fingerprint: "first" }));
  const another = delivered(anEvent(2));
  const sdk = { countsMismatch: true, verdict: null, violations: [], unfolded: [] };
  const verdict: Verdict = {
    reason: "quarantined",
    errors: [],
    send: null,
    origin: { kind: "collect" },
  };

  for (const [what, one, expected] of [
    ["the dead letter of a mismatch once", anEvent(1, { fingerprint: "second" }), "idempotency_mismatch"],
    ["a mismatch of an SDK once", anEvent(1, { fingerprint: "second", notes: sdk }), "sdk 1"],
    ["a quarantined event once", anEvent(3, { notes: { ...sdk, countsMismatch: false, verdict } }), "quarantined"],
  ] as const)
    it(what, async () => {
      const run = await start(first);
      // Another one of the batch waits for the graph; who is quarantined alone, for the look behind it.
      const batch = [delivered(one), ...(expected === "quarantined" ? [] : [another])];
      for (let tries = 0; tries < 5; tries++)
        assert.deepEqual(
          await run(batch),
          batch.map(() => AWAY),
        );
      isAway = false;
      assert.deepEqual(
        await run(batch),
        batch.map(() => done),
      );
      assert.deepEqual(counted, [expected]);
    });
});
