import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError, tooLarge } from "../../core/errors.js";

const JSON_CONTENT = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i;

export interface BodyLimit {
  readonly bytesMax: number;
  /** The limit that the caller is told: of the payload alone, where the body may have a little more. */
  readonly toldMax: number;
  /** What the limit is about: an event's payload, or the whole body. */
  readonly path: "payload" | "";
}

/** Refuses by the head alone what would not be read: media type, encoding, announced length. */
export function checkBodyHead(request: IncomingMessage, limit: BodyLimit): void {
  const type = request.headers["content-type"];
  if (type !== "application/json" && (type === undefined || !JSON_CONTENT.test(type)))
    throw new AppError("unsupported_media_type", "Send Content-Type: application/json in UTF-8.");
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity")
    throw new AppError("unsupported_media_type", "Content-Encoding is not supported here.");
  if (Number(request.headers["content-length"] ?? 0) > limit.bytesMax) throw tooLarge(limit.path, limit.toldMax);
}

export const hasBody = (request: IncomingMessage): boolean =>
  request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0;

/** It says that its body takes no more than its connection does. To count it would cost a small event more than to read it. */
export const isSmall = ({ headers }: IncomingMessage): boolean =>
  Number(headers["content-length"] ?? Infinity) <= SMALL_BODY_BYTES;
/** Whether what is made of its body is counted. What comes small may be large once it is inflated. */
export const isCounted = (request: IncomingMessage, bytes: Buffer): boolean =>
  !isSmall(request) || bytes.length > SMALL_BODY_BYTES;
/** Counts what comes out of its body while it is inflated: nothing of what stays small. */
export function countInflated(request: IncomingMessage, add: (bytes: number) => void): (bytes: number) => void {
  let uncounted = 0;
  let isLarge = !isSmall(request);
  return (bytes) => {
    uncounted += bytes;
    isLarge ||= uncounted > SMALL_BODY_BYTES;
    if (!isLarge) return;
    add(uncounted);
    uncounted = 0;
  };
}
const SMALL_BODY_BYTES = 4_096;

const EMPTY = Buffer.alloc(0);

/**
 * The body's bytes. Stops at the limit, and when `took` throws, which is told before more memory is taken, and of what is given back (below
 * zero); rejects when the client goes away.
 */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  limit: BodyLimit,
  took?: (bytes: number) => void,
): Promise<Buffer> {
  if (!hasBody(request)) return Promise.resolve(EMPTY);
  // Only now: a client that sent `Expect` is told to continue once its head was accepted.
  if (request.headers.expect !== undefined) response.writeContinue();
  return new Promise((resolve, reject) => {
    let bytes: Buffer = EMPTY;
    let length = 0;
    const stop = (): void => {
      request.off("data", onData);
      request.off("end", onEnd);
      request.off("error", onGone);
      request.off("close", onGone);
    };
    /** Into one buffer that doubles: kept as they come, chunks of a byte would take two hundred times their bytes. */
    const take = (chunk: Buffer): void => {
      const from = length;
      length += chunk.length;
      if (length > limit.bytesMax) throw tooLarge(limit.path, limit.toldMax);
      if (from === 0) {
        took?.(length);
        bytes = chunk;
        return;
      }
      if (length > bytes.length) {
        const most = Number(request.headers["content-length"] ?? limit.bytesMax);
        const room = Math.max(length, Math.min(2 * from, most));
        took?.(room - bytes.length);
        bytes = moved(bytes, room);
      }
      chunk.copy(bytes, from);
    };
    const onData = (chunk: Buffer): void => {
      try {
        take(chunk);
      } catch (error) {
        stop();
        reject(error instanceof Error ? error : new Error("a body could not be taken"));
      }
    };
    const onEnd = (): void => {
      stop();
      if (length === bytes.length) return resolve(bytes);
      took?.(length - bytes.length);
      resolve(moved(bytes, length));
    };
    const onGone = (): void => {
      stop();
      reject(new AppError("bad_request", "The request ended before its body was complete."));
    };
    request.on("data", onData);
    request.on("end", onEnd);
    request.on("error", onGone);
    request.on("close", onGone);
  });
}

/** As many of the bytes as have room, in a buffer of their own. */
function moved(bytes: Buffer, room: number): Buffer {
  const whole = Buffer.allocUnsafe(room);
  bytes.copy(whole);
  return whole;
}
