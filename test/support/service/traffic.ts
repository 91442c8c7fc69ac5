import assert from "node:assert/strict";
import { tell } from "../random/random.js";
import { setTimeout as sleep } from "node:timers/promises";
import { at, listAt, send, submission, until, type Answer, type TestWorkspace } from "./app.js";
import { assertWithin } from "../house/yardstick.js";

/** One event of the traffic. */
interface Sent {
  readonly body: unknown;
  /** Null: a retry of it may be stored a second time, so there is none. */
  readonly idempotencyKey: string | null;
  /** Once it was acknowledged. */
  eventId: string | null;
}

export interface TrafficPlan {
  readonly url: string;
  readonly workspace: TestWorkspace;
  readonly schemaId: string;
  readonly clients?: number;
  /** Between two requests of one client. */
  readonly pauseMs?: number;
  /** Of text in each payload. */
  readonly fillerBytes?: number;
}

/**
 * Clients that send one event after another until they are stopped, or the process says that it takes no more; nine in ten events
 * carry an Idempotency-Key.
 */
export interface Traffic {
  /** The slowest answer to what was sent since the last call, milliseconds: what was under way then is of what was before. */
  slowestMs(): number;
  /** What a refused request was answered last; null before any. */
  refusal(): Answer | null;
  acknowledged(): number;
  stop(): Promise<void>;
  /** From now on requests go to this process. */
  moveTo(url: string): void;
  /**
   * After `stop`: sends again what was not acknowledged, waits until everything that was is folded, and counts. Fails on any lost
   * or duplicated event and on any answer but 202 and 503. Prints the counters. Answers how long it took until all were folded,
   * milliseconds.
   */
  settle(title: string): Promise<number>;
}

const PROFILES = 10;
const KEYLESS = 10;
const SETTLE_MS = 60_000;
const emailOf = (n: number): string => `p${n % PROFILES}@example.com`;

export function startTraffic(plan: TrafficPlan): Traffic {
  const { workspace, schemaId, clients = 8, pauseMs = 30, fillerBytes = 0 } = plan;
  const filler = "x".repeat(fillerBytes);
  const sent: Sent[] = [];
  let { url } = plan;
  const unexpected: string[] = [];
  let slowestMs = 0;
  let measuredFrom = -Infinity;
  let refusal: Answer | null = null;
  const stopping = new AbortController();

  /** True when the connection was the last one. */
  const attempt = async (event: Sent): Promise<boolean> => {
    const before = performance.now();
    const headers = event.idempotencyKey === null ? {} : { "Idempotency-Key": event.idempotencyKey };
    const key = await workspace.key("owner");
    const answer = await send(url, "POST", "/v1/collect", { key, body: event.body, headers }).catch(String);
    if (before >= measuredFrom) slowestMs = Math.max(slowestMs, performance.now() - before);
    if (typeof answer === "string") unexpected.push(answer);
    else if (answer.status === 202) event.eventId = String(answer.body["event_id"]);
    else if (answer.status === 503) refusal = answer;
    else unexpected.push(answer.text);
    return typeof answer === "string" || answer.headers.connection === "close";
  };

  const client = async (): Promise<void> => {
    for (let isLast = false; !isLast && !stopping.signal.aborted;) {
      const n = sent.length;
      const body = submission(schemaId, { email: emailOf(n), cookie: `c${n % (3 * PROFILES)}`, n, filler });
      const event: Sent = { body, idempotencyKey: n % KEYLESS === 0 ? null : `k-${n}`, eventId: null };
      sent.push(event);
      isLast = await attempt(event);
      await sleep(pauseMs);
    }
  };
  const running = Array.from({ length: clients }, client);

  const retryAll = async (): Promise<void> => {
    const deadline = Date.now() + SETTLE_MS;
    for (;;) {
      const open = sent.filter((event) => event.eventId === null && event.idempotencyKey !== null);
      if (open.length === 0) return;
      assert.ok(Date.now() < deadline, `${open.length} events are refused still`);
      await inGroups(open, clients, async (event) => void (await attempt(event)));
    }
  };

  return {
    slowestMs: () => {
      const seen = slowestMs;
      slowestMs = 0;
      measuredFrom = performance.now();
      return seen;
    },
    refusal: () => refusal,
    acknowledged: () => sent.filter(({ eventId }) => eventId !== null).length,
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
    },
    moveTo: (nextUrl) => {
      url = nextUrl;
    },
    settle: async (title) => {
      await retryAll();
      const before = performance.now();
      const acknowledged = sent.flatMap(({ eventId }) => eventId ?? []);
      const unknown = sent.length - acknowledged.length;
      const counted = await countOf(workspace, acknowledged.length);
      const foldedMs = performance.now() - before;
      const lost = await lostOf(workspace, acknowledged);
      const duplicated = Math.max(0, counted - acknowledged.length - unknown);
      const line = `attempted=${sent.length} acknowledged=${acknowledged.length} unknown=${unknown} counted=${counted}`;
      tell(`${title}: ${line} lost=${lost.length} duplicated=${duplicated} unexpected=${unexpected.length}`);
      assert.deepEqual([lost, duplicated, unexpected], [[], 0, []], line);
      assert.ok(counted >= acknowledged.length, line);
      return foldedMs;
    },
  };
}

/** Folded events of all profiles, once they are as many as were acknowledged. */
async function countOf(workspace: TestWorkspace, wanted: number): Promise<number> {
  const identifiers = Array.from({ length: PROFILES }, (_, n) => ({ namespace: "email", value: emailOf(n) }));
  const total = ({ body }: Answer): number =>
    (listAt(body, "profiles") ?? []).reduce<number>((sum, profile) => sum + Number(at(profile, "event_count")), 0);
  const deadline = Date.now() + SETTLE_MS;
  for (;;) {
    const answer = await until(
      () => workspace.send("POST", "/v1/profiles/lookup", { identifiers }),
      (seen) => seen.status === 200 && total(seen) >= wanted,
    );
    if (total(answer) >= wanted || Date.now() > deadline) return total(answer);
  }
}

async function lostOf(workspace: TestWorkspace, eventIds: readonly string[]): Promise<readonly string[]> {
  const lost: string[] = [];
  await inGroups(eventIds, 8, async (eventId) => {
    const { body, text } = await workspace.send("GET", `/v1/events/${eventId}`);
    if (body["status"] !== "folded") lost.push(`${eventId} ${text}`);
  });
  return lost;
}

/** Does it for each, so many at a time. */
export async function inGroups<T>(list: readonly T[], size: number, work: (item: T) => Promise<void>): Promise<void> {
  const waiting = list.values();
  await Promise.all(
    Array.from({ length: size }, async () => {
      for (const item of waiting) await work(item);
    }),
  );
}

/** A refusal as clients expect it. */
export function assertRefusal(answer: Answer | null): void {
  assert.ok(answer !== null, "nothing was refused, so there was no fault");
  assert.deepEqual([answer.status, answer.body["code"], answer.headers["retry-after"]], [503, "unavailable", "2"]);
}

/** Holds a time that was measured once to its limit, as far as this machine is as fast as usual. */
export async function assertTook(ms: number | null, limitMs: number, what: string): Promise<void> {
  assert.ok(ms !== null, `${what}: not in time`);
  await assertWithin(limitMs, () => ms, what);
}
