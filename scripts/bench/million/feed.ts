import { setTimeout as sleep } from "node:timers/promises";
import { requireAnswer, type Client } from "../../shared/client.js";
import type { Life } from "../../drill/process/life.js";
import { ordersOf, SCHEMA, SCHEMA_ID } from "./people.js";

const BATCH = 1_000;
const PAUSE_MS = 50;
const DAY_MS = 86_400_000;
const BEGAN_DAYS = 400;

/** Sends the orders of so many people in batches, and resolves once the last one is folded. Answers how many there are. */
export async function feed(life: Life, client: Client, key: string, people: number): Promise<number> {
  const post = (status: number, path: string, body: object) =>
    requireAnswer(client, status, { method: "POST", path, key, body });
  await post(201, "/v1/schemas", { schema_id: SCHEMA_ID, schema: SCHEMA });
  await post(201, "/v1/datasets", { name: "orders", schema_id: SCHEMA_ID, unified_profile: true });
  const orders = [...ordersOf(people, Date.now() - BEGAN_DAYS * DAY_MS)];
  for (let sent = 0; sent < orders.length; sent += BATCH)
    await post(202, "/v1/collect/batch", { events: orders.slice(sent, sent + BATCH) });
  while ((await life.ask("depth")) > 0) await sleep(PAUSE_MS);
  return orders.length;
}
