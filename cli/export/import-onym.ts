import type { Context } from "../command.js";
import { CliError, EXIT, failureOf, usage, type Exit } from "../fail.js";
import { flagIn } from "../options.js";
import { createProgress } from "../progress.js";
import { count } from "../show.js";
import { KINDS } from "./kinds.js";
import { countsOf, droppedBy, erasedIn, logIn, showErased, type Erased } from "./erasures.js";
import { countLines, filesIn, upload, UploadError, uploadLines } from "./upload.js";

const RETRY_MS = 900_000;

/** Reads a folder that `onym export` wrote into an empty workspace. */
export async function importOnym(context: Context): Promise<Exit> {
  const { positionals, values, world, http, print } = context;
  const [, folder, ...others] = positionals;
  if (folder === undefined || others.length > 0) throw usage("import onym: name the folder of one export");
  const isTrial = flagIn(values, "dry-run");
  if (!isTrial && !flagIn(values, "yes") && world.ask === null)
    throw usage("nobody can be asked here: say --yes or --dry-run");
  const log = await logIn(values);
  const api = http(RETRY_MS);
  const files = filesIn(folder);
  const lines: Record<string, number> = {};
  for (const [kind, file] of files) lines[kind] = await countLines(file, world);
  const erased = log === null ? null : await erasedIn(log, [...files.values()], world);
  const total = Object.values(lines).reduce((sum, many) => sum + many, 0);
  const { open, stands } = await api<{ readonly open: boolean; readonly stands: readonly string[] }>({
    method: "POST",
    path: "/v1/imports?dry_run=true",
    repeatable: true,
  });
  const shown = [
    ...KINDS.map((kind) => `${kind}: ${count(lines[kind]!, "line")}`),
    ...(erased === null ? [] : [`stay out: ${showErased(erased)}`]),
  ].join("\n");
  if (log !== null && erased?.identifiers === 0)
    world.err(
      `onym: the export names nobody whom ${log.file} erases; a wrong --secret-file or --workspace looks the same\n`,
    );
  if (!open && stands.length > 0)
    throw new CliError(EXIT.refused, `the workspace is not empty: it has ${stands.join(", ")}`);
  if (isTrial) {
    await print(erased === null ? lines : { ...lines, ...countsOf(erased) }, shown);
    return EXIT.done;
  }
  if (!flagIn(values, "yes")) {
    world.err(`${shown}\n`);
    if (!(await world.ask!(`Import ${count(total, "line")}?`)))
      throw new CliError(EXIT.refused, "nothing was imported");
  }
  const { leftOut, dropped } = await send(context, [...files.values()], total, erased);
  if (leftOut > 0)
    world.err(`left out: ${count(leftOut, "line")} of links that name what came in during the export, or was erased\n`);
  const imported = { ...lines, left_out: leftOut };
  if (erased === null) await print(imported, shown);
  else
    await print(
      { ...imported, ...countsOf(erased), dropped_events: dropped },
      `${shown}\ndropped: ${count(dropped, "event")} of them`,
    );
  return EXIT.done;
}

interface Sent {
  readonly leftOut: number;
  /** Events that stayed out because somebody was erased. */
  readonly dropped: number;
}

async function send(
  { world, service, http }: Context,
  files: readonly string[],
  total: number,
  erased: Erased | null,
): Promise<Sent> {
  const api = http(RETRY_MS);
  const progress = createProgress(world, "lines");
  let done = 0;
  let leftOut = 0;
  try {
    await api({ method: "POST", path: "/v1/imports", repeatable: true });
    if (erased !== null) await uploadLines(api, "the erasures", erased.lines(), () => {});
    for (const file of files)
      leftOut += await upload(api, file, world, (many) => {
        done += many;
        progress.show(done / Math.max(total, 1), done);
      });
    const dropped = erased === null ? 0 : await droppedBy(api, erased);
    await api({ method: "DELETE", path: "/v1/imports", repeatable: true });
    return { leftOut, dropped };
  } catch (error) {
    const [cause, place] = error instanceof UploadError ? [error.cause, `${error.message}: `] : [error, ""];
    const { message, exit } = failureOf(cause, service.url);
    const again = "run it again to go on: what stands already stays";
    throw new CliError(exit, `stopped after ${count(done, "line")}: ${place}${message}; ${again}`, { cause });
  } finally {
    progress.clear();
  }
}
