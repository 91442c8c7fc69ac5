import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { at, listAt, textAt, type Answer } from "../service/app.js";
import { ask, fromNewest, MERGES, pages, type Bench } from "./bench.js";
import type { SentEvent, StepOf, Wrong } from "./program.js";
import { acceptEvent, nowOf, type TrueEvent } from "./truth.js";

/** What was answered is compared and becomes part of the truth, in the order of the program. */
export type Apply = () => void | Promise<void>;

/** What a step did: the events that it sent, which have to settle before it is applied. */
export interface Done {
  readonly eventIds: readonly string[];
  readonly apply: Apply;
}

const MINUTE_MS = 60_000;

function bodyOf({ schemas, began, truth }: Bench, { n, schema, who, age, values }: SentEvent) {
  const named: Record<string, string[]> = {};
  for (const { namespace, value } of who) (named[namespace] ??= []).push(spelled(value, n));
  const timestamp = new Date(began + truth.ahead - age * MINUTE_MS).toISOString();
  return { schema_id: schemas[schema], timestamp, payload: { n, ...named, ...values } };
}

/** An e-mail address is one however it is written. */
const spelled = (value: string, n: number): string =>
  value.includes("@") && n % 3 === 0 ? ` ${value.toUpperCase()}` : value;

const keyOf = ({ n, isKeyed }: SentEvent): string | null => (isKeyed ? `event ${n}` : null);

interface Sent {
  readonly event: SentEvent;
  readonly body: ReturnType<typeof bodyOf>;
  /** As an item of a batch, or alone. */
  readonly bytes: string;
}

function accept({ truth, schemas, counts }: Bench, sent: Sent, eventId: string, between: TrueEvent["between"]): void {
  const { event, body, bytes } = sent;
  const key = keyOf(event);
  counts.add("event", event.schema);
  acceptEvent(truth, eventId, {
    schemaId: schemas[event.schema],
    sent: key === null ? null : { key, body: bytes },
    timestamp: body.timestamp,
    payload: body.payload,
    merges: MERGES[event.schema],
    between,
    who: event.who,
  });
}

export const send = (bench: Bench, step: StepOf<"send">): Promise<Done> =>
  step.door === "collect" ? collect(bench, step.events) : batch(bench, step);

/** One by one; where order does not matter, some of them twice at once, as a client does that got no answer. */
async function collect(bench: Bench, events: readonly SentEvent[]): Promise<Done> {
  const began = nowOf(bench.truth);
  const sent = events.map((event): Sent => {
    const body = bodyOf(bench, event);
    return { event, body, bytes: JSON.stringify(body) };
  });
  const answers = await Promise.all(
    sent.map(async ({ event, bytes }) => {
      const key = keyOf(event);
      const headers = key === null ? {} : { "Idempotency-Key": key };
      const times = key !== null && bench.mode === "together" && event.n % 3 === 0 ? 2 : 1;
      const all = await Promise.all(
        Array.from({ length: times }, () => ask(bench, 202, "POST", "/v1/collect", bytes, headers)),
      );
      assert.equal(new Set(all.map(({ body }) => body["event_id"])).size, 1, "one key names one event");
      return all[0]!;
    }),
  );
  const eventIds = answers.map(({ body }) => textAt(body, "event_id"));
  const between = [began, nowOf(bench.truth)] as const;
  return { eventIds, apply: () => sent.forEach((one, i) => accept(bench, one, eventIds[i]!, between)) };
}

const PATIENCE_MS = 15_000;

/** They die before anything of them is stored, and are replayed. */
export async function die(bench: Bench, { events, replays }: StepOf<"die">): Promise<Done> {
  const { place, workspace, counts, truth } = bench;
  // The letter of one that names somebody erased is deleted at once, and nothing of it is left to ask for.
  if (truth.erasures.length > 0) {
    counts.add("die", "not with tombstones");
    return collect(bench, events);
  }
  place.dying.add(workspace.id);
  const done = await collect(bench, events);
  for (const eventId of done.eventIds) await untilStatus(bench, eventId, (status) => status === "dead");
  place.dying.delete(workspace.id);
  counts.add("die", `replayed ${replays} times`);
  const letters = await pages(bench, "/v1/dead-letters?reason=validation_failed", "dead_letters", 100);
  const own = letters.filter((one) => done.eventIds.includes(textAt(one, "event_id")));
  const dead_letter_ids = own.map((one) => textAt(one, "dead_letter_id"));
  for (let n = 0; n < replays; n += 1) {
    const { body } = await ask(bench, 200, "POST", "/v1/dead-letters/replay", n === 0 ? {} : { dead_letter_ids });
    if (n === 0) assert.equal(body["replayed"], events.length, "all are queued again");
    for (const eventId of done.eventIds) await untilStatus(bench, eventId, (status) => status !== "dead");
  }
  return done;
}

async function untilStatus(bench: Bench, eventId: string, isIt: (status: unknown) => boolean): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; ;) {
    const { status, body } = await bench.send("GET", `/v1/events/${eventId}`);
    if (status === 200 && isIt(body["status"])) return;
    assert.ok(performance.now() < end, `event ${eventId} is ${textAt(body, "status")}`);
    await sleep(10);
  }
}

