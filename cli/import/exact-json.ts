import { randomUUID } from "node:crypto";
import { parseNumbersAsSent } from "../../core/json/read.js";

/** Stands before the digits of a number that a double would change. It is made up here, so no file can hold it. */
const MARK = `${randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}([^"]+)"`, "g");

/** As `JSON.parse`, but such a number is kept as a text, which `writeExactly` writes as the number that it was. */
export function readExactly(text: string): unknown {
  // With texts for numbers, more would be JSON than is.
  JSON.parse(text);
  return parseNumbersAsSent(Buffer.from(text), MARK);
}

export const writeExactly = (value: unknown): string => JSON.stringify(value).replaceAll(MARKED, "$1");

/** The digits alone, of a text that may be such a number. */
export const digitsOf = (text: string): string => (text.startsWith(MARK) ? text.slice(MARK.length) : text);
