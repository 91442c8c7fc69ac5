import { readFileSync } from "node:fs";
import path from "node:path";
import type { Crowd } from "./ask.js";
import { FIRST, userOf } from "./people.js";

/** Of all that are asked about in one folder. */
export const OPERATOR_KEY = "operator-key-of-the-bench";
export const settingsOf = (folder: string) => ({ DATA_DIR: path.join(folder, "data"), OPERATOR_KEY });
/** Stands in the folder once all of them are made. */
export const noteOf = (folder: string): string => path.join(folder, "bench.json");

/** What a later run on the same folder needs. */
export interface Kept {
  readonly key: string;
  readonly crowd: Crowd;
  readonly events: number;
}
export const keptIn = <T extends Kept>(folder: string): T => JSON.parse(readFileSync(noteOf(folder), "utf8")) as T;

/** What anybody of the crowd is called, those that were copied too. */
export function userAmong(person: number): string {
  const copy = Math.floor(person / FIRST);
  return `${userOf(person % FIRST)}${copy === 0 ? "" : `.${copy}`}`;
}

/** The profiles of a folder that an earlier run has made, for another kind of load. Throws if there are none. */
export function openCrowd(folder: string) {
  const { key, crowd } = keptIn<Kept>(folder);
  const emailOf = (person: number): string => `${userAmong(person)}@example.com`;
  return { settings: settingsOf(folder), key, count: crowd.people, emailOf };
}
