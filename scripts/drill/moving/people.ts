import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Api } from "../../demo/shop/api.js";

/** FEBRL 4, a public list of made-up people, beside the checkout. */
const FILE = fileURLToPath(new URL("../../../../../shared/data/febrl4a.csv", import.meta.url));
const SCHEMA_ID = "person";
const BATCH = 500;

const identity = (namespace: string): object => ({ type: "string", "x-identity": { namespace } });
const trait = (name: string): object => ({ type: "string", "x-trait": { name } });

/** One event of each person of the file. Null: it is not there. */
export async function feedPeople(api: Api): Promise<number | null> {
  if (!existsSync(FILE)) return null;
  const [head, ...rows] = readFileSync(FILE, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => line.split(",").map((cell) => cell.trim()));
  for (const name of ["record_id", "social_id"])
    await api.raw({ method: "PUT", path: `/v1/namespaces/${name}`, body: { kind: "person" } });
  const names = ["given_name", "surname", "suburb", "postcode", "state", "date_of_birth"];
  const properties = {
    rec_id: identity("record_id"),
    soc_sec_id: identity("social_id"),
    ...Object.fromEntries(names.map((name) => [name, trait(name)])),
  };
  await api.post("/v1/schemas", { schema_id: SCHEMA_ID, schema: { type: "object", properties } }, 201);
  await api.post("/v1/datasets", { name: SCHEMA_ID, schema_id: SCHEMA_ID, unified_profile: true }, 201);
  const events = rows.map((row, n) => ({
    schema_id: SCHEMA_ID,
    timestamp: "2026-01-01T00:00:00Z",
    payload: Object.fromEntries(
      head!.flatMap((name, at): readonly [string, string][] => (row[at] ? [[name, row[at]]] : [])),
    ),
    idempotency_key: `person-${n}`,
  }));
  for (let first = 0; first < events.length; first += BATCH)
    await api.post("/v1/collect/batch", { events: events.slice(first, first + BATCH) }, 202);
  return events.length;
}
