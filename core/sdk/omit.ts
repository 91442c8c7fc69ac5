import type { ErrorItem } from "../errors.js";
import { parseJson } from "../json/read.js";
import { membersOf, withoutMembers } from "../json/spans.js";

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
  let left = bytes;
  for (const holder of HOLDERS) left = withoutThose(left, holder, errors);
  left = withoutOwn(left, errors);
  return left.length === bytes.length ? null : { payload: parseJson(left), bytes: left };
}

/** An object that holds properties goes only if it is wrong itself. */
function withoutOwn(bytes: Buffer, errors: readonly ErrorItem[]): Buffer {
  const whole = { start: 0, end: bytes.length };
  const isWrong = (name: string): boolean =>
    errors.some(({ path }) => path === name || (!HOLDERS.includes(name) && path.startsWith(`${name}.`)));
  return withoutMembers(bytes, whole, membersOf(bytes, whole) ?? [], isWrong);
}

function withoutThose(bytes: Buffer, holder: string, errors: readonly ErrorItem[]): Buffer {
  const whole = { start: 0, end: bytes.length };
  const held = membersOf(bytes, whole)?.find(({ name }) => name === holder);
  const members = held === undefined ? null : membersOf(bytes, held);
  if (held === undefined || members === null) return bytes;
  const paths = errors.map(({ path }) => path);
  const isWrong = (name: string): boolean => {
    const place = `${holder}.${name}`;
    return paths.some((path) => path === place || path.startsWith(`${place}.`));
  };
  const cut = withoutMembers(bytes, held, members, isWrong);
  return Buffer.concat([bytes.subarray(0, held.start), cut, bytes.subarray(held.end)]);
}
