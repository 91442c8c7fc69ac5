import { setTimeout as sleep } from "node:timers/promises";
import { namesOf, valueIn, type Api, type Profile } from "./api.js";
import type { Person } from "./truth.js";
import { KIOSK, type World } from "./world.js";

export interface Shop {
  readonly api: Api;
  readonly world: World;
  readonly people: ReadonlyMap<string, Person>;
}

/** `problems` is empty if the answer is what the shop knows itself. */
export interface Answered {
  readonly answer: string;
  readonly problems: readonly string[];
}

export interface Question {
  readonly asks: string;
  readonly ask: (shop: Shop) => Promise<Answered>;
}

interface Page {
  readonly profiles: readonly Profile[];
  readonly next_cursor: string | null;
}
interface Found {
  readonly profiles: readonly Profile[];
  readonly unknown: readonly unknown[];
}

const DAY_MS = 86_400_000;
const customersIn = (shop: Shop): readonly Person[] =>
  [...shop.people.values()].filter(({ customer }) => customer !== null);
const idOf = ({ customer }: Person): string => customer!.id;
const customerId = (value: string) => ({ namespace: "customer_id", value });

function differences(what: string, got: readonly string[], wanted: readonly string[]): readonly string[] {
  const missing = wanted.filter((one) => !got.includes(one));
  const extra = got.filter((one) => !wanted.includes(one));
  return [
    ...(missing.length > 0 ? [`${what}: ${missing.length} missing, such as ${missing[0]}`] : []),
    ...(extra.length > 0 ? [`${what}: ${extra.length} too many, such as ${extra[0]}`] : []),
    ...(got.length !== new Set(got).size ? [`${what}: some stand twice`] : []),
  ];
}

async function best(shop: Shop): Promise<Answered> {
  const answers = await shop.api.pages<Page & { readonly exact: boolean }>("/v1/profiles/top", {
    trait: "lifetime_value",
    limit: 20,
  });
  const { profiles, exact } = answers.at(-1)!;
  const show = (id: string | null, value: unknown): string => `${id} ${Number(value).toFixed(2)}`;
  const got = profiles.map((one) => show(valueIn(one, "customer_id"), one.traits["lifetime_value"]));
  const wanted = customersIn(shop)
    .toSorted((a, b) => b.spentCents - a.spentCents || (idOf(a) < idOf(b) ? -1 : 1))
    .slice(0, 20)
    .map((person) => show(idOf(person), person.spentCents / 100));
  const values = (list: readonly string[]): string => list.map((one) => one.split(" ")[1]).join(" ");
  return {
    answer: `${got[0]}, ${got[1]}, ... ${got.at(-1)}`,
    problems: [
      ...differences("best customers", got, wanted),
      ...(values(got) === values(wanted) && exact ? [] : ["they are not in order"]),
    ],
  };
}

async function lapsed(shop: Shop): Promise<Answered> {
  const rule = { "traits.last_order": { $lt: { $now: "-30d" } } };
  const answers = await shop.api.pages<Page>("/v1/profiles/search", { rule, limit: 100 });
  const got = answers.flatMap(({ profiles }) => profiles.map((one) => valueIn(one, "customer_id") ?? "nobody"));
  const isLapsed = ({ lastOrderAt }: Person): boolean =>
    lastOrderAt !== null && lastOrderAt < shop.world.now - 30 * DAY_MS;
  const wanted = customersIn(shop).filter(isLapsed).map(idOf);
  return { answer: `${got.length} customers`, problems: differences("lapsed", got, wanted) };
}

async function countAll({ api }: Shop): Promise<number> {
  const answers = await api.pages<{ readonly count: number; readonly next_cursor: string | null }>(
    "/v1/profiles/count",
    {},
  );
  return answers.reduce((sum, { count }) => sum + count, 0);
}

async function howMany(shop: Shop): Promise<Answered> {
  const count = await countAll(shop);
  const wanted = shop.people.size;
  return { answer: `${count} profiles`, problems: count === wanted ? [] : [`there are ${wanted}`] };
}

