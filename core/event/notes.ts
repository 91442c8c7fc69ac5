import { moreThan, type ErrorItem } from "../errors.js";

/** An identifier as a door found it, with the place where it stood. */
export interface NamedIdentifier {
  readonly path: string;
  readonly namespace: string;
  readonly value: string;
}

/** What a replay needs beside the payload, to judge it again as its door did. */
export type Origin =
  /** An item of an SDK; the payload is its own. */
  | {
      readonly kind: "item";
      readonly type: string;
      readonly name: string | null;
      readonly messageId: string | null;
      /** Those that stood where the payload has nothing any more. */
      readonly identifiers: readonly NamedIdentifier[];
      readonly previous: string | null;
    }
  /** An item that can be no event, as it was sent; or what is left of it. */
  | { readonly kind: "unfit"; readonly type: string | null; readonly messageId: string | null }
  /** The body of a `collect`, or an item of its batch. */
  | { readonly kind: "collect" | "batch" };

/** It is not an event: it is kept as a dead letter, with what is wrong with it. */
export interface Verdict {
  readonly reason: "quarantined" | "rejected";
  readonly errors: readonly ErrorItem[];
  /** As `KeyRecord` of the key that sent it: a replay links no more than the first sending could. */
  readonly send: "collect" | "all" | null;
  readonly origin: Origin;
}

/** What acceptance by policy decided about an event, beyond the event itself. */
export interface EventNotes {
  /** A later event of the same id with another fingerprint is only counted. */
  readonly countsMismatch: boolean;
  /** What is wrong with it although it was accepted. */
  readonly violations: readonly ErrorItem[];
  /** No value at or below these places in its payload must become a trait; the empty one is the whole payload. */
  readonly unfolded: readonly string[];
  readonly verdict: Verdict | null;
}

const VIOLATIONS_MAX = 20;
/** Of their paths and messages: as many as the payload has bytes, within these. */
const [CHARACTERS_MIN, CHARACTERS_MAX] = [2_048, 32_768];

/** As many problems as an event with so large a payload carries with it; one at least. */
export function shortened(errors: readonly ErrorItem[], bytes: number): readonly ErrorItem[] {
  const max = Math.min(CHARACTERS_MAX, Math.max(CHARACTERS_MIN, bytes));
  let [count, characters] = [0, 0];
  for (const { path, message } of errors) {
    characters += path.length + message.length;
    if (count === VIOLATIONS_MAX || (count > 0 && characters > max)) break;
    count += 1;
  }
  return errors.length > count ? [...errors.slice(0, count), moreThan(count)] : errors;
}

/** What is wrong with the event, whatever was decided about it. */
export const violationsOf = (notes: EventNotes | null): readonly ErrorItem[] =>
  notes === null ? [] : (notes.verdict?.errors ?? notes.violations);

type Unread<T> = Partial<Record<keyof T, unknown>>;
const read = <T>(value: unknown): Unread<T> => (typeof value === "object" && value !== null ? value : {});
const isText = (value: unknown): value is string => typeof value === "string";
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);
const isListOf = (value: unknown, holds: (one: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(holds);
const isError = (value: unknown): boolean =>
  isText(read<ErrorItem>(value).path) && isText(read<ErrorItem>(value).message);

/** Whether a message's header has notes as this build writes them. */
export function isNotes(value: unknown): value is EventNotes {
  const { countsMismatch, violations, unfolded, verdict } = read<EventNotes>(value);
  return (
    typeof countsMismatch === "boolean" &&
    isListOf(violations, isError) &&
    isListOf(unfolded, isText) &&
    (verdict === null || isVerdict(verdict))
  );
}

function isVerdict(value: unknown): boolean {
  const { reason, errors, send, origin } = read<Verdict>(value);
  return (
    (reason === "quarantined" || reason === "rejected") &&
    isListOf(errors, isError) &&
    (send === null || send === "collect" || send === "all") &&
    isOrigin(origin)
  );
}

function isOrigin(value: unknown): boolean {
  const { kind, type, name, messageId, identifiers, previous } = read<Extract<Origin, { kind: "item" }>>(value);
  if ((kind as Origin["kind"]) === "collect" || (kind as Origin["kind"]) === "batch") return true;
  if ((kind as Origin["kind"]) === "unfit") return isTextOrNull(type) && isTextOrNull(messageId);
  return (
    kind === "item" && isText(type) && [name, messageId, previous].every(isTextOrNull) && isListOf(identifiers, isNamed)
  );
}

function isNamed(value: unknown): boolean {
  const { path, namespace, value: text } = read<NamedIdentifier>(value);
  return [path, namespace, text].every(isText);
}
