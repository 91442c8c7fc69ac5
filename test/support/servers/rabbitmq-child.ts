import { writeSync } from "node:fs";
import { openRabbitQueue } from "../../../store/rabbitmq/queue.js";

/** A process that a test may kill. Arguments: what to do, the broker's address, and the queue. It tells at once what it did, line by line. */
const tell = (line: string): void => void writeSync(1, `${line}\n`);

const [task, url, name] = process.argv.slice(2) as ["die-on-poison" | "consume", string, string];

const queue = await openRabbitQueue({
  url,
  name,
  lengthMax: 10_000,
  onError: (message, error) => tell(`error ${message} ${String(error)}`),
});
queue.consume(8, async (batch) => {
  for (const { message, crashes } of batch) tell(`${message.toString()} ${crashes} ${batch.length}`);
  if (task === "die-on-poison" && batch.some(({ message }) => message.toString() === "poison"))
    process.kill(process.pid, "SIGKILL");
  if (task === "consume") await new Promise((resolve) => setTimeout(resolve, 5));
  return batch.map(() => ({ kind: "done" }));
});
