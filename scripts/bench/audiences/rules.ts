/** What the people of the crowd do beside their orders, and the audiences over both. */

/** Some of the people visit within one minute, one day before the crowd is made: each of their copies does at the same instants. */
export const VISIT = "visit";
export const VISITORS = 100;
export const VISIT_MS = 60_000;
/** Whoever is measured does this. */
export const PING = "ping";
export const PING_SECONDS = 60;
export const PROBED = "probed";

export const schemaOf = (schemaId: string): object => ({
  schema_id: schemaId,
  schema: { type: "object", properties: { user: { type: "string", "x-identity": { namespace: "user_id" } } } },
});

const orders = (more: object): object => ({ $events: { schema_id: "order", ...more } });
const LIVES = ["Berlin", "Lisbon", "Lyon", "Oslo", "Porto", "Rome"].map((city): object => ({ "traits.city": city }));
const TAGGED = ["t1", "t2", "t3", "t4"].map((tag): object => ({ "traits.tags": tag }));

/** Twenty rules, three of them with windows. The last two are those that the measured people come into. */
export const RULES: readonly object[] = [
  ...LIVES,
  ...TAGGED,
  { "traits.lifetime_value": { $gte: 400 } },
  { "traits.lifetime_value": { $lt: 20 }, "traits.tier": "basic" },
  { "traits.tier": { $in: ["plus", "pro"] }, "traits.source": "friend" },
  { "identifiers.device_id": { $exists: true } },
  orders({ at_least: 2 }),
  { $and: [orders({ where: { items: { $gte: 5 } } }), { "traits.city": { $nin: ["Oslo", "Rome"] } }] },
  orders({ within: "120d" }),
  orders({ sum: "total", is: { $gte: 500 }, within: "180d" }),
  { "traits.tier": PROBED },
  { $events: { schema_id: PING, within: `${PING_SECONDS / 60}m` } },
];
