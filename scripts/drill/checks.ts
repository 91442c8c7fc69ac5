import { bodyOf, type Client } from "./client.js";
import { checkEvents } from "./check-events.js";
import { checkCounts, checkPartition } from "./check-profiles.js";
import { each } from "./each.js";
import type { Findings } from "./findings.js";
import type { Entry, History } from "./history.js";
import { nameOf, readPicture, type Picture } from "./read-profiles.js";
import type { Site } from "./site.js";

export interface CheckDeps {
  readonly client: Client;
  readonly sites: readonly Site[];
  readonly findings: Findings;
  /** Requests at a time. */
  readonly width: number;
}

/** Holds the service to all that it answered. Resolves with the number of acknowledged operations that are there in full. */
export async function checkAll(deps: CheckDeps, history: History): Promise<number> {
  const entries = history.entries();
  const events = await checkEvents(deps, entries);
  let ok = 0;
  for (const site of deps.sites.keys()) {
    const own = entries.filter(({ operation }) => operation.site === site);
    const identifiers = new Map(own.flatMap(({ operation }) => operation.identifiers.map((one) => [nameOf(one), one])));
    const picture = await readPicture(deps, site, [...identifiers.values()]);
    const linked = checkPartition(deps, own, picture);
    const counted = await checkCounts(deps, site, own, picture);
    const resolved = await checkProfileIds(deps, site, history.profileIds());
    const profiles = checkAnswers(deps, own, picture, resolved);
    const isOk = ({ operation }: Entry): boolean => {
      if (operation.kind === "link") return linked.has(operation.id) && profiles.has(operation.id);
      return events.has(operation.id) && (!operation.folds || (linked.has(operation.id) && counted.has(operation.id)));
    };
    ok += own.filter((entry) => entry.result === "acknowledged" && isOk(entry)).length;
  }
  return ok;
}

/** Every profile id that was ever answered names a live profile. Answers which. */
async function checkProfileIds(
  { client, sites, findings, width }: CheckDeps,
  site: number,
  profileIds: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, string>> {
  const resolved = new Map<string, string>();
  const own = [...profileIds].filter(([, its]) => its === site);
  await each(own, width, async ([profileId]) => {
    const answer = await client.send({ method: "GET", path: `/v1/profiles/${profileId}`, key: sites[site]!.key });
    if (answer.status !== 200) findings.lost(`profile id ${profileId} was answered, and GET answers ${answer.status}`);
    else resolved.set(profileId, (bodyOf(answer) as { readonly profile_id: string }).profile_id);
  });
  return resolved;
}

/** The profile that an operation was answered is the one that holds its identifiers now, under whatever id. */
function checkAnswers(
  { findings }: CheckDeps,
  entries: readonly Entry[],
  { profileOf }: Picture,
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
