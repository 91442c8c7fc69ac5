import { scanJson } from "../core/json/scan.js";
import { CliError, EXIT } from "./fail.js";
import { plain } from "./show.js";

/** Beyond every depth that a service can be set to take. */
const DEPTH_MAX = 1_000;

/**
 * Throws what the service would say of these bytes. What is written anew for a request does not show it that a long number was rounded, or
 * a name stood twice.
 */
export function requireExact(bytes: Buffer): void {
  const { problem } = scanJson(bytes, DEPTH_MAX);
  if (problem === null) return;
  const { path, message } = problem;
  throw new CliError(EXIT.refused, plain(path === "" ? message : `${path}: ${message}`));
}
