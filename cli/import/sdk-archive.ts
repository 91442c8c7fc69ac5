import { idOf, type Converted } from "./item.js";
import { textOf, type JsonObject } from "./json-lines.js";

/** Archives of Segment and RudderStack hold the calls as their SDKs sent them, and when they came: the service reads them as they are. */
export function fromSdkArchive(call: JsonObject, text: string): Converted {
  if (textOf(call["messageId"]) !== null) return [text];
  // Without an id a second import would store it again.
  return [JSON.stringify({ ...call, messageId: idOf(text) })];
}
