import { invalidParameter } from "../../core/errors.js";

/** Yes or no; absent is no. Anything else is refused: a typing error must not do what was only to be tried. */
export function readFlag(query: Readonly<Record<string, string>>, name: string): boolean {
  const given = query[name];
  if (given === undefined || given === "false") return false;
  if (given === "true") return true;
  throw invalidParameter(name, "must be true or false");
}
