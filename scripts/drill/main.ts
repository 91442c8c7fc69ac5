import { runServersRow, SERVERS_ROWS } from "./crash/servers.js";
import { IMPORT_SERVERS_TABLE, IMPORT_TABLE, runImportRow } from "./crash/import-row.js";
import { KEEPER_SERVERS_TABLE, KEEPER_TABLE, runKeeperRow } from "./crash/keeper-row.js";
import { runCrashRow } from "./crash/row.js";
import { CRASH_TABLE, SERVERS_TABLE } from "./crash/table.js";
import { each } from "../shared/async.js";
import { openFolder, openServers } from "../shared/grounds.js";
import { openHistory } from "./check/history.js";
import { drillDamage } from "./damage/damage.js";
import { drillFsync } from "./fsync/fsync.js";
import { drillMove } from "./moving/moving.js";
import { drillNeighbours } from "./neighbours/neighbours.js";
import { HELP, readOptions, type Options } from "./options.js";
import { soak } from "./soak/soak.js";
import { runRounds, type Counters, type Felt } from "./rounds.js";

const started = performance.now();
const progress = (line: string): void =>
  console.log(`${((performance.now() - started) / 1_000).toFixed(1).padStart(6)} s  ${line}`);

/** Most of a row is waiting for a process to start. */
const ROWS_AT_A_TIME = 2;

interface Row {
  readonly title: string;
  readonly run: () => Promise<void>;
}

/** True when every row holds. */
async function drillTable({ instance }: Options): Promise<boolean> {
  const beside = instance === null ? CRASH_TABLE : SERVERS_TABLE;
  const openGround = instance === null ? openFolder : () => openServers(instance);
  const keeper = instance === null ? KEEPER_TABLE : KEEPER_SERVERS_TABLE;
  const imports = instance === null ? IMPORT_TABLE : IMPORT_SERVERS_TABLE;
  const rows: Row[] = [
    ...beside.map((row) => ({ title: row.title, run: () => runCrashRow(row, openGround) })),
    ...keeper.map((row) => ({ title: row.title, run: () => runKeeperRow(row, openGround) })),
    ...imports.map((row) => ({ title: row.title, run: () => runImportRow(row, openGround) })),
  ];
  // These end what the others stand on.
  const alone = instance === null ? [] : SERVERS_ROWS;
  const rowsAlone: Row[] = alone.map((row) => ({
    title: row.title,
    run: () => runServersRow(row, instance!, openGround),
  }));
  const broken = (await countBroken(rows, ROWS_AT_A_TIME)) + (await countBroken(rowsAlone, 1));
  const all = rows.length + rowsAlone.length;
  progress(`crash table: ${all - broken} of ${all} rows hold`);
  return broken === 0;
}

async function countBroken(rows: readonly Row[], width: number): Promise<number> {
  let broken = 0;
  await each(rows, width, async ({ title, run }) => {
    await run().catch((error: unknown) => {
      broken += 1;
      progress(`BROKEN: ${title}: ${String(error)}`);
    });
  });
  return broken;
}

/** The line that every fault run ends with. */
const summary = (counters: Counters, seed: number): string =>
  [...Object.entries(counters), ["seed", seed]].map(([name, value]) => `${name}=${value}`).join(" ");

const feltLine = ({ interrupted, refused, victims, atPoint, unanswered }: Felt): string => {
  const kills = [...victims].map(([victim, times]) => `${victim} ${times}`).toSorted();
  return (
    `kills: ${kills.join(", ")}, of these ${atPoint} between two steps; ${interrupted} requests interrupted, ${refused} refused; ` +
    `atomic batches without an answer: ${unanswered.whole} there as a whole, ${unanswered.none} not at all`
  );
};

/** True when every promise was kept and the kills were felt. */
async function drillRounds({ scene, seed }: Options): Promise<boolean> {
  const history = openHistory();
  try {
    const { counters, felt, examples } = await runRounds({ scene, seed, history, progress });
    for (const example of examples) console.log(example);
    const isFelt = felt.interrupted + felt.refused > 0;
    if (!isFelt) console.log("No request was interrupted or refused: this run has shown nothing.");
    const { acknowledged, ok, lost, duplicated, unexpected } = counters;
    const isGood = isFelt && ok === acknowledged && lost + duplicated + unexpected === 0;
    if (isGood) await history.drop();
    else console.log(`history: ${history.file}`);
    console.log(feltLine(felt));
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
  else if (options.neighbours !== null) {
    const { neighbours, instance } = options;
    const holds = await drillNeighbours({ ...neighbours, instance, print: (line) => console.log(line) });
    process.exitCode = holds ? 0 : 1;
  } else if (options.fsync) {
    process.exitCode = (await drillFsync((line) => console.log(line))) ? 0 : 1;
  } else if (options.soak !== null) {
    const { seed, soak: load } = options;
    process.exitCode = (await soak({ ...load, seed, print: (line) => console.log(line) })) ? 0 : 1;
  } else if (options.moveTo !== null) {
    const { seed, moveTo: instance } = options;
    process.exitCode = (await drillMove({ instance, seed, progress })) ? 0 : 1;
  } else if (options.trials !== null) {
    const { trials, seed } = options;
    process.exitCode = (await drillDamage({ trials, seed, progress })) ? 0 : 1;
  } else {
    const holds = !options.hasTable || (await drillTable(options));
    process.exitCode = (await drillRounds(options)) && holds ? 0 : 1;
  }
} catch (error) {
  console.error(`drill: ${error instanceof Error ? error.message : String(error)}`);
  // Clients may still wait for a service that does not come back.
  process.exit(1);
}
