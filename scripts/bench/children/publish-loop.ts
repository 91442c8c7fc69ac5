/** What the broker and the driver alone cost: publish and await the confirm, so many at once, to a quorum queue and nothing around. */
import { randomUUID } from "node:crypto";
import { Connection } from "rabbitmq-client";
import type { Asks } from "../targets.js";
import { keepInFlight, serve } from "./serve.js";

const queue = `onym.bench.${randomUUID()}`;
const connection = new Connection({ url: process.env["RABBITMQ_URL"] ?? "", noDelay: true });
connection.on("error", (error) => console.error(error));
await connection.queueDeclare({ queue, durable: true, arguments: { "x-queue-type": "quorum" } });
const publisher = connection.createPublisher({ confirm: true, maxAttempts: 1 });
const envelope = { routingKey: queue, durable: true, mandatory: true };

const loop: Asks["loop"] = async ({ rowBytes, ...window }) => {
  const body = Buffer.alloc(rowBytes, "x");
  const result = await keepInFlight(window, () => publisher.send(envelope, body));
  // A long queue is slower, and nobody consumes here.
  await connection.queuePurge({ queue });
  return result;
};

serve({}, { loop }, async () => {
  await connection.queueDelete({ queue });
  await publisher.close();
  await connection.close();
});
