import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** Requests of real SDKs, as they were recorded. */
const FOLDER = fileURLToPath(new URL("../../../../../shared/data/sdk-requests/", import.meta.url));

export interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly content_encoding?: string;
}

export interface Recording {
  readonly name: string;
  /** When, milliseconds since 1970. */
  readonly at: number;
  /** Scenario -> its requests that carry items, with their bodies. */
  readonly scenarios: Readonly<Record<string, readonly Recorded[]>>;
}

interface Stored {
  readonly made_at: string;
  readonly requests?: readonly Recorded[];
  readonly scenarios?: Readonly<Record<string, { readonly requests: readonly Recorded[] }>>;
}

const isCall = ({ method, body }: Partial<Recorded>): boolean =>
  method === "POST" && typeof body === "object" && body !== null;

function read(file: string): Recording {
  const stored = JSON.parse(readFileSync(path.join(FOLDER, file), "utf8")) as Stored;
  const scenarios = stored.scenarios ?? { requests: { requests: stored.requests ?? [] } };
  const calls = Object.entries(scenarios).map(([name, { requests }]) => [name, requests.filter(isCall)] as const);
  return {
    name: file.replace(".json", ""),
    at: Date.parse(stored.made_at),
    scenarios: Object.fromEntries(calls.filter(([, requests]) => requests.length > 0)),
  };
}

/** Empty, and told, where the folder is not there. */
export function recordings(): readonly Recording[] {
  if (!existsSync(FOLDER)) {
    process.stderr.write(
      "\n  NOT RUN: the recorded requests of SDKs (shared/data/sdk-requests, a folder beside the checkout) are not here\n",
    );
    return [];
  }
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(".json"))
    .toSorted()
    .map(read);
}
