import { hash } from "node:crypto";
import { AppError, mismatch } from "../../core/errors.js";
import type { EventRecord } from "../../core/event/event.js";
import { encodeMessage } from "../../core/event/message.js";
import { eventIdFor, newId, type EventId, type SchemaId } from "../../core/ids.js";
import type { Caller, Services } from "../services.js";
import { KEY_HEADER, requireSame, type Idempotency } from "./idempotency.js";
import { examineEvent, settleEvent, type Candidate, type Examined } from "./judge.js";
import { inPortions } from "./portions.js";
import { KEY_MEMBER, keyProblems, openSubmission, readEnvelope } from "./submission.js";

/** Several events as they were sent, each JSON text with `schema_id`, `timestamp`, `payload` and perhaps `idempotency_key`. */
export interface SentBatch {
  readonly items: readonly Buffer[];
  /** They are parts of one JSON text: if one is no JSON, nothing of it is. */
  readonly isOneText: boolean;
}

export interface BatchOptions {
  /** Of items that have none of their own. */
  readonly idempotencyKey: string | null;
  /** All or none. */
  readonly atomic: boolean;
}

/** `withheld`: nothing is wrong with it, but with another one of an atomic batch. */
export type ItemResult =
  | { readonly kind: "accepted"; readonly eventId: EventId }
  | { readonly kind: "rejected"; readonly error: AppError }
  | { readonly kind: "withheld" };

/**
 * Answers one result for each item, in order, once all that are accepted are queued durably, in one step. Throws what is about the whole:
 * then nothing of it is queued.
 */
export type AcceptBatch = (caller: Caller, sent: SentBatch, options: BatchOptions) => Promise<readonly ItemResult[]>;

type Kept = Omit<Candidate, "payload">;

/** `stored`: by an earlier request. `repeat`: the same bytes with the same key stand in this batch before. */
type Item =
  | { readonly kind: "rejected"; readonly error: AppError }
  | { readonly kind: "stored"; readonly eventId: EventId; readonly schemaId: SchemaId }
  | { readonly kind: "repeat"; readonly of: number }
  | { readonly kind: "sound"; readonly candidate: Kept; readonly examined: Examined; readonly keyPath: string }
  | { readonly kind: "settled"; readonly event: EventRecord; readonly keyPath: string };

export function createAcceptBatch(
  services: Pick<Services, "catalog" | "queue" | "events" | "validator" | "limits" | "metrics">,
  remember: Idempotency,
): AcceptBatch {
  const { queue, limits, metrics } = services;

  const settle = async (caller: Caller, item: Item): Promise<Item> => {
    if (item.kind !== "sound") return item;
    const { candidate, examined, keyPath } = item;
    return { kind: "settled", event: await settleEvent(services, caller, candidate, examined), keyPath };
  };
  /** Another request may have come this far with the same key. */
  const requireFirst = (item: Item): Item => {
    if (item.kind !== "settled" || item.event.fingerprint === null) return item;
    const { workspace, eventId, fingerprint } = item.event;
    remember.requireFirst(workspace, eventId, fingerprint, item.keyPath);
    return item;
  };
  const publish = async (events: readonly EventRecord[]): Promise<void> => {
    const named = events.flatMap(({ workspace, eventId, fingerprint }) =>
      fingerprint === null ? [] : [[workspace, eventId, fingerprint] as const],
    );
    for (const one of named) remember.publishing(...one);
    await queue.publishAll(events.map(encodeMessage));
    for (const one of named) remember.published(...one);
  };

  return async (caller, { items: sent, isOneText }, { idempotencyKey, atomic }) => {
    const { workspace, sender, now } = caller;
    const firsts = new Map<EventId, { readonly fingerprint: string; readonly index: number }>();
    const rejected = (error: unknown): Item => {
      if (isAboutItem(error) && !(isOneText && error.code === "invalid_json")) return { kind: "rejected", error };
      throw error;
    };
    const open = async (bytes: Buffer, index: number): Promise<Item> => {
      const opened = openSubmission(limits, bytes, true);
      const key = keyOf(opened.fields, idempotencyKey, index);
      const keyPath = (opened.fields[KEY_MEMBER] ?? null) === null ? KEY_HEADER : KEY_MEMBER;
      const eventId = key === null ? newId<EventId>() : eventIdFor(workspace, sender, key);
      const fingerprint = key === null ? null : hash("sha256", bytes, "base64");
      if (fingerprint !== null) {
        const first = firsts.get(eventId);
        if (first !== undefined) {
          requireSame(first.fingerprint, fingerprint, keyPath);
          return { kind: "repeat", of: first.index };
        }
        firsts.set(eventId, { fingerprint, index });
        if (await remember.isStored(workspace, eventId, fingerprint, keyPath))
          return { kind: "stored", eventId, schemaId: opened.fields["schema_id"] as SchemaId };
      }
      const { errors, submission } = readEnvelope(opened, now, KEY_MEMBER);
      if (submission === null) throw mismatch(errors);
      const { payload, ...envelope } = submission;
      const candidate: Kept = { ...envelope, eventId, fingerprint, named: [] };
      const examined = await examineEvent(services, caller, { ...candidate, payload });
      return { kind: "sound", candidate, examined, keyPath };
    };

    const opened = await inPortions(sent, bytesOf, (bytes, index) => open(bytes, index).catch(rejected));
    if (atomic && opened.some(isRejected)) return resultsOf(opened, false);
    const settled = await inPortions(opened, weightOf, (item) => settle(caller, item).catch(rejected));
    // In one turn of the event loop with the announcement, so that no other request comes between.
    const items = settled.map((item) => attempt(() => requireFirst(item), rejected));
    if (atomic && items.some(isRejected)) return resultsOf(items, false);
    await publish(items.flatMap((item) => (item.kind === "settled" ? [item.event] : [])));
    for (const item of items) {
      if (item.kind === "settled") metrics.accepted("batch", caller, item.event.schemaId);
      if (item.kind === "stored") metrics.accepted("batch", caller, item.schemaId);
    }
    return resultsOf(items, true);
  };
}

const bytesOf = (bytes: Buffer): number => bytes.length;
const weightOf = (item: Item): number => (item.kind === "sound" ? item.candidate.bytes.length : 0);
const isRejected = ({ kind }: Item): boolean => kind === "rejected";

function attempt(work: () => Item, failed: (error: unknown) => Item): Item {
  try {
    return work();
  } catch (error) {
    return failed(error);
  }
}

function keyOf(fields: Readonly<Record<string, unknown>>, given: string | null, index: number): string | null {
  const problems = keyProblems(fields);
  if (problems.length > 0) throw mismatch(problems);
  const own = (fields[KEY_MEMBER] ?? null) as string | null;
  return own ?? (given === null ? null : `${given}/${index}`);
}

/** Problems of ours are about the whole batch. */
const OURS = new Set(["unavailable", "damaged", "internal", "rate_limited", "request_timeout"]);
const isAboutItem = (error: unknown): error is AppError => error instanceof AppError && !OURS.has(error.code);

function resultsOf(items: readonly Item[], isQueued: boolean): readonly ItemResult[] {
  const resultOf = (item: Item): ItemResult => {
    if (item.kind === "rejected") return item;
    if (item.kind === "repeat") return resultOf(items[item.of]!);
    if (item.kind === "stored") return { kind: "accepted", eventId: item.eventId };
    return isQueued && item.kind === "settled"
      ? { kind: "accepted", eventId: item.event.eventId }
      : { kind: "withheld" };
  };
  return items.map(resultOf);
}
