import assert from "node:assert/strict";
import { createCopies } from "../../../store/rabbitmq/consumer/copies.js";
import type { Held } from "../../../store/rabbitmq/consumer/held.js";
import type { Intake } from "../../../store/rabbitmq/consumer/intake.js";
import { namesOf } from "../../../store/rabbitmq/topology.js";

const anIntake = (): Intake => ({
  partitions: () => [],
  handed: () => [],
  goBehind: async () => undefined,
  join: async () => undefined,
  isOpen: () => true,
  unsettled: () => 0,
  unsettledDeliveries: () => 0,
  unsettledBytes: () => 0,
  firsts: () => [],
  widen: async () => undefined,
  drop: () => undefined,
  settled: () => undefined,
  caughtUp: async () => undefined,
  cancel: async () => undefined,
  close: async () => undefined,
  ended: new Promise(() => undefined),
});
const aHeld = (): Held => ({
  intake: anIntake(),
  tag: 1,
  message: Buffer.from("m"),
  workspace: "",
  bytes: 1,
  attempts: 0,
  failedAt: null,
  crashes: 1,
  heldSince: 0,
  dueAt: 0,
});

describe("Copies of messages that a process died on", () => {
  it("tell when the last move has ended: what came back before its confirm waits for that", async () => {
    const confirms: (() => void)[] = [];
    const seen: boolean[] = [];
    const copies = createCopies({
      names: namesOf("q"),
      publisher: { copy: () => new Promise((resolve) => confirms.push(resolve)) },
      keep: () => undefined,
      onMoved: () => seen.push(copies.isMoving()),
      closing: new AbortController().signal,
    });
    copies.move(aHeld());
    copies.move(aHeld());
    confirms[0]!();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(seen, [], "one is still under way");
    confirms[1]!();
    await copies.settled();
    assert.deepEqual(seen, [false]);
  });
});
