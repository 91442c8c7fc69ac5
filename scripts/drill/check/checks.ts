import { isDeepStrictEqual } from "node:util";
import { each } from "../../shared/async.js";
import { bodyOf } from "../../shared/client.js";
import { createPartition } from "../../shared/partition.js";
import type { EventOperation, Identifier } from "../load/operation.js";
import type { CheckDeps } from "./findings.js";
import type { Entry, History } from "./history.js";
import { checkCounts, checkPartition } from "./profiles.js";
import { nameOf, readMember, readSnapshot, type Snapshot } from "./read-profiles.js";

/** Holds the service to all that it answered. Resolves with the number of acknowledged operations that are there in full. */
export async function checkAll(deps: CheckDeps, history: History): Promise<number> {
  const entries = history.entries();
  const events = await checkEvents(deps, entries);
  let ok = 0;
  for (const [site, { key }] of deps.sites.entries()) {
    const own = entries.filter(({ operation }) => operation.site === site);
    const snapshot = await readSnapshot(deps, key, identifiersOf(own));
    const linked = checkPartition(deps, own, snapshot);
    const counted = await checkCounts(deps, key, own, snapshot);
    const profileIds = [...history.profileIds()].flatMap(([id, its]) => (its === site ? [id] : []));
    const resolved = await checkProfileIds(deps, key, profileIds, snapshot);
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
  key: string,
  profileIds: readonly string[],
  { profiles, profileOf }: Snapshot,
): Promise<ReadonlyMap<string, string>> {
  const resolved = new Map<string, string>();
  await each(profileIds, deps.width, async (profileId) => {
    const member = profiles.has(profileId) ? null : await readMember(deps, key, profileId);
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

interface ShownEvent {
  readonly status: string;
  readonly schema_id: string;
  readonly timestamp: string;
  readonly payload: unknown;
}

/** Every acknowledged event must come back as it was sent, folded if it folds. Answers how many do. */
async function checkEvents(deps: CheckDeps, entries: readonly Entry[]): Promise<ReadonlySet<number>> {
  const sound = new Set<number>();
  await each(entries, deps.width, async ({ operation, result, eventId }) => {
    if (operation.kind !== "event" || result !== "acknowledged") return;
    const problem = await problemOf(deps, operation, eventId!);
    if (problem === null) sound.add(operation.id);
    else deps.findings.lost(`operation ${operation.id}, event ${eventId}: ${problem}`);
  });
  return sound;
}

async function problemOf(
  { client, sites }: CheckDeps,
  operation: EventOperation,
  eventId: string,
): Promise<string | null> {
  const { key } = sites[operation.site]!;
  const answer = await client.send({ method: "GET", path: `/v1/events/${eventId}`, key });
  if (answer.status !== 200) return `GET answers ${answer.status}`;
  const shown = bodyOf<ShownEvent>(answer);
  const wanted = operation.folds ? "folded" : "stored";
  if (shown.status !== wanted) return `is ${shown.status} and not ${wanted}`;
  if (shown.schema_id !== operation.schemaId || shown.timestamp !== operation.timestamp) return "is of another event";
  // As it went over the wire: JSON leaves out what is undefined.
  const { payload } = JSON.parse(operation.body) as { readonly payload: unknown };
  return isDeepStrictEqual(shown.payload, payload) ? null : "its payload differs";
}
