import { existsSync } from "node:fs";
import type { Http } from "../../client/http.js";
import { CliError, EXIT } from "../fail.js";
import { contentOf } from "../import/files.js";
import { EXPORT_LINE_BYTES_MAX, linesOf } from "../import/lines.js";
import type { World } from "../world.js";
import { endIn, fileOf, KINDS, type Kind } from "./kinds.js";

type Input = Pick<World, "stdin">;
const nothing = (): void => {};

/** The file of each kind, plain or gzip. */
export function filesIn(folder: string): ReadonlyMap<Kind, string> {
  return new Map(
    KINDS.map((kind) => {
      const plain = fileOf(folder, kind);
      const found = [plain, `${plain}.gz`].find((one) => existsSync(one));
      if (found === undefined) throw new CliError(EXIT.refused, `${plain}: is missing; onym export writes it`);
      return [kind, found];
    }),
  );
}

/** How many lines the file holds. Throws when it is not the whole of an export. */
export async function countLines(file: string, world: Input): Promise<number> {
  let lines = 0;
  let end: ReturnType<typeof endIn> = null;
  for await (const { bytes } of linesOf(contentOf(file, world, nothing), EXPORT_LINE_BYTES_MAX)) {
    if (end !== null) throw new CliError(EXIT.refused, `${file}: goes on behind its end`);
    end = endIn(bytes);
    if (end === null) lines += 1;
  }
  if (end?.complete === true && end.lines === lines) return lines;
  throw new CliError(EXIT.refused, `${file}: is not complete; run onym export again`);
}

const LINES_MAX = 300;
const BYTES_MAX = 1_000_000;

/** Sends the lines of the file, in requests that the service takes; told of how many after each. Answers how many it left out. */
export const upload = (http: Http, file: string, world: Input, sent: (lines: number) => void): Promise<number> =>
  uploadLines(http, file, linesIn(file, world), sent);

async function* linesIn(file: string, world: Input): AsyncGenerator<Buffer> {
  for await (const { bytes } of linesOf(contentOf(file, world, nothing), EXPORT_LINE_BYTES_MAX)) {
    if (endIn(bytes) !== null) return;
    yield bytes;
  }
}

/** Says which lines could not be sent; the cause says why. */
export class UploadError extends Error {}

export async function uploadLines(
  http: Http,
  place: string,
  all: AsyncIterable<Buffer> | Iterable<Buffer>,
  sent: (lines: number) => void,
): Promise<number> {
  let leftOut = 0;
  let lines: string[] = [];
  let bytes = 0;
  let first = 1;
  const flush = async (): Promise<void> => {
    if (lines.length === 0) return;
    const body = `{"lines":[${lines.join(",")}]}`;
    try {
      const path = "/v1/imports/lines";
      const answer = await http<{ readonly left_out: number }>({ method: "POST", path, body, repeatable: true });
      leftOut += answer.left_out;
    } catch (error) {
      throw new UploadError(`${place}, in the lines from ${first} on`, { cause: error });
    }
    first += lines.length;
    sent(lines.length);
    [lines, bytes] = [[], 0];
  };
  for await (const line of all) {
    if (lines.length === LINES_MAX || (lines.length > 0 && bytes + line.length > BYTES_MAX)) await flush();
    lines.push(line.toString());
    bytes += line.length;
  }
  await flush();
  return leftOut;
}