const WRONG_ITEM = { schema_id: "nobody", timestamp: "2026-01-01T00:00:00Z", payload: {} };

async function batch(bench: Bench, { door, events }: StepOf<"send">): Promise<Done> {
  const began = nowOf(bench.truth);
  const sent = events.map((event): Sent => {
    const body = bodyOf(bench, event);
    const key = keyOf(event);
    return { event, body, bytes: JSON.stringify(key === null ? body : { ...body, idempotency_key: key }) };
  });
  const isAtomic = door.startsWith("atomic");
  const hasWrong = door.endsWith("_with_wrong");
  const items = [...sent.map(({ bytes }) => bytes), ...(hasWrong ? [JSON.stringify(WRONG_ITEM)] : [])];
  const answer = await sendItems(bench, items, door === "lines", isAtomic);
  assert.equal(answer.status, hasWrong ? (isAtomic ? 422 : 207) : 202, answer.text);
  const results = listAt(answer.body, "results");
  bench.counts.add(`send ${door}`, String(answer.status));
  if (hasWrong) assert.equal(at(results.at(-1), "status"), "rejected", answer.text);
  const own = results.slice(0, sent.length);
  assert.ok(
    own.every((one) => at(one, "status") === (hasWrong && isAtomic ? "withheld" : "accepted")),
    answer.text,
  );
  if (hasWrong && isAtomic) return { eventIds: [], apply: () => undefined };
  const eventIds = own.map((one) => textAt(one, "event_id"));
  const between = [began, nowOf(bench.truth)] as const;
  return { eventIds, apply: () => sent.forEach((one, i) => accept(bench, one, eventIds[i]!, between)) };
}

function sendItems(
  { send: post }: Bench,
  items: readonly string[],
  asLines: boolean,
  isAtomic: boolean,
): Promise<Answer> {
  const target = `/v1/collect/batch${isAtomic ? "?atomic=true" : ""}`;
  if (!asLines) return post("POST", target, `{"events":[${items.join()}]}`);
  return post("POST", target, items.join("\n"), { "Content-Type": "application/x-ndjson" });
}

/** The newest events that have an Idempotency-Key. */
function keyed({ truth }: Bench, of: number): TrueEvent | null {
  const found = [...truth.events.values()].filter(({ sent }) => sent !== null);
  return fromNewest(found, of) ?? null;
}

/** As it was sent; an item of a batch carries its key itself. */
async function resend(bench: Bench, { sent }: TrueEvent, change: string): Promise<Answer> {
  const { key, body } = sent!;
  const bytes = change === "" ? body : body.replace('"n":', `"${change}":1,"n":`);
  return body.includes('"idempotency_key"')
    ? sendItems(bench, [bytes], false, false)
    : bench.send("POST", "/v1/collect", bytes, { "Idempotency-Key": key });
}

const NOTHING: Done = { eventIds: [], apply: () => undefined };

/** Late, and maybe long after it was linked, unlinked or dropped: it changes nothing. */
export async function again(bench: Bench, { of }: StepOf<"again">): Promise<Done> {
  const event = keyed(bench, of);
  bench.counts.add("again", event === null ? "nothing to repeat" : "the same event");
  if (event === null) return NOTHING;
  const answer = await resend(bench, event, "");
  assert.equal(answer.status, 202, answer.text);
  const eventId = at(answer.body, "event_id") ?? at(answer.body, "results.0.event_id");
  assert.equal(eventId, event.eventId);
  return { eventIds: [event.eventId], apply: () => undefined };
}

export async function clash(bench: Bench, { of }: StepOf<"clash">): Promise<Done> {
  const event = keyed(bench, of);
  bench.counts.add("clash", event === null ? "nothing to repeat" : "refused");
  if (event === null) return NOTHING;
  const answer = await resend(bench, event, "other");
  const code = at(answer.body, "code") ?? at(answer.body, "results.0.code");
  assert.equal(code, "idempotency_mismatch", answer.text);
  return NOTHING;
}

/** Nothing of it is stored. */
export async function wrong(bench: Bench, { what }: StepOf<"wrong">): Promise<Done> {
  const [status, body] = WRONG[what](bench);
  await ask(bench, status, "POST", what === "nobody" ? "/v1/identify" : "/v1/collect", body);
  bench.counts.add("wrong", `${what} ${status}`);
  return NOTHING;
}

const HOUR_MS = 60 * MINUTE_MS;
const good = (bench: Bench, payload: object, timestamp = "2026-01-01T00:00:00Z") => ({
  schema_id: bench.schemas.act,
  timestamp,
  payload: { user_id: ["u1"], ...payload },
});

const WRONG: Readonly<Record<Wrong, (bench: Bench) => readonly [status: number, body: unknown]>> = {
  type: (bench) => [422, good(bench, { high: "much" })],
  schema: () => [422, WRONG_ITEM],
  future: (bench) => [422, good(bench, {}, new Date(nowOf(bench.truth) + 30 * HOUR_MS).toISOString())],
  json: (bench) => [400, JSON.stringify(good(bench, {})).slice(0, -1)],
  member: (bench) => [422, { ...good(bench, {}), workspace_id: bench.workspace.id }],
  nobody: () => [422, { identifiers: [{ namespace: "user_id", value: "null" }] }],
};
