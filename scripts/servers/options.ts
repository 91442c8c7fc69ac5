import { parseArgs } from "node:util";
import { SERVER_NAMES, USUAL, type ServerName } from "./server.js";

export const HELP = `npm run servers -- up|down|status|env|with [options]
Real servers on 127.0.0.1, without Docker: RabbitMQ, MongoDB (or its imitation), Neo4j.
  up                installs what is missing, starts what does not run, returns when all answer
  down              stops the servers; their data stays
    --purge         and removes it; of all, also passwords and ports
  status            one line a server
  env               the settings as NAME=value lines
  with -- COMMAND   runs a command with these settings, and ends with its exit code
  --name NAME       an instance with ports, data and passwords of its own (default)
  --only A,B        only these of rabbitmq, mongodb, neo4j, neo4j-second; repeatable. up: not the
                    last one, which is for NEO4J_URLS, unless it is named
`;

const ACTIONS = ["up", "down", "status", "env", "with"] as const;
export type Action = (typeof ACTIONS)[number];

export interface Options {
  readonly action: Action;
  readonly name: string;
  readonly only: readonly ServerName[];
  readonly isPurged: boolean;
  readonly command: readonly string[];
}

/** Null when the help is wanted. */
export function readOptions(args: readonly string[]): Options | null {
  const separator = args.indexOf("--");
  const own = separator < 0 ? args : args.slice(0, separator);
  const { values, positionals } = parseArgs({
    args: [...own],
    allowPositionals: true,
    options: {
      name: { type: "string", default: "default" },
      only: { type: "string", multiple: true, default: [] },
      purge: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const [action, ...more] = positionals;
  if (values.help || action === undefined) return null;
  if (more.length > 0) throw new Error(`one command at a time, not ${positionals.join(" and ")}`);
  const command = separator < 0 ? [] : args.slice(separator + 1);
  if (!isOneOf(ACTIONS, action)) throw new Error(`there is no command ${action}, but ${ACTIONS.join(", ")}`);
  if (action === "with" && command.length === 0) throw new Error("with: the command stands after --");
  return {
    action,
    name: values.name,
    only: readOnly(values.only, action === "up" ? USUAL : SERVER_NAMES),
    isPurged: values.purge,
    command,
  };
}

function readOnly(values: readonly string[], usual: readonly ServerName[]): readonly ServerName[] {
  const wanted = values.flatMap((value) => value.split(",")).filter((name) => name !== "");
  const unknown = wanted.filter((name) => !isOneOf(SERVER_NAMES, name));
  if (unknown.length > 0) throw new Error(`--only: there are ${SERVER_NAMES.join(", ")}, not ${unknown.join(", ")}`);
  return wanted.length === 0 ? usual : SERVER_NAMES.filter((name) => wanted.includes(name));
}

const isOneOf = <T extends string>(names: readonly T[], text: string): text is T =>
  (names as readonly string[]).includes(text);
