import { each } from "../shared/async.js";
import { install, type Program } from "./install.js";
import { drillKills } from "./kills.js";
import { HELP, readOptions, type Options } from "./options.js";
import { checkCalls } from "./people.js";
import { provokeRefusals } from "./refusals.js";
import { checkRetries, type RetryDeps } from "./retries.js";
import type { Sdk } from "./sdks.js";
import { startService, type Service } from "./service.js";

const started = performance.now();
const progress = (line: string): void =>
  console.log(`${((performance.now() - started) / 1_000).toFixed(1).padStart(6)} s  ${line}`);

/** Most of a check is waiting, for a start or for a try. */
const AT_A_TIME = 4;

/** Of the events that are sent while the service is killed. */
const GIVEN_UP_MAX = 0.05;

type Programs = ReadonlyMap<string, Program>;
async function installAll(sdks: readonly Sdk[]): Promise<Programs> {
  const programs = new Map<string, Program>();
  for (const sdk of sdks) programs.set(sdk.name, await install(sdk, progress));
  return programs;
}

/** Says what is not as it should be with one SDK. */
async function checkSdk(sdk: Sdk, program: Program, deps: RetryDeps): Promise<readonly string[]> {
  const calls = await checkCalls(deps.service, sdk, program);
  return [...calls, ...(await checkRetries(sdk, program, deps))];
}

/** How many SDKs hold. */
async function countHolding(sdks: readonly Sdk[], programs: Programs, deps: RetryDeps): Promise<number> {
  let holding = 0;
  await each(sdks, AT_A_TIME, async (sdk) => {
    const wrong = await checkSdk(sdk, programs.get(sdk.name)!, deps).catch((error: unknown) => [String(error)]);
    for (const what of wrong) progress(`WRONG: ${sdk.name}: ${what}`);
    if (wrong.length > 0) return;
    holding += 1;
    progress(`${sdk.name} holds`);
  });
  return holding;
}

/** True when all holds. */
async function runChecks(service: Service, { sdks, isQuick, kills }: Options): Promise<boolean> {
  const programs = await installAll(sdks);
  const { writeKey } = await service.openWorkspace("retries");
  const refusals = await provokeRefusals(service, writeKey);
  const holding = await countHolding(sdks, programs, { service, writeKey, refusals, isWhole: !isQuick });
  progress(`${holding} of ${sdks.length} SDKs hold`);
  const isHeld = holding === sdks.length;
  if (kills === null) return isHeld;
  const { lost, duplicated, gaveUp } = await drillKills(service, programs, kills);
  const load = `events=${kills.events} kills=${kills.kills}`;
  progress(`${load} lost=${lost} duplicated=${duplicated} given-up=${gaveUp} seed=${kills.seed}`);
  // What no SDK was told it delivered shows nothing of what was stored.
  return isHeld && lost + duplicated === 0 && gaveUp <= kills.events * GIVEN_UP_MAX;
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
