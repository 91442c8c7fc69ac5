import { setTimeout as sleep } from "node:timers/promises";
import { eventOf, type Api } from "./api.js";
import { PING, PING_SECONDS, PROBED } from "./rules.js";

interface Entry {
  readonly seq: number;
  readonly type: string;
  readonly audience_id?: string;
  readonly profile_id: string;
}
interface Page {
  readonly entries: readonly Entry[];
  readonly next: number;
  readonly head: number;
}

async function answered(due: number, answer: Promise<unknown>): Promise<number> {
  await answer;
  return performance.now() - due;
}

/** Sends so many a second, whatever becomes of those before, until it is over. Answers how long each answer took. */
export async function sendSteadily(
  perSecond: number,
  isOver: () => boolean,
  send: (n: number) => Promise<unknown>,
): Promise<readonly number[]> {
  const millis: number[] = [];
  const open = new Set<Promise<number>>();
  const began = performance.now();
  for (let n = 0; !isOver(); n += 1) {
    const due = began + (n * 1_000) / perSecond;
    const early = due - performance.now();
    if (early > 1) await sleep(early);
    // From when it should have gone: who waits behind others waits, too.
    const one = answered(due, send(n));
    open.add(one);
    void one.then((took) => millis.push(took)).finally(() => open.delete(one));
  }
  await Promise.all(open);
  return millis;
}

/** How many a second are done when so many senders wait for each answer; `rest` resolves when what the answers left is done, too. */
export async function mostPerSecond(
  seconds: number,
  senders: number,
  send: (n: number) => Promise<unknown>,
  rest: () => Promise<unknown>,
): Promise<{ readonly perSecond: number; readonly sent: number }> {
  const began = performance.now();
  const end = began + seconds * 1_000;
  let sent = 0;
  const one = async (): Promise<void> => {
    while (performance.now() < end) await send((sent += 1));
  };
  await Promise.all(Array.from({ length: senders }, one));
  await rest();
  return { perSecond: (sent * 1_000) / (performance.now() - began), sent };
}

/** Reads the feed of one audience as a receiver would, and notes when each entry came. */
export function readFeed(api: Api, audienceId: string, after: number) {
  const seen = new Map<string, number>();
  const state = { isOver: false };
  const run = async (): Promise<void> => {
    for (let at = after; !state.isOver;) {
      const page = await api.get<Page>(`/v1/feed?after=${at}&limit=1000&wait=5&audience_id=${audienceId}`);
      for (const { type, profile_id: profileId } of page.entries) seen.set(`${type} ${profileId}`, Date.now());
      at = page.next;
    }
  };
  const ended = run();
  return {
    seen,
    end: async (): Promise<void> => {
      state.isOver = true;
      await ended;
    },
  };
}

export const headOf = async (api: Api): Promise<number> => (await api.get<Page>("/v1/feed?after=0&limit=1")).head;

export interface Delays {
  /** From the request of an event to the entry that it leads to, milliseconds. */
  readonly entered: readonly number[];
  /** From the end of a window to the entry. */
  readonly left: readonly number[];
  /** Entries that did not come. */
  readonly missing: number;
}

const PROBE_MS = 200;
const GRACE_MS = 10_000;

/** People of each kind come into the two audiences, one after the other, for so many seconds; `readers`: of these audiences. */
export async function probe<Kind extends string>(
  api: Api,
  seconds: number,
  users: Readonly<Record<Kind, (n: number) => string>>,
  readers: Readers,
): Promise<Readonly<Record<Kind, Delays>>> {
  const kinds = Object.keys(users) as Kind[];
  const begun = Object.fromEntries(kinds.map((kind) => [kind, [] as Begun[]])) as Record<Kind, Begun[]>;
  const end = Date.now() + seconds * 1_000;
  for (let n = 0; Date.now() < end; n += 1) {
    for (const kind of kinds) {
      begun[kind].push(begin(api, users[kind](n)));
      await sleep(PROBE_MS / kinds.length);
    }
  }
  await sleep(PING_SECONDS * 1_000 + GRACE_MS);
  const delays = await Promise.all(kinds.map(async (kind) => [kind, await delaysOf(begun[kind], readers)] as const));
  return Object.fromEntries(delays) as Record<Kind, Delays>;
}

interface Readers {
  readonly probed: Reader;
  readonly pinged: Reader;
}
type Reader = Pick<ReturnType<typeof readFeed>, "seen">;

interface Begun {
  readonly profileId: Promise<string>;
  readonly at: number;
}

function begin(api: Api, user: string): Begun {
  const at = Date.now();
  const events = [eventOf("order", { user, tier: PROBED }, at), eventOf(PING, { user }, at)];
  const sent = api.post<{ readonly results: readonly { readonly event_id: string }[] }>(202, "/v1/collect/batch", {
    events,
  });
  const profileId = sent.then(async ({ results }) => {
    const event = await api.get<{ readonly profile_id: string }>(`/v1/events/${results[0]!.event_id}?wait=10`);
    return event.profile_id;
  });
  return { profileId, at };
}

async function delaysOf(begun: readonly Begun[], { probed, pinged }: Readers): Promise<Delays> {
  const [entered, left]: [number[], number[]] = [[], []];
  for (const { profileId, at } of begun) {
    const id = await profileId;
    const cameIn = probed.seen.get(`entered ${id}`);
    if (cameIn !== undefined) entered.push(cameIn - at);
    const wentOut = pinged.seen.get(`left ${id}`);
    if (wentOut !== undefined) left.push(wentOut - (at + PING_SECONDS * 1_000));
  }
  return { entered, left, missing: 2 * begun.length - entered.length - left.length };
}
