import { statfsSync } from "node:fs";
import { freemem } from "node:os";
import type { RootHookObject } from "mocha";
import { SERVERS } from "./servers/servers.js";
import { endFile, endRun } from "./ends.js";

const IN_MEMORY = "/dev/shm";
const ROOM_MIN = 4 * 1_024 ** 3;

/** What a test keeps in a temporary folder never outlives its machine, so it need not wait for a disk. */
function keepFilesInMemory(): void {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    if (Math.min(bavail * bsize, freemem()) >= ROOM_MIN) process.env.TMPDIR ??= IN_MEMORY;
  } catch {
    // No such folder on this machine.
  }
}
keepFilesInMemory();

/** Loaded only where there is a MongoDB: the driver takes its time. */
const shapes = SERVERS === null ? null : await import("./mongo-shapes/recorder.js");
shapes?.recordShapes();

/** What mocha runs around everything; `.mocharc.json` names this file. */
export const mochaHooks: RootHookObject = {
  afterAll: async () => {
    await endFile();
    shapes?.requireServed();
  },
};
export const mochaGlobalTeardown = endRun;
