import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { at, listAt, type App, type TestWorkspace } from "../service/app.js";

const BEGAN = Date.UTC(2025, 0, 1);
/** Of each person. */
export const CALLS_EACH = 10;

const uuid = (text: string): string =>
  hash("sha256", text, "hex").replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-4$3-8$4-$5");

/**
 * The calls of an archive of Segment, as their SDK for browsers sent them and with what Segment adds, ten for each person. The same
 * number makes the same archive.
 */
export function* archived(calls: number): Generator<Readonly<Record<string, unknown>>> {
  const people = Math.ceil(calls / CALLS_EACH);
  for (let n = 0; n < calls; n += 1) {
    const [person, step] = [n % people, Math.floor(n / people)];
    const at = (ms: number): string => new Date(BEGAN + n * 1_000 + ms).toISOString();
    yield {
      ...callOf(person, step),
      messageId: uuid(`call ${n}`),
      anonymousId: uuid(`person ${person}`),
      originalTimestamp: at(0),
      sentAt: at(120),
      receivedAt: at(300),
      timestamp: at(180),
      channel: "client",
      projectId: "p1",
      version: 2,
      context: { library: { name: "analytics.js", version: "next-1.84.3" }, page: { path: "/" }, ip: "203.0.113.7" },
      integrations: {},
    };
  }
}

function callOf(person: number, step: number): Readonly<Record<string, unknown>> {
  if (step === 0) return { type: "page", name: "Home", userId: null, properties: { path: "/" } };
  const userId = `u-${person}`;
  if (step === 1) return { type: "identify", userId, traits: { email: `${userId}@example.com`, plan: "pro" } };
  return { type: "track", userId, event: "Order Completed", properties: { total: step, currency: "EUR" } };
}

const LOOKUP_MAX = 100;

const DRAIN_MS = 600_000;

/** How many people have how many events in their profile, once nothing waits in the queue. */
export async function eventCountsOf(
  { url }: Pick<App, "url">,
  workspace: TestWorkspace,
  people: number,
): Promise<ReadonlyMap<number, number>> {
  const deadline = Date.now() + DRAIN_MS;
  for (;;) {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    if (/^onym_queue_messages(?:\{[^}]*\})? 0$/m.test(metrics)) break;
    assert.ok(Date.now() < deadline, "the queue never got empty");
    await sleep(100);
  }
  const counts = new Map<number, number>();
  for (let first = 0; first < people; first += LOOKUP_MAX) {
    const identifiers = Array.from({ length: Math.min(LOOKUP_MAX, people - first) }, (_, n) => ({
      namespace: "user_id",
      value: `u-${first + n}`,
    }));
    const { body } = await workspace.send("POST", "/v1/profiles/lookup", { identifiers });
    for (const profile of listAt(body, "profiles")) {
      const events = Number(at(profile, "event_count"));
      counts.set(events, (counts.get(events) ?? 0) + 1);
    }
  }
  return counts;
}
