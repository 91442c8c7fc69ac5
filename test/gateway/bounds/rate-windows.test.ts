import assert from "node:assert/strict";
import type { RateWindow, RateWindows } from "../../../core/rate-windows.js";
import { createMemoryWindows, createSharedWindows } from "../../../gateway/access/rate-windows.js";
import { rateWindowsContract } from "../../contracts/rate-windows.contract.js";

describe("Rate windows of one process", () => {
  for (const [sentence, check] of Object.entries(rateWindowsContract))
    it(sentence, () => {
      const clock = { aheadMs: 0 };
      return check(
        createMemoryWindows(() => Date.now() + clock.aheadMs),
        clock,
      );
    });
});

/** Shared windows that a test makes fail, and counts the questions to. */
function faultyWindows() {
  const state = { answer: (): Promise<RateWindow> => Promise.resolve({ hits: 40, resetAt: 1 }), asked: 0 };
  const windows: RateWindows = {
    hit: () => {
      state.asked += 1;
      return state.answer();
    },
  };
  return { state, windows };
}

describe("Shared rate windows", () => {
  const setUp = () => {
    const { state, windows: shared } = faultyWindows();
    const clock = { now: 1_000 };
    const errors: unknown[] = [];
    const now = (): number => clock.now;
    const onError = (error: unknown): void => void errors.push(error);
    return {
      state,
      clock,
      errors,
      windows: createSharedWindows({ shared, local: createMemoryWindows(now), onError, now }),
    };
  };

  it("answer the count of all processes", async () => {
    const { windows, errors } = setUp();
    assert.equal((await windows.hit("a", 60_000)).hits, 40);
    assert.deepEqual(errors, []);
  });

  it("go on with the process's own count while the shared one fails, and ask it no more for a second", async () => {
    const { windows, state, clock, errors } = setUp();
    await windows.hit("a", 60_000);
    const away = new Error("away");
    state.answer = () => Promise.reject(away);
    assert.equal((await windows.hit("a", 60_000)).hits, 2, "what was counted before counts");
    assert.equal((await windows.hit("a", 60_000)).hits, 3);
    assert.deepEqual([state.asked, errors], [2, [away]]);
    state.answer = () => Promise.resolve({ hits: 77, resetAt: 1 });
    clock.now += 1_001;
    assert.equal((await windows.hit("a", 60_000)).hits, 77);
  });

  it("forget nothing that the process counted while the shared one failed, until its window ends", async () => {
    const { windows, state, clock } = setUp();
    state.answer = () => Promise.reject(new Error("away"));
    for (let hits = 0; hits < 5; hits += 1) await windows.hit("a", 60_000);
    state.answer = () => Promise.resolve({ hits: 1, resetAt: 1 });
    clock.now += 1_001;
    assert.equal((await windows.hit("a", 60_000)).hits, 6);
    clock.now += 59_000;
    assert.equal((await windows.hit("a", 60_000)).hits, 1);
    assert.equal((await windows.hit("a", 60_000)).hits, 1, "nothing failed in this window");
  });

  it("ask again once the clock was set back to before the failure", async () => {
    const { windows, state, clock } = setUp();
    state.answer = () => Promise.reject(new Error("away"));
    clock.now = 7_200_000;
    await windows.hit("a", 60_000);
    state.answer = () => Promise.resolve({ hits: 77, resetAt: 1 });
    clock.now -= 3_600_000;
    assert.equal((await windows.hit("a", 60_000)).hits, 77);
  });

  it("wait for a silent count only a moment", async () => {
    const { windows, state, errors } = setUp();
    state.answer = () => new Promise(() => {});
    const before = performance.now();
    assert.equal((await windows.hit("a", 60_000)).hits, 1);
    assert.ok(performance.now() - before < 5_000);
    assert.equal(errors.length, 1);
  });
});
