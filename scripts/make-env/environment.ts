import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/** 256 bits as letters and digits: they stand in URLs, and on a command line a leading dash would be an option. */
const secret = (): string => randomBytes(32).toString("hex");

/** The text of `.env.example` with a fresh secret after each `NAME=` that has no value; the rest stays as it is. */
export const fillIn = (example: string): string =>
  example.replace(/^([A-Z][A-Z0-9_]*)=$/gm, (_line, name: string) => `${name}=${secret()}`);

/**
 * Writes `.env` beside `.env.example` in that folder, readable by its owner alone, and answers its path. Throws EEXIST when there is
 * one: the servers were started with its passwords.
 */
export function writeEnvironment(folder: string): string {
  const file = path.join(folder, ".env");
  const text = fillIn(readFileSync(path.join(folder, ".env.example"), "utf8"));
  writeFileSync(file, text, { flag: "wx", mode: 0o600 });
  return file;
}
