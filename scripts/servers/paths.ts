import { homedir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this file's source: what the compiler does not copy stands there. */
export const SOURCE = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../scripts/servers");

export function cacheFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  if (env["ONYM_CACHE_DIR"]) return path.resolve(env["ONYM_CACHE_DIR"]);
  return path.join(env["XDG_CACHE_HOME"] || path.join(homedir(), ".cache"), "onym");
}

export const installFolder = (): string => path.join(cacheFolder(), "installed");

export const instanceFolder = (name: string): string => path.join(cacheFolder(), "servers", name);
