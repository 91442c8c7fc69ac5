/** A process that makes a store, and then looks at damaged copies of it, one after the other. */
import { startService, type Service } from "../../../app/service.js";
import { readConfig } from "../../../core/config.js";
import { serveParent } from "../../shared/child.js";
import { openClient } from "../../shared/client.js";
import { fill, look, type Truth } from "./truth.js";
import type { Asks, Filling, Look } from "./damage.js";

let alarms = 0;
const log = { info: () => {}, warn: () => {}, error: () => void (alarms += 1) };
const start = (folder: string, settings: Readonly<Record<string, string>> = {}): Promise<Service> =>
  startService({ config: readConfig({ PORT: "0", DATA_DIR: folder, ...settings }), log });

let standing: Service | null = null;
const stop = async (): Promise<void> => {
  await standing?.close();
  standing = null;
};

async function fillFolder({ folder, checkpointMs }: Filling): Promise<Truth> {
  standing = await start(folder, { CHECKPOINT_MS: String(checkpointMs) });
  const client = openClient(standing.url, 1);
  try {
    return await fill(client, standing.ownerKey!);
  } finally {
    client.close();
  }
}

async function lookAt({ folder, truth }: { readonly folder: string; readonly truth: Truth }): Promise<Look> {
  alarms = 0;
  let service: Service;
  try {
    service = await start(folder);
  } catch (error) {
    return { kind: "refused", message: (error as Error).message };
  }
  const client = openClient(service.url, 4);
  try {
    const found = await look(client, truth);
    return { kind: "started", ...found, alarms };
  } finally {
    client.close();
    await service.close();
  }
}

serveParent<Asks>({}, { fill: fillFolder, stop, look: lookAt }, stop);
