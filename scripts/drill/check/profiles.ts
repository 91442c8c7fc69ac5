import { isDeepStrictEqual } from "node:util";
import { each } from "../../shared/async.js";
import { createPartition } from "../../shared/partition.js";
import type { Payload } from "../load/operation.js";
import type { CheckDeps } from "./findings.js";
import type { Entry } from "./history.js";
import { nameOf, readTimeline, type Snapshot, type ShownProfile, type TimelineEvent } from "./read-profiles.js";

/** Links that the service must hold, or may: all its identifiers stand in one profile. */
const isApplied = ({ operation }: Entry, { profileOf }: Snapshot): boolean => {
  const profiles = operation.identifiers.map((identifier) => profileOf.get(nameOf(identifier)));
  return profiles[0] !== undefined && profiles.every((profile) => profile === profiles[0]);
};

const links = ({ operation }: Entry): boolean => operation.kind === "link" || operation.folds;

/**
 * The profiles of a workspace must be the union-find of its acknowledged operations; those with an unknown outcome may be in as a
 * whole, or out. Answers the acknowledged operations that hold.
 */
export function checkPartition(
  { findings }: CheckDeps,
  entries: readonly Entry[],
  snapshot: Snapshot,
): ReadonlySet<number> {
  const wanted = createPartition();
  const sound = new Set<number>();
  for (const entry of entries.filter(links)) {
    const { id, identifiers } = entry.operation;
    const applied = isApplied(entry, snapshot);
    if (applied || entry.result === "acknowledged") wanted.join(identifiers.map(nameOf));
    if (applied) sound.add(id);
    else if (entry.result === "acknowledged") findings.lost(`operation ${id}: its identifiers are not in one profile`);
  }
  const partOf = new Map<string, string>();
  for (const [name, profileId] of snapshot.profileOf) {
    const part = wanted.find(name);
    const known = partOf.get(profileId);
    if (part === null) findings.unexpected(`an identifier that no whole operation brought is in profile ${profileId}`);
    else if (known !== undefined && known !== part)
      findings.unexpected(`profile ${profileId} joins what nothing joined`);
    else partOf.set(profileId, part);
  }
  checkMembers({ findings }, snapshot);
  return sound;
}

/** Each profile lists exactly the identifiers that name it. */
function checkMembers({ findings }: Pick<CheckDeps, "findings">, { profiles, profileOf }: Snapshot): void {
  const members = new Map<string, string[]>([...profiles.keys()].map((id) => [id, []]));
  for (const [name, profileId] of profileOf) members.get(profileId)!.push(name);
  for (const [profileId, { identifiers }] of profiles)
    if (!isDeepStrictEqual(identifiers.map(nameOf).toSorted(), members.get(profileId)!.toSorted()))
      findings.unexpected(`profile ${profileId} lists other identifiers than those that name it`);
}

/**
 * Every folded event counts in exactly one profile, exactly once, and the traits are what the profile's own events say.
 * Answers the events found, as operation ids.
 */
export async function checkCounts(
  deps: CheckDeps,
  key: string,
  entries: readonly Entry[],
  snapshot: Snapshot,
): Promise<ReadonlySet<number>> {
  const { findings } = deps;
  const operations = new Map(entries.map((entry) => [entry.operation.id, entry]));
  const seen = new Map<number, string>();
  await each(snapshot.profiles.values(), deps.width, async (profile) => {
    const timeline = await readTimeline(deps, key, profile.profile_id);
    checkProfile(deps, profile, timeline);
    for (const { event_id, payload } of timeline) {
      const entry = operations.get(payload.op);
      const acknowledgedAs = entry?.eventId ?? event_id;
      if (entry === undefined || !links(entry))
        findings.unexpected(`event ${event_id} is of no operation of this workspace that folds`);
      else if (seen.has(payload.op))
        findings.duplicated(`operation ${payload.op}: ${seen.get(payload.op)} and ${event_id}`);
      else if (acknowledgedAs !== event_id)
        findings.unexpected(`operation ${payload.op}: ${event_id} is not ${acknowledgedAs}`);
      else if (snapshot.profileOf.get(nameOf(entry.operation.identifiers[0]!)) !== profile.profile_id)
        findings.unexpected(`event ${event_id} counts in a profile that does not hold its identifiers`);
      seen.set(payload.op, event_id);
    }
  });
  for (const { operation, result } of entries)
    if (operation.kind === "event" && operation.folds && result === "acknowledged" && !seen.has(operation.id))
      findings.lost(`operation ${operation.id}: its event counts in no profile`);
  return new Set(seen.keys());
}

function checkProfile({ findings }: CheckDeps, profile: ShownProfile, timeline: readonly TimelineEvent[]): void {
  const { profile_id, event_count, traits } = profile;
  if (event_count > timeline.length)
    findings.duplicated(`profile ${profile_id} counts ${event_count} of ${timeline.length} events`);
  if (event_count < timeline.length)
    findings.lost(`profile ${profile_id} counts ${event_count} of ${timeline.length} events`);
  const wanted = traitsOf(timeline);
  if (!isDeepStrictEqual({ ...traits }, wanted))
    findings.unexpected(
      `profile ${profile_id} has traits ${JSON.stringify(traits)}, its events say ${JSON.stringify(wanted)}`,
    );
}

/** The merges, computed in the plainest way. The timestamps are of one width and in the past, so their text is the order. */
function traitsOf(timeline: readonly TimelineEvent[]): Readonly<Record<string, unknown>> {
  const positionOf = ({ timestamp, event_id }: TimelineEvent): string => `${timestamp} ${event_id}`;
  const payloads = timeline.toSorted((a, b) => (positionOf(a) < positionOf(b) ? -1 : 1)).map(({ payload }) => payload);
  const values = <K extends keyof Payload>(name: K) => payloads.flatMap((payload) => payload[name] ?? []);
  const [scores, floors, amounts] = [values("score"), values("floor"), values("amount")];
  const said = {
    city: values("city").at(-1),
    source: values("source")[0],
    score: scores.length > 0 ? Math.max(...scores) : undefined,
    floor: floors.length > 0 ? Math.min(...floors) : undefined,
    ops: payloads.length > 0 ? payloads.length : undefined,
    spent: amounts.length > 0 ? sumOf(amounts) : undefined,
  };
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
}

const DECIMALS = 6;

/** Of the digits as they were sent, added up as whole numbers: no sum of doubles says what is exact. */
function sumOf(amounts: readonly number[]): number {
  const millionths = amounts.map((amount) => BigInt(amount.toFixed(DECIMALS).replace(".", "")));
  const sum = millionths.reduce((all, one) => all + one, 0n);
  return Number(`${sum}e-${DECIMALS}`);
}
