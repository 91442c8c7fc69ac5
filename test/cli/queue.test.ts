import assert from "node:assert/strict";
import { awaitQueue } from "../../cli/queue.js";
import type { Http } from "../../client/http.js";

describe("The wait of an export or import for the queue", () => {
  const minutes = [{ at: "2026-01-31T12:00:00.000Z" }];
  it("is neither for what came later, nor for ever, and warns where nobody knows", async () => {
    const told = async (waiting: number | null, oldest_at: string | null) => {
      const said: string[] = [];
      const answer = async () => ({ minutes, queue: { waiting, oldest_at } });
      await awaitQueue(answer as unknown as Http, 0, (text) => said.push(text), "the export may be without them");
      return said.at(-1) ?? "";
    };
    assert.equal(await told(0, null), "");
    assert.equal(await told(3, "2026-01-31T12:01:00.000Z"), "");
    for (const oldest of [null, "2026-01-31T12:00:59.999Z"])
      assert.match(await told(3, oldest), /^events still wait to be processed, 3: the export may be without them/);
    assert.match(await told(null, null), /^nobody knows whether events wait/);
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
    await awaitQueue(answer as unknown as Http, 60_000, (text) => said.push(text), "");
    assert.deepEqual([counts, said], [[], ["waits until the queue is empty; events that wait: 5"]]);
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
      await awaitQueue(answer as unknown as Http, 900_000, (text) => said.push(text), "");
    } finally {
      Date.now = now;
    }
    assert.deepEqual([looked, said], [4, ["waits until the queue is empty; events that wait: 5"]]);
  });
});
