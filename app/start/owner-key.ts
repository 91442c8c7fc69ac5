import { readFileSync } from "node:fs";
import { createKey, OWNER_KEY } from "../../commands/rotate-key.js";
import { keyIdOf, mintKey } from "../../core/catalog/api-key.js";
import { ConfigError, type Config } from "../../core/config.js";
import type { Workspace } from "../../core/catalog/catalog.js";
import type { WorkspaceId } from "../../core/ids.js";
import { describeError } from "../../core/log.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import { createEmbeddedCatalog } from "../../store/embedded/catalog/catalog.js";
import { openEmbedded } from "../../store/embedded/open.js";
import { holdsWorkspaces } from "../../store/embedded/copy/place.js";
import { configOrFail, fail } from "./fail.js";
import { createLog } from "../logger.js";
import { keyLine, ownerKeyFile, writeKey, type ShownKey } from "./first-start.js";

/** More than anybody would read. */
const LISTED_MAX = 100;

/** `npm run owner-key [-- WORKSPACE_ID]`: a new owner key for whoever can read the folder. The service must be stopped. */
async function makeOwnerKey(config: Config, wanted: string | undefined): Promise<void> {
  const { DATA_DIR: dataDir, CHECKPOINT_MS: checkpointMs } = config;
  if (config.MONGODB_URL !== "")
    throw new ConfigError("MONGODB_URL: the keys are in MongoDB; use POST /v1/workspaces/{id}/keys with OPERATOR_KEY");
  if (!(await holdsWorkspaces(dataDir)))
    throw new ConfigError(`DATA_DIR: ${dataDir} holds no workspace; the first start of the service makes one`);
  const log = createLog(config.LOG_LEVEL);
  const onError = (message: string, error: unknown): void => log.error({ cause: describeError(error) }, message);
  const store = await openEmbedded({ dataDir, checkpointMs, onError });
  try {
    const catalog = createEmbeddedCatalog({ database: store.database });
    const { workspaceId: workspace } = await choose(catalog, wanted);
    const file = process.stdout.isTTY ? null : await fileFor(catalog, dataDir, workspace);
    const shown = keyLine(await makeKey(catalog, workspace, file));
    process.stdout.write(`workspace: ${workspace}\n${shown}\nThe keys that were there still work.\n`);
  } finally {
    await store.close();
  }
}

/** A key that cannot be written must not be one: it would open everything, and nobody would know it. */
async function makeKey(catalog: CatalogStore, workspace: WorkspaceId, file: string | null): Promise<ShownKey> {
  const minted = mintKey();
  const written = file === null ? null : writeKey(minted.key, file);
  try {
    await createKey({ catalog }, { workspace, now: Date.now() }, OWNER_KEY, Infinity, minted);
  } catch (error) {
    written?.drop();
    throw error;
  }
  return written === null ? { text: minted.key } : written.place();
}

/** A file that holds a key of another workspace stays: it may be the only place where that key is. */
async function fileFor(catalog: CatalogStore, dataDir: string, workspace: WorkspaceId): Promise<string> {
  const file = ownerKeyFile(dataDir);
  const keyId = keyIdOf(textOf(file));
  const standing = keyId === null ? null : await catalog.findKey(keyId);
  return standing === null || standing.workspace === workspace ? file : `${file}-${workspace}`;
}

/** Empty where nothing can be read: then there is no key to keep. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return "";
  }
}

/** The workspace that is named, or the only one. */
async function choose(catalog: CatalogStore, wanted: string | undefined): Promise<Workspace> {
  const named = wanted === undefined ? null : await catalog.findWorkspace(wanted as WorkspaceId);
  if (named !== null) return named;
  const workspaces = await catalog.workspaces({ limit: LISTED_MAX, after: null });
  if (wanted === undefined && workspaces.length === 1) return workspaces[0]!;
  const list = workspaces.map(({ workspaceId, name }) => `\n  ${workspaceId}  ${JSON.stringify(name)}`).join("");
  throw new ConfigError(`name one of these workspaces: npm run owner-key -- WORKSPACE_ID${list}`);
}

await makeOwnerKey(configOrFail(process.env), process.argv[2]).catch((error: unknown) =>
  fail(error, "cannot make a key: "),
);
