import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { requireAnswer, type Client, type Request } from "../../shared/client.js";
import { BUSY, RARE_RULE, rareAmong, userOf } from "./people.js";

export interface Crowd {
  readonly people: number;
  /** Of the busy one, beside the orders that everybody has. */
  readonly busyEvents: number;
}

/** What was asked, and how long each of its answers took. */
export interface Asked {
  readonly name: string;
  readonly millis: readonly number[];
  /** What came, for the reader. */
  readonly came: string;
}

export interface Asking {
  readonly client: Client;
  readonly url: string;
  readonly key: string;
  readonly crowd: Crowd;
  /** Of the busy one. */
  readonly events: number;
}

const TIMES = 200;
const LIMIT = 100;
const TOP = 20;

interface Profile {
  readonly profile_id: string;
  readonly event_count: number;
  readonly traits: Readonly<Record<string, unknown>>;
}
interface Walked {
  readonly profiles: readonly Profile[];
  readonly next_cursor: string | null;
}

const timed = async <T>(millis: number[], work: () => Promise<T>): Promise<T> => {
  const before = performance.now();
  const result = await work();
  millis.push(performance.now() - before);
  return result;
};

function must(is: boolean, what: string): void {
  if (!is) throw new Error(what);
}

/** Sends the same request many times, and looks at each answer. */
async function often<T>(
  { client, key }: Asking,
  name: string,
  request: Omit<Request, "key">,
  look: (answer: T) => string,
): Promise<Asked> {
  const millis: number[] = [];
  let came = "";
  for (let n = 0; n < TIMES; n += 1)
    came = look(await timed(millis, () => requireAnswer<T>(client, 200, { ...request, key })));
  return { name, millis, came };
}

/** Asks until there is nothing more. */
async function walk(
  { client, key }: Asking,
  name: string,
  path: string,
  body: object,
  look: (pages: readonly Walked[]) => string,
): Promise<Asked> {
  const millis: number[] = [];
  const pages: Walked[] = [];
  for (let cursor: string | null = null; pages.length === 0 || cursor !== null;) {
    const asked: object = { ...body, ...(cursor !== null && { cursor }) };
    const page: Walked = await timed(millis, () =>
      requireAnswer<Walked>(client, 200, { method: "POST", path, key, body: asked }),
    );
    pages.push(page);
    cursor = page.next_cursor;
  }
  return { name, millis, came: `${look(pages)} in ${pages.length} calls` };
}

export const firstPage = (asking: Asking): Promise<Asked> =>
  often<Walked>(asking, "first page of the list", { method: "GET", path: `/v1/profiles?limit=${LIMIT}` }, (page) => {
    must(page.profiles.length === LIMIT, `a page of ${page.profiles.length}`);
    return `${page.profiles.length} profiles`;
  });

const lookUp = (user: string): Omit<Request, "key"> => ({
  method: "POST",
  path: "/v1/profiles/lookup",
  body: { identifiers: [{ namespace: "user_id", value: user }] },
});

/** How many it has. */
export async function busyEvents(client: Client, key: string): Promise<number> {
  const { profiles } = await requireAnswer<Walked>(client, 200, { ...lookUp(userOf(BUSY)), key });
  return profiles[0]!.event_count;
}

export const lookUpOne = (asking: Asking): Promise<Asked> =>
  often<Walked>(asking, "look-up of an ordinary profile", lookUp(userOf(BUSY + 1)), ({ profiles }) => {
    must(profiles.length === 1, "it is unknown");
    return `${profiles[0]!.event_count} events`;
  });

export const lookUpBusy = (asking: Asking): Promise<Asked> =>
  often<Walked>(asking, "look-up of the busy profile", lookUp(userOf(BUSY)), ({ profiles }) => {
    must(profiles[0]?.event_count === asking.events, `${profiles[0]?.event_count} events`);
    return `${asking.events.toLocaleString("en-US")} events`;
  });

