import { configOrFail, fail } from "../../app/start/fail.js";
import { verifyFolder } from "../../store/embedded/file/verify.js";

/** Reads all of `DATA_DIR` and lists what is damaged. Ends with 1 if there is damage. */
async function main(): Promise<void> {
  const { DATA_DIR: dataDir } = configOrFail(process.env);
  const { isRunning, damage } = await verifyFolder(dataDir);
  for (const line of damage) process.stdout.write(`${line}\n`);
  const state = isRunning ? "running" : "stopped";
  process.stdout.write(
    damage.length === 0
      ? `${dataDir} (${state}): all is whole\n`
      : `${dataDir} (${state}): damaged; docs/operations.md says what to do\n`,
  );
  process.exitCode = damage.length === 0 ? 0 : 1;
}

await main().catch(fail);
