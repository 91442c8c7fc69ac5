import { renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Backends } from "../backends.js";
import { createWorkspace } from "../../commands/create-workspace.js";
import { ConfigError } from "../../core/config.js";

/** With an empty store: makes the workspace `default` and answers its owner key, which exists nowhere else. Else null. */
export async function firstStart(catalog: Backends["catalog"], now: number): Promise<string | null> {
  const [existing] = await catalog.workspaces({ limit: 1, after: null });
  if (existing !== undefined) return null;
  return (await createWorkspace({ catalog }, "default", now)).key;
}

/** An owner key as a person gets it: on the terminal, or as the full path of a file that holds it. */
export type ShownKey = { readonly text: string } | { readonly file: string };

/**
 * On a terminal the key itself. Elsewhere the output is kept, in a log that others read, so the key goes into a file in `dataDir`
 * that only its owner can read.
 */
export function shownKey(key: string, dataDir: string, isTerminal: boolean): ShownKey {
  return isTerminal ? { text: key } : writeKey(key, ownerKeyFile(dataDir)).place();
}

export const ownerKeyFile = (dataDir: string): string => path.resolve(dataDir, "owner-key");

/** A key that is on the disk beside its file, and takes the place of what stands there, or leaves no trace. */
interface WrittenKey {
  place(): ShownKey;
  drop(): void;
}

export function writeKey(key: string, file: string): WrittenKey {
  const beside = `${file}.new`;
  const drop = (): void => rmSync(beside, { force: true });
  try {
    // Whoever made a file of this name could read what is written into it.
    drop();
    writeWhole(beside, `${key}\n`, drop);
  } catch (cause) {
    throw new ConfigError(`DATA_DIR: the owner key cannot be written to ${file} (${codeOf(cause)}); ${ANOTHER}`, {
      cause,
    });
  }
  const place = (): ShownKey => {
    try {
      renameSync(beside, file);
    } catch (cause) {
      throw new ConfigError(`DATA_DIR: the owner key is in ${beside}, for it cannot be ${file} (${codeOf(cause)})`, {
        cause,
      });
    }
    return { file };
  };
  return { place, drop };
}
const ANOTHER = "when it can, `npm run owner-key` makes another";
const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? "unknown";

/** `drop` takes away what a full disk left of it. */
function writeWhole(file: string, text: string, drop: () => void): void {
  try {
    writeFileSync(file, text, { mode: 0o600, flag: "wx", flush: true });
  } catch (error) {
    drop();
    throw error;
  }
}

/** The line that tells it. */
export const keyLine = (key: ShownKey): string =>
  "text" in key ? `owner key: ${key.text}` : `owner key: in ${key.file}, which only you can read`;

/** The header of a curl command, for any folder that it runs in. */
export const keyHeader = (key: ShownKey): string =>
  "text" in key
    ? `'Authorization: Bearer ${key.text}'`
    : `"Authorization: Bearer $(cat '${key.file.replaceAll("'", String.raw`'\''`)}')"`;

const SCHEMA = {
  type: "object",
  required: ["email"],
  properties: {
    email: { type: "string", format: "email", "x-identity": { namespace: "email" } },
    cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
    city: { type: "string", "x-trait": { name: "city" } },
  },
};

/** What a newcomer reads at the first start: four commands that work as they stand. */
export function welcome(url: string, key: ShownKey, now: string): string {
  const curl = (path: string, body: unknown): string =>
    [
      `curl -sS '${url}${path}' \\`,
      `  -H ${keyHeader(key)} \\`,
      `  -H 'Content-Type: application/json' \\`,
      `  -d '${JSON.stringify(body)}'`,
    ].join("\n");
  return [
    "workspace: default",
    keyLine(key),
    "Keep it safe: it is not shown again. Four commands to try it, in this order:",
    "",
    "# 1. a schema: what an event looks like, and what identifies the person",
    curl("/v1/schemas", { schema_id: "signup", schema: SCHEMA }),
    "",
    "# 2. a dataset: its events are folded into profiles",
    curl("/v1/datasets", { name: "signups", schema_id: "signup", unified_profile: true }),
    "",
    "# 3. an event",
    curl("/v1/collect", {
      schema_id: "signup",
      timestamp: now,
      payload: { email: "ada@example.com", cookie: "c-1815", city: "London" },
    }),
    "",
    "# 4. the profile",
    curl("/v1/profiles/lookup?wait=5", { identifiers: [{ namespace: "cookie_id", value: "c-1815" }] }),
    "",
    "",
  ].join("\n");
}
