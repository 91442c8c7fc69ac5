import type { Database } from "../../core/database.js";
import type { IdentifierKey, Uid, WorkspaceId } from "../../core/ids.js";
import type { Component, Plan } from "../../core/identity/model.js";
import { keyBlob, keyPrefix, type RowSnapshot } from "./encoding.js";

/** An identifier that a plan names: its row and its component; before the plan's own splits. */
export interface Location {
  readonly row: number;
  readonly uid: Uid;
  readonly component: number;
}

export interface Locations {
  find(key: IdentifierKey): Location | undefined;
  /** Throws when there is no such identifier. */
  require(key: IdentifierKey): Location;
}

/** What happened to the components that a plan names. */
export interface Written {
  /** Of `Plan.components`, by position. */
  readonly rows: readonly number[];
  /** Absorbed component -> the one that absorbed it. */
  readonly movedTo: ReadonlyMap<Component, number>;
  /** Those whose rev is already raised. */
  readonly raised: Set<number>;
}

/** By its key, unless its component is sealed. */
export function prepareFindLocation(database: Database) {
  const find = database.prepare(
    `SELECT i.id, i.uid, i.component FROM identifiers i JOIN components c ON c.id = i.component
     WHERE i.key = ? AND c.size > 0`,
  );
  return (workspace: WorkspaceId, key: IdentifierKey): Location | undefined => {
    if (!key.startsWith(keyPrefix(workspace))) return undefined;
    const found = find.get([keyBlob(key)]) as readonly [number, Uid, number] | undefined;
    return found === undefined ? undefined : { row: found[0], uid: found[1], component: found[2] };
  };
}

/** What the step read or created is known; the rest is found by its key. */
export function prepareLocations(findByKey: ReturnType<typeof prepareFindLocation>) {
  return (workspace: WorkspaceId, { creates }: Plan, snapshot: RowSnapshot, { rows, movedTo }: Written): Locations => {
    const created = new Map(creates.map(({ key, uid, component }) => [key, { uid, component: rows[component]! }]));
    const found = new Map<IdentifierKey, Location | undefined>();
    const locationOf = (key: IdentifierKey): Location | undefined => {
      const location = snapshot.identifiers.get(key) ?? created.get(key);
      if (location === undefined) return findByKey(workspace, key);
      const { uid, component } = location;
      return { row: snapshot.rowIds.get(key)!, uid, component: movedTo.get(component) ?? component };
    };
    const find = (key: IdentifierKey): Location | undefined => {
      if (!found.has(key)) found.set(key, locationOf(key));
      return found.get(key);
    };
    return { find, require: (key) => existing(find(key), "identifier") };
  };
}

/** A plan that names something that does not exist is a bug: the step is rolled back. */
export function existing<T>(found: T | undefined, what: string): T {
  if (found === undefined) throw new Error(`The plan names a ${what} that does not exist.`);
  return found;
}

export const requireOne = ({ changes }: { readonly changes: number }, what: string): void =>
  void existing(changes === 1 ? true : undefined, what);
