import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

/** A new temporary folder; `remove` takes it away with all that is in it. */
export function openScratch(name: string) {
  const folder = mkdtempSync(path.join(tmpdir(), `onym-${name}-`));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
