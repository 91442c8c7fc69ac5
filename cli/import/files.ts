import { createReadStream, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { CliError, EXIT } from "../fail.js";
import type { World } from "../world.js";

export const STDIN = "-";
const CHUNK_BYTES = 262_144;

export interface Files {
  readonly names: readonly string[];
  /** As they are on disk; null: nobody knows. */
  readonly bytes: number | null;
  readonly mayBeReadTwice: boolean;
}

/** Files, and all files in folders, by name: archives name them by time. */
export function filesAt(places: readonly string[]): Files {
  const names = places.flatMap((place) =>
    place !== STDIN && statSync(place).isDirectory() ? filesIn(place) : [place],
  );
  const stats = names.map((name) => (name === STDIN ? null : statSync(name)));
  // A pipe is empty after the first time, and has no size.
  const mayBeReadTwice = stats.every((stat) => stat?.isFile() === true);
  const bytes = mayBeReadTwice ? stats.reduce((sum, stat) => sum + stat!.size, 0) : null;
  return { names, bytes, mayBeReadTwice };
}

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith("."))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .toSorted();

/** What a file holds, inflated if it is gzip. `took` is told the bytes that were read of it. */
export async function* contentOf(
  name: string,
  { stdin }: Pick<World, "stdin">,
  took: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const raw = name === STDIN ? stdin : createReadStream(name, { highWaterMark: CHUNK_BYTES });
  const chunks = counted(raw, took)[Symbol.asyncIterator]();
  const first = await chunks.next();
  if (first.done === true) return;
  const whole = joined(first.value, chunks);
  try {
    if (first.value[0] !== 0x1f || first.value[1] !== 0x8b) yield* whole;
    // Several members, one after the other, are one text: archives are made so.
    else yield* pipeline(Readable.from(whole), createGunzip({ chunkSize: CHUNK_BYTES }), () => {});
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code?.startsWith("Z_") !== true) throw error;
    throw new CliError(EXIT.refused, `${name}: the gzip is damaged or ends early (${code})`, { cause: error });
  }
}

async function* counted(
  chunks: AsyncIterable<string | Uint8Array>,
  took: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    took(chunk.length);
    yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
  }
}

async function* joined(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}
