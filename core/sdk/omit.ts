import { inPath, type ErrorItem } from "../errors.js";
import { parseJson } from "../json/read.js";
import { membersOf, withoutMembers, type MemberSpan } from "../json/spans.js";

/** The objects of an item whose members are its properties, beside its own members. */
const HOLDERS: readonly string[] = ["properties", "traits", "context"];

export interface Omitted {
  readonly payload: unknown;
  readonly bytes: Buffer;
}

/**
 * The payload without the properties in which something is wrong: the member of `properties`, `traits` or `context` that a problem's path
 * leads into, or the item's own member. What is left stays as it was sent. Null when no problem leads into one, as when a property is
 * missing.
 */
export function omitProperties(bytes: Buffer, errors: readonly ErrorItem[]): Omitted | null {
  // What is about the whole item leads nowhere.
  let paths: readonly string[] = errors.map(({ path }) => path).filter((path) => path !== "");
  let left = bytes;
  for (const holder of HOLDERS) [left, paths] = withoutHeld(left, holder, paths);
  left = withoutOwn(left, paths);
  return left.length === bytes.length ? null : { payload: parseJson(left), bytes: left };
}

/** Answers the paths too that lead into no member of the holder. */
function withoutHeld(bytes: Buffer, holder: string, paths: readonly string[]): readonly [Buffer, readonly string[]] {
  const held = membersOf(bytes, { start: 0, end: bytes.length })?.find(({ name }) => name === holder);
  const members = held === undefined ? null : membersOf(bytes, held);
  if (held === undefined || members === null) return [bytes, paths];
  const names = namesIn(bytes, members);
  const wrong = new Set<string>();
  const others = paths.filter((path) => {
    const name = path.startsWith(`${holder}.`) ? nameAt(names, path.slice(holder.length + 1)) : null;
    if (name !== null) wrong.add(name);
    return name === null;
  });
  const cut = withoutMembers(bytes, held, members, (name) => wrong.has(inPath(name)));
  return [Buffer.concat([bytes.subarray(0, held.start), cut, bytes.subarray(held.end)]), others];
}

/** An object that holds properties goes only if it is wrong itself. */
function withoutOwn(bytes: Buffer, paths: readonly string[]): Buffer {
  const whole = { start: 0, end: bytes.length };
  const members = membersOf(bytes, whole) ?? [];
  const others = members.filter(({ name }) => !HOLDERS.includes(name));
  const names = namesIn(bytes, others);
  const wrong = new Set(paths.map((path) => (HOLDERS.includes(path) ? path : nameAt(names, path))));
  return withoutMembers(bytes, whole, members, (name) => wrong.has(inPath(name)));
}

/** By name, whether anything can be below the value: an object or a list. */
type Names = ReadonlyMap<string, boolean>;
const namesIn = (bytes: Buffer, members: readonly MemberSpan[]): Names =>
  new Map(members.map(({ name, start }) => [inPath(name), BRACKETS.includes(bytes[start]!)]));
const BRACKETS = Buffer.from("{[");

/** The longest of these names that the path is at or below: a name may hold dots, and `utm` is right where `utm.source` is wrong. */
function nameAt(names: Names, path: string): string | null {
  const max = inPath(path).length;
  for (let end = max < path.length ? path.lastIndexOf(".", max) : max; end >= 0; end = dotBefore(path, end)) {
    const name = path.slice(0, end);
    if (end === path.length ? names.has(name) : names.get(name) === true) return name;
  }
  return null;
}
/** Negative: there is none. */
const dotBefore = (path: string, end: number): number => (end === 0 ? -1 : path.lastIndexOf(".", end - 1));
