import type { Request, Response } from "express";
import { AppError, tooLarge } from "../../core/errors.js";
import type { HeldBytes } from "../body/budget.js";
import { inflate, isGzip } from "../body/inflate.js";
import { countInflated, isSmall, readBody } from "../body/read.js";

/**
 * The body as text. SDKs send JSON under other media types, and compressed with or without a header that says so, so only its bytes
 * count. Throws `payload_too_large` beyond the limit, as it comes or inflated.
 */
export async function readSdkBody(
  request: Request,
  response: Response,
  bytesMax: number,
  held: HeldBytes,
): Promise<Buffer> {
  const encoding = request.headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (encoding !== "gzip" && encoding !== "identity")
    throw new AppError("unsupported_media_type", "Content-Encoding must be gzip or identity.");
  if (Number(request.headers["content-length"] ?? 0) > bytesMax) throw tooLarge("", bytesMax);
  const came = isSmall(request) ? undefined : held.came;
  const sent = await readBody(request, response, { bytesMax, toldMax: bytesMax, path: "" }, came);
  if (encoding !== "gzip" && !isGzip(sent)) return sent;
  const inflated = await inflate(sent, { bytesMax, took: countInflated(request, held.add) });
  if (came !== undefined) held.add(-sent.length);
  if (inflated.kind === "too_large") throw tooLarge("", bytesMax);
  if (inflated.kind === "broken") throw new AppError("bad_request", "The body is not valid gzip, or is incomplete.");
  return inflated.bytes;
}
