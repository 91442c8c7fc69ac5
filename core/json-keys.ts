/** Objects with more keys than this are compared through a Set: linear, whatever the keys. */
const LISTED_MAX = 16;

/** The keys of all open objects, innermost last: three numbers each, so that a small object allocates nothing. */
export interface KeyStack {
  /** hash, start, end of each key. */
  readonly slots: number[];
  top: number;
}

/** Where the keys of one object begin, and their Set once they are many. */
export interface KeyScope {
  readonly base: number;
  many: Set<string> | null;
}

export const openScope = (stack: KeyStack): KeyScope => ({ base: stack.top, many: null });
export const closeScope = (stack: KeyStack, { base }: KeyScope): void => {
  stack.top = base;
};

/** Adds the key between its quotes, of this hash (see `hashOf`); false when the object has it already. */
export function addKey(
  stack: KeyStack,
  scope: KeyScope,
  body: Buffer,
  hash: number,
  start: number,
  end: number,
): boolean {
  if (scope.many !== null) return addToSet(scope.many, keyText(body, start, end));
  const { slots } = stack;
  for (let at = scope.base; at < stack.top; at += 3)
    if (slots[at] === hash && keyText(body, slots[at + 1]!, slots[at + 2]!) === keyText(body, start, end)) return false;
  if (stack.top - scope.base === LISTED_MAX * 3) {
    scope.many = new Set();
    for (let at = scope.base; at < stack.top; at += 3) scope.many.add(keyText(body, slots[at + 1]!, slots[at + 2]!));
    return addToSet(scope.many, keyText(body, start, end));
  }
  slots[stack.top] = hash;
  slots[stack.top + 1] = start;
  slots[stack.top + 2] = end;
  stack.top += 3;
  return true;
}

function addToSet(set: Set<string>, text: string): boolean {
  const before = set.size;
  set.add(text);
  return set.size > before;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** One character per byte of the unescaped key in UTF-8: equal for keys that JSON reads alike, and cheap to make. */
function keyText(body: Buffer, start: number, end: number): string {
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

export const HASH_START = 7;
/** One step of the hash over the bytes of an unescaped key. */
export const hashStep = (hash: number, byte: number): number => (Math.imul(hash, 31) + byte) | 0;

/** The hash of a key that holds escapes: the same as if it were sent without them. */
export function hashOf(body: Buffer, start: number, end: number): number {
  const text = keyText(body, start, end);
  let hash = HASH_START;
  for (let at = 0; at < text.length; at += 1) hash = hashStep(hash, text.charCodeAt(at));
  return hash;
}
