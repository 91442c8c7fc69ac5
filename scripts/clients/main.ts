import { each } from "../shared/async.js";
import { install, type Program } from "./install.js";
import { drillKills } from "./kills.js";
import { HELP, readOptions, type Options } from "./options.js";
import { checkPerson } from "./people.js";
import { provokeRefusals } from "./refusals.js";
import { checkRetries } from "./retries.js";
import type { Sdk } from "./sdks.js";
import { startService, type Service } from "./service.js";

const started = performance.now();
const progress = (line: string): void =>
  console.log(`${((performance.now() - started) / 1_000).toFixed(1).padStart(6)} s  ${line}`);

/** Most of a check is waiting, for a start or for a try. */
const AT_A_TIME = 3;

type Programs = ReadonlyMap<string, Program>;
type Check = (sdk: Sdk, program: Program) => Promise<readonly string[]>;

async function installAll(sdks: readonly Sdk[]): Promise<Programs> {
  const programs = new Map<string, Program>();
  for (const sdk of sdks) programs.set(sdk.name, await install(sdk, progress));
  return programs;
}

/** How many SDKs are not as they should be. */
async function countWrong(title: string, sdks: readonly Sdk[], programs: Programs, check: Check): Promise<number> {
  let wrong = 0;
  await each(sdks, AT_A_TIME, async (sdk) => {
    const found = await check(sdk, programs.get(sdk.name)!).catch((error: unknown) => [String(error)]);
    for (const what of found) progress(`WRONG: ${title}: ${sdk.name}: ${what}`);
    if (found.length > 0) wrong += 1;
  });
  progress(`${title}: ${sdks.length - wrong} of ${sdks.length} SDKs hold`);
  return wrong;
}

/** True when all holds. */
async function runChecks(service: Service, { sdks, isQuick, kills }: Options): Promise<boolean> {
  const programs = await installAll(sdks);
  const people = await countWrong("every kind of call", sdks, programs, (sdk, program) =>
    checkPerson(service, sdk, program),
  );
  const { writeKey } = await service.openWorkspace("retries");
  const deps = { service, writeKey, refusals: await provokeRefusals(service, writeKey), isWhole: !isQuick };
  const retries = await countWrong("attempts", sdks, programs, (sdk, program) => checkRetries(sdk, program, deps));
  if (kills === null) return people + retries === 0;
  const { lost, duplicated } = await drillKills(service, programs, kills);
  progress(`events=${kills.events} kills=${kills.kills} lost=${lost} duplicated=${duplicated} seed=${kills.seed}`);
  return people + retries + lost + duplicated === 0;
}

try {
  const options = readOptions();
  if (options === null) process.stdout.write(HELP);
  else {
    const service = await startService();
    try {
      process.exitCode = (await runChecks(service, options)) ? 0 : 1;
    } finally {
      await service.close();
    }
  }
} catch (error) {
  console.error(`clients: ${error instanceof Error ? error.message : String(error)}`);
  // Programs may still wait for what does not come.
  process.exit(1);
}
