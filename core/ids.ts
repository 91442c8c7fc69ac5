import { v5, v7 } from "uuid";

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type WorkspaceId = Branded<"WorkspaceId">;
export type KeyId = Branded<"KeyId">;
export type SchemaId = Branded<"SchemaId">;
export type DatasetId = Branded<"DatasetId">;
export type EventId = Branded<"EventId">;
export type ChangeId = Branded<"ChangeId">;
export type DeadLetterId = Branded<"DeadLetterId">;
/** Names one identifier for ever. The smallest uid of a component is the id of its profile. */
export type Uid = Branded<"Uid">;
export type ProfileId = Uid;
/** `workspace:namespace:value`: injective, because neither of the first two can hold a colon. */
export type IdentifierKey = Branded<"IdentifierKey">;

/** A UUIDv7. Monotonic within the process, so that the order of ids is the order of age. */
export const newId = <Id extends string>(): Id => v7() as Id;

/** The same Idempotency-Key in the same workspace always names the same event (UUIDv5). */
export const eventIdFor = (workspace: WorkspaceId, idempotencyKey: string): EventId =>
  v5(idempotencyKey, workspace) as EventId;

/** A name that a redelivery computes again: a dead letter is buried once however often its message comes. */
export const deadLetterIdFor = (eventId: EventId, fingerprint: string): DeadLetterId =>
  v5(`dead:${fingerprint}`, eventId) as DeadLetterId;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
export const isUuid = (text: string): boolean => UUID.test(text);
