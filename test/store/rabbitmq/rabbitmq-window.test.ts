import assert from "node:assert/strict";
import type { Intake } from "../../../store/rabbitmq/consumer/intake.js";
import { createWindow, type Window } from "../../../store/rabbitmq/consumer/window.js";
import { eventually } from "../../support/eventually.js";

const KIB = 1_024;
const MIB = 1_048_576;
const prefetchMax = { express: 300, main: 300, retry: 500 };

/** An intake that holds so many messages of so many bytes. */
function anIntake(count: number, bytes: number) {
  const state = { count, bytes, isOpen: true, widened: [] as string[] };
  const intake = {
    isOpen: () => state.isOpen,
    unsettledDeliveries: () => state.count,
    unsettledBytes: () => state.count * state.bytes,
    widen: async (source: string, by: number) => void state.widened.push(`${source} ${by}`),
    drop: () => void (state.isOpen = false),
  } as unknown as Intake;
  return { state, intake };
}

describe("What a worker holds of RabbitMQ", () => {
  let window: Window;
  afterEach(() => window.close());

  it("is so many messages that the largest of a gateway fit into 202 MiB with those of the express queue, and lists of its largest request into 87 MiB", () => {
    for (const [messageBytesMax, expected] of [
      [KIB, { express: 300, main: 300, lists: 12, retry: 500 }],
      [320 * KIB, { express: 115, main: 276, lists: 12, retry: 276 }],
      [16 * MIB, { express: 115, main: 5, lists: 12, retry: 5 }],
      [500 * MIB, { express: 115, main: 1, lists: 12, retry: 1 }],
    ] as const) {
      window = createWindow({ prefetchMax, messageBytesMax });
      assert.deepEqual(window.prefetch(), expected);
      const { express, main, retry } = window.prefetch();
      const expressBytes = express * Math.min(messageBytesMax, 256 * KIB);
      if (main > 1) assert.ok(expressBytes + (main + retry) * messageBytesMax <= 202 * MIB);
      window.close();
    }
  });

  it("is dropped, and then less, when larger ones exceed the bytes; it grows again once these are gone", async () => {
    window = createWindow({ prefetchMax, messageBytesMax: 320 * KIB, growMs: 5 });
    const first = anIntake(18, 16 * MIB);
    window.check(first.intake);
    assert.equal(first.state.isOpen, true);
    first.state.count = 19;
    window.check(first.intake);
    assert.deepEqual([first.state.isOpen, window.prefetch()], [false, { express: 8, main: 8, lists: 8, retry: 8 }]);
    const second = anIntake(16, 16 * MIB);
    window.check(second.intake);
    await new Promise((resolve) => setTimeout(resolve, 30));
    assert.deepEqual([second.state.isOpen, second.state.widened], [true, []]);
    second.state.bytes = KIB;
    await eventually(
      "it is as wide as before",
      () => window.prefetch().main === 276 && window.prefetch().retry === 276,
    );
    assert.deepEqual(second.state.widened.slice(0, 5), ["express 8", "main 8", "lists 4", "retry 8", "express 16"]);
  });

  it("is never less than a message of each queue, however large", () => {
    window = createWindow({ prefetchMax, messageBytesMax: 320 * KIB });
    const { state, intake } = anIntake(6, 100 * MIB);
    window.check(intake);
    assert.equal(state.isOpen, true);
  });
});