export async function busyTimeline(asking: Asking): Promise<Asked> {
  const request = { ...lookUp(userOf(BUSY)), key: asking.key };
  const { profiles } = await requireAnswer<Walked>(asking.client, 200, request);
  const path = `/v1/profiles/${profiles[0]!.profile_id}/events?limit=${LIMIT}`;
  return often<{ readonly events: readonly unknown[] }>(
    asking,
    "its newest events",
    { method: "GET", path },
    ({ events }) => {
      must(events.length === LIMIT, `${events.length} events`);
      return `${events.length} events`;
    },
  );
}

export const searchRare = (asking: Asking): Promise<Asked> =>
  walk(asking, "search that finds 1 in 1,000", "/v1/profiles/search", { rule: RARE_RULE, limit: LIMIT }, (pages) => {
    const found = pages.flatMap(({ profiles }) => profiles);
    must(found.length === rareAmong(asking.crowd.people), `${found.length} profiles`);
    return `${found.length.toLocaleString("en-US")} profiles`;
  });

export const count = (asking: Asking): Promise<Asked> =>
  walk(asking, "number of profiles", "/v1/profiles/count", {}, (pages) => {
    const all = (pages as unknown as readonly { readonly count: number }[]).reduce((sum, page) => sum + page.count, 0);
    must(all === asking.crowd.people, `${all} profiles`);
    return `${all.toLocaleString("en-US")} profiles`;
  });

export const topTwenty = (asking: Asking): Promise<Asked> =>
  walk(asking, "exact top 20", "/v1/profiles/top", { trait: "lifetime_value", limit: TOP }, (pages) => {
    const values = pages.at(-1)!.profiles.map(({ traits }) => Number(traits["lifetime_value"]));
    const isSorted = values.every((value, at) => at === 0 || values[at - 1]! >= value);
    must(values.length === TOP && isSorted, `the first ones are ${values.join(", ")}`);
    return `the first has ${values[0]}`;
  });

/** Reads an export, so many bytes a second, for so long at most; Infinity: as fast as it comes. */
async function exported(
  { url, key }: Asking,
  path: string,
  { bytesPerSecond, seconds }: { readonly bytesPerSecond: number; readonly seconds: number },
): Promise<{ readonly bytes: number; readonly lines: number; readonly isWhole: boolean; readonly ms: number }> {
  const began = performance.now();
  const request = http.get(new URL(path, url), { headers: { Authorization: `Bearer ${key}` }, agent: false });
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    request.once("response", resolve).once("error", reject);
  });
  must(response.statusCode === 200, `${path}: ${response.statusCode}`);
  let [bytes, lines] = [0, 0];
  let last = "";
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      for (const byte of chunk) if (byte === 0x0a) lines += 1;
      last = (last + chunk.toString("latin1")).slice(-200);
      const elapsed = performance.now() - began;
      if (elapsed > seconds * 1_000) break;
      const due = (bytes / bytesPerSecond) * 1_000 - elapsed;
      if (due > 0) await sleep(due);
    }
  } finally {
    request.destroy();
  }
  return { bytes, lines, isWhole: last.includes('"complete":true'), ms: performance.now() - began };
}

export async function exportAll(asking: Asking): Promise<Asked> {
  const { lines, bytes, isWhole, ms } = await exported(asking, "/v1/exports/profiles", {
    bytesPerSecond: Infinity,
    seconds: Infinity,
  });
  must(isWhole && lines === asking.crowd.people + 1, `${lines} lines`);
  return { name: "export of all profiles", millis: [ms], came: `${Math.round(bytes / 1e6)} MB` };
}

const SLOW_BYTES = 200_000;
const SLOW_SECONDS = 60;

export async function exportSlowly(asking: Asking): Promise<Asked> {
  const { lines, bytes, ms } = await exported(asking, "/v1/exports/events", {
    bytesPerSecond: SLOW_BYTES,
    seconds: SLOW_SECONDS,
  });
  const came = `${lines.toLocaleString("en-US")} lines, ${Math.round(bytes / 1e6)} MB in ${Math.round(ms / 1_000)} s`;
  return { name: "export to a slow reader", millis: [], came };
}
