import type { Delivery, DeliveryOutcome, EventQueue } from "../../core/ports/event-queue.js";
import { eventually } from "./eventually.js";

export const DONE: DeliveryOutcome = { kind: "done" };
export const numbered = (count: number): readonly Buffer[] =>
  Array.from({ length: count }, (_, n) => Buffer.from(`message ${n}`));
export const texts = (deliveries: readonly Delivery[]): readonly string[] =>
  deliveries.map(({ message }) => message.toString());
export const publishAll = async (queue: EventQueue, messages: readonly Buffer[]): Promise<void> =>
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

/** Longer than any queue needs to deliver what it would wrongly deliver. */
export const QUIET_MS = 60;
