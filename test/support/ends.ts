import { readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { placesOf, SERVERS } from "./servers/servers.js";

/** In parallel, mocha ends each of its processes by itself, and `endRun` clears up behind them. */
const isParallel = process.env["MOCHA_WORKER_ID"] !== undefined;

/** Folders of services that all files of a process share begin with it. */
export const sharedPrefix = (run: number): string => `onym-run-${run}-`;

let close: (() => Promise<void>) | null = null;

/** Called when all files have run. A file without a service thus need not load one. */
export function atEnd(closing: () => Promise<void>): void {
  close = closing;
}

/** What runs after all files of one process runs after each file in parallel, where a shared service stays for the next one. */
export async function endFile(): Promise<void> {
  if (isParallel) return;
  const closing = close;
  close = null;
  await closing?.();
}

/** Removes what the shared services of this run's processes left behind. */
export async function endRun(): Promise<void> {
  const names = await readdir(tmpdir());
  for (const name of names.filter((one) => one.startsWith(sharedPrefix(process.pid))))
    await removeFolder(path.join(tmpdir(), name));
}

/** With the places on servers that go with it. */
export async function removeFolder(folder: string): Promise<void> {
  // The drivers take their time to load, so only where they are used.
  if (SERVERS !== null) await (await import("./house/places.js")).dropPlaces(placesOf(folder));
  await rm(folder, { recursive: true, force: true });
}
