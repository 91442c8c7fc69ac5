import { isUtf8 } from "node:buffer";
import { digitsOf } from "./exact-json.js";
import { foundOf, type Converted, type Found } from "./item.js";
import { allLinesOf, TOO_LONG, withoutReturn } from "./lines.js";

export type JsonObject = Readonly<Record<string, unknown>>;
export type Convert = (object: JsonObject, text: string) => Converted;

/** An object on each line that holds something. */
export async function* fromJsonLines(
  file: string,
  chunks: AsyncIterable<Uint8Array>,
  convert: Convert,
): AsyncGenerator<Found> {
  for await (const { number, bytes } of allLinesOf(chunks)) {
    const held = bytes === null ? null : withoutReturn(bytes);
    if (held?.length === 0) continue;
    yield* foundOf(`${file}:${number}`, held === null ? { problem: TOO_LONG } : convertLine(held, convert));
  }
}

function convertLine(bytes: Buffer, convert: Convert): Converted {
  if (!isUtf8(bytes)) return { problem: "is not UTF-8" };
  const text = bytes.toString("utf8");
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? convert(value, text) : { problem: "is not a JSON object" };
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: "is not valid JSON" };
    throw error;
  }
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const textOf = (value: unknown): string | null =>
  typeof value === "string" && value !== "" ? digitsOf(value) : typeof value === "number" ? String(value) : null;
