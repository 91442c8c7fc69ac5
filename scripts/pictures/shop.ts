import { setTimeout as sleep } from "node:timers/promises";
import { requireAnswer, type Client, type Request } from "../shared/client.js";

/** What the pictures need to find their places. */
export interface Shop {
  readonly ada: string;
  /** What a public key of the shop sends, for the picture of what comes in. */
  readonly sendMore: () => Promise<void>;
}

const NAMES =
  "ada grace alan edsger barbara donald radia leslie tony margaret dennis ken frances john niklaus jean claude karen tim vint lynn adele sophie hedy".split(
    " ",
  );
const CITIES = ["Paris", "Lyon", "Berlin", "Oslo"];
const FOLDED_MS = 30_000;

const ORDER = {
  type: "object",
  required: ["email", "total"],
  properties: {
    email: { type: "string", format: "email", "x-identity": { namespace: "email" } },
    cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
    city: { type: "string", "x-trait": { name: "city" } },
    plan: { enum: ["free", "plus"], "x-trait": { name: "plan" } },
    total: { type: "number", minimum: 0, "x-trait": { name: "lifetime_value", merge: "sum" } },
    sku: { type: "string" },
  },
};

/** Feeds a made-up shop: two dozen customers, one of whom was taken for another. */
export async function feedShop(client: Client, key: string): Promise<Shop> {
  const send = <T>(status: number, path: string, body: object, method: Request["method"] = "POST"): Promise<T> =>
    requireAnswer<T>(client, status, { method, path, key, body });
  const settings = { unplanned: "mark", violations: "mark", keep_rejects: true, collect_only_adds_traits: true };
  await send(200, "/v1/sdk/settings", settings, "PUT");
  await send(201, "/v1/schemas", { schema_id: "order", schema: ORDER });
  await send(201, "/v1/datasets", { name: "Orders", schema_id: "order", unified_profile: true });
  const order = (payload: object) =>
    send<{ readonly event_id: string }>(202, "/v1/collect", {
      schema_id: "order",
      timestamp: new Date().toISOString(),
      payload,
    });
  const identify = (...identifiers: readonly (readonly [string, string])[]) =>
    send<{ readonly profile_id: string }>(200, "/v1/identify", {
      identifiers: identifiers.map(([namespace, value]) => ({ namespace, value })),
    });
  const orders: string[] = [];
  for (const [i, name] of NAMES.entries()) {
    const email = `${name}@example.com`;
    await identify(["user_id", `u-${100 + i}`], ["email", email]);
    for (let n = 0; n <= i % 4; n++) {
      const total = 20 + ((i * 37 + n * 53) % 240);
      const one = {
        email,
        cookie: `c-${100 + i}`,
        city: CITIES[i % 4],
        plan: i % 3 === 0 ? "plus" : "free",
        total,
        sku: "tea",
      };
      orders.push((await order(one)).event_id);
    }
  }
  const { profile_id: ada } = await identify(["user_id", "u-100"], ["phone", "+33612345678"]);
  await identify(["email", "ada@example.com"], ["device_id", "phone-of-ada"]);
  await identify(["device_id", "phone-of-ada"], ["cookie_id", "c-871"], ["cookie_id", "c-902"]);
  for (const total of [180, 240.5, 129])
    orders.push(
      (await order({ email: "ada@example.com", city: "Paris", plan: "plus", total, sku: "kettle" })).event_id,
    );
  // Two people were taken for one.
  await identify(["user_id", "u-101"], ["device_id", "tablet"]);
  await identify(["user_id", "u-101"], ["user_id", "u-102"]);
  await send(201, "/v1/audiences", {
    name: "Plus members in Paris",
    rule: { "traits.city": "Paris", "traits.plan": "plus" },
  });
  await folded(client, key, orders);
  return { ada, sendMore: () => sendMore(client, key, order) };
}

/** Orders, calls of an SDK, and some that are wrong. */
async function sendMore(client: Client, key: string, order: (payload: object) => Promise<unknown>): Promise<void> {
  const { key: writeKey } = await requireAnswer<{ readonly key: string }>(client, 201, {
    method: "POST",
    path: "/v1/keys",
    key,
    body: { role: "editor", send: "collect", name: "web page" },
  });
  const headers = { Authorization: `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}` };
  const track = (userId: string, event: string, properties: object) =>
    requireAnswer(client, 200, { method: "POST", path: "/v1/track", headers, body: { userId, event, properties } });
  const wrong = { schema_id: "order", timestamp: new Date().toISOString(), payload: { email: "grace", total: "12" } };
  for (const name of ["ada", "radia", "ken"]) await order({ email: `${name}@example.com`, city: "Paris", total: 42.5 });
  await track("u-104", "Order Completed", { total: 99, currency: "EUR" });
  await track("u-107", "Product Viewed", { sku: "kettle" });
  await order({ email: "hedy@example.com", city: "Oslo", total: 310, sku: "lamp" });
  await client.send({ method: "POST", path: "/v1/collect", key, body: wrong });
  await order({ email: "tim@example.com", city: "Berlin", total: 18 });
}

async function folded(client: Client, key: string, eventIds: readonly string[]): Promise<void> {
  const deadline = Date.now() + FOLDED_MS;
  for (const id of eventIds)
    for (;;) {
      const path = `/v1/events/${id}`;
      const { status } = await requireAnswer<{ readonly status: string }>(client, 200, { method: "GET", path, key });
      if (status === "folded") break;
      if (Date.now() > deadline) throw new Error(`the event ${id} is ${status}`);
      await sleep(20);
    }
}
