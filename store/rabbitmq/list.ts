/** Of a list: a line of JSON with the length of each message, a line feed, then the messages. No message of ours begins like that. */
const BEGIN = Buffer.from('{"list":[');
const LF = 0x0a;

/** Several messages as one, so that the broker keeps all of them or none. */
export function packList(messages: readonly Buffer[]): Buffer {
  const head = `{"list":[${messages.map(({ length }) => length).join(",")}]}\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), ...messages]);
}

/** The messages of a list; anything else is a message itself. */
export function unpackList(body: Buffer): readonly Buffer[] {
  if (!BEGIN.equals(body.subarray(0, BEGIN.length))) return [body];
  const lineEnd = body.indexOf(LF);
  const lengths = lineEnd < 0 ? null : lengthsIn(body.toString("latin1", 0, lineEnd));
  if (lengths === null) return [body];
  const messages: Buffer[] = [];
  let at = lineEnd + 1;
  for (const length of lengths) messages.push(body.subarray(at, (at += length)));
  return at === body.length ? messages : [body];
}

/** Null for what anybody else may have published. */
function lengthsIn(line: string): readonly number[] | null {
  try {
    const { list } = JSON.parse(line) as { readonly list: readonly unknown[] };
    const isSound = list.length > 0 && list.every((length) => Number.isSafeInteger(length) && (length as number) >= 0);
    return isSound ? (list as readonly number[]) : null;
  } catch {
    return null;
  }
}
