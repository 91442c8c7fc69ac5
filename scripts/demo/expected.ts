import { identifierKey, type Identifier } from "../../core/event/event.js";
import type { WorkspaceId } from "../../core/ids.js";
import { admit, namespaceTable } from "../../core/identity/namespaces.js";
import { keyValue, type Key } from "./keys.js";
import type { CsvRecord } from "./records.js";

const TABLE = namespaceTable([]);
const NO_WORKSPACE = "" as WorkspaceId;
export const nameOf = (identifier: Identifier): string => identifierKey(NO_WORKSPACE, identifier);

/** What identifies the record, normalised, without values that stand for nobody. */
export function identifiersOf(record: CsvRecord, keys: readonly Key[]): readonly Identifier[] {
  const given = keys.flatMap((key) => {
    const value = keyValue(key, record);
    return value === null ? [] : [{ path: key.field, namespace: key.namespace, value }];
  });
  return admit(given, TABLE).identifiers;
}

export const identifies = (record: CsvRecord, keys: readonly Key[]): boolean => identifiersOf(record, keys).length > 0;

/** A person as the keys say: the rows (from 0) and the identifiers that belong together. */
export interface Group {
  readonly rows: readonly number[];
  readonly identifiers: readonly Identifier[];
}

/** The closure by union-find, a second implementation that shares nothing with the identity graph. Rows without identifiers are in no group. */
export function expectedGroups(records: readonly (readonly Identifier[])[]): readonly Group[] {
  const parents = new Map<string, string>();
  const find = (name: string): string => {
    let root = name;
    while (parents.get(root) !== root) root = parents.get(root)!;
    for (let at = name; at !== root;) {
      const next = parents.get(at)!;
      parents.set(at, root);
      at = next;
    }
    return root;
  };
  for (const identifiers of records) {
    const names = identifiers.map(nameOf);
    for (const name of names) if (!parents.has(name)) parents.set(name, name);
    for (const name of names.slice(1)) parents.set(find(name), find(names[0]!));
  }
  return collectGroups(records, find);
}

function collectGroups(records: readonly (readonly Identifier[])[], find: (name: string) => string): readonly Group[] {
  const groups = new Map<string, { readonly rows: number[]; readonly identifiers: Map<string, Identifier> }>();
  for (const [row, identifiers] of records.entries()) {
    const [first] = identifiers;
    if (first === undefined) continue;
    const root = find(nameOf(first));
    const group = groups.get(root) ?? { rows: [], identifiers: new Map<string, Identifier>() };
    groups.set(root, group);
    group.rows.push(row);
    for (const identifier of identifiers) group.identifiers.set(nameOf(identifier), identifier);
  }
  return [...groups.values()].map(({ rows, identifiers }) => ({ rows, identifiers: [...identifiers.values()] }));
}
