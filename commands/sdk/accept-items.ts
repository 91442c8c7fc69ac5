import type { ErrorItem } from "../../core/errors.js";
import { createPause, type Pause } from "../../core/event-loop.js";
import type { EventRecord, Identifier } from "../../core/event/event.js";
import { encodeMessage } from "../../core/event/message.js";
import { plannedEvent, type SdkCatalog } from "../../core/catalog/sdk.js";
import { admit, namespaceTable, type NamespaceTable } from "../../core/identity/namespaces.js";
import { aliasWithinScope } from "../../core/identity/scope.js";
import type { EventId, SchemaId } from "../../core/ids.js";
import type { Envelope } from "../../core/sdk/envelope.js";
import { SDK_TYPES, type Mapped, type SdkItem, type SdkType } from "../../core/sdk/item.js";
import { namedInUnfit } from "../../core/sdk/identifiers.js";
import { mapItems, unlessLong } from "../../core/sdk/map.js";
import { sdkSchemaId } from "../../core/sdk/schemas.js";
import { namedIn, type Refused } from "../acceptance/named-in.js";
import { publishInParts } from "../acceptance/publish-in-parts.js";
import type { Room } from "../quarantine.js";
import type { Caller, Services } from "../services.js";
import { errorsOfItem, judgeItem, type ItemServices, type Sides } from "./judge-item.js";
import { quarantined, type Quarantined } from "./quarantined.js";

/** The body of a request, and where its items stand in it. */
export interface SdkSent {
  readonly bytes: Buffer;
  readonly envelope: Envelope;
  /** Of items that do not say it. */
  readonly type: SdkType | null;
  /** Its items came long ago, and say when. */
  readonly isArchive?: true;
}

export interface SdkRejection {
  readonly index: number;
  readonly messageId: string | null;
  readonly errors: readonly ErrorItem[];
  /** Only counted: nobody can look at it later. */
  readonly kept?: false;
}

/** `duplicates`: repeats of another item of the same request. `notKept`: of those in quarantine, how many were only counted. */
export interface SdkAcceptance {
  readonly accepted: number;
  readonly duplicates: number;
  readonly quarantined: number;
  readonly notKept: number;
  readonly rejected: readonly SdkRejection[];
}

export type AcceptServices = ItemServices & Pick<Services, "queue" | "metrics" | "quarantine">;

/** Answers once all that is to be kept is queued durably: events, and what goes into quarantine. */
export const createAcceptItems =
  (services: AcceptServices) =>
  async (caller: Caller, sent: SdkSent): Promise<SdkAcceptance> => {
    const room = services.quarantine.room(caller);
    try {
      return await acceptItems(services, room, caller, sent);
    } catch (error) {
      // An SDK sends the same again and again while a part is away, and none of it is kept.
      room.giveBack();
      throw error;
    }
  };

async function acceptItems(
  services: AcceptServices,
  room: Room,
  caller: Caller,
  sent: SdkSent,
): Promise<SdkAcceptance> {
  const { metrics, queue, catalog } = services;
  const sdk = await catalog.sdk(caller.workspace);
  const pause = createPause();
  const mapped: Mapped[] = [];
  for (const one of mapItems(sent.bytes, sent.envelope, optionsOf(services, caller, sent, sdk.settings))) {
    mapped.push(one);
    await pause();
  }
  const each = firstOfEach(mapped);
  const sides = await createSides(services, caller, each);
  const events: EventRecord[] = [];
  const kept: EventRecord[] = [];
  const rejected: SdkRejection[] = [];
  const schemaOf: (SchemaId | null)[] = [];
  const reject = async (one: Mapped, errors: readonly ErrorItem[]): Promise<void> => {
    const { index, messageId } = one.kind === "item" ? one.item : one;
    const identifiers = await namedIn(services, caller.workspace, toRefused(sdk, one));
    const record = quarantined(caller, { ...toQuarantine(one, errors), identifiers });
    const isKept = room.takes(encodeMessage(record).length);
    if (isKept) kept.push(record);
    rejected.push({ index, messageId, errors, ...(!isKept && { kept: false }) });
    schemaOf.push(record.schemaId === UNKNOWN_TYPE ? null : record.schemaId);
  };
  for (const one of each) {
    await pause();
    if (one.kind === "unfit") await reject(one, one.errors);
    else
      try {
        events.push(await judgeItem(services, caller, sdk, one.item, sides(one.item)));
      } catch (error) {
        await reject(one, errorsOfItem(error));
      }
  }
  await publishInParts(queue, [...events, ...kept].map(encodeMessage));
  for (const { schemaId } of events) metrics.accepted("sdk", caller, schemaId);
  for (const [i, { kept: isKept = true }] of rejected.entries())
    metrics.quarantined(isKept ? "quarantined" : "not_kept", caller, schemaOf[i]!);
  const duplicates = mapped.length - each.length;
  if (duplicates > 0) {
    metrics.sdkDuplicates(duplicates);
    metrics.sdkMismatches(mismatchesOf(mapped, each));
  }
  const notKept = rejected.length - kept.length;
  return { accepted: events.length, duplicates, quarantined: rejected.length, notKept, rejected };
}

const optionsOf = (
  { limits }: AcceptServices,
  { workspace, sender, now }: Caller,
  { type, isArchive }: SdkSent,
  switches: Parameters<typeof mapItems>[2]["switches"],
) => ({
  workspace,
  sender,
  now,
  receivedAt: isArchive === true ? ("in_item" as const) : now,
  itemBytesMax: limits.payloadBytesMax,
  depthMax: limits.depthMax,
  switches,
  type,
});

