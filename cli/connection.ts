import { readFileSync } from "node:fs";
import path from "node:path";
import { createHttp, type Http } from "../client/http.js";
import { CliError, EXIT, usage } from "./fail.js";
import { textIn, type Values } from "./options.js";
import type { World } from "./world.js";

const URL_BY_DEFAULT = "http://127.0.0.1:8080";
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

export interface Service {
  readonly url: string;
  /** Null: none was found. */
  readonly key: string | null;
  /** Where the key was found; never the key. */
  readonly keyPlace: string;
  readonly isLoopback: boolean;
}

/** Where the service is, and who asks. */
export function findService(values: Values, { env, err }: World): Service {
  const given = textIn(values, "url") ?? env["ONYM_URL"] ?? URL_BY_DEFAULT;
  const url = URL.canParse(given) ? new URL(given) : null;
  // What is before an @ may be a password.
  if (given.includes("@")) throw usage("--url: must have no user name or password, and no @");
  if (url === null || !/^https?:$/.test(url.protocol)) throw usage(`--url: ${given} is not an http or https URL`);
  const isLoopback = LOOPBACK.test(url.hostname);
  const found = findKey(values, env, isLoopback);
  if (found?.place === "--key") err("onym: --key: others on this machine can read it; use --key-file or ONYM_KEY\n");
  return {
    url: url.href.replace(/\/+$/, ""),
    key: found?.key ?? null,
    keyPlace: found?.place ?? "nowhere",
    isLoopback,
  };
}

interface FoundKey {
  readonly place: string;
  readonly key: string;
}

function findKey(values: Values, env: World["env"], isLoopback: boolean): FoundKey | null {
  const file = textIn(values, "key-file");
  if (file !== null) return { place: file, key: readFileSync(file, "utf8").trim() };
  const key = textIn(values, "key");
  if (key !== null) return { place: "--key", key };
  if (env["ONYM_KEY"] !== undefined && env["ONYM_KEY"] !== "") return { place: "ONYM_KEY", key: env["ONYM_KEY"] };
  // The file of a first start on this machine: its key is for no other.
  return isLoopback ? ownerKeyIn(path.resolve(env["DATA_DIR"] ?? "data", "owner-key")) : null;
}

function ownerKeyIn(file: string): FoundKey | null {
  try {
    return { place: file, key: readFileSync(file, "utf8").trim() };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** An explanation or an undo of a large profile takes up to 60 seconds. */
const ANSWER_MS = 90_000;
const RETRY_MS = 10_000;

/** `retryMs`: how long a busy or absent service is asked again. */
export function connect({ url, key }: Service, retryMs: number = RETRY_MS): Http {
  if (key === null) throw new CliError(EXIT.key, "no key: set ONYM_KEY, or name a file with --key-file");
  if (!/^[\x21-\x7e]+$/.test(key)) throw new CliError(EXIT.key, "the key is not one line of plain characters");
  return createHttp({ url, key, retryMs, timeoutMs: ANSWER_MS });
}
