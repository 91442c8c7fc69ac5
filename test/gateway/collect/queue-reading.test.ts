import assert from "node:assert/strict";
import { createQueueReading } from "../../../gateway/routes/watch/queue-reading.js";
import { useApp } from "../../support/service/app.js";

describe("What GET /v1/stats tells of the queue", () => {
  let asked = 0;
  const app = useApp(
    {},
    {
      wrap: (backends) => ({
        ...backends,
        queue: {
          ...backends.queue,
          oldest: () => {
            asked += 1;
            return backends.queue.oldest();
          },
        },
      }),
    },
  );

  it("is read once for all who ask within a second", async () => {
    const workspace = await app().workspace();
    const key = await workspace.key("viewer");
    asked = 0;
    const begunAt = performance.now();
    const answers = await Promise.all(Array.from({ length: 30 }, () => app().send("GET", "/v1/stats", { key })));
    assert.ok(answers.every(({ status }) => status === 200));
    assert.ok(asked <= 1 + (performance.now() - begunAt) / 1_000, `${asked} times`);
  });

  it("is at most a second old, is asked one at a time, and may be unknown", async () => {
    let at = 0;
    let answer: (depth: number) => void = () => {};
    let times = 0;
    const depth = (): Promise<number> => {
      times += 1;
      return new Promise((resolve) => (answer = resolve));
    };
    const read = createQueueReading({ depth, oldest: () => Promise.reject(new Error("away")) }, () => at);
    const first = read();
    at = 5_000;
    const second = read();
    assert.equal(times, 1, "the broker is slow");
    answer(7);
    for (const one of [first, second]) assert.deepEqual(await one, { waiting: 7, oldest: null });
    const third = read();
    assert.equal(times, 2, "that one began too long ago");
    answer(8);
    assert.equal((await third).waiting, 8);
    at += 999;
    assert.equal((await read()).waiting, 8);
    at += 1;
    const fourth = read();
    answer(9);
    assert.equal((await fourth).waiting, 9);
    assert.equal(times, 3);
  });
});
