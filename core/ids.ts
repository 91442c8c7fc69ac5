import { hash, randomFillSync } from "node:crypto";
import { v5, v7 } from "uuid";

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type WorkspaceId = Branded<"WorkspaceId">;
export type KeyId = Branded<"KeyId">;
export type SchemaId = Branded<"SchemaId">;
export type DatasetId = Branded<"DatasetId">;
export type EventId = Branded<"EventId">;
export type ChangeId = Branded<"ChangeId">;
export type BackfillId = Branded<"BackfillId">;
export type DeadLetterId = Branded<"DeadLetterId">;
export type AudienceId = Branded<"AudienceId">;
/** Names one way of counting events; a new one each time that somebody begins to count so. */
export type TallyId = Branded<"TallyId">;
/** Names one decision that rests on how long events are kept. */
export type FenceId = Branded<"FenceId">;
export type WebhookId = Branded<"WebhookId">;
/** Names one try of a webhook. */
export type TurnId = Branded<"TurnId">;
/** Names one look at a profile. */
export type ClaimId = Branded<"ClaimId">;
/** Names one walk that judges all profiles by a new rule. */
export type BuildId = Branded<"BuildId">;
export type MarkId = Branded<"MarkId">;
/** Names one note of profiles that changed who they are. */
export type MovedId = Branded<"MovedId">;
/** Names a forbidden pair of identifiers. */
export type ForbiddenPairId = Branded<"ForbiddenPairId">;
export type ErasureId = Branded<"ErasureId">;
/** Names an identifier without telling it: see `core/identity/erasure.ts`. */
export type Tomb = Branded<"Tomb">;
/** Names one identifier for ever. The smallest uid of a component is the id of its profile. */
export type Uid = Branded<"Uid">;
export type ProfileId = Uid;
/** `workspace:namespace:value`: injective, because neither of the first two can hold a colon. */
export type IdentifierKey = Branded<"IdentifierKey">;

const RANDOM_BYTES = 16;
/** One call for random bytes serves many ids: asking each time costs more than all the rest of an id. */
const pool = new Uint8Array(RANDOM_BYTES * 256);
let used = pool.length;
let lastMs = 0;
let sequence = 0;

function nextRandom(): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += RANDOM_BYTES;
  return pool.subarray(used - RANDOM_BYTES, used);
}

/** A UUIDv7. Monotonic within the process, also when the clock steps back, so that the order of ids is the order of age. */
export function newId<Id extends string>(): Id {
  const random = nextRandom();
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    // Starts low, to leave room above it for the ids of one millisecond.
    sequence = ((random[0]! & 0x7f) << 24) | (random[1]! << 16) | (random[2]! << 8) | random[3]!;
  } else if (sequence === 0xffffffff) {
    lastMs += 1;
    sequence = 0;
  } else sequence += 1;
  return v7({ random, msecs: lastMs, seq: sequence }) as Id;
}

/** Not younger than any id made at that time or later; milliseconds since 1970. */
export const firstIdAt = <Id extends string>(ms: number): Id =>
  v7({ random: new Uint8Array(RANDOM_BYTES), msecs: ms, seq: 0 }) as Id;

/** When the id was made; milliseconds since 1970. */
export const madeAt = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

/** From now on no new id is older than this; milliseconds since 1970. */
export function newIdsFrom(ms: number): void {
  if (ms <= lastMs) return;
  lastMs = ms;
  sequence = 0;
}

/** The same Idempotency-Key of the same sender always names the same event (UUIDv5). A key's id holds no colon. */
export const eventIdFor = (workspace: WorkspaceId, sender: KeyId, idempotencyKey: string): EventId =>
  v5(`${sender}:${idempotencyKey}`, workspace) as EventId;

/** Printable and short enough to be read; any other messageId is named by its hash. */
const PLAIN_MESSAGE_ID = /^[\x20-\x7e]{1,255}$/;

/**
 * The same `messageId` of the same sender always names the same event (UUIDv5). No sender is called `sdk`, so no Idempotency-Key has
 * the same name, and what stands before the last colon tells a hash from an id that looks like one.
 */
export const sdkEventIdFor = (workspace: WorkspaceId, sender: KeyId, messageId: string): EventId =>
  v5(
    PLAIN_MESSAGE_ID.test(messageId)
      ? `sdk:${sender}:id:${messageId}`
      : `sdk:${sender}:sha256:${hash("sha256", messageId, "hex")}`,
    workspace,
  ) as EventId;

/** A redelivery computes the same id, so a dead letter is kept once, however often its message comes. */
export const deadLetterIdFor = (eventId: EventId, fingerprint: string): DeadLetterId =>
  v5(`dead:${fingerprint}`, eventId) as DeadLetterId;

/** The same pair of identifiers always has the same id (UUIDv5), in either order; `pair` is its `pairKey`. */
export const forbiddenPairIdFor = (workspace: WorkspaceId, pair: string): ForbiddenPairId =>
  v5(`forbidden:${pair}`, workspace) as ForbiddenPairId;

/** The form of a schema's id, as a JSON Schema pattern. */
export const SCHEMA_ID_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$";
const SCHEMA_ID = new RegExp(SCHEMA_ID_PATTERN);
export const isSchemaId = (text: string): boolean => SCHEMA_ID.test(text);

const KEY_ID = /^[0-9A-Za-z]{10}$/;
export const isKeyId = (text: string): boolean => KEY_ID.test(text);

/** For a JSON Schema. */
export const UUID_PATTERN = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
const UUID = new RegExp(UUID_PATTERN);
export const isUuid = (text: string): boolean => UUID.test(text);
