import type { ErrorItem } from "../errors.js";
import { NAMESPACE_NAME, type GivenIdentifier } from "../identity/namespaces.js";
import { parseNumbersAsSent } from "../json/read.js";
import { memberOf } from "./envelope.js";
import type { SdkIdentifierSwitches, SdkType } from "./item.js";

/** Text, or a number as text. Null: absent, which SDKs also write as "" and null. Undefined: it can be no id. */
export function idText(value: unknown): string | null | undefined {
  if (value === undefined || value === null || value === "") return null;
  if (typeof value === "string") return value;
  return typeof value === "number" ? String(value) : undefined;
}

export interface Ids {
  readonly userId: string | null;
  readonly anonymousId: string | null;
}

/** Who an item is about, as far as the dialect itself says it. */
export function identifiersOf(
  item: object,
  type: SdkType,
  { userId, anonymousId }: Ids,
  switches: SdkIdentifierSwitches,
): readonly GivenIdentifier[] {
  const given: GivenIdentifier[] = [];
  const add = (path: string, namespace: string, value: unknown): void => {
    const text = idText(value);
    if (typeof text === "string") given.push({ path, namespace, value: text });
  };
  const context = memberOf(item, "context");
  add("userId", "user_id", userId);
  if (!isAnonymousIdInvented(item, userId)) add("anonymousId", "anonymous_id", anonymousId);
  given.push(...traitsOf(item, type, switches));
  const device = memberOf(context, "device");
  if (switches.deviceId) add("context.device.id", "device_id", memberOf(device, "id"));
  if (switches.advertisingId) add("context.device.advertisingId", "advertising_id", memberOf(device, "advertisingId"));
  for (const [name, list] of externalIdsIn(item)) {
    for (const [index, one] of list.entries()) {
      const namespace = memberOf(one, "type");
      if (typeof namespace === "string" && NAMESPACE_NAME.test(namespace))
        add(`context.${name}.${index}.id`, namespace, memberOf(one, "id"));
    }
  }
  return given;
}

const EXTERNAL_IDS = ["externalIds", "externalId"] as const;
/** A few bytes name somebody, and an event keeps only the first few; all would take too long to judge and to index. */
const EXTERNAL_IDS_MAX = 1_000;

function externalIdsIn(item: unknown): readonly (readonly [name: string, list: readonly unknown[]])[] {
  const context = memberOf(item, "context");
  return EXTERNAL_IDS.flatMap((name) => {
    const list = memberOf(context, name);
    return Array.isArray(list) ? [[name, list] as const] : [];
  });
}

/** Null: they are not too many. */
export function tooManyIn(item: unknown): ErrorItem | null {
  const found = externalIdsIn(item).find(([, list]) => list.length > EXTERNAL_IDS_MAX);
  return found === undefined
    ? null
    : { path: `context.${found[0]}`, message: `must have at most ${EXTERNAL_IDS_MAX} items` };
}

/** Whom an item names that can be no event, wherever one of any type could name somebody. What is no object names nobody. */
export function namedInUnfit(bytes: Buffer, switches: SdkIdentifierSwitches): readonly GivenIdentifier[] {
  const item = readObject(bytes);
  if (item === null) return [];
  const texts = (name: string) => idText(memberOf(item, name)) ?? null;
  const ids = { userId: texts("userId"), anonymousId: texts("anonymousId") };
  const previous = texts("previousId");
  return [
    ...identifiersOf(item, "track", ids, switches),
    // Its own traits; all else stands at the same places as in a track.
    ...traitsOf(item, "identify", switches),
    ...(previous === null ? [] : ["user_id", "anonymous_id"]).map((namespace) => ({
      path: "previousId",
      namespace,
      value: previous!,
    })),
  ];
}

function readObject(bytes: Buffer): object | null {
  try {
    const value = parseNumbersAsSent(bytes);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** RudderStack's client for Go makes up a new one for each call: a person would gain one identifier an event, for ever. */
const isAnonymousIdInvented = (item: object, userId: string | null): boolean =>
  userId !== null &&
  memberOf(item, "channel") === "server" &&
  memberOf(memberOf(memberOf(item, "context"), "library"), "name") === "analytics-go";

function traitsOf(item: object, type: SdkType, { phone }: SdkIdentifierSwitches): readonly GivenIdentifier[] {
  return (phone ? ["email", "phone"] : ["email"]).flatMap((namespace) => {
    const place = placeOfTrait(item, type, namespace);
    const value = idText(place?.value);
    return place !== null && typeof value === "string" ? [{ path: place.path, namespace, value }] : [];
  });
}

/** The traits of a group are the company's. RudderStack's browser SDK sends those of an identify in the context alone. */
function placeOfTrait(
  item: object,
  type: SdkType,
  name: string,
): { readonly path: string; readonly value: unknown } | null {
  if (type === "group") return null;
  const own = type === "identify" ? memberOf(memberOf(item, "traits"), name) : undefined;
  if (idText(own) !== null) return { path: `traits.${name}`, value: own };
  return { path: `context.traits.${name}`, value: memberOf(memberOf(memberOf(item, "context"), "traits"), name) };
}
