import { createRandom } from "../../shared/random.js";
import { eventually } from "../../shared/async.js";
import type { Api } from "./api.js";
import type { ShopEvent, World } from "./world.js";

const identity = (namespace: string) => ({ type: "string", "x-identity": { namespace } });
const trait = (type: string, name: string, merge: string) => ({ type, "x-trait": { name, merge } });
const WHO = { customer_id: identity("customer_id"), cookie: identity("cookie_id"), device: identity("device_id") };

const SCHEMAS: Readonly<Record<ShopEvent["schema"], object>> = {
  view: { ...WHO, n: { type: "integer" }, page: { type: "string" } },
  login: { ...WHO, n: { type: "integer" } },
  signup: {
    ...WHO,
    n: { type: "integer" },
    email: identity("email"),
    city: trait("string", "city", "latest"),
    signed_up: trait("string", "signed_up", "first"),
  },
  order: {
    ...WHO,
    n: trait("integer", "orders", "count"),
    total: trait("number", "lifetime_value", "sum"),
    placed_at: trait("string", "last_order", "latest"),
  },
};

/** Somebody who logs in is one person, and what many people use belongs to nobody. */
export async function setUp(api: Api): Promise<void> {
  await api.put("/v1/namespaces/customer_id", { limit: 1 });
  await api.put("/v1/identity/settings", { shared_identifier_limit: 5 });
  for (const [schema_id, properties] of Object.entries(SCHEMAS)) {
    await api.post("/v1/schemas", { schema_id, schema: { type: "object", properties } }, 201);
    await api.post("/v1/datasets", { name: schema_id, schema_id, unified_profile: true }, 201);
  }
}

const BATCH = 500;
const RETRIES = 0.03;
const PATIENCE_MS = 120_000;

interface BatchAnswer {
  readonly results: readonly { readonly event_id: string }[];
}

/** Sends all in batches, in order; some events once more later, as a phone does that got no answer. Resolves when all are folded. */
export async function feed(
  api: Api,
  { events }: World,
  onProgress: (done: number, total: number, what: string) => void,
): Promise<{ readonly retries: number }> {
  const random = createRandom(events.length);
  const bodyOf = ({ n, schema, at, payload }: ShopEvent) => ({
    schema_id: schema,
    timestamp: new Date(at).toISOString(),
    payload,
    idempotency_key: `event-${n}`,
  });
  const idOf = new Map<number, string>();
  let retries = 0;
  let again: readonly ShopEvent[] = [];
  for (let first = 0; first < events.length || again.length > 0; first += BATCH) {
    const fresh = events.slice(first, first + BATCH);
    const sent = [...again, ...fresh];
    const { results } = await api.post<BatchAnswer>("/v1/collect/batch", { events: sent.map(bodyOf) }, 202);
    for (const [i, { event_id }] of results.entries()) {
      const { n } = sent[i]!;
      if ((idOf.get(n) ?? event_id) !== event_id) throw new Error(`event ${n} got two ids`);
      idOf.set(n, event_id);
    }
    retries += again.length;
    again = fresh.filter(() => random.below(1_000) < RETRIES * 1_000);
    onProgress(Math.min(first + BATCH, events.length), events.length, "events");
  }
  await waitUntilFolded(api, [...idOf.values()]);
  return { retries };
}

/** They fold in order, but for what is tried again. */
async function waitUntilFolded(api: Api, eventIds: readonly string[]): Promise<void> {
  const last = eventIds.filter((_, i) => i % BATCH === BATCH - 1 || i === eventIds.length - 1);
  for (const eventId of last)
    await eventually(async () => {
      const { status } = await api.get<{ readonly status: string }>(`/v1/events/${eventId}?wait=5`);
      if (status !== "folded") throw new Error(`event ${eventId} is ${status}`);
    }, PATIENCE_MS);
  await eventually(async () => {
    if (await hasStored(api)) throw new Error("some events are not folded yet");
  }, PATIENCE_MS);
}

async function hasStored(api: Api): Promise<boolean> {
  for (let cursor = ""; ;) {
    const page = await api.get<{ readonly events: readonly unknown[]; readonly next_cursor: string | null }>(
      `/v1/events?status=stored&limit=1${cursor}`,
    );
    if (page.events.length > 0) return true;
    if (page.next_cursor === null) return false;
    cursor = `&cursor=${page.next_cursor}`;
  }
}
