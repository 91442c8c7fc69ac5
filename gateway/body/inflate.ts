import { createGunzip } from "node:zlib";

export interface InflateOptions {
  /** Of what comes out. Nothing more is inflated beyond it, however much more there is. */
  readonly bytesMax: number;
  /** Told each part that came out, before the next; what it throws ends the work. */
  readonly took?: (bytes: number) => void;
}

/** `broken`: it is no gzip, or ends early, or its checksum is wrong. */
export type Inflated =
  | { readonly kind: "inflated"; readonly bytes: Buffer }
  | { readonly kind: "too_large" }
  | { readonly kind: "broken" };

/** Whether the bytes say so themselves: some SDKs compress without a header. No JSON text begins like that. */
export const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

const CHUNK_BYTES = 65_536;
/** zlib's words for bytes that are wrong; any other failure is ours. */
const BROKEN = new Set(["Z_DATA_ERROR", "Z_BUF_ERROR", "Z_NEED_DICT"]);

/** In parts, on the threads of zlib: 4 MiB at once would hold the event loop, and a bomb is given up at the limit. */
export async function inflate(gzip: Buffer, { bytesMax, took }: InflateOptions): Promise<Inflated> {
  const stream = createGunzip({ chunkSize: CHUNK_BYTES });
  const parts: Buffer[] = [];
  let length = 0;
  stream.end(gzip);
  try {
    for await (const part of stream as AsyncIterable<Buffer>) {
      length += part.length;
      // Leaving the loop destroys the stream.
      if (length > bytesMax) return { kind: "too_large" };
      took?.(part.length);
      parts.push(part);
    }
  } catch (error) {
    if (BROKEN.has(String((error as { readonly code?: unknown }).code))) return { kind: "broken" };
    throw error;
  }
  return { kind: "inflated", bytes: parts.length === 1 ? parts[0]! : Buffer.concat(parts, length) };
}
