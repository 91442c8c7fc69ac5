import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError, mismatch, tooLarge } from "../../core/errors.js";
import { scanError } from "../../core/json/read.js";
import { scanStrictly, type ScanProblem } from "../../core/json/scan.js";
import { elementsOf, elementsOfOnly, isClosed, membersOf, trimmed, type Span } from "../../core/json/spans.js";
import type { HeldBytes } from "./budget.js";
import { inflate, isGzip } from "./inflate.js";
import { countInflated, isCounted, isSmall, readBody, type BodyLimit } from "./read.js";

/** The events of a request, each as it was sent. */
export interface Batch {
  readonly items: readonly Buffer[];
  /** Of JSON, not of a line each. */
  readonly isOneText: boolean;
}

export const BATCH_EVENTS_MAX = 1_000;
const TYPE = /^application\/(json|x-ndjson)\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i;
const GZIP = /^(?:x-)?gzip$/i;
const TAKEN = { Accept: "application/json, application/x-ndjson", "Accept-Encoding": "gzip, identity" };

interface Head {
  readonly isOneText: boolean;
  readonly isGzip: boolean;
}

/** Refuses by the head alone what would not be read. */
export function checkBatchHead({ headers }: IncomingMessage, { bytesMax, toldMax, path }: BodyLimit): Head {
  const type = TYPE.exec(headers["content-type"] ?? "")?.[1]?.toLowerCase();
  if (type === undefined)
    throw new AppError(
      "unsupported_media_type",
      "Send Content-Type: application/json or application/x-ndjson in UTF-8.",
      { headers: TAKEN },
    );
  const encoding = headers["content-encoding"] ?? "identity";
  if (!GZIP.test(encoding) && encoding.toLowerCase() !== "identity")
    throw new AppError("unsupported_media_type", "Send Content-Encoding: gzip, or none.", { headers: TAKEN });
  if (Number(headers["content-length"] ?? 0) > bytesMax) throw tooLarge(path, toldMax);
  return { isOneText: type === "json", isGzip: GZIP.test(encoding) };
}

/** Each copy of the bytes is held, unless they are few: as they came, inflated, and twice for what is made of them, parsed and queued. */
export async function readBatch(
  request: IncomingMessage,
  response: ServerResponse,
  limit: BodyLimit,
  held: HeldBytes,
  /** Of JSON that is no NDJSON: `{"events":[...]}`. The items' own depth is looked at one by one. */
  member: string,
): Promise<Batch> {
  const head = checkBatchHead(request, limit);
  const sent = await readBody(request, response, limit, isSmall(request) ? undefined : held.came);
  const bytes = head.isGzip || isGzip(sent) ? await inflated(sent, limit, countInflated(request, held.add)) : sent;
  if (isCounted(request, bytes)) held.add(2 * bytes.length);
  const items = head.isOneText ? elementsIn(bytes, member) : linesIn(bytes);
  if (items.length > 0 && items.length <= BATCH_EVENTS_MAX) return { items, isOneText: head.isOneText };
  throw mismatch([{ path: member, message: `must have 1 to ${BATCH_EVENTS_MAX} items` }]);
}

async function inflated(
  gzip: Buffer,
  { bytesMax, toldMax, path }: BodyLimit,
  took: (bytes: number) => void,
): Promise<Buffer> {
  const result = await inflate(gzip, { bytesMax, took });
  if (result.kind === "inflated") return result.bytes;
  if (result.kind === "too_large") throw tooLarge(path, toldMax);
  throw new AppError("bad_request", "The body is not valid gzip, or is incomplete.");
}

const partsOf = (body: Buffer, spans: readonly Span[]): readonly Buffer[] =>
  spans.map(({ start, end }) => body.subarray(start, end));

/** At most one more than are allowed. */
function elementsIn(body: Buffer, member: string): readonly Buffer[] {
  const whole = trimmed(body);
  const only = elementsOfOnly(body, whole, member, BATCH_EVENTS_MAX);
  return partsOf(body, only ?? elementsOfMember(body, whole, member));
}

/** It has one; more than this of them are not looked at. */
const MEMBERS_MAX = 64;

/** Throws what is wrong with the whole. */
function elementsOfMember(body: Buffer, whole: Span, member: string): readonly Span[] {
  const members = membersOf(body, whole, MEMBERS_MAX);
  if (members === null) throw notAnObject(body, whole);
  const names = members.map(({ name }) => name);
  if (new Set(names).size < names.length) throw new AppError("invalid_json", "The body has a duplicate key.");
  const events = members.find(({ name }) => name === member);
  const unknown = names.filter((name) => name !== member);
  const isMissing = events === undefined && names.length < MEMBERS_MAX;
  if (events === undefined || unknown.length > 0)
    throw mismatch([
      ...(isMissing ? [{ path: member, message: "is required" }] : []),
      ...unknown.slice(0, 1).map((name) => ({ path: name.slice(0, 64), message: "is not a known field" })),
    ]);
  const elements = elementsOf(body, events, BATCH_EVENTS_MAX);
  if (elements === null) throw notAnArray(body.subarray(events.start, events.end), member);
  return elements;
}

const DEPTH_MAX = 64;
/** What is larger is an array or object by its brackets: to read megabytes would hold up everybody, and it is refused either way. */
const READ_BYTES_MAX = 65_536;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const notJson = (): AppError => new AppError("invalid_json", "The body is not valid JSON.");

/** Null: it is none, or nested more deeply than is looked at. */
function problemIn(bytes: Buffer): ScanProblem | null {
  const problem = scanStrictly(bytes, bytes.length > READ_BYTES_MAX ? 0 : DEPTH_MAX);
  return problem?.kind === "too_deep" ? null : problem;
}

function notAnObject(body: Buffer, whole: Span): AppError {
  const problem = problemIn(body);
  if (problem !== null) return scanError(problem, problem.path, DEPTH_MAX);
  return body[whole.start] === OPEN_BRACE || !isClosed(body, whole)
    ? notJson()
    : mismatch([{ path: "", message: "must be an object" }]);
}

const notAnArray = (value: Buffer, member: string): AppError =>
  value[0] === OPEN_BRACKET || problemIn(value) !== null
    ? notJson()
    : mismatch([{ path: member, message: "must be an array" }]);

const LF = 0x0a;

/** Without empty ones, such as the one behind the last line feed. At most one more than are allowed. */
function linesIn(body: Buffer): readonly Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < body.length && lines.length <= BATCH_EVENTS_MAX;) {
    const found = body.indexOf(LF, start);
    const end = found < 0 ? body.length : found;
    const line = body.subarray(start, end);
    const { start: from, end: to } = trimmed(line);
    if (from < to) lines.push(line.subarray(from, to));
    start = end + 1;
  }
  return lines;
}
