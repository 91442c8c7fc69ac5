import { down, runWith, settings, status, up } from "./commands.js";
import { HELP, readOptions, type Action, type Options } from "./options.js";

const print = (line: string): void => console.log(line);

/** Each gives the exit code, 0 unless it says another. */
const actions: Readonly<Record<Action, (options: Options) => Promise<number | void> | void>> = {
  up: ({ name, only }) => up(name, only, print),
  down: ({ name, only, isPurged }) => down(name, only, isPurged),
  status: ({ name, only }) => status(name, only).forEach(print),
  env: ({ name, only }) => Object.entries(settings(name, only)).forEach(([key, value]) => print(`${key}=${value}`)),
  with: ({ name, only, command }) => runWith(settings(name, only), command),
};

try {
  const options = readOptions(process.argv.slice(2));
  if (options === null) process.stdout.write(HELP);
  else process.exitCode = (await actions[options.action](options)) ?? 0;
} catch (error) {
  console.error(`servers: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
}
