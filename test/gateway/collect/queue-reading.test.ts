import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { createQueueReading } from "../../../gateway/routes/watch/queue-reading.js";
import { eventually } from "../../support/eventually.js";
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
    const answers: ((depth: number) => void)[] = [];
    const depth = (): Promise<number> => new Promise((resolve) => answers.push(resolve));
    const read = createQueueReading({ depth, oldest: () => Promise.reject(new Error("away")) }, () => at);
    const begun = (times: number) => eventually("it asks the broker", () => answers.length === times);
    const first = read();
    await begun(1);
    at = 999;
    const shared = read();
    at = 5_000;
    const [second, third] = [read(), read()];
    await setImmediate();
    assert.equal(answers.length, 1, "the broker is slow");
    answers[0]!(7);
    for (const one of [first, shared]) assert.deepEqual(await one, { waiting: 7, oldest: null });
    await begun(2);
    answers[1]!(8);
    for (const one of [second, third]) assert.equal((await one).waiting, 8, "that one began before they asked");
    at += 999;
    assert.equal((await read()).waiting, 8);
    at += 1;
    const fourth = read();
    await begun(3);
    answers[2]!(9);
    assert.equal((await fourth).waiting, 9);
    assert.equal(answers.length, 3);
  });
});
