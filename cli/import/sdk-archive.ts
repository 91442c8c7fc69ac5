import { membersOf, trimmed } from "../../core/json/spans.js";
import { idOf, type Converted } from "./item.js";
import { textOf, type JsonObject } from "./json-lines.js";

/** Archives of Segment and RudderStack hold the calls as their SDKs sent them, and when they came: the service reads them as they are. */
export function fromSdkArchive(call: JsonObject, text: string): Converted {
  if (textOf(call["messageId"]) !== null) return [text];
  // Without an id a second import would store it again.
  return [withMessageId(text, idOf(text))];
}

/** Before the other members as they were sent: `JSON.stringify` would round long numbers. */
function withMessageId(text: string, id: string): string {
  const body = Buffer.from(text);
  const others = membersOf(body, trimmed(body))!.filter(({ name }) => name !== "messageId");
  const shown = others.map(({ keyStart, end }) => body.toString("utf8", keyStart, end));
  return `{${[`"messageId":"${id}"`, ...shown].join(",")}}`;
}
