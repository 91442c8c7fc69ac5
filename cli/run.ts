import { parseArgs } from "node:util";
import type { Command } from "./command.js";
import { doctor } from "./commands/doctor.js";
import { exportCommand } from "./commands/export.js";
import { explain } from "./commands/explain.js";
import { importCommand } from "./commands/import.js";
import { keys } from "./commands/keys.js";
import { lookup } from "./commands/lookup.js";
import { schemas } from "./commands/schemas.js";
import { send } from "./commands/send.js";
import { tail } from "./commands/tail.js";
import { undo } from "./commands/undo.js";
import { connect, findService } from "./connection.js";
import { EXIT, failureOf, usage, type Exit } from "./fail.js";
import { COMMON, COMMON_HELP, flagIn } from "./options.js";
import type { World } from "./world.js";

const COMMANDS: readonly Command[] = [
  send,
  tail,
  lookup,
  explain,
  undo,
  schemas,
  keys,
  exportCommand,
  importCommand,
  doctor,
];

const OVERVIEW = `onym COMMAND [options]

${COMMANDS.map(({ name, summary }) => `  ${name.padEnd(9)} ${summary}`).join("\n")}

  onym COMMAND --help  tells more
${COMMON_HELP}
Exit codes: 0 done; 1 refused, or something is wrong; 2 wrong command; 3 the service does not answer; 4 the key.
`;

/** An option is not repeated: it may hold the key. */
const noCommand = (name: string): string =>
  name.startsWith("-")
    ? "options come after the command: onym COMMAND [options]; onym --help lists the commands"
    : `there is no command ${JSON.stringify(name)}; onym --help lists them`;

const isUnread = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "EPIPE";

function unlessUnread(error: unknown): void {
  if (!isUnread(error)) throw error;
}

/** Answers the exit code. */
export async function run(args: readonly string[], world: World): Promise<Exit> {
  const [name = "--help", ...rest] = args;
  if (name === "--help" || name === "-h" || name === "help") {
    await world.out(OVERVIEW).catch(unlessUnread);
    return EXIT.done;
  }
  const command = COMMANDS.find((one) => one.name === name);
  let url = "the service";
  try {
    if (command === undefined) throw usage(noCommand(name));
    const { values, positionals } = parseArgs({
      args: rest,
      options: { ...COMMON, ...command.options },
      allowPositionals: true,
    });
    if (flagIn(values, "help")) {
      await world.out(`${command.help}${COMMON_HELP}`);
      return EXIT.done;
    }
    const service = findService(values, world);
    url = service.url;
    const isJson = flagIn(values, "json");
    return await command.run({
      positionals,
      values,
      world,
      service,
      http: (retryMs) => connect(service, retryMs),
      print: (value, text) => {
        const printed = world.out(`${isJson ? JSON.stringify(value) : text}\n`);
        // What was begun is done to its end, and the exit code says how that went.
        return command.onlyPrints === true ? printed : printed.catch(unlessUnread);
      },
    });
  } catch (error) {
    if (isUnread(error)) return EXIT.done;
    const { message, exit } = failureOf(error, url);
    const hint = exit === EXIT.usage && command !== undefined ? ` (onym ${name} --help tells more)` : "";
    world.err(`onym: ${message}${hint}\n`);
    return exit;
  }
}
