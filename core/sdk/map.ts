import { hash } from "node:crypto";
import type { ErrorItem } from "../errors.js";
import { showInstant } from "../event/time.js";
import { newId, sdkEventIdFor, type EventId, type KeyId, type WorkspaceId } from "../ids.js";
import { parseJson } from "../json/read.js";
import { scanJson } from "../json/scan.js";
import { membersOf, withoutMembers } from "../json/spans.js";
import { timeOf, type Received } from "./claimed-time.js";
import { MEMBERS_MAX, memberOf, saidIn, type Envelope } from "./envelope.js";
import { identifiersOf, idText, tooManyIn } from "./identifiers.js";
import { SDK_TYPES, type Mapped, type SdkAlias, type SdkIdentifierSwitches, type SdkType } from "./item.js";

export interface MapOptions extends Received {
  readonly workspace: WorkspaceId;
  /** Of the key that sent it, or that sent it first. */
  readonly sender: KeyId;
  readonly itemBytesMax: number;
  readonly depthMax: number;
  readonly switches: SdkIdentifierSwitches;
  /** Of an item that does not say it: its path did. */
  readonly type: SdkType | null;
}

/** What the mapping has read stands in the event; the rest is its payload. */
const READ: ReadonlySet<string> = new Set(["type", "messageId", "userId", "anonymousId", "previousId", "writeKey"]);
/** An SDK makes them anew when it sends an item again. */
const CHANGING: ReadonlySet<string> = new Set(["sentAt", "_metadata", "integrations", "writeKey"]);

/** From the calls of an SDK to events, one at a time, because many of them take long. */
export function* mapItems(body: Buffer, envelope: Envelope, options: MapOptions): Generator<Mapped, void> {
  for (const [index, { start, end }] of envelope.items.entries())
    yield mapItem(body.subarray(start, end), index, envelope, options);
}

function mapItem(sent: Buffer, index: number, envelope: Envelope, options: MapOptions): Mapped {
  // Of one that is too large only a trace is kept.
  const membersMax = sent.length > options.itemBytesMax ? MEMBERS_MAX : Infinity;
  const found = membersOf(sent, { start: 0, end: sent.length }, membersMax);
  const members = found ?? [];
  const cut = (names: ReadonlySet<string>): Buffer =>
    withoutMembers(sent, { start: 0, end: sent.length }, members, (name) => names.has(name));
  const given = saidIn(sent, members, "messageId");
  const messageId = idText(given) ?? null;
  const eventId = eventIdOf(options, messageId);
  const unfit = (errors: readonly ErrorItem[], keeps: Unread["keeps"] = "all"): Mapped => {
    const said = saidIn(sent, members, "type") ?? options.type;
    const type = typeof said === "string" ? said : null;
    const bytes = keeps === "all" ? cut(SECRET) : traceOf(sent.length, { type, messageId });
    const lasting = cut(CHANGING);
    // Of what is not kept no hash is kept either, with which one could test a guess of whom the item names.
    const fingerprint = hashOf(keeps === "all" ? lasting : traceOf(lasting.length, { type, messageId }));
    return { kind: "unfit", index, messageId, eventId, fingerprint, type, bytes, errors };
  };

  if (found === null && sent[0] === OPEN_BRACE) return unfit([NOT_JSON], "trace");
  const read = readItem(sent, options);
  if ("error" in read) return unfit([read.error], read.keeps);
  const { item } = read;
  const type = memberOf(item, "type") ?? options.type;
  const [userId, anonymousId, previousId] = IDS.map((name) => idText(memberOf(item, name)));
  const time = timeOf(item, envelope, options);
  const errors: ErrorItem[] = [];
  if (!isSdkType(type)) errors.push({ path: "type", message: `must be one of ${SDK_TYPES.join(", ")}` });
  if (idText(given) === undefined) errors.push({ path: "messageId", message: NO_ID });
  for (const name of IDS) if (idText(memberOf(item, name)) === undefined) errors.push({ path: name, message: NO_ID });
  if (type === "alias")
    for (const name of ALIAS)
      if (idText(memberOf(item, name)) === null) errors.push({ path: name, message: "is required" });
  if (typeof time !== "string") errors.push(time);
  if (errors.length > 0 || !isSdkType(type) || typeof time !== "string") return unfit(errors);

  const bytes = cut(READ);
  const ids = { userId: userId ?? null, anonymousId: anonymousId ?? null };
  return {
    kind: "item",
    item: {
      index,
      type,
      name: nameOf(item, type),
      messageId,
      eventId,
      fingerprint: hashOf(cut(CHANGING)),
      timestamp: showInstant(time),
      instant: time,
      identifiers: identifiersOf(item, type, ids, options.switches),
      alias: type === "alias" ? aliasOf(previousId ?? null, ids.userId) : null,
      payload: Object.fromEntries(Object.entries(item).filter(([name]) => !READ.has(name))),
      bytes,
    },
  };
}

