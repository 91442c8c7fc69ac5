import { closeSync, existsSync, mkdirSync, openSync, readFileSync, readSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { CliError, EXIT } from "../fail.js";
import { endIn, fileOf, KINDS } from "./kinds.js";

/** Whose data the folder holds. */
export interface Owner {
  readonly workspace_id: string;
  /** Of the service, as it says itself. */
  readonly url: string;
}

/** What an export holds, other users of the machine must not read. */
const OWN_FOLDER = 0o700;
export const OWN_FILE = 0o600;

/** Makes the folder ready for an export, or for one to go on. Throws where two exports would mix. */
export function claimFolder(folder: string, owner: Owner): void {
  mkdirSync(folder, { recursive: true, mode: OWN_FOLDER });
  const files = KINDS.map((kind) => fileOf(folder, kind));
  const packed = files.map((file) => `${file}.gz`).find((file) => existsSync(file));
  if (packed !== undefined) throw refused(`${packed}: an export cannot go on in compressed files`);
  const sizes = files.map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  const place = path.join(folder, "workspace.json");
  if (sizes.every((size) => size === 0)) return writeFileSync(place, `${JSON.stringify(owner)}\n`, { mode: OWN_FILE });
  if (files.every((file, n) => endsWhole(file, sizes[n]!))) throw refused(`${folder}: this export is complete`);
  const held = ownerIn(place);
  if (held === null) throw refused(`${place}: does not say of which workspace the files beside it are`);
  if (held.workspace_id !== owner.workspace_id || held.url !== owner.url)
    throw refused(`${folder}: holds an export of workspace ${held.workspace_id} of ${held.url}`);
}

const refused = (what: string): CliError => new CliError(EXIT.refused, `${what}; name another folder`);

/** Null: nobody can read it. */
function ownerIn(place: string): Owner | null {
  try {
    const { workspace_id: id, url } = JSON.parse(readFileSync(place, "utf8")) as Partial<Owner>;
    return id === undefined || url === undefined ? null : { workspace_id: id, url };
  } catch {
    return null;
  }
}

/** An end has fewer. */
const TAIL_BYTES = 1_024;

/** Whether the last line is the end of a complete export. The file may be of any size. */
function endsWhole(file: string, size: number): boolean {
  if (size === 0) return false;
  const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
  const handle = openSync(file, "r");
  try {
    readSync(handle, tail, 0, tail.length, size - tail.length);
  } finally {
    closeSync(handle);
  }
  const text = tail.toString();
  // Without its line feed the line may have been cut.
  return text.endsWith("\n") && endIn(text.slice(text.lastIndexOf("\n", text.length - 2) + 1))?.complete === true;
}
