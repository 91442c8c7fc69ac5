import { checkEvents } from "./events.js";
import { checkCounts, checkPartition } from "./profiles.js";
import { each } from "../load/each.js";
import type { CheckDeps } from "./findings.js";
import type { Entry, History } from "./history.js";
import type { Identifier } from "../load/operation.js";
import { createPartition } from "./partition.js";
import { nameOf, readMember, readSnapshot, type Snapshot } from "./read-profiles.js";

/** Holds the service to all that it answered. Resolves with the number of acknowledged operations that are there in full. */
export async function checkAll(deps: CheckDeps, history: History): Promise<number> {
  const entries = history.entries();
  const events = await checkEvents(deps, entries);
  let ok = 0;
  for (const site of deps.sites.keys()) {
    const own = entries.filter(({ operation }) => operation.site === site);
    const snapshot = await readSnapshot(deps, site, identifiersOf(own));
    const linked = checkPartition(deps, own, snapshot);
    const counted = await checkCounts(deps, site, own, snapshot);
    const resolved = await checkProfileIds(deps, site, history.profileIds(), snapshot);
    const profiles = checkAnswers(deps, own, snapshot, resolved);
    const isOk = ({ operation }: Entry): boolean => {
      if (operation.kind === "link") return linked.has(operation.id) && profiles.has(operation.id);
      return events.has(operation.id) && (!operation.folds || (linked.has(operation.id) && counted.has(operation.id)));
    };
    ok += own.filter((entry) => entry.result === "acknowledged" && isOk(entry)).length;
  }
  return ok;
}

/** Each once, those of one person side by side: a profile is read once for each request that asks for it. */
function identifiersOf(entries: readonly Entry[]): readonly Identifier[] {
  const persons = createPartition();
  const identifiers = new Map<string, Identifier>();
  for (const { operation } of entries) {
    persons.join(operation.identifiers.map(nameOf));
    for (const identifier of operation.identifiers) identifiers.set(nameOf(identifier), identifier);
  }
  const byPerson = new Map<string | null, Identifier[]>();
  for (const [name, identifier] of identifiers) {
    const person = persons.find(name);
    byPerson.set(person, [...(byPerson.get(person) ?? []), identifier]);
  }
  return [...byPerson.values()].flat();
}

/** Every profile id that was ever answered names a live profile. Answers which. */
async function checkProfileIds(
  deps: CheckDeps,
  site: number,
  profileIds: ReadonlyMap<string, number>,
  { profiles, profileOf }: Snapshot,
): Promise<ReadonlyMap<string, string>> {
  const resolved = new Map<string, string>();
  const own = [...profileIds].filter(([, its]) => its === site);
  await each(own, deps.width, async ([profileId]) => {
    const member = profiles.has(profileId) ? null : await readMember(deps, site, profileId);
    const live = member === null ? profileId : typeof member === "number" ? undefined : profileOf.get(nameOf(member));
    if (live !== undefined) resolved.set(profileId, live);
    else
      deps.findings.lost(`profile id ${profileId} was answered, and names no live profile (${JSON.stringify(member)})`);
  });
  return resolved;
}

/** The profile that an operation was answered is the one that holds its identifiers now, under whatever id. */
function checkAnswers(
  { findings }: CheckDeps,
  entries: readonly Entry[],
  { profileOf }: Snapshot,
  resolved: ReadonlyMap<string, string>,
): ReadonlySet<number> {
  const sound = new Set<number>();
  for (const { operation, profileId } of entries) {
    if (profileId === null) continue;
    const live = resolved.get(profileId);
    if (live === undefined) continue;
    if (live === profileOf.get(nameOf(operation.identifiers[0]!))) sound.add(operation.id);
    else findings.unexpected(`operation ${operation.id}: profile id ${profileId} names another person's profile now`);
  }
  return sound;
}
