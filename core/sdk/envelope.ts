import { isUtf8 } from "node:buffer";
import { AppError } from "../errors.js";
import { parseJson, scanError } from "../json/read.js";
import { scanStrictly } from "../json/scan.js";
import { elementsOf, membersOf, trimmed, type MemberSpan, type Span } from "../json/spans.js";

/** What stands around the items of a request. */
export interface Envelope {
  readonly items: readonly Span[];
  /** When the SDK sent the request, as it says; not checked. */
  readonly sentAt: unknown;
  /** The SDK's name, where it says it only once for all items. */
  readonly library: unknown;
  /** `writeKey` of the body and of its first item; undefined where it is not there. */
  readonly writeKeys: readonly unknown[];
}

export const ITEMS_MAX = 2_500;
/** So many are looked at where nobody has looked at the size of the whole: of hundreds of thousands the names alone take long. */
export const MEMBERS_MAX = 10_000;

/**
 * Finds the items of a request without reading them: one that is wrong must not hide the others. `isBatch`: they stand in `batch`; else
 * the body is one item. Throws `invalid_json` for what nobody can read, `payload_too_large` for too many items, or too
 * much around them.
 */
export function openEnvelope(body: Buffer, isBatch: boolean): Envelope {
  const whole = trimmed(body);
  const members = isUtf8(body) ? membersOf(body, whole, MEMBERS_MAX) : null;
  if (members === null) throw new AppError("invalid_json", "The body is not a JSON object in UTF-8.");
  if (!isBatch)
    return {
      items: [whole],
      sentAt: saidIn(body, members, "sentAt"),
      library: undefined,
      writeKeys: [saidIn(body, members, "writeKey")],
    };
  if (members.length === MEMBERS_MAX) throw tooMuch("", `must have less than ${MEMBERS_MAX} members`);
  const items = itemsOf(body, members);
  requireJsonAround(body, members);
  const valueOf = (name: string): unknown => valueIn(body, members, name);
  const first = items[0] === undefined ? null : membersOf(body, items[0], MEMBERS_MAX);
  const own = valueOf("writeKey");
  return {
    items,
    sentAt: valueOf("sentAt"),
    library: libraryIn(valueOf("context")),
    writeKeys: first === null ? [own] : [own, saidIn(body, first, "writeKey")],
  };
}

/** `writeKey` of a body that cannot be read, in the same places: as far as one can be found. */
export function writeKeysIn(body: Buffer, isBatch: boolean): readonly unknown[] {
  const members = isUtf8(body) ? membersOf(body, trimmed(body), MEMBERS_MAX) : null;
  if (members === null) return [];
  const batch = isBatch ? members.findLast(({ name }) => name === "batch") : undefined;
  const [first] = (batch && elementsOf(body, batch, 1)) ?? [];
  const ofFirst = first === undefined ? null : membersOf(body, first, MEMBERS_MAX);
  return [members, ofFirst ?? []].map((some) => saidIn(body, some, "writeKey"));
}

/** Members that nobody reads are looked at too: what stands around the items must be JSON. Their own is looked at one by one. */
function requireJsonAround(body: Buffer, members: readonly MemberSpan[]): void {
  const batch = members.find(({ name }) => name === "batch")!;
  let bytes = 0;
  for (const { name, start, end } of members) {
    if (name === "batch" || body[start] === QUOTE) continue;
    bytes += end - start;
    // A text is looked at in no time, but many small things in an object are not, and no SDK sends so much around its items.
    if (bytes > OBJECT_BYTES_MAX) throw tooMuch(name.slice(0, 64), `must have at most ${OBJECT_BYTES_MAX} bytes`);
  }
  const around = Buffer.concat([body.subarray(0, batch.start), EMPTY_LIST, body.subarray(batch.end)]);
  const problem = scanStrictly(around, AROUND_DEPTH_MAX);
  if (problem !== null) throw scanError(problem, problem.path, AROUND_DEPTH_MAX);
}
const EMPTY_LIST = Buffer.from("[]");
const AROUND_DEPTH_MAX = 64;

function itemsOf(body: Buffer, members: readonly MemberSpan[]): readonly Span[] {
  const batch = members.filter(({ name }) => name === "batch");
  // Readers disagree about which of two counts.
  if (batch.length > 1) throw new AppError("invalid_json", "batch: is a duplicate key.");
  const items = batch[0] === undefined ? null : elementsOf(body, batch[0], ITEMS_MAX);
  if (items === null) {
    const message = batch[0] === undefined ? "is required" : "must be an array";
    throw new AppError("bad_request", `batch: ${message}.`, { errors: [{ path: "batch", message }] });
  }
  if (items.length <= ITEMS_MAX) return items;
  throw tooMuch("batch", `must have at most ${ITEMS_MAX} items`);
}

const tooMuch = (path: string, message: string): AppError =>
  new AppError("payload_too_large", `${path === "" ? "The body" : `${path}:`} ${message}.`, {
    errors: [{ path, message }],
  });

/** One that is there twice is that of its last place, as `JSON.parse` has it. A large object is not read: no small thing is in it. */
function valueIn(body: Buffer, members: readonly MemberSpan[], name: string): unknown {
  const member = members.findLast((one) => one.name === name);
  if (member === undefined) return undefined;
  if (body[member.start] !== QUOTE && member.end - member.start > OBJECT_BYTES_MAX) return undefined;
  return parseJson(body.subarray(member.start, member.end));
}

/** The same of an item, in which what is no JSON says nothing: the item is looked at later, and must not hide the others. */
export function saidIn(body: Buffer, members: readonly MemberSpan[], name: string): unknown {
  try {
    return valueIn(body, members, name);
  } catch {
    return undefined;
  }
}

const QUOTE = 0x22;
const OBJECT_BYTES_MAX = 65_536;

export const libraryIn = (context: unknown): unknown => memberOf(memberOf(context, "library"), "name");

/** Undefined where there is no such object or member. */
export const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
