import { readExactly, writeExactly } from "./exact-json.js";
import { idOf, type Converted } from "./item.js";
import { isObject, textOf, type JsonObject } from "./json-lines.js";

/** Events of a PostHog export as the calls of SDKs that say the same, with the digits of the export. */
export function fromPostHog(_: JsonObject, text: string): Converted {
  const event = readExactly(text) as JsonObject;
  const name = textOf(event["event"]);
  const distinctId = textOf(event["distinct_id"]);
  if (name === null) return { problem: "event: is required" };
  if (distinctId === null) return { problem: "distinct_id: is required" };
  const properties = objectIn(event["properties"]);
  if (properties === null) return { problem: "properties: is not an object" };
  const timestamp = timeIn(event["timestamp"]);
  const base = {
    messageId: textOf(event["uuid"]) ?? textOf(event["id"]) ?? idOf(text),
    ...(timestamp !== null && { timestamp }),
    channel: "server",
  };
  return callsOf({ name, distinctId, properties, base }).map(writeExactly);
}

interface Read {
  readonly name: string;
  readonly distinctId: string;
  readonly properties: JsonObject;
  readonly base: JsonObject & { readonly messageId: string };
}

function callsOf({ name, distinctId, properties, base }: Read): readonly JsonObject[] {
  const traits = { ...objectIn(properties["$set_once"]), ...objectIn(properties["$set"]) };
  if (name === "$identify") {
    const anonymousId = textOf(properties["$anon_distinct_id"]);
    const ids = { userId: distinctId, ...(anonymousId !== null && anonymousId !== distinctId && { anonymousId }) };
    return [{ type: "identify", ...base, ...ids, traits, properties }];
  }
  const isUser = isIdentified(distinctId, properties);
  if (name === "$create_alias") {
    const alias = textOf(properties["alias"]);
    if (alias === null) return [];
    // A browser that is told only a user names the visitor until now by the distinct id; told both, it may name itself by the alias.
    const isOfUser = isUser || alias === textOf(properties["$device_id"]);
    const ids = isOfUser ? { userId: distinctId, previousId: alias } : { userId: alias, previousId: distinctId };
    return [{ type: "alias", ...base, ...ids, properties }];
  }
  const ids = isUser ? { userId: distinctId } : { anonymousId: distinctId };
  if (name === "$set") return [{ type: "identify", ...base, ...ids, traits, properties }];
  const call = { ...callOf(name, properties), ...base, ...ids };
  if (Object.keys(traits).length === 0) return [call];
  // What an event says about the person is a call of its own in SDKs.
  return [call, { type: "identify", ...base, messageId: `${base.messageId}:set`, ...ids, traits }];
}

function callOf(name: string, properties: JsonObject): JsonObject {
  if (name === "$pageview") return { type: "page", name: textOf(properties["title"]), properties };
  if (name === "$screen") return { type: "screen", name: textOf(properties["$screen_name"]), properties };
  if (name !== "$groupidentify") return { type: "track", event: name, properties };
  return { type: "group", groupId: textOf(properties["$group_key"]), traits: objectIn(properties["$group_set"]) ?? {} };
}

/** Browsers say it. Servers do not, and have no device, so the id is that of their user. */
function isIdentified(distinctId: string, properties: JsonObject): boolean {
  const told = properties["$is_identified"];
  return typeof told === "boolean" ? told : properties["$device_id"] !== distinctId;
}

/** Some exports hold objects as JSON text. */
function objectIn(value: unknown): JsonObject | null {
  if (value === undefined || value === null || value === "") return {};
  if (typeof value !== "string") return isObject(value) ? value : null;
  try {
    const parsed = readExactly(value);
    return isObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

/** A time of an export without an offset is UTC. */
function timeIn(value: unknown): string | null {
  const text = textOf(value);
  if (text === null) return null;
  const withT = text.replace(/^(\d{4}-\d\d-\d\d) /, "$1T");
  return /^[^T]+T[\d:.,]+$/.test(withT) ? `${withT}Z` : withT;
}
