import type { ErrorItem } from "../errors.js";
import type { Identifier, Instant } from "../event/event.js";
import type { GivenIdentifier } from "../identity/namespaces.js";
import type { EventId } from "../ids.js";

export const SDK_TYPES = ["track", "page", "screen", "identify", "group", "alias"] as const;
export type SdkType = (typeof SDK_TYPES)[number];

/** Both sides of an alias. */
export interface SdkAlias {
  /** A `user_id` if one of that value is known, else an `anonymous_id`: whoever accepts the item decides it once. */
  readonly previous: string;
  readonly known: Identifier;
}

/** One call of an SDK, as an event. */
export interface SdkItem {
  /** Its place in the request. */
  readonly index: number;
  readonly type: SdkType;
  /** Of the event, page or screen, as sent; null where there is none. */
  readonly name: string | null;
  /** As sent, for the answer; null where there is none. */
  readonly messageId: string | null;
  readonly eventId: EventId;
  /** Of what does not change when the SDK sends it again. */
  readonly fingerprint: string;
  /** With `Z`, corrected for a wrong clock of the sender. */
  readonly timestamp: string;
  readonly instant: Instant;
  /** What the dialect itself finds. The previous id of an alias is in `alias` alone, because nobody knows its namespace yet. */
  readonly identifiers: readonly GivenIdentifier[];
  /** Null: not an alias, or one of a thing with itself. */
  readonly alias: SdkAlias | null;
  /** The item without the members that the mapping has read. */
  readonly payload: unknown;
  /** The bytes of the payload, as they were sent. */
  readonly bytes: Buffer;
}

/** `unfit`: it can be no event of any schema, and is kept for whoever looks for it. */
export type Mapped =
  | { readonly kind: "item"; readonly item: SdkItem }
  | {
      readonly kind: "unfit";
      readonly index: number;
      readonly messageId: string | null;
      /** Names the item even so: a repeat of it is the same one. */
      readonly eventId: EventId;
      /** Of what does not change when the SDK sends it again. */
      readonly fingerprint: string;
      readonly type: string | null;
      /** As it was sent, without `writeKey`; or its type, id and size, where an erasure would not find all that it names. */
      readonly bytes: Buffer;
      readonly errors: readonly ErrorItem[];
    };

/** What a workspace takes for an identifier beside those that every workspace does: see `PUT /v1/sdk/settings`. */
export interface SdkIdentifierSwitches {
  /** `traits.phone` of an identify and `context.traits.phone`, as `phone`. */
  readonly phone: boolean;
  /** `context.device.id`, as `device_id`. */
  readonly deviceId: boolean;
  /** `context.device.advertisingId`, as `advertising_id`. */
  readonly advertisingId: boolean;
}