async function signedUpToday(shop: Shop): Promise<Answered> {
  const today = Math.floor(shop.world.now / DAY_MS) * DAY_MS;
  const rule = { "traits.signed_up": { $gte: new Date(today).toISOString() } };
  const answers = await shop.api.pages<Page>("/v1/profiles/search", { rule, limit: 100 });
  const got = answers.flatMap(({ profiles }) => profiles.map((one) => valueIn(one, "customer_id") ?? "nobody"));
  const wanted = customersIn(shop)
    .filter(({ customer }) => customer!.signedUpAt >= today)
    .map(idOf);
  return { answer: `${got.length} customers`, problems: differences("signed up today", got, wanted) };
}

/** The names that a profile stands for, what it spent, and its events. */
const summaryOf = (names: readonly string[], spent: unknown, events: number): string =>
  `${names.join(" ")} ${Number(spent ?? 0).toFixed(2)} ${events}`;
const expectedSummary = ({ identifiers, spentCents, journey }: Person): string =>
  summaryOf(identifiers, spentCents / 100, journey.length);

async function exportAll(shop: Shop): Promise<Answered> {
  const { status, text } = await shop.api.raw({ method: "GET", path: "/v1/exports/profiles" });
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Profile & { readonly type: string; readonly complete?: boolean });
  const end = lines.at(-1)!;
  const got = lines
    .slice(0, -1)
    .map((line) => summaryOf(namesOf(line), line.traits["lifetime_value"], line.event_count));
  const wanted = [...shop.people.values()].map(expectedSummary);
  const isWhole = status === 200 && end.type === "end" && end.complete === true;
  return {
    answer: `${got.length} lines, ${Math.round(text.length / 1_000)} kB`,
    problems: [...(isWhole ? [] : ["it is not complete"]), ...differences("export", got, wanted)],
  };
}

/** Somebody with a phone and a cookie, and some orders. */
const busiest = (shop: Shop): Person =>
  customersIn(shop)
    .filter(({ customer, orders }) => customer!.phone !== null && orders > 1)
    .toSorted((a, b) => b.journey.length - a.journey.length || (idOf(a) < idOf(b) ? -1 : 1))[0]!;

const lookUp = (shop: Shop, ...identifiers: readonly object[]): Promise<Found> =>
  shop.api.post<Found>("/v1/profiles/lookup", { identifiers });

async function journey(shop: Shop): Promise<Answered> {
  const person = busiest(shop);
  const { profiles } = await lookUp(shop, customerId(idOf(person)));
  const got: { readonly payload: { readonly n: number } }[] = [];
  for (let cursor = ""; ;) {
    const page = await shop.api.get<{ readonly events: typeof got; readonly next_cursor: string | null }>(
      `/v1/profiles/${profiles[0]!.profile_id}/events?limit=100${cursor}`,
    );
    got.push(...page.events);
    if (page.next_cursor === null) break;
    cursor = `&cursor=${page.next_cursor}`;
  }
  const show = (numbers: readonly number[]): string => numbers.join(" ");
  const wanted = show(person.journey.map(({ n }) => n));
  return {
    answer: `${got.length} events of ${idOf(person)}, the newest first`,
    problems: show(got.map(({ payload }) => payload.n)) === wanted ? [] : ["the events or their order differ"],
  };
}

interface Explained {
  readonly connected: boolean;
  readonly path: readonly {
    readonly from: { readonly value: string };
    readonly to: { readonly value: string };
    readonly event_id: string | null;
  }[];
}

