import { nameOf, type Group } from "./expected.js";
import type { FoundProfile, FoundProfiles } from "./profiles.js";

/**
 * Every way in which the service's profiles differ from the expected groups, one sentence each. Empty when the partition, the
 * identifiers and the number of events of each profile are exactly the same, whichever identifier it was asked by.
 */
export function compare(groups: readonly Group[], found: FoundProfiles): readonly string[] {
  const owners = new Map<string, Group>();
  return groups.flatMap((group) => [...differencesOf(group, found, owners)]);
}

const who = ({ rows }: Group): string => `records ${rows.map((row) => row + 1).join(", ")}`;

/** `owners` knows which group came upon a profile first. */
function differencesOf(group: Group, found: FoundProfiles, owners: Map<string, Group>): ReadonlySet<string> {
  const differences = new Set<string>();
  const profileIds = new Set<string>();
  for (const identifier of group.identifiers) {
    const profile = found.get(nameOf(identifier));
    if (profile === undefined) {
      differences.add(`${who(group)}: ${identifier.namespace} is unknown to the service`);
      continue;
    }
    profileIds.add(profile.profileId);
    if (!owners.has(profile.profileId)) owners.set(profile.profileId, group);
    if (owners.get(profile.profileId) !== group)
      differences.add(`${who(group)}: share profile ${profile.profileId} with others`);
    for (const difference of contentOf(group, profile)) differences.add(difference);
  }
  if (profileIds.size > 1) differences.add(`${who(group)}: stand in ${profileIds.size} profiles instead of one`);
  return differences;
}

function contentOf(group: Group, { profileId, eventCount, identifiers }: FoundProfile): readonly string[] {
  const differences: string[] = [];
  const events = group.rows.length;
  if (eventCount !== events)
    differences.push(`${who(group)}: ${profileId} has ${eventCount} events instead of ${events}`);
  const actual = new Set(identifiers.map(nameOf));
  const missing = group.identifiers.filter((identifier) => !actual.has(nameOf(identifier)));
  if (missing.length > 0) differences.push(`${who(group)}: ${profileId} lacks ${missing.length} identifiers`);
  const strange = actual.size - (group.identifiers.length - missing.length);
  if (strange > 0) differences.push(`${who(group)}: ${profileId} has ${strange} identifiers of others`);
  return differences;
}
