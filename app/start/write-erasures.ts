import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError, type Config } from "../../core/config.js";
import { toLogText } from "../../core/identity/logged-erasure.js";
import { tombSecretOf } from "../../core/identity/tombstone.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import type { ErasureLog } from "../../core/ports/erasure-log.js";
import { createEmbeddedCatalog } from "../../store/embedded/catalog/catalog.js";
import { holdsWorkspaces } from "../../store/embedded/copy/place.js";
import { createErasureFile } from "../../store/embedded/erasure-log.js";
import { openEmbedded } from "../../store/embedded/open.js";
import { createMongoCatalog } from "../../store/mongo/catalog/catalog.js";
import { createMongoErasureLog } from "../../store/mongo/erasure-log.js";
import { openKnownMongo } from "../../store/mongo/format.js";
import { configOrFail, fail } from "./fail.js";

interface Source {
  readonly catalog: CatalogStore;
  readonly log: ErasureLog;
  readonly close: () => Promise<void>;
}

const onError = (message: string): void => void process.stderr.write(`onym: ${message}\n`);

/** `npm run erasures -- FOLDER`: what an import elsewhere needs to leave out whom this installation erased. */
async function writeErasures(config: Config, folder: string | undefined): Promise<void> {
  if (folder === undefined) throw new ConfigError("name the folder: npm run erasures -- FOLDER");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { catalog, log, close } = await openSource(config);
  try {
    const secret = tombSecretOf(await catalog.secret()).toString("base64url");
    const logFile = join(folder, "erasures.log");
    const secretFile = join(folder, "erasures.secret");
    await write(logFile, textOf(log));
    await write(secretFile, [`${secret}\n`]);
    process.stdout.write(`${logFile}\n${secretFile}\n`);
  } finally {
    await close();
  }
}

async function openSource({
  MONGODB_URL: url,
  DATA_DIR: dataDir,
  CHECKPOINT_MS: checkpointMs,
}: Config): Promise<Source> {
  if (url !== "") {
    const mongo = await openKnownMongo({ url, onError });
    const catalog = await createMongoCatalog({ mongo });
    if ((await catalog.workspaces({ limit: 1, after: null })).length === 0) {
      await mongo.close();
      throw new ConfigError("MONGODB_URL: this database holds no workspace");
    }
    return { catalog, log: createMongoErasureLog({ mongo }), close: () => mongo.close() };
  }
  if (!(await holdsWorkspaces(dataDir))) throw new ConfigError(`DATA_DIR: ${dataDir} holds no workspace`);
  const store = await openEmbedded({ dataDir, checkpointMs, onError });
  const catalog = createEmbeddedCatalog({ database: store.database });
  return { catalog, log: createErasureFile(join(dataDir, "erasures.log")), close: () => store.close() };
}

async function* textOf(log: ErasureLog): AsyncGenerator<string> {
  for await (const logged of log.entries()) yield `${toLogText(logged)}\n`;
}

/** Never over another file: the folder may be the one that the service writes its own log to. */
async function write(file: string, text: AsyncIterable<string> | Iterable<string>): Promise<void> {
  const opened = await open(file, "wx", 0o600).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "EEXIST" ? new ConfigError(`${file} is there already: name a new folder`) : error;
  });
  try {
    for await (const one of text) await opened.appendFile(one);
    await opened.datasync();
  } finally {
    await opened.close();
  }
}

await writeErasures(configOrFail(process.env), process.argv[2]).catch((error: unknown) => fail(error, ""));
