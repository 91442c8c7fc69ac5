import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Ground } from "../crash/stage.js";
import { dropPlaces, ownPlacesOn } from "./places.js";

/** A folder of its own for the embedded default. */
export async function openFolder(): Promise<Ground> {
  const folder = await mkdtemp(path.join(tmpdir(), "onym-crash-"));
  return {
    settings: { DATA_DIR: folder },
    settleMs: 5_000,
    drop: () => rm(folder, { recursive: true, force: true }),
  };
}

/** A queue and a database of its own on the servers of a running instance. */
export async function openServers(instance: string): Promise<Ground> {
  const settings = ownPlacesOn(instance);
  return { settings, settleMs: 30_000, drop: () => dropPlaces(settings) };
}
