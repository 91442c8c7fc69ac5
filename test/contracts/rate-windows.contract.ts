import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { RateWindow, RateWindows } from "../../core/rate-windows.js";
import { HOSTILE_TEXTS } from "../support/builders.js";

const MINUTE_MS = 60_000;
const HITS = 200;

const hitMany = (windows: RateWindows, key: string, windowMs: number): Promise<readonly RateWindow[]> =>
  Promise.all(Array.from({ length: HITS }, () => windows.hit(key, windowMs)));
const oneTo = (last: number): readonly number[] => Array.from({ length: last }, (_, n) => n + 1);
const until = (time: number): Promise<void> => sleep(Math.max(time - Date.now(), 0) + 2);

/** Counts of one key are 1, 2, 3... in some order, within one window. */
function assertOneWindow(windows: readonly RateWindow[]): void {
  assert.deepEqual(
    windows.map(({ hits }) => hits).toSorted((a, b) => a - b),
    oneTo(windows.length),
  );
  assert.equal(new Set(windows.map(({ resetAt }) => resetAt)).size, 1, "all say the same end");
}

/** A clock that a test can set; 0: it is right. */
export interface AheadClock {
  aheadMs: number;
}

/** Each on empty windows that ask this clock. */
export const rateWindowsContract: Readonly<Record<string, (windows: RateWindows, clock: AheadClock) => Promise<void>>> =
  {
    "counts from one": async (windows) => {
      for (const hits of oneTo(5)) assert.equal((await windows.hit("inline:a", MINUTE_MS)).hits, hits);
    },

    "counts several hits at once": async (windows) => {
      assert.equal((await windows.hit("items:a", MINUTE_MS, 60)).hits, 60, "as the first of the window");
      assert.equal((await windows.hit("items:a", MINUTE_MS)).hits, 61);
      assert.equal((await windows.hit("items:a", MINUTE_MS, 40)).hits, 101);
      assert.equal((await windows.hit("items:b", MINUTE_MS, 2)).hits, 2);
    },

    "takes hits back, and the window goes on": async (windows) => {
      const { resetAt } = await windows.hit("items:a", MINUTE_MS, 2);
      assert.deepEqual(await windows.hit("items:a", MINUTE_MS, -1), { hits: 1, resetAt });
      assert.deepEqual(await windows.hit("items:a", MINUTE_MS, -1), { hits: 0, resetAt });
      assert.deepEqual(await windows.hit("items:a", MINUTE_MS), { hits: 1, resetAt });
    },

    "counts several hits at once also when many do": async (windows) => {
      const counted = await Promise.all(Array.from({ length: 50 }, () => windows.hit("items:a", MINUTE_MS, 7)));
      assert.deepEqual(
        counted.map(({ hits }) => hits).toSorted((a, b) => a - b),
        oneTo(50).map((n) => n * 7),
      );
    },

    "keeps keys apart, whatever they hold": async (windows) => {
      const keys = ["inline:a", "inline:b", "auth:a", "inline:A", "inline:a\0", "", ...HOSTILE_TEXTS];
      for (const hits of [1, 2])
        for (const key of keys) assert.equal((await windows.hit(key, MINUTE_MS)).hits, hits, key);
    },

    "says when the window ends: its length after the first hit": async (windows) => {
      const before = Date.now();
      const { resetAt } = await windows.hit("inline:a", MINUTE_MS);
      assert.ok(resetAt >= before + MINUTE_MS && resetAt <= Date.now() + MINUTE_MS, `${resetAt - before} ms`);
      await sleep(20);
      assert.equal((await windows.hit("inline:a", MINUTE_MS)).resetAt, resetAt, "a hit does not move the end");
    },

    "starts anew after the window's end": async (windows) => {
      const [, first] = [await windows.hit("inline:a", 100), await windows.hit("inline:a", 100)];
      const other = await windows.hit("inline:b", MINUTE_MS);
      await until(first.resetAt);
      const next = await windows.hit("inline:a", MINUTE_MS);
      assert.equal(next.hits, 1);
      assert.ok(next.resetAt > first.resetAt);
      assert.deepEqual(await windows.hit("inline:b", MINUTE_MS), { hits: 2, resetAt: other.resetAt });
    },

    "takes a window for over that began before the clock was set back": async (windows, clock) => {
      for (const hits of oneTo(3)) assert.equal((await windows.hit("inline:a", MINUTE_MS)).hits, hits);
      clock.aheadMs = -60 * MINUTE_MS;
      const next = await windows.hit("inline:a", MINUTE_MS);
      assert.equal(next.hits, 1);
      assert.ok(next.resetAt <= Date.now() + clock.aheadMs + MINUTE_MS, `${next.resetAt}`);
      assert.deepEqual(await windows.hit("inline:a", MINUTE_MS), { hits: 2, resetAt: next.resetAt });
    },

    "counts on for a process whose clock is a few seconds behind": async (windows, clock) => {
      const { resetAt } = await windows.hit("inline:a", MINUTE_MS);
      clock.aheadMs = -3_000;
      assert.deepEqual(await windows.hit("inline:a", MINUTE_MS), { hits: 2, resetAt });
    },

    "counts two hundred hits at once exactly": async (windows) => {
      assertOneWindow(await hitMany(windows, "inline:a", MINUTE_MS));
      assert.equal((await windows.hit("inline:a", MINUTE_MS)).hits, HITS + 1);
    },

    "begins one window when many hits find that the last has ended": async (windows) => {
      const { resetAt } = await windows.hit("inline:a", 20);
      await until(resetAt);
      assertOneWindow(await hitMany(windows, "inline:a", MINUTE_MS));
    },
  };
