import { createReadStream } from "node:fs";
import { open, stat, truncate, type FileHandle } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, AwayError, backOff, problemOf, retryAfterMs } from "../../client/http.js";
import { CliError, EXIT } from "../fail.js";
import { EXPORT_LINE_BYTES_MAX, linesOf, rawLinesOf, withoutReturn } from "../import/lines.js";
import { OWN_FILE } from "./folder.js";
import { endIn, type Kind } from "./kinds.js";

export interface Source {
  readonly url: string;
  readonly key: string;
}

/** What a file holds from an export that was stopped. */
interface Held {
  readonly lines: number;
  /** Of these lines, those that only name an event. */
  readonly damaged: number;
  /** Of the last line; null if there is none. */
  readonly position: string | null;
  readonly isComplete: boolean;
}

const NOTHING: Held = { lines: 0, damaged: 0, position: null, isComplete: false };
const LINE_FEED = Buffer.from("\n");
const WRITE_BYTES = 1_048_576;

/** Writes all lines of the export into the file, behind those that it holds. Answers how many it holds then. */
export async function download(
  source: Source,
  kind: Kind,
  file: string,
  { retryMs, took }: { readonly retryMs: number; readonly took: (lines: number) => void },
): Promise<Pick<Held, "lines" | "damaged">> {
  // The catalog always begins anew.
  let held = kind === "catalog" ? await emptied(file) : await whatIsHeld(file);
  took(held.lines);
  let reached = held.position;
  for (let end = Date.now() + retryMs, tries = 0; !held.isComplete; tries++) {
    const failure = await once(source, kind, file, held, (next) => {
      held = next;
      took(next.lines);
    });
    if (failure === null) break;
    // Whoever comes further has an answer. To the same place, lines may come for ever: of the catalog, and of what has one position together.
    if (held.position !== reached) [end, tries, reached] = [Date.now() + retryMs, 0, held.position];
    const waitMs = failure.waitMs + backOff(tries);
    if (Date.now() + waitMs > end) throw failure.error;
    await sleep(waitMs);
    if (kind === "catalog") held = await emptied(file);
  }
  return held;
}

async function emptied(file: string): Promise<Held> {
  await (await open(file, "w", OWN_FILE)).close();
  return NOTHING;
}

/** Cuts what is behind the last whole line. */
async function whatIsHeld(file: string): Promise<Held> {
  const exists = await stat(file).catch(() => null);
  if (exists === null) return emptied(file);
  let held = NOTHING;
  let bytes = 0;
  for await (const line of rawLinesOf(createReadStream(file), EXPORT_LINE_BYTES_MAX)) {
    const next = bytes + line.bytes.length + LINE_FEED.length;
    if (next > exists.size) break;
    // One that others have loaded may have empty lines.
    const read = withoutReturn(line.bytes).length === 0 ? held : heldBehind(held, line.bytes, file);
    if (read === null) break;
    held = read;
    bytes = next;
  }
  if (bytes < exists.size) await truncate(file, bytes);
  return held;
}

function heldBehind(held: Held, line: Buffer, file: string): Held | null {
  const end = endIn(line);
  // One that says that there is more has no place among the lines.
  if (end !== null) return end.complete ? { ...held, isComplete: true } : null;
  try {
    const { type, position } = JSON.parse(line.toString()) as { readonly type?: unknown; readonly position?: unknown };
    const damaged = held.damaged + Number(type === "damaged_event");
    if (typeof position === "string") return { lines: held.lines + 1, damaged, position, isComplete: false };
  } catch {
    // The end of a line is missing where a write was cut.
    return null;
  }
  throw new CliError(EXIT.refused, `${file}: is no file of an export; name another folder`);
}

interface Failure {
  readonly error: unknown;
  readonly waitMs: number;
}

/** One request; null: it ended in order. Throws what no further try can mend. */
async function once(
  { url, key }: Source,
  kind: Kind,
  file: string,
  held: Held,
  wrote: (held: Held) => void,
): Promise<Failure | null> {
  const query = held.position === null ? "" : `?after=${held.position}`;
  let response: Response;
  try {
    response = await fetch(`${url}/v1/exports/${kind}${query}`, { headers: { Authorization: `Bearer ${key}` } });
  } catch (error) {
    return { error: new AwayError(error), waitMs: 0 };
  }
  if (!response.ok) {
    const error = new ApiError(await problemOf(response));
    if (response.status !== 429 && response.status < 500) throw error;
    return { error, waitMs: retryAfterMs(response) };
  }
  const target = await open(file, "a", OWN_FILE);
  try {
    const isComplete = await write(target, response.body as AsyncIterable<Uint8Array>, held, wrote);
    return isComplete ? null : brokeOff(url, kind);
  } catch (error) {
    if (error instanceof CliError || (error instanceof Error && "syscall" in error)) throw error;
    return brokeOff(url, kind);
  } finally {
    await target.close();
  }
}

const brokeOff = (url: string, kind: Kind): Failure => ({
  error: new CliError(EXIT.unavailable, `${url} broke off (${kind}); run it again to go on`),
  waitMs: 0,
});

/** Whether the answer was complete. What was written is whole lines, and what is told was written. */
async function write(
  target: FileHandle,
  body: AsyncIterable<Uint8Array>,
  held: Held,
  wrote: (held: Held) => void,
): Promise<boolean> {
  let now = held;
  let waiting: Buffer[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    if (waiting.length > 0) await target.writeFile(Buffer.concat(waiting));
    [waiting, bytes] = [[], 0];
    wrote(now);
  };
  try {
    for await (const { bytes: line } of linesOf(body, EXPORT_LINE_BYTES_MAX)) {
      const end = endIn(line);
      // Of all the lines of the file, not of this answer.
      const shown = end === null ? line : Buffer.from(JSON.stringify({ ...end, lines: now.lines }));
      if (end?.complete === false) break;
      const next = end === null ? heldBehind(now, line, "the answer") : { ...now, isComplete: true };
      // Where the connection is all that says how long an answer is, one that breaks ends in order.
      if (next === null) break;
      now = next;
      waiting.push(Buffer.from(shown), LINE_FEED);
      bytes += shown.length;
      if (bytes >= WRITE_BYTES) await flush();
    }
  } finally {
    await flush();
  }
  return now.isComplete;
}
