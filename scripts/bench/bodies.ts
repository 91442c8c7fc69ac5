/** Request bodies of the bench: ASCII, of an exact length. */

export const SCHEMA_ID = "bench";

/** Two identities, three traits, and the rest as an order would have it. */
export const SCHEMA = {
  type: "object",
  required: ["email"],
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
    city: { type: "string", "x-trait": { name: "city" } },
    plan: { type: "string", "x-trait": { name: "plan", merge: "first" } },
    visits: { type: "integer", "x-trait": { name: "visits", merge: "max" } },
    items: {
      type: "array",
      maxItems: 100,
      items: {
        type: "object",
        required: ["sku"],
        properties: {
          sku: { type: "string" },
          name: { type: "string" },
          quantity: { type: "integer", minimum: 1 },
          price: { type: "number" },
        },
      },
    },
    note: { type: "string" },
  },
};

const also = (name: string, merge: "sum" | "count") => ({ allOf: [{ "x-trait": { name, merge } }] });
/** The same, with a sum and a count in addition. */
export const SUMMING_SCHEMA = {
  ...SCHEMA,
  properties: {
    ...SCHEMA.properties,
    plan: { ...SCHEMA.properties.plan, ...also("plans", "count") },
    visits: { ...SCHEMA.properties.visits, ...also("all_visits", "sum") },
  },
};

const AUDIENCES = 20;
const ordered = (more: object) => ({ $events: { schema_id: SCHEMA_ID, ...more } });
const WINDOWS = [
  ordered({ within: "7d" }),
  ordered({ within: "30d", at_least: 3 }),
  { $not: ordered({ within: "1d", sum: "visits", is: { $gte: 200 } }) },
];
/** The rules of twenty audiences, three of them over a time that goes on by itself. */
export const RULES: readonly object[] = [
  ...WINDOWS,
  ...Array.from({ length: AUDIENCES - WINDOWS.length }, (_, n) => ({
    "traits.city": { $in: [`City ${10 + n}`, `City ${30 + n}`] },
    "traits.visits": { $gte: 10 + 2 * n },
    ...(n % 3 === 0 && { "traits.plan": "paid" }),
  })),
];

const ITEM_BYTES = 80;
const item = (number: number) => ({
  sku: `SKU-${1_000 + number}`,
  name: "A thing to buy",
  quantity: 1 + (number % 3),
  price: 19.95,
});

/** Makes collect bodies of exactly `bytes`, one for each person's number. */
export function collectBodies(bytes: number, timestamp: string): (person: number) => string {
  const items = Array.from({ length: Math.max(0, Math.floor((bytes - 300) / ITEM_BYTES)) }, (_, i) => item(i));
  const head = `{"schema_id":"${SCHEMA_ID}","timestamp":"${timestamp}","payload":{`;
  const middle = items.length > 0 ? `,"items":${JSON.stringify(items)}` : "";
  return (person) => {
    const id = person.toString().padStart(9, "0");
    const data = `"email":"person-${id}@example.com","cookie":"cookie-${id}","city":"City ${10 + (person % 90)}"`;
    const traits = `${data},"plan":"${person % 2 === 0 ? "free" : "paid"}","visits":${10 + (person % 90)}`;
    const filler = bytes - head.length - traits.length - middle.length - ',"note":""}}'.length;
    return `${head}${traits}${middle},"note":"${"x".repeat(filler)}"}}`;
  };
}

export type IdentifierPair = readonly [namespace: string, value: string];
export const identifyBody = (...identifiers: readonly IdentifierPair[]): string =>
  JSON.stringify({ identifiers: identifiers.map(([namespace, value]) => ({ namespace, value })) });
