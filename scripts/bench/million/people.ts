/** Made-up customers of a shop, by number: the same number is always the same person. */

export const SCHEMA_ID = "order";

export const SCHEMA = {
  type: "object",
  required: ["user"],
  properties: {
    user: { type: "string", "x-identity": { namespace: "user_id" } },
    email: { type: "string", "x-identity": { namespace: "email" } },
    device: { type: "string", "x-identity": { namespace: "device_id" } },
    city: { type: "string", "x-trait": { name: "city" } },
    tier: { type: "string", "x-trait": { name: "tier" } },
    source: { type: "string", "x-trait": { name: "source", merge: "first" } },
    tags: { type: "array", items: { type: "string", "x-trait": { name: "tags", merge: "union" } } },
    total: { type: "number", "x-trait": { name: "lifetime_value", merge: "sum" } },
    items: { type: "integer" },
  },
};

const CITIES = ["Berlin", "Lisbon", "Lyon", "Oslo", "Porto", "Rome", "Turin", "Vienna"];
const TIERS = ["basic", "plus", "pro"];
const SOURCES = ["ads", "friend", "search"];
/** Comes to have very many events; it is one of those who are searched for. */
export const BUSY = 7;
const RARE_EVERY = 1_000;
const RARE = "rare";
/** So many of ten ordered twice. */
const SECOND_ORDERS = 4;

/** 1 in 1,000. */
export const RARE_RULE = { "traits.tier": RARE };
export const rareAmong = (people: number): number => Math.ceil((people - BUSY) / RARE_EVERY);

/** The service folds these; the others are copies of them. */
export const FIRST = 1_000;

export const userOf = (person: number): string => `u-${person}`;

/** Spreads numbers without a pattern, always the same. */
const mixed = (n: number): number => (Math.imul(n + 1, 0x9e3779b1) >>> 0) % 1_000_003;

const DAY_MS = 86_400_000;

interface Event {
  readonly schema_id: string;
  readonly timestamp: string;
  readonly payload: object;
}

/** The orders of all of them, one after the other. `since` is when the first one bought something. */
export function* ordersOf(people: number, since: number): Generator<Event> {
  for (let person = 0; person < people; person += 1) {
    yield order(person, 0, since);
    if (person % 10 < SECOND_ORDERS) yield order(person, 1, since);
  }
}

function order(person: number, turn: number, since: number): Event {
  const any = mixed(person * 2 + turn);
  const user = userOf(person);
  return {
    schema_id: SCHEMA_ID,
    timestamp: new Date(since + ((any * 997) % (365 * DAY_MS))).toISOString(),
    payload: {
      user,
      email: `${user}@example.com`,
      ...(turn > 0 && { device: `d-${user}` }),
      city: CITIES[any % CITIES.length],
      tier: person % RARE_EVERY === BUSY ? RARE : TIERS[person % TIERS.length],
      source: SOURCES[any % SOURCES.length],
      tags: [`t${any % 50}`, `t${any % 31}`],
      total: (any % 50_000) / 100,
      items: 1 + (any % 9),
    },
  };
}
