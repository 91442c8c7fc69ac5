import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { ServiceOptions } from "../../../app/service.js";
import { AppError } from "../../../core/errors.js";
import { dropPlaces } from "../house/places.js";
import { startApp, type App } from "../service/app.js";
import { placesOf, secondGraphUrl, SERVERS } from "../servers/servers.js";
import { createUnderway, noting, type Underway } from "./audiences/underway.js";
import type { Place } from "./bench.js";

/** Where programs run: services that share one store and, for each workspace, one clock. */
/** Who asks while another one is being answered shares the next answer. */
function resting(apps: readonly App[]): Place["rest"] {
  const keepers = apps.flatMap(({ service }) => service.keeper ?? []);
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | null = null;
  return () =>
    (next ??= running.then(() => {
      next = null;
      return (running = Promise.all(keepers.map((keeper) => keeper.rest())).then(() => undefined));
    }));
}

export interface OpenPlace extends Place {
  close(): Promise<void>;
}

interface Levers {
  readonly ahead: Map<string, number>;
  readonly dying: Set<string>;
  readonly underway: Underway;
}

const createLevers = (): Levers => ({ ahead: new Map(), dying: new Set(), underway: createUnderway() });

const optionsFor = ({ ahead, dying, underway }: Levers): Partial<ServiceOptions> => ({
  ahead: (workspace) => ahead.get(workspace) ?? 0,
  wrap: (backends) => ({
    ...backends,
    ...noting(underway, backends),
    events: {
      ...backends.events,
      insert: (workspace, ...rest) =>
        dying.has(workspace)
          ? Promise.reject(new AppError("validation_failed", "It dies."))
          : backends.events.insert(workspace, ...rest),
    },
  }),
});
/** What fails once becomes a dead letter. */
const SETTINGS = { WORKER_TRIES_MAX: "1" };

/** One service that does all, and another one that programs may move to. */
export async function openEmbedded(): Promise<OpenPlace> {
  const levers: Levers = createLevers();
  const app = await startApp(SETTINGS, optionsFor(levers));
  const second = await startApp(SETTINGS, optionsFor(levers));
  const close = async (): Promise<void> => {
    await second.close();
    await app.close();
  };
  const other = { ...levers, app: second, rest: resting([second]), other: null };
  return { ...levers, app, rest: resting([app]), other, close };
}

/** A gateway and so many workers on the servers of this run. What one changes the others see at once. */
export async function openOnServers(workers: number): Promise<OpenPlace> {
  const levers: Levers = createLevers();
  const folder = await mkdtemp(path.join(tmpdir(), `onym-oracle-${randomUUID().slice(0, 8)}-`));
  const second = secondGraphUrl();
  // The workspaces of the programs are spread over both graphs.
  const graphs = second === null ? {} : { NEO4J_URL: second, NEO4J_URLS: `first=${SERVERS!.NEO4J_URL}` };
  // A busy machine must not fail a program.
  const patient = { IDENTITY_TIMEOUT_MS: "30000" };
  const fresh = { KEY_CACHE_MS: "0", CATALOG_STALE_MS: "0" };
  const settings = { ...SETTINGS, ...graphs, ...patient, ...fresh, DATA_DIR: folder };
  const apps: App[] = [];
  const close = async (): Promise<void> => {
    for (const app of apps.toReversed()) await app.close();
    await dropPlaces(placesOf(folder));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    for (const MODE of ["gateway", ...Array.from({ length: workers }, () => "worker")])
      apps.push(await startApp({ ...settings, MODE }, optionsFor(levers)));
  } catch (error) {
    await close();
    throw error;
  }
  return { ...levers, app: apps[0]!, rest: resting(apps), other: null, close };
}
