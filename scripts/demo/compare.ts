import { nameOf, type Group } from "./expected.js";
import type { FoundProfile, FoundProfiles } from "./profiles.js";

/**
 * Every way in which the service's profiles differ from the expected groups, one sentence each. Empty when the partition, the
 * identifiers and the number of events of each profile are exactly the same.
 */
export function compare(groups: readonly Group[], found: FoundProfiles): readonly string[] {
  const owners = new Map<string, number>();
  return groups.flatMap((group, number) => {
    const profiles = new Map<string, FoundProfile>();
    const unknown: string[] = [];
    for (const identifier of group.identifiers) {
      const profile = found.get(nameOf(identifier));
      if (profile === undefined) unknown.push(`${who(group)}: ${identifier.namespace} is unknown to the service`);
      else profiles.set(profile.profileId, profile);
    }
    const split = profiles.size > 1 ? [`${who(group)}: stand in ${profiles.size} profiles instead of one`] : [];
    return [
      ...unknown,
      ...split,
      ...[...profiles.values()].flatMap((profile) => check(group, number, profile, owners)),
    ];
  });
}

const who = ({ rows }: Group): string => `records ${rows.map((row) => row + 1).join(", ")}`;

function check(group: Group, number: number, profile: FoundProfile, owners: Map<string, number>): readonly string[] {
  const differences: string[] = [];
  if (owners.has(profile.profileId)) differences.push(`${who(group)}: share profile ${profile.profileId} with others`);
  owners.set(profile.profileId, number);
  if (profile.eventCount !== group.rows.length)
    differences.push(
      `${who(group)}: ${profile.profileId} has ${profile.eventCount} events instead of ${group.rows.length}`,
    );
  const expected = new Set(group.identifiers.map(nameOf));
  const actual = new Set(profile.identifiers.map(nameOf));
  if (expected.size !== actual.size || [...expected].some((name) => !actual.has(name)))
    differences.push(`${who(group)}: ${profile.profileId} has ${actual.size} identifiers instead of ${expected.size}`);
  return differences;
}
