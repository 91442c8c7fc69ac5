import { read, type Command } from "../command.js";
import { download } from "../export/download.js";
import { claimFolder } from "../export/folder.js";
import { fileOf, KINDS } from "../export/kinds.js";
import { CliError, EXIT, usage } from "../fail.js";
import { createProgress } from "../progress.js";
import { awaitQueue } from "../queue.js";
import { count } from "../show.js";

const RETRY_MS = 900_000;
/** A queue of which nobody knows since when the oldest waits need not keep a copy from being made. */
const UNKNOWN_MS = 60_000;
const MISSING = "the export may be without them, and an import of it without what they add to profiles";

interface Me {
  readonly workspace: { readonly workspace_id: string };
  readonly url: string;
}

export const exportCommand: Command = {
  name: "export",
  summary: "writes all data of the workspace into a folder",
  help: `onym export FOLDER
Writes catalog, profiles, changes, links and events into files of the folder, an object on each line, once the events
that were sent before are processed. Run it again after it was stopped: it goes on where it was. It does not touch a
complete export, nor that of another workspace or service. Needs an admin key.
`,
  options: {},
  run: async ({ positionals, world, service, http, print }) => {
    const [folder, ...others] = positionals;
    if (folder === undefined || others.length > 0) throw usage("export: name one folder");
    if (service.key === null) throw new CliError(EXIT.key, "no key: set ONYM_KEY, or name a file with --key-file");
    const api = http(RETRY_MS);
    const { workspace, url } = await read<Me>(api, "/v1/me");
    claimFolder(folder, { workspace_id: workspace.workspace_id, url });
    // What is folded between its files would be counted in no profile of them, and what is still in the queue is in no file.
    const tell = (text: string): void => world.err(`onym: ${text}\n`);
    const late = await awaitQueue(api, { waitMs: RETRY_MS, unknownMs: UNKNOWN_MS }, tell);
    if (late !== null) tell(`${late}: ${MISSING}`);
    const lines: Record<string, number> = {};
    let lost = 0;
    // The catalog last: whatever the other files name is in it, because nothing is ever taken out of it that they name.
    for (const kind of [...KINDS.filter((one) => one !== "catalog"), "catalog"] as const) {
      const progress = createProgress(world, `lines of ${kind}`);
      try {
        const held = await download({ url: service.url, key: service.key }, kind, fileOf(folder, kind), {
          retryMs: RETRY_MS,
          took: (all) => progress.show(null, all),
        });
        lines[kind] = held.lines;
        lost += held.damaged;
      } finally {
        progress.clear();
      }
    }
    if (lost > 0) world.err(`without their data: ${count(lost, "damaged event")} (lines of type damaged_event)\n`);
    await print(lines, KINDS.map((kind) => `${kind}: ${count(lines[kind]!, "line")}`).join("\n"));
    return EXIT.done;
  },
};
