import { parseArgs } from "node:util";
import { embeddedScene, serversScene, type Scene } from "./crash/scene.js";
import type { ServersKills } from "./crash/dooms.js";

export const HELP = `npm run drill -- [options]
Kills the service and checks that nothing acknowledged is lost and nothing is there twice.
  --kills N              rounds of kill -9 under load (25)
  --seed N               plans the same operations and kills again (the time of day)
  --no-table             without the crash table: one kill at each step of one event
  --servers              two gateways and two workers on real servers, which are killed too
    --name INSTANCE      of npm run servers (default)
    --kills-broker N     of RabbitMQ (20)
    --kills-documents N  of the MongoDB server (20)
    --kills-graph N      of Neo4j (20)
    --kills-processes N  of gateways and workers (40)
    --scale X            multiplies these four
    --partitions A,B,C   RABBITMQ_PARTITIONS: the kills go on under one number after the other, each start takes the present one (1,4,2)
  --neighbours           kills nothing: one workspace does its worst, one flood after the other, and another is measured
    --seconds S          of each flood (60)
    --floods A,B         only these
  --soak MINUTES         kills nothing: mixed load at 60 % of what the machine can do (Linux, embedded), a line for each minute,
                         and at the end whether memory, open files or p99 grew
    --data DIR           on the profiles that npm run bench -- --million --data DIR has made and keeps there
  --fsync                kills nothing: 1,000 requests and 1,000 batches to a service under strace, which must have flushed each event
                         before the 202 leaves; skipped, and said so, where there is no strace
  --damage               kills nothing: damages the files of a stopped store in random ways, and asks it for everything
    --trials N           damaged copies (2000)
  --move                 moves 20,000 events of a shop and the people of FEBRL 4 (if they are beside the checkout) to real servers
                         whose graph is empty, kills the move twice, and compares every answer; with --name
`;

export interface Options {
  /** Load without kills, on the profiles of a folder or on none; null: kills. */
  readonly soak: { readonly minutes: number; readonly folder: string | null } | null;
  /** Of the floods; null: kills. */
  readonly neighbours: { readonly seconds: number; readonly floods: readonly string[] } | null;
  /** Look at the system calls before each 202, and kill nothing. */
  readonly fsync: boolean;
  /** The servers to move to; null: kills. */
  readonly moveTo: string | null;
  /** Damaged copies; null: kills. */
  readonly trials: number | null;
  readonly seed: number;
  readonly hasTable: boolean;
  /** Of the servers to drill on; null: the embedded default. */
  readonly instance: string | null;
  readonly scene: Scene;
}

/** Null when help was asked for. Throws on a wrong option. */
export function readOptions(): Options | null {
  const { values } = parseArgs({
    options: {
      kills: { type: "string", default: "25" },
      seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
      "no-table": { type: "boolean", default: false },
      servers: { type: "boolean", default: false },
      name: { type: "string", default: "default" },
      "kills-broker": { type: "string", default: "20" },
      "kills-documents": { type: "string", default: "20" },
      "kills-graph": { type: "string", default: "20" },
      "kills-processes": { type: "string", default: "40" },
      scale: { type: "string", default: "1" },
      partitions: { type: "string", default: "1,4,2" },
      neighbours: { type: "boolean", default: false },
      seconds: { type: "string", default: "60" },
      floods: { type: "string", default: "" },
      soak: { type: "string" },
      data: { type: "string" },
      fsync: { type: "boolean", default: false },
      damage: { type: "boolean", default: false },
      move: { type: "boolean", default: false },
      trials: { type: "string", default: "2000" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const seed = whole("seed", values.seed, 0);
  const hasTable = !values["no-table"];
  const soak =
    values.soak === undefined ? null : { minutes: whole("soak", values.soak, 1), folder: values.data ?? null };
  const neighbours = values.neighbours ? floodsOf(values.seconds, values.floods) : null;
  const trials = values.damage ? whole("trials", values.trials, 1) : null;
  const moveTo = values.move ? values.name : null;
  const common = { fsync: values.fsync, soak, neighbours, trials, moveTo, seed, hasTable };
  if (!values.servers)
    return { ...common, instance: null, scene: embeddedScene(seed, whole("kills", values.kills, 1)) };
  const scale = Number(values.scale);
  if (!(scale > 0 && scale <= 100)) throw new Error("--scale must be a number above 0, at most 100");
  const scaled = (name: `kills-${"broker" | "documents" | "graph" | "processes"}`): number =>
    Math.round(whole(name, values[name], 0) * scale);
  const kills: ServersKills = {
    rabbitmq: scaled("kills-broker"),
    mongodb: scaled("kills-documents"),
    neo4j: scaled("kills-graph"),
    processes: scaled("kills-processes"),
  };
  if (Object.values(kills).every((count) => count === 0)) throw new Error("there is nothing to kill");
  const partitions = values.partitions.split(",").map((text) => whole("partitions", text, 1));
  return { ...common, instance: values.name, scene: serversScene(seed, kills, values.name, partitions) };
}

function floodsOf(seconds: string, floods: string): NonNullable<Options["neighbours"]> {
  if (!(Number(seconds) > 0)) throw new Error("--seconds must be a number above 0");
  return { seconds: Number(seconds), floods: floods.split(",").filter((name) => name !== "") };
}

function whole(name: string, text: string, min: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new Error(`--${name} must be a whole number from ${min}`);
}
