import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { parse } from "yaml";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../..");
export const textOf = (name: string): string => readFileSync(path.join(ROOT, name), "utf8");

export interface ComposeService {
  readonly image: string;
  readonly build?: { readonly context: string };
  readonly container_name?: string;
  readonly scale?: string;
  readonly user?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly env_file?: readonly { readonly path: string; readonly required: boolean }[];
  readonly networks?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly privileged?: boolean;
  readonly network_mode?: string;
  readonly pid?: string;
  readonly ipc?: string;
  readonly mem_limit?: string;
  readonly cpus?: number;
  readonly pids_limit?: number;
  readonly restart?: string;
  readonly stop_grace_period?: string;
  readonly logging?: { readonly driver: string; readonly options: Readonly<Record<string, string>> };
  readonly healthcheck?: { readonly test: readonly string[]; readonly interval: string; readonly timeout: string };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes?: Readonly<Record<string, object>>;
}

/** Each reference of a text to a variable: `${NAME}`, `${NAME:-value}` or `${NAME:?words}`. */
export const REFERENCE = /\$\{([A-Z][A-Z0-9_]*)(?::([-?])([^}]*))?\}/g;

/** The file with its anchors resolved. */
export const composeFile = (name: string, text = textOf(name)): ComposeFile =>
  parse(text, { merge: true }) as ComposeFile;

export const exampleEnvironment = (): Readonly<Record<string, string | undefined>> => parseEnv(textOf(".env.example"));

/** The text with its references replaced the way Compose does it; throws where a required one is empty. */
export const substitute = (text: string, environment: Readonly<Record<string, string | undefined>>): string =>
  text.replace(REFERENCE, (_reference, name: string, kind?: string, words?: string) => {
    const value = environment[name] ?? "";
    if (value !== "") return value;
    if (kind === "?") throw new Error(`${name}: ${words}`);
    return kind === "-" ? (words ?? "") : "";
  });

const UNITS: Readonly<Record<string, number>> = { "": 1, b: 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };

/** `512m` in bytes. */
export function bytesOf(size: string): number {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)([bkmg]?)b?$/i.exec(size) ?? [];
  return Number(number) * (UNITS[unit.toLowerCase()] ?? Number.NaN);
}

/** `20s` or `1m30s` in milliseconds. */
export const durationMs = (text: string): number => {
  const [, minutes = "0", seconds = "0"] = /^(?:(\d+)m)?(?:(\d+)s)?$/.exec(text) ?? ["", "NaN"];
  return (Number(minutes) * 60 + Number(seconds)) * 1_000;
};
