/** The gateway as it ships, on real servers, with a queue and a database of its own; nothing consumes, as beside the publish loop. */
import { randomUUID } from "node:crypto";
import { MongoClient } from "mongodb";
import { Connection } from "rabbitmq-client";
import { createLog } from "../../../app/logger.js";
import { startService } from "../../../app/service.js";
import { readConfig } from "../../../core/config.js";
import { serveParent } from "./serve-parent.js";

const place = `onym-bench-${randomUUID().slice(0, 8)}`;
const documents = new URL(process.env["MONGODB_URL"] ?? "");
documents.pathname = `/${place}`;
const config = readConfig({
  ...process.env,
  MODE: "gateway",
  MONGODB_URL: documents.toString(),
  RABBITMQ_QUEUE: place,
  OPERATOR_KEY: randomUUID(),
  PORT: "0",
  LOG_LEVEL: "error",
  QUEUE_LENGTH_MAX: "100000000",
});
const service = await startService({ config, log: createLog(config.LOG_LEVEL) });

const answer = await fetch(new URL("/v1/workspaces", service.url), {
  method: "POST",
  headers: { Authorization: `Bearer ${config.OPERATOR_KEY}`, "Content-Type": "application/json" },
  body: JSON.stringify({ name: "bench" }),
});
const { key } = (await answer.json()) as { readonly key: string };

/** Takes away what only this run used. */
async function clean(): Promise<void> {
  const connection = new Connection({ url: config.RABBITMQ_URL });
  for (const queue of [place, `${place}.retry`, `${place}.suspects`, `${place}.dead`, `${place}.owner`])
    await connection.queueDelete({ queue });
  await connection.close();
  const client = new MongoClient(config.MONGODB_URL);
  await client.db().dropDatabase();
  await client.close();
}

serveParent({ port: Number(new URL(service.url).port), key }, {}, async () => {
  await service.close();
  await clean();
});
