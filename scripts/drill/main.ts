import { parseArgs } from "node:util";
import { runCrashRow } from "./crash-row.js";
import { CRASH_TABLE } from "./crash-table.js";
import { each } from "./each.js";
import { openHistory } from "./history.js";
import { runRounds, type Counters } from "./rounds.js";

const HELP = `npm run drill -- [options]
Kills the service and checks that nothing acknowledged is lost and nothing is there twice.
  --kills N     rounds of kill -9 under load (25)
  --seed N      plans the same operations and kills again (the time of day)
  --no-table    without the crash table: one kill at each step of one event
`;

interface Options {
  readonly kills: number;
  readonly seed: number;
  readonly hasTable: boolean;
}

function readOptions(): Options | null {
  const { values } = parseArgs({
    options: {
      kills: { type: "string", default: "25" },
      seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
      "no-table": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const [kills, seed] = [Number(values.kills), Number(values.seed)];
  if (!Number.isSafeInteger(kills) || kills < 1) throw new Error("--kills must be a whole number from 1");
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error("--seed must be a whole number from 0");
  return { kills, seed, hasTable: !values["no-table"] };
}

const started = performance.now();
const progress = (line: string): void =>
  console.log(`${((performance.now() - started) / 1_000).toFixed(1).padStart(6)} s  ${line}`);

/** Most of a row is waiting for a process to start. */
const ROWS_AT_A_TIME = 2;

/** True when every row holds. */
async function drillTable(): Promise<boolean> {
  let broken = 0;
  await each(CRASH_TABLE, ROWS_AT_A_TIME, async (row) => {
    await runCrashRow(row).catch((error: unknown) => {
      broken += 1;
      progress(`BROKEN: ${row.title}: ${String(error)}`);
    });
  });
  progress(`crash table: ${CRASH_TABLE.length - broken} of ${CRASH_TABLE.length} rows hold`);
  return broken === 0;
}

/** The line that every fault run ends with. */
const summary = (counters: Counters, seed: number): string =>
  [...Object.entries(counters), ["seed", seed]].map(([name, value]) => `${name}=${value}`).join(" ");

/** True when every promise was kept and the kills were felt. */
async function drillRounds({ kills, seed }: Options): Promise<boolean> {
  const history = openHistory();
  try {
    const { counters, interrupted, examples } = await runRounds({ kills, seed, history, progress });
    for (const example of examples) console.log(example);
    if (interrupted === 0) console.log("No request was interrupted: this run has shown nothing.");
    const { acknowledged, ok, lost, duplicated, unexpected } = counters;
    const isGood = interrupted > 0 && ok === acknowledged && lost + duplicated + unexpected === 0;
    if (isGood) await history.drop();
    else console.log(`history: ${history.file}`);
    console.log(summary(counters, seed));
    return isGood;
  } catch (error) {
    console.log(`history: ${history.file}\nseed=${seed}`);
    throw error;
  } finally {
    await history.close();
  }
}

try {
  const options = readOptions();
  if (options === null) process.stdout.write(HELP);
  else {
    const holds = !options.hasTable || (await drillTable());
    process.exitCode = (await drillRounds(options)) && holds ? 0 : 1;
  }
} catch (error) {
  console.error(`drill: ${error instanceof Error ? error.message : String(error)}`);
  // Clients may still wait for a service that does not come back.
  process.exit(1);
}
