import { createRandom, type Random } from "../../shared/random.js";

/** An event of the shop. `n` names it, also as its Idempotency-Key. */
export interface ShopEvent {
  readonly n: number;
  readonly schema: "view" | "signup" | "login" | "order";
  /** Milliseconds since 1970. */
  readonly at: number;
  /** When it is sent; a phone without a net sends late. */
  readonly sentAt: number;
  readonly payload: Readonly<Record<string, string | number>>;
}

export interface Customer {
  readonly id: string;
  readonly email: string;
  readonly cookie: string;
  readonly phone: string | null;
  /** Of the family; the one who was seen with it first has it. */
  readonly tablet: string | null;
  readonly signedUpAt: number;
}

/** A made-up shop: who there is, and everything that happened, in the order in which it is sent. */
export interface World {
  readonly customers: readonly Customer[];
  readonly events: readonly ShopEvent[];
  readonly now: number;
}

export const KIOSK = "kiosk-1";
const DAY = 86_400_000;
const HOUR = 3_600_000;
const MINUTE = 60_000;
const DAYS = 60;
const FAMILIES = 0.05;
const EVENTS_PER_CUSTOMER = 25;
const PAGES = ["home", "shoes", "bags", "coats", "sale", "help"] as const;
const CITIES = ["Northport", "Southport", "Eastport", "Westport"] as const;

type Draft = Omit<ShopEvent, "n" | "sentAt"> & { readonly lateBy?: number };

const numbered = (name: string, n: number): string => `${name}-${String(n).padStart(4, "0")}`;

/** The same world for the same seed and time. */
export function makeWorld({
  events: count,
  seed,
  now,
}: {
  readonly events: number;
  readonly seed: number;
  readonly now: number;
}): World {
  const random = createRandom(seed);
  const size = Math.floor(count / EVENTS_PER_CUSTOMER);
  const today = Math.floor(now / DAY) * DAY;
  const customers = Array.from({ length: size }, (_, n) => makeCustomer(n, size, random, { now, today }));
  const drafts = [
    ...customers.flatMap((one, n) => lifeOf(one, n % 20 === 0, random, now)),
    ...kioskVisits(size, random, now),
  ];
  // Those who never say who they are.
  for (let n = 0; drafts.length < count; n += 1) drafts.push(...visit(numbered("cookie-guest", n), random, now));
  const events = drafts
    .slice(0, count)
    .map(({ lateBy = 0, ...draft }) => ({ ...draft, sentAt: Math.min(draft.at + lateBy, now) }))
    .toSorted((a, b) => a.sentAt - b.sentAt || a.at - b.at)
    .map((event, n): ShopEvent => ({ n, ...event, payload: { n, ...event.payload } }));
  return { customers, events, now };
}

function makeCustomer(
  n: number,
  size: number,
  random: Random,
  { now, today }: { readonly now: number; readonly today: number },
): Customer {
  const families = Math.max(1, Math.floor(size * FAMILIES));
  const isToday = random.below(40) === 0;
  return {
    id: numbered("customer", n),
    email: `${numbered("customer", n)}@shop.example`,
    cookie: numbered("cookie", n),
    phone: random.below(2) === 0 ? numbered("phone", n) : null,
    tablet: n < 2 * families ? numbered("tablet", Math.floor(n / 2)) : null,
    signedUpAt: isToday ? today + random.below(Math.max(1, now - today)) : now - HOUR - random.below((DAYS - 2) * DAY),
  };
}

/** Not within an hour of the border that questions ask about. */
const offBorder = (at: number, now: number): number => (Math.abs(now - at - 30 * DAY) < HOUR ? at + 2 * HOUR : at);
const between = (random: Random, from: number, to: number): number => from + random.below(Math.max(1, to - from));
const iso = (at: number): string => new Date(at).toISOString();

/** They look around, sign up, come back on the phone and on the family's tablet, and order. */
function lifeOf(customer: Customer, isAtKiosk: boolean, random: Random, now: number): readonly Draft[] {
  const { id, email, cookie, phone, tablet, signedUpAt } = customer;
  const after = (): number => offBorder(between(random, signedUpAt, now), now);
  const drafts: Draft[] = [];
  for (let n = random.below(5); n > 0; n -= 1)
    drafts.push(view({ cookie }, signedUpAt - MINUTE * (1 + random.below(600)), random));
  const city = CITIES[random.below(CITIES.length)]!;
  const joined = { customer_id: id, email, cookie, city, signed_up: iso(signedUpAt) };
  drafts.push({ schema: "signup", at: signedUpAt, payload: joined });
  if (phone !== null) {
    drafts.push({ schema: "login", at: after(), payload: { customer_id: id, device: phone } });
    for (let n = 2 + random.below(6); n > 0; n -= 1)
      drafts.push({
        ...view({ device: phone }, after(), random),
        lateBy: random.below(3) === 0 ? random.below(2 * DAY) : 0,
      });
  }
  if (tablet !== null) {
    drafts.push({ schema: "login", at: after(), payload: { customer_id: id, device: tablet } });
    for (let n = 3; n > 0; n -= 1) drafts.push(view({ device: tablet }, after(), random));
  }
  const places = [
    { cookie },
    ...(phone === null ? [] : [{ device: phone }]),
    ...(tablet === null ? [] : [{ device: tablet }]),
  ];
  if (isAtKiosk) places.push({ device: KIOSK });
  for (let n = random.below(6); n > 0; n -= 1)
    drafts.push(order(id, places[random.below(places.length)]!, after(), random));
  for (let n = random.below(9); n > 0; n -= 1) drafts.push(view({ cookie }, after(), random));
  return drafts;
}

const view = (who: Readonly<Record<string, string>>, at: number, random: Random): Draft => ({
  schema: "view",
  at,
  payload: { ...who, page: PAGES[random.below(PAGES.length)]! },
});
const order = (id: string, who: Readonly<Record<string, string>>, at: number, random: Random): Draft => ({
  schema: "order",
  at,
  payload: { customer_id: id, ...who, total: (499 + random.below(25_000)) / 100, placed_at: iso(at) },
});

/** In the shop itself hundreds of people use one screen: some log in there, most only look. */
function kioskVisits(size: number, random: Random, now: number): readonly Draft[] {
  const visitors = Math.max(8, Math.floor(size / 20));
  return Array.from({ length: visitors }, (_, n): readonly Draft[] => {
    const at = between(random, now - 10 * DAY, now);
    const id = numbered("customer", (n * 7) % size);
    return [
      { schema: "login", at, payload: { customer_id: id, device: KIOSK } },
      view({ device: KIOSK }, at + 1_000, random),
    ];
  }).flat();
}

function visit(cookie: string, random: Random, now: number): readonly Draft[] {
  const at = between(random, now - DAYS * DAY, now - HOUR);
  return Array.from({ length: 1 + random.below(6) }, (_, n) => view({ cookie }, at + n * MINUTE, random));
}