const eventIdOf = (mapped: Mapped): EventId => (mapped.kind === "item" ? mapped.item.eventId : mapped.eventId);

function firstOfEach(mapped: readonly Mapped[]): readonly Mapped[] {
  const seen = new Set<EventId>();
  return mapped.filter((one) => seen.size < seen.add(eventIdOf(one)).size);
}

const fingerprintOf = (mapped: Mapped): string =>
  mapped.kind === "item" ? mapped.item.fingerprint : mapped.fingerprint;

/** How many say something else than the first of their id. */
function mismatchesOf(mapped: readonly Mapped[], each: readonly Mapped[]): number {
  const first = new Map(each.map((one) => [eventIdOf(one), fingerprintOf(one)]));
  return mapped.filter((one) => first.get(eventIdOf(one)) !== fingerprintOf(one)).length;
}

const UNKNOWN_TYPE = "sdk.unknown" as SchemaId;
const isType = (type: string | null): type is SdkType => (SDK_TYPES as readonly (string | null)[]).includes(type);

function toQuarantine(mapped: Mapped, errors: readonly ErrorItem[]): Omit<Quarantined, "identifiers"> {
  const reason = "quarantined";
  if (mapped.kind === "unfit") {
    const { eventId, fingerprint, type, messageId, bytes } = mapped;
    const schemaId = isType(type) ? sdkSchemaId(type) : UNKNOWN_TYPE;
    const origin = { kind: "unfit", type: unlessLong(type), messageId: unlessLong(messageId) } as const;
    return { eventId, fingerprint, schemaId, timestamp: null, reason, errors, origin, bytes };
  }
  const { eventId, fingerprint, type, name, messageId, identifiers, alias, timestamp, bytes } = mapped.item;
  const previous = alias?.previous ?? null;
  // A replay finds all others in the payload.
  const cut = identifiers.filter(({ path }) => path === "userId" || path === "anonymousId");
  const origin = { kind: "item", type, name, messageId: unlessLong(messageId), identifiers: cut, previous } as const;
  return { eventId, fingerprint, schemaId: sdkSchemaId(type), timestamp, reason, errors, origin, bytes };
}

/** As far as it can be read. Nobody knows what the previous id of an alias is: it may be either. */
function toRefused({ plan, settings }: SdkCatalog, mapped: Mapped): Refused {
  if (mapped.kind === "unfit") return { schemaId: null, payload: null, named: namedInUnfit(mapped.bytes, settings) };
  const { type, name, payload, identifiers, alias } = mapped.item;
  const planned = type === "track" && name !== null ? plannedEvent(plan, name) : null;
  const previous = ["user_id", "anonymous_id"].flatMap((namespace) =>
    alias === null ? [] : [{ path: "previousId", namespace, value: alias.previous }],
  );
  return { schemaId: planned?.schemaId ?? null, payload, named: [...identifiers, ...previous] };
}

/**
 * Decides for each alias, once, what its previous id is: a user's if one of that id is known, here or by an item before it in the same
 * request, else an anonymous visitor's.
 */
export async function createSides(
  { catalog, identity }: Pick<Services, "catalog" | "identity">,
  { workspace, send }: Pick<Caller, "workspace" | "send">,
  mapped: readonly Mapped[],
): Promise<(item: SdkItem) => Sides> {
  const items = mapped.flatMap((one) => (one.kind === "item" ? [one.item] : []));
  const aliases = items.filter(({ alias }) => alias !== null);
  if (aliases.length === 0) return ({ identifiers }) => ({ named: identifiers, dropped: [] });
  const table = namespaceTable(await catalog.namespaces(workspace));
  const pause = createPause();
  const named = await firstNamed(items, table, pause);
  const users = new Map<string, Identifier | null>();
  for (const { alias } of aliases) {
    await pause();
    users.set(alias!.previous, userOf(alias!.previous, table));
  }
  const asked = [...users].map(([value, user]) => user ?? { namespace: "user_id", value });
  const found = await identity.lookup(workspace, asked);
  const known = new Set(asked.filter((_, n) => found[n] !== null).map(({ value }) => value));
  return ({ index, identifiers, alias }) => {
    if (alias === null) return { named: identifiers, dropped: [] };
    const value = alias.previous;
    const user = users.get(value)?.value;
    const isUser = user !== undefined && (known.has(user) || (named.get(user) ?? Infinity) < index);
    const previous = { namespace: isUser ? "user_id" : "anonymous_id", value };
    const { dropped } = send === "collect" ? aliasWithinScope(previous, alias.known, table) : { dropped: [] };
    if (dropped.length > 0) return { named: identifiers, dropped };
    return { named: [...identifiers, { path: "previousId", ...previous }], dropped };
  };
}

/** The users whom the items name, as they would be stored, each with the index of the first that does. */
async function firstNamed(
  items: readonly SdkItem[],
  table: NamespaceTable,
  pause: Pause,
): Promise<ReadonlyMap<string, number>> {
  const seen = new Set<string>();
  const named = new Map<string, number>();
  for (const { index, identifiers } of items)
    for (const { namespace, value } of identifiers) {
      if (namespace !== "user_id" || seen.has(value)) continue;
      seen.add(value);
      await pause();
      const user = userOf(value, table);
      if (user !== null && !named.has(user.value)) named.set(user.value, index);
    }
  return named;
}

/** As it would be stored; null for a value that stands for nobody. */
const userOf = (value: string, table: NamespaceTable): Identifier | null =>
  admit([{ path: "previousId", namespace: "user_id", value }], table).identifiers[0] ?? null;
