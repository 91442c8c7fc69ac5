import type { Delivery, DeliveryOutcome, EventQueue } from "../../core/ports/event-queue.js";
import { encodeMessage } from "../../core/event/message.js";
import type { WorkspaceId } from "../../core/ids.js";
import { eventually } from "./eventually.js";
import { anEvent } from "./worker-bench.js";

/** When the tries of the tests fail, milliseconds since 1970. */
export const FAILED_AT = 1_767_225_600_123;
export const DONE: DeliveryOutcome = { kind: "done" };
export const numbered = (count: number): readonly Buffer[] =>
  Array.from({ length: count }, (_, n) => Buffer.from(`message ${n}`));
export const texts = (deliveries: readonly Delivery[]): readonly string[] =>
  deliveries.map(({ message }) => message.toString());
export const publishEach = async (queue: EventQueue, messages: readonly Buffer[]): Promise<void> =>
  void (await Promise.all(messages.map((message) => queue.publish(message))));

/** Consumes and keeps what came. `outcome` is asked for each delivery; `done` if it is left out. */
export function listen(
  queue: EventQueue,
  batchMax = 10,
  outcome: (delivery: Delivery) => DeliveryOutcome = () => DONE,
) {
  const batches: (readonly Delivery[])[] = [];
  const consumer = queue.consume(batchMax, async (batch) => {
    batches.push(batch);
    return batch.map(outcome);
  });
  const deliveries = (): readonly Delivery[] => batches.flat();
  const came = (count: number): Promise<void> => eventually(`${count} deliveries`, () => deliveries().length >= count);
  return { consumer, batches, deliveries, came };
}

/** Numbered messages of a workspace, each of about so many bytes. */
export const messagesOf = (workspace: WorkspaceId, count: number, bytes = 0): readonly Buffer[] =>
  Array.from({ length: count }, (_, n) =>
    encodeMessage(anEvent(n, { workspace, payload: { pad: "x".repeat(bytes) } })),
  );

/** Longer than any queue needs to deliver what it would wrongly deliver. */
export const QUIET_MS = 60;
