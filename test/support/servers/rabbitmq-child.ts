import { writeSync } from "node:fs";
import { decodeMessage } from "../../../core/event/message.js";
import { openRabbitQueue } from "../../../store/rabbitmq/queue.js";

/** A process that a test may kill. Arguments: what to do, the broker's address, the queue, and its partitions. It tells at once what it did, line by line. */
const tell = (line: string): void => void writeSync(1, `${line}\n`);

const [task, url, name, partitions] = process.argv.slice(2) as ["die-on-poison" | "consume", string, string, string];

const queue = await openRabbitQueue({
  url,
  name,
  lengthMax: 10_000,
  partitions: Number(partitions),
  balanceMs: 500,
  onError: (message, error) => tell(`error ${message} ${String(error)}`),
});
/** Of an event its id, of other messages their text. */
const nameOf = (message: Buffer): string => {
  const decoded = decodeMessage(message);
  return decoded.kind === "event" ? decoded.event.eventId : message.toString();
};
queue.consume(8, async (batch) => {
  for (const { message, crashes } of batch) tell(`${nameOf(message)} ${crashes} ${batch.length}`);
  if (task === "die-on-poison" && batch.some(({ message }) => message.toString() === "poison"))
    process.kill(process.pid, "SIGKILL");
  if (task === "consume") await new Promise((resolve) => setTimeout(resolve, 5));
  return batch.map(() => ({ kind: "done" }));
});
