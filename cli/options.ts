import type { ParseArgsConfig } from "node:util";
import { usage } from "./fail.js";

export type Options = NonNullable<ParseArgsConfig["options"]>;
export type Values = Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>;

/** Of every command. */
export const COMMON: Options = {
  url: { type: "string" },
  "key-file": { type: "string" },
  key: { type: "string" },
  json: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
};

export const COMMON_HELP = `
  --url URL        the service (ONYM_URL, else http://127.0.0.1:8080)
  --key-file FILE  a file that holds the key (else ONYM_KEY, else data/owner-key for a service on this machine)
  --json           JSON, for programs
  --help           this text
`;

export function textIn(values: Values, name: string): string | null {
  const value = values[name];
  return typeof value === "string" ? value : null;
}

export const flagIn = (values: Values, name: string): boolean => values[name] === true;

export const listIn = (values: Values, name: string): readonly string[] => {
  const value = values[name];
  return Array.isArray(value) ? (value as readonly string[]) : [];
};

export function wholeIn(values: Values, name: string, { min, max }: { readonly min: number; readonly max: number }) {
  const text = textIn(values, name);
  if (text === null) return null;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw usage(`--${name}: must be a whole number from ${min} to ${max}`);
}

/** `COLUMN=NAME`: the column ends at the last `=`, because names hold none. */
export function pairIn(name: string, text: string): readonly [column: string, name: string] {
  const at = text.lastIndexOf("=");
  if (at > 0 && at < text.length - 1) return [text.slice(0, at), text.slice(at + 1)];
  throw usage(`--${name}: ${JSON.stringify(text)} must be COLUMN=NAME`);
}

export interface Identifier {
  readonly namespace: string;
  readonly value: string;
}

/** `email:ada@example.com`. */
export function identifierIn(text: string): Identifier {
  const at = text.indexOf(":");
  if (at < 1 || at === text.length - 1)
    throw usage(`${JSON.stringify(text)} must be NAMESPACE:VALUE, such as email:ada@example.com`);
  return { namespace: text.slice(0, at), value: text.slice(at + 1) };
}
