import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backends } from "../../../app/backends.js";
import type { WorkspaceId } from "../../../core/ids.js";
import { aDeadLetter, anEvent, aKeyId } from "../../support/builders.js";
import { eventually } from "../../support/eventually.js";
import { useApp } from "../../support/service/app.js";

type Event = ReturnType<typeof anEvent>;

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
        deadLetters: (workspace, page) =>
          counting(page.limit * LARGE, async () => {
            await holding;
            return events.deadLetters(workspace, page);
          }),
        find: (...given) => counting(LARGE, () => events.find(...given)),
      },
    };
  };
  const app = useApp({}, { wrap });
  let holding = Promise.resolve();
  beforeEach(() => ([reading, most] = [0, 0]));

  const identifiers = ["a", "b"].map((value) => ({ namespace: "user_id", value }));
  for (const [name, ...asked] of [
    ["dead letters", "GET", () => "/v1/dead-letters?limit=1&wait=1", undefined],
    ["an event", "GET", (id: string) => `/v1/events/${id}?wait=1`, undefined],
    ["a look-up", "POST", () => "/v1/profiles/lookup?wait=1", { identifiers }],
  ] as const)
    it(`read no more at once than others do: ${name}`, async () => {
      const workspace = await app().workspace();
      const own = workspace.id as WorkspaceId;
      const { events } = app().service.backends;
      const [event, unfolded] = [false, true].map((folds) => anEvent({ workspace: own, folds })) as [Event, Event];
      await events.insert(own, [event, unfolded]);
      const evidence = { source: unfolded.eventId, keyId: aKeyId(), at: 1 };
      await app().service.identity.assert(own, { identifiers, evidence });
      for (let n = 0; n < 2; n += 1)
        await events.bury(aDeadLetter({ workspace: own, at: n + 1, message: Buffer.alloc(LARGE, "x") }));
      const [method, target, body] = asked;
      const answers = Array.from({ length: 40 }, () => workspace.send(method, target(event.eventId), body));
      for (const { status, text } of await Promise.all(answers)) assert.equal(status, 200, text);
      assert.ok(most <= 2.5 * 1_048_576, `${most} bytes at once`);
    }).timeout(30_000);

  it("end with their seconds where they find no room to look", async () => {
    const workspace = await app().workspace();
    let release = (): void => {};
    holding = new Promise((resolve) => (release = resolve));
    const large = workspace.send("GET", "/v1/dead-letters");
    await eventually("it is being made", () => reading > 0);
    const before = performance.now();
    const waiting = workspace.send("GET", `/v1/events/${randomUUID()}?wait=1`);
    const { status } = await waiting;
    const ms = performance.now() - before;
    release();
    assert.equal((await large).status, 200);
    // Behind the wait it is a read like any other, which stands in line for five seconds.
    assert.ok(status === 429 && ms >= 5_900 && ms < 8_000, `${status} after ${ms} ms`);
  }).timeout(30_000);

  it("wait on where they find no room to look for longer than a read waits", async () => {
    const workspace = await app().workspace();
    const event = anEvent({ workspace: workspace.id as WorkspaceId, folds: false });
    await app().service.backends.events.insert(event.workspace, [event]);
    let release = (): void => {};
    holding = new Promise((resolve) => (release = resolve));
    const large = workspace.send("GET", "/v1/dead-letters");
    await eventually("it is being made", () => reading > 0);
    const waiting = workspace.send("GET", `/v1/events/${event.eventId}?wait=10`);
    await sleep(5_500);
    release();
    for (const { status, text } of await Promise.all([large, waiting])) assert.equal(status, 200, text);
  }).timeout(30_000);
});
