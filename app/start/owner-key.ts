import { createKey, OWNER_KEY } from "../../commands/rotate-key.js";
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
import { keyLine, shownKey } from "./first-start.js";

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
    const { key } = await createKey({ catalog }, { workspace, now: Date.now() }, OWNER_KEY, Infinity);
    const shown = keyLine(shownKey(key, dataDir, process.stdout.isTTY));
    process.stdout.write(`workspace: ${workspace}\n${shown}\nThe keys that were there still work.\n`);
  } finally {
    await store.close();
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
