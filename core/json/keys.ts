const LONE_SURROGATE = /\p{Surrogate}/u;

/** One character per byte of the key in UTF-8, without its escapes: equal for keys that JSON reads alike, and cheap to make. */
export function keyText(body: Buffer, start: number, end: number): string {
  const text = body.toString("latin1", start, end);
  if (!text.includes("\\")) return text;
  const key = decodeKey(body, start, end);
  // Half a pair has no UTF-8; the mark is no byte, so nothing else looks like this.
  return LONE_SURROGATE.test(key) ? `\u0100${key}` : Buffer.from(key).toString("latin1");
}

/** The key as JSON reads it; its escapes were checked before. */
export function decodeKey(body: Buffer, start: number, end: number): string {
  const text = body.toString("utf8", start, end);
  return text.includes("\\") ? (JSON.parse(`"${text}"`) as string) : text;
}
