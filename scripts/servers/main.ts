import { down, runWith, settings, status, up } from "./commands.js";
import { HELP, readOptions, type Action, type Options } from "./options.js";

function print(lines: readonly string[]): number {
  for (const line of lines) console.log(line);
  return 0;
}

/** Each gives the exit code. */
const actions: Readonly<Record<Action, (options: Options) => Promise<number> | number>> = {
  up: async ({ name, only }) => {
    await up(name, only, (line) => console.log(line));
    return 0;
  },
  down: async ({ name, only, isPurged }) => {
    await down(name, only, isPurged);
    return 0;
  },
  status: ({ name, only }) => print(status(name, only)),
  env: ({ name, only }) => print(Object.entries(settings(name, only)).map(([key, value]) => `${key}=${value}`)),
  with: ({ name, only, command }) => runWith(settings(name, only), command),
};

try {
  const options = readOptions(process.argv.slice(2));
  if (options === null) process.stdout.write(HELP);
  else process.exitCode = await actions[options.action](options);
} catch (error) {
  console.error(`servers: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
}
