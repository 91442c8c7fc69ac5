import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigError, type Config } from "../../core/config.js";
import { openEmbedded } from "../../store/embedded/open.js";
import { askForBackup, type BackupAnswer } from "../backup-socket.js";
import { configOrFail, fail } from "./fail.js";

/** `npm run backup -- FILE`: a copy of the embedded store, also while the service works on it. */
async function makeBackup({ DATA_DIR: dataDir }: Config, given: string | undefined): Promise<void> {
  if (given === undefined) throw new ConfigError("name the file: npm run backup -- FILE");
  const file = resolve(given);
  const answer = (await askForBackup(dataDir, file)) ?? (await copyStopped(dataDir, file));
  if ("error" in answer) throw new Error(`no backup was made: ${answer.error}`);
  const { pages, damaged, isInPlace } = answer;
  process.stdout.write(`${file}: ${pages} pages\n`);
  if (!isInPlace) onError(`the copy is good, but ${dataDir}/onym.db was removed, moved or replaced: npm run verify`);
  if (damaged.length > 0) onError(`${damaged.length} pages are damaged, in the store as in the copy: npm run verify`);
  if (!isInPlace || damaged.length > 0) process.exitCode = 1;
}

const onError = (message: string): void => void process.stderr.write(`onym: ${message}\n`);

async function copyStopped(dataDir: string, file: string): Promise<BackupAnswer> {
  if (!existsSync(join(dataDir, "onym.db"))) throw new ConfigError(`DATA_DIR: there is no store in ${dataDir}`);
  const store = await openEmbedded({ dataDir, checkpointMs: 60_000, onError });
  try {
    return await store.database.copyTo(file);
  } finally {
    await store.close();
  }
}

await makeBackup(configOrFail(process.env), process.argv[2]).catch((error: unknown) => fail(error, ""));
