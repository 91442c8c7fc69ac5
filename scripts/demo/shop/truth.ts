import { KIOSK, type Customer, type ShopEvent, type World } from "./world.js";

/** What the shop itself knows of one person. */
export interface Person {
  readonly customer: Customer | null;
  /** `namespace:value`, sorted. */
  readonly identifiers: readonly string[];
  /** By time, newest first. */
  readonly journey: readonly ShopEvent[];
  readonly spentCents: number;
  readonly orders: number;
  readonly lastOrderAt: number | null;
}

/** Everybody, computed from the world alone: by customer id, and by cookie or device where nobody said who it was. */
export function peopleOf({ customers, events }: World): ReadonlyMap<string, Person> {
  const ownerOf = new Map<string, string>();
  for (const { payload } of events) {
    const { customer_id: id, cookie, device } = payload;
    if (id === undefined) continue;
    for (const thing of [cookie, device])
      // A tablet belongs to the one who was seen with it first, the kiosk to nobody.
      if (thing !== undefined && thing !== KIOSK && !ownerOf.has(String(thing))) ownerOf.set(String(thing), String(id));
  }
  const byPerson = new Map<string, ShopEvent[]>();
  for (const event of events) {
    const { customer_id: id, cookie, device } = event.payload;
    const thing = String(cookie ?? device);
    const person = String(id ?? ownerOf.get(thing) ?? thing);
    byPerson.set(person, [...(byPerson.get(person) ?? []), event]);
  }
  const known = new Map(customers.map((customer) => [customer.id, customer]));
  const people = [...byPerson].map(([name, own]): [string, Person] => [
    name,
    personOf(known.get(name) ?? null, own, ownerOf),
  ]);
  return new Map(people);
}

function personOf(
  customer: Customer | null,
  events: readonly ShopEvent[],
  ownerOf: ReadonlyMap<string, string>,
): Person {
  const identifiers = new Set<string>();
  for (const { payload } of events) {
    const { customer_id: id, email, cookie, device } = payload;
    const isOwn = (thing: string): boolean => customer === null || ownerOf.get(thing) === customer.id;
    if (id !== undefined) identifiers.add(`customer_id:${id}`);
    if (email !== undefined) identifiers.add(`email:${email}`);
    if (cookie !== undefined && isOwn(String(cookie))) identifiers.add(`cookie_id:${cookie}`);
    if (device !== undefined && isOwn(String(device))) identifiers.add(`device_id:${device}`);
  }
  const orders = events.filter(({ schema }) => schema === "order");
  return {
    customer,
    identifiers: [...identifiers].toSorted(),
    journey: events.toSorted((a, b) => b.at - a.at || b.n - a.n),
    spentCents: orders.reduce((sum, { payload }) => sum + Math.round(Number(payload["total"]) * 100), 0),
    orders: orders.length,
    lastOrderAt: orders.length === 0 ? null : Math.max(...orders.map(({ at }) => at)),
  };
}
