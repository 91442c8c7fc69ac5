import assert from "node:assert/strict";
import { awaitQueue } from "../../cli/queue.js";
import type { Http } from "../../client/http.js";

describe("The wait of an export or import for the queue", () => {
  const EXPORT = { waitMs: 900_000, unknownMs: 60_000 };
  const minutes = [{ at: "2026-01-31T12:00:00.000Z" }];
  it("is neither for what came later, nor for ever, and says so where nobody knows", async () => {
    const late = (waiting: number | null, oldest_at: string | null, unknownMs: number, waitMs = 900_000) => {
      const answer = async () => ({ minutes, queue: { waiting, oldest_at } });
      return awaitQueue(answer as unknown as Http, { waitMs, unknownMs }, () => {});
    };
    assert.equal(await late(0, null, 0), null);
    assert.equal(await late(3, "2026-01-31T12:01:00.000Z", 0), null);
    assert.equal(await late(3, "2026-01-31T12:00:59.999Z", 0, 0), "events still wait to be processed, 3");
    assert.equal(await late(3, null, 0), "events still wait to be processed, 3");
    assert.equal(await late(null, null, 0), "nobody knows whether events wait to be processed");
  });

  it("goes on where the queue cannot be counted for a moment, and does not trust a count from before", async () => {
    const counts = [5, null, 0];
    const began = Date.now();
    let askedAt = 0;
    const said: string[] = [];
    const answer = async () => {
      askedAt ||= Date.now();
      return { minutes, queue: { waiting: counts.shift(), oldest_at: null } };
    };
    const late = await awaitQueue(answer as unknown as Http, EXPORT, (text) => said.push(text));
    assert.deepEqual([counts, late, said], [[], null, ["waits until the queue is empty; events that wait: 5"]]);
    assert.ok(askedAt - began >= 1_000);
  });

  it("does not end early because the queue cannot be counted for a moment after a busy while", async () => {
    const old = "2026-01-31T11:59:00.000Z";
    const looks = [
      [5, old],
      [6, old],
      [null, null],
      [0, null],
    ] as const;
    const said: string[] = [];
    const now = Date.now;
    let [later, looked] = [0, 0];
    Date.now = () => now() + later;
    try {
      const answer = async () => {
        const [waiting, oldest_at] = looks[looked]!;
        looked += 1;
        later += 40_000;
        return { minutes, queue: { waiting, oldest_at } };
      };
      assert.equal(await awaitQueue(answer as unknown as Http, EXPORT, (text) => said.push(text)), null);
    } finally {
      Date.now = now;
    }
    assert.deepEqual([looked, said], [4, ["waits until the queue is empty; events that wait: 5"]]);
  });
});