/** `trace`: it is not kept itself, because an erasure would not find all that it names. */
interface Unread {
  readonly error: ErrorItem;
  readonly keeps: "all" | "trace";
}

function readItem(sent: Buffer, { itemBytesMax, depthMax }: MapOptions): Unread | { readonly item: object } {
  const unread = (keeps: Unread["keeps"], message: string, path = ""): Unread => ({ error: { path, message }, keeps });
  if (sent.length > itemBytesMax) return unread("trace", `must have at most ${itemBytesMax} bytes`);
  const { problem } = scanJson(sent, depthMax);
  if (problem?.kind === "malformed") return { error: NOT_JSON, keeps: "trace" };
  // The scan ended there, and of a key that is there twice a reader sees one.
  if (problem?.kind === "duplicate_key" || problem?.kind === "too_deep")
    return unread("trace", problem.message, problem.path);
  const item = parsed(sent);
  // Python writes NaN where a number is none, and the other calls of the batch are right.
  if (item === undefined) return { error: NOT_JSON, keeps: "trace" };
  const tooMany = tooManyIn(item);
  if (tooMany !== null) return unread("trace", tooMany.message, tooMany.path);
  if (problem !== null) return unread("all", problem.message, problem.path);
  if (typeof item !== "object" || item === null || Array.isArray(item)) return unread("all", "must be an object");
  return { item };
}

const OPEN_BRACE = 0x7b;
const hashOf = (bytes: Buffer): string => hash("sha256", bytes, "base64");
const NOT_JSON: ErrorItem = { path: "", message: "is not valid JSON" };
const SECRET: ReadonlySet<string> = new Set(["writeKey"]);
const IDS = ["userId", "anonymousId", "previousId"] as const;
const ALIAS = ["userId", "previousId"] as const;
const NO_ID = "must be a string or a number";

/** Undefined: it is no JSON. */
function parsed(sent: Buffer): unknown {
  try {
    return parseJson(sent);
  } catch {
    return undefined;
  }
}

const isSdkType = (type: unknown): type is SdkType => (SDK_TYPES as readonly unknown[]).includes(type);

/** A client that lost nothing keeps its ids when it sends again; without one a repeat is a new event. */
const eventIdOf = ({ workspace, sender }: MapOptions, messageId: string | null): EventId =>
  messageId === null ? newId<EventId>() : sdkEventIdFor(workspace, sender, messageId);

interface Trace {
  readonly type: string | null;
  readonly messageId: string | null;
}

/** What is left of an item that is not kept itself. */
function traceOf(bytes: number, { type, messageId }: Trace): Buffer {
  return Buffer.from(JSON.stringify({ type: unlessLong(type), messageId: unlessLong(messageId), bytes }));
}
const TRACE_CHARACTERS_MAX = 255;
/** A text that is kept beside a payload, or in its place, must not be as large as one. */
export const unlessLong = (text: string | null): string | null =>
  text === null || text.length > TRACE_CHARACTERS_MAX ? null : text;

function nameOf(item: object, type: SdkType): string | null {
  const name =
    type === "track" ? memberOf(item, "event") : type === "page" || type === "screen" ? memberOf(item, "name") : null;
  return typeof name === "string" ? name : null;
}

/** Segment's browser SDK sends both sides alike when it has told the user before: that says nothing. */
const aliasOf = (previous: string | null, known: string | null): SdkAlias | null =>
  previous === null || known === null || previous === known
    ? null
    : { previous, known: { namespace: "user_id", value: known } };
