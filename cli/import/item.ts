import { createHash } from "node:crypto";

/** One call of an SDK or event of a file, as it is sent. */
export interface Item {
  readonly kind: "item";
  /** `file:line`. */
  readonly place: string;
  /** JSON text. */
  readonly text: string;
  /** Of the text. */
  readonly bytes: number;
}

/** What cannot be sent, and why. */
export interface Problem {
  readonly kind: "problem";
  readonly place: string;
  readonly message: string;
}

export type Found = Item | Problem;

/** JSON texts, or what is wrong. */
export type Converted = readonly string[] | { readonly problem: string };

export function* foundOf(place: string, converted: Converted): Generator<Found> {
  if ("problem" in converted) yield { kind: "problem", place, message: converted.problem };
  else for (const text of converted) yield { kind: "item", place, text, bytes: Buffer.byteLength(text) };
}

/** An id that is the same when the same is imported again. */
export const idOf = (...parts: readonly string[]): string => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return `import-${hash.digest("hex")}`;
};
