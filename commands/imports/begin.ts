import { AppError } from "../../core/errors.js";
import { DEFAULT_IDENTITY_SETTINGS } from "../../core/catalog/catalog.js";
import { DEFAULT_SDK_CATALOG } from "../../core/catalog/sdk.js";
import type { WorkspaceId } from "../../core/ids.js";
import { buildAll } from "../audiences/restore.js";
import type { Services } from "../services.js";

type BeginServices = Pick<Services, "catalog" | "identity" | "events" | "audiences" | "seats">;

export interface ImportState {
  readonly isOpen: boolean;
  /** What the workspace has, by its name. */
  readonly stands: readonly string[];
}

const ANY = { schemaId: null, keyId: null, status: null, since: null, until: null };
const ONE = { limit: 1, after: null };

/** Opens the workspace for an import; one that is open already goes on. Throws `conflict` when anything stands there. */
export async function beginImport(
  services: BeginServices,
  workspace: WorkspaceId,
  dryRun: boolean,
): Promise<ImportState> {
  const [isOpen, stands] = await Promise.all([
    services.catalog.isImporting(workspace),
    whatStands(services, workspace),
  ]);
  if (dryRun || isOpen) return { isOpen, stands };
  if (stands.length > 0)
    throw new AppError("conflict", `The workspace is not empty. It has: ${stands.join(", ")}.`, {
      members: { stands },
    });
  await services.catalog.setImporting(workspace, true);
  return { isOpen: true, stands };
}

/** Has all audiences built, also one that was stored, and built over nothing, while the import began. */
export async function endImport(
  services: Pick<Services, "catalog" | "audiences">,
  workspace: WorkspaceId,
): Promise<void> {
  if (!(await services.catalog.isImporting(workspace))) return;
  // Before it ends: whoever dies between the two leaves it open, and it can be ended again.
  await buildAll(services, workspace);
  await services.catalog.setImporting(workspace, false);
}

export async function requireOpenImport({ catalog }: Pick<Services, "catalog">, workspace: WorkspaceId): Promise<void> {
  if (await catalog.isImporting(workspace)) return;
  throw new AppError("conflict", "No import is open. Start one with POST /v1/imports.");
}

async function whatStands({ catalog, identity, events, audiences, seats }: BeginServices, workspace: WorkspaceId) {
  const arrivals = {
    filter: ANY,
    order: "oldest",
    after: null,
    limit: 1,
    bytesMax: 1,
    looksMax: 2,
    // One that cannot be read stands there, too.
    passesDamaged: true,
  } as const;
  const letters = { limit: 1, before: null, eventId: null, reason: null };
  const [profiles, changes, seen, dead, schemas, datasets, namespaces, traits, ruled, settings, sdk] =
    await Promise.all([
      identity.walk(workspace, { ...ONE, membersMax: 0 }),
      identity.changes(workspace, null, { limit: 1, before: null }),
      events.arrivals(workspace, arrivals),
      events.deadLetters(workspace, letters),
      catalog.schemas(workspace, ONE),
      catalog.datasets(workspace, ONE),
      catalog.namespaces(workspace),
      catalog.traits(workspace),
      audiences.audiences(workspace),
      catalog.identitySettings(workspace),
      catalog.sdk(workspace),
    ]);
  // Behind the audiences: one that was deleted stands there until its end is told.
  const { head } = await seats.sizes(workspace);
  const isSet =
    JSON.stringify(settings) !== JSON.stringify(DEFAULT_IDENTITY_SETTINGS) ||
    JSON.stringify(sdk) !== JSON.stringify(DEFAULT_SDK_CATALOG);
  const has: Readonly<Record<string, boolean>> = {
    profiles: profiles.length > 0,
    changes: changes.length > 0,
    events: seen.events.length + seen.damaged.length > 0,
    dead_letters: dead.length > 0,
    schemas: schemas.length > 0,
    datasets: datasets.length > 0,
    namespaces: namespaces.length > 0,
    traits: traits.size > 0,
    audiences: ruled.audiences.length + ruled.deleted.length > 0,
    // The end of an audience is told once: one that came back under its id could not end again.
    feed: head > 0,
    settings: isSet,
  };
  return Object.keys(has).filter((name) => has[name] === true);
}
