import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backends } from "../../../app/backends.js";
import type { WorkspaceId } from "../../../core/ids.js";
import { aDeadLetter, anEvent } from "../../support/builders.js";
import { useApp } from "../../support/service/app.js";

const LARGE = 250_000;

describe("Reads that wait", () => {
  let [reading, most] = [0, 0];
  /** What a store reads is in memory from its request on. */
  const counting = async <T>(bytes: number, read: () => Promise<T>): Promise<T> => {
    reading += bytes;
    most = Math.max(most, reading);
    try {
      await sleep(50);
      return await read();
    } finally {
      reading -= bytes;
    }
  };
  const wrap = (backends: Backends): Backends => {
    const { events } = backends;
    return {
      ...backends,
      events: {
        ...events,
        deadLetters: (workspace, page) => counting(page.limit * LARGE, () => events.deadLetters(workspace, page)),
        find: (...given) => counting(LARGE, () => events.find(...given)),
      },
    };
  };
  const app = useApp({}, { wrap });
  beforeEach(() => ([reading, most] = [0, 0]));

  for (const [name, target] of [
    ["dead letters", () => "/v1/dead-letters?limit=1&wait=1"],
    ["an event", (id: string) => `/v1/events/${id}?wait=1`],
  ] as const)
    it(`read no more at once than others do: ${name}`, async () => {
      const workspace = await app().workspace();
      const own = workspace.id as WorkspaceId;
      const { events } = app().service.backends;
      const event = anEvent({ workspace: own, folds: false });
      await events.insert(own, [event]);
      for (let n = 0; n < 2; n += 1)
        await events.bury(aDeadLetter({ workspace: own, at: n + 1, message: Buffer.alloc(LARGE, "x") }));
      const answers = Array.from({ length: 40 }, () => workspace.send("GET", target(event.eventId)));
      for (const { status, text } of await Promise.all(answers)) assert.equal(status, 200, text);
      assert.ok(most <= 2.5 * 1_048_576, `${most} bytes at once`);
    }).timeout(30_000);
});