/** The way from the phone to the cookie, and for each step of it the event that names both. */
async function whyOne(shop: Shop): Promise<Answered> {
  const { customer } = busiest(shop);
  const { connected, path } = await shop.api.post<Explained>("/v1/identity/explain", {
    from: { namespace: "device_id", value: customer!.phone },
    to: { namespace: "cookie_id", value: customer!.cookie },
  });
  const problems: string[] = connected && path.length > 0 ? [] : ["they are not connected"];
  for (const { from, to, event_id: eventId } of path) {
    const { payload } = await shop.api.get<{ readonly payload: Readonly<Record<string, unknown>> }>(
      `/v1/events/${eventId}`,
    );
    const said = shop.world.events[Number(payload["n"])]?.payload ?? {};
    for (const { value } of [from, to])
      if (!Object.values(said).includes(value)) problems.push(`event ${String(payload["n"])} does not name ${value}`);
  }
  return { answer: path.map(({ from, to }) => `${from.value} - ${to.value}`).join(", "), problems };
}

/** A guest is taken for a customer by mistake, and that is taken back. */
async function undo(shop: Shop): Promise<Answered> {
  const guest = [...shop.people.values()].find(
    ({ customer, identifiers }) => customer === null && !identifiers.includes(`device_id:${KIOSK}`),
  )!;
  const cookie = { namespace: "cookie_id", value: guest.identifiers[0]!.slice("cookie_id:".length) };
  const known = customerId(idOf(busiest(shop)));
  const both = async (): Promise<readonly string[]> =>
    (await lookUp(shop, cookie, known)).profiles
      .map((one) => `${one.profile_id} ${summaryOf(namesOf(one), one.traits["lifetime_value"], one.event_count)}`)
      .toSorted();
  const before = await both();
  const { change_id: change } = await shop.api.post<{ readonly change_id: string }>("/v1/identify", {
    identifiers: [cookie, known],
  });
  const merged = await both();
  await shop.api.post(`/v1/changes/${change}/revert`, {});
  const after = await both();
  return {
    answer: `${before.length} profiles, by mistake ${merged.length}, again ${after.length}`,
    problems:
      before.length === 2 && merged.length === 1 && after.join() === before.join() ? [] : ["it is not as before"],
  };
}

const COMPLETED_WITHIN = [50, 200, 1_000, 3_000, 5_000];

/** Deletes one person, waits for the receipt, and asks whether anything is left. */
async function deleteOne(shop: Shop): Promise<Answered> {
  const person = busiest(shop);
  const known = customerId(idOf(person));
  const { profiles } = await lookUp(shop, known);
  const { text, status } = await shop.api.raw({ method: "DELETE", path: `/v1/profiles/${profiles[0]!.profile_id}` });
  const { erasure_id: erasureId } = JSON.parse(text) as { readonly erasure_id: string };
  const problems: string[] = status === 202 ? [] : [`${status}: ${text}`];
  let receipt: Receipt | null = null;
  for (const ms of COMPLETED_WITHIN) {
    if (receipt?.status === "completed") break;
    await sleep(ms);
    receipt = await shop.api.get<Receipt>(`/v1/erasures/${erasureId}`);
  }
  if (receipt?.status !== "completed") problems.push(`the erasure is ${receipt?.status}`);
  const wanted = person.journey.length;
  if (receipt?.removed.events !== wanted) problems.push(`${receipt?.removed.events} events went, not ${wanted}`);
  if ((await lookUp(shop, known)).profiles.length > 0) problems.push("the profile is still there");
  if ((await countAll(shop)) !== shop.people.size - 1) problems.push("not one profile less");
  return { answer: `${idOf(person)} with ${receipt?.removed.events} events`, problems };
}

interface Receipt {
  readonly status: string;
  readonly removed: { readonly events: number };
}

/** In this order: the last one changes what the others are about. */
export const QUESTIONS: readonly Question[] = [
  { asks: "Who are the 20 best customers?", ask: best },
  { asks: "Who has ordered, but not for 30 days?", ask: lapsed },
  { asks: "How many profiles are there?", ask: howMany },
  { asks: "Who signed up today?", ask: signedUpToday },
  { asks: "Can I have them all?", ask: exportAll },
  { asks: "What did one customer do?", ask: journey },
  { asks: "Why are this phone and this browser one person?", ask: whyOne },
  { asks: "Can a mistake be undone?", ask: undo },
  { asks: "Can one person be deleted?", ask: deleteOne },
];
