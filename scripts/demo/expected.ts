import { identifierKey, type Identifier } from "../../core/event/event.js";
import type { WorkspaceId } from "../../core/ids.js";
import { admit, namespaceTable } from "../../core/identity/namespaces.js";
import { createPartition } from "../shared/partition.js";
import { keyValue, type Key } from "./keys.js";
import type { CsvRecord } from "./table.js";

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

/** A person as the keys say: the rows (from 0) and the identifiers that belong together. */
interface Group {
  readonly rows: readonly number[];
  readonly identifiers: readonly Identifier[];
}

/** The closure by union-find, which shares nothing with the identity graph. Rows without identifiers are in no group. */
export function expectedGroups(records: readonly (readonly Identifier[])[]): readonly Group[] {
  const persons = createPartition();
  for (const identifiers of records) persons.join(identifiers.map(nameOf));
  const groups = new Map<string, { readonly rows: number[]; readonly identifiers: Map<string, Identifier> }>();
  for (const [row, identifiers] of records.entries()) {
    const [first] = identifiers;
    if (first === undefined) continue;
    const person = persons.find(nameOf(first))!;
    const group = groups.get(person) ?? { rows: [], identifiers: new Map<string, Identifier>() };
    groups.set(person, group);
    group.rows.push(row);
    for (const identifier of identifiers) group.identifiers.set(nameOf(identifier), identifier);
  }
  return [...groups.values()].map(({ rows, identifiers }) => ({ rows, identifiers: [...identifiers.values()] }));
}

export interface FoundProfile {
  readonly profileId: string;
  readonly identifiers: readonly Identifier[];
  readonly eventCount: number;
}

/** The profile of each identifier by its name; what the service does not know is absent. */
export type FoundProfiles = ReadonlyMap<string, FoundProfile>;

/**
 * Every way in which the service's profiles differ from the expected groups, one sentence each. Empty when the partition, the
 * identifiers and the number of events of each profile are exactly the same, whichever identifier it was asked by.
 */
export function compare(groups: readonly Group[], found: FoundProfiles): readonly string[] {
  /** Which group came upon a profile first. */
  const owners = new Map<string, Group>();
  return groups.flatMap((group) => {
    const differences = new Set<string>();
    const differs = (what: string): unknown =>
      differences.add(`records ${group.rows.map((row) => row + 1).join(", ")}: ${what}`);
    const profileIds = new Set<string>();
    for (const identifier of group.identifiers) {
      const profile = found.get(nameOf(identifier));
      if (profile === undefined) {
        differs(`${identifier.namespace} is unknown to the service`);
        continue;
      }
      const { profileId } = profile;
      profileIds.add(profileId);
      if (!owners.has(profileId)) owners.set(profileId, group);
      if (owners.get(profileId) !== group) differs(`share profile ${profileId} with others`);
      for (const difference of contentOf(group, profile)) differs(`${profileId} ${difference}`);
    }
    if (profileIds.size > 1) differs(`stand in ${profileIds.size} profiles instead of one`);
    return [...differences];
  });
}

function contentOf(group: Group, { eventCount, identifiers }: FoundProfile): readonly string[] {
  const events = group.rows.length;
  const actual = new Set(identifiers.map(nameOf));
  const missing = group.identifiers.filter((identifier) => !actual.has(nameOf(identifier))).length;
  const strange = actual.size - (group.identifiers.length - missing);
  return [
    ...(eventCount === events ? [] : [`has ${eventCount} events instead of ${events}`]),
    ...(missing > 0 ? [`lacks ${missing} identifiers`] : []),
    ...(strange > 0 ? [`has ${strange} identifiers of others`] : []),
  ];
}
