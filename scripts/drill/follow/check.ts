import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { requireAnswer, type Client } from "../../shared/client.js";
import { createFindings, type Findings } from "../check/findings.js";
import type { Target } from "../process/target.js";
import type { Follower } from "./followers.js";
import type { Entry, Receiver } from "./receiver.js";

interface FollowDeps {
  readonly client: Client;
  readonly findings: Findings;
  readonly target: Pick<Target, "verify">;
  readonly receiver: Receiver;
}

/** Looks, builds and refused batches take their time; the pause after a second refusal is half a minute. */
const REST_MS = 180_000;
const PAUSE_MS = 1_000;

/**
 * At rest each seat is what the rules say of its profile, as `npm run verify` judges it; the numbers of the feed are 1, 2, 3, ...; it adds
 * up to the members; and the receiver has heard each number, in order. Answers how many entries there were.
 */
export async function checkFollowers(deps: FollowDeps, followers: readonly Follower[]): Promise<number> {
  for (const end = performance.now() + REST_MS; ;) {
    const found = createFindings();
    const entries = await checkOnce({ ...deps, findings: found }, followers);
    const { lost, duplicated, unexpected } = found.counts();
    if (lost + duplicated + unexpected === 0) return entries;
    if (performance.now() > end) {
      deps.findings.add(found);
      return entries;
    }
    await sleep(PAUSE_MS);
  }
}

async function checkOnce(deps: FollowDeps, followers: readonly Follower[]): Promise<number> {
  const { isWhole, lines } = await deps.target.verify();
  if (!isWhole) deps.findings.unexpected(`verify: ${lines.join("; ")}`);
  let entries = 0;
  for (const follower of followers) entries += await checkFollower(deps, follower);
  return entries;
}

async function checkFollower(deps: FollowDeps, follower: Follower): Promise<number> {
  const { client, findings } = deps;
  const { key } = follower.site;
  const feed = createFeed(deps, follower);
  await feed.readOn();
  const { audiences } = await requireAnswer<{ readonly audiences: readonly Shown[] }>(client, 200, {
    method: "GET",
    path: "/v1/audiences?limit=100",
    key,
  });
  for (const { audience_id: audienceId } of audiences) await checkAudience(deps, follower, feed, audienceId);
  const ids = new Set(audiences.map((one) => one.audience_id));
  for (const [audienceId, members] of feed.seated)
    if (members.size > 0 && !ids.has(audienceId))
      findings.unexpected(`audience ${audienceId} is no more, and ${members.size} never left it`);
  checkHeard(deps, follower, feed.entries);
  return feed.entries.length;
}

const TRIES = 20;

/** Windows go on: while somebody comes or goes between the list and the feed, both are read again. */
async function checkAudience(
  { client, findings }: FollowDeps,
  { site: { key } }: Follower,
  feed: Feed,
  audienceId: string,
): Promise<void> {
  const get = <T>(path: string): Promise<T> => requireAnswer<T>(client, 200, { method: "GET", path, key });
  for (let tries = 1; ; tries += 1) {
    const told = feed.toldOf(audienceId);
    const wanted = [...(feed.seated.get(audienceId) ?? [])].toSorted();
    const { size, state } = await get<Shown>(`/v1/audiences/${audienceId}`);
    const members: string[] = [];
    for (let cursor = ""; ;) {
      const page = await get<MembersPage>(`/v1/audiences/${audienceId}/members?limit=100${cursor}`);
      members.push(...page.members.map(({ profile_id: profileId }) => profileId));
      if (page.next_cursor === null) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    await feed.readOn();
    if (feed.toldOf(audienceId) !== told && tries < TRIES) continue;
    if (state !== "live") findings.unexpected(`audience ${audienceId} is ${state}`);
    if (size !== wanted.length) findings.unexpected(`audience ${audienceId} has ${size} members, not ${wanted.length}`);
    if (!isDeepStrictEqual(members, wanted))
      findings.unexpected(`audience ${audienceId} lists other members than the feed adds up to`);
    return;
  }
}

function checkHeard({ findings, receiver }: FollowDeps, { webhookId }: Follower, feed: readonly Entry[]): void {
  const { entries, wrong } = receiver.heard(webhookId);
  for (const one of wrong) findings.unexpected(`webhook ${webhookId}: ${one}`);
  if (entries.length < feed.length)
    findings.lost(`webhook ${webhookId} heard of ${entries.length} of ${feed.length} entries`);
  else if (!isDeepStrictEqual(entries.slice(0, feed.length), feed))
    findings.unexpected(`webhook ${webhookId} heard of other entries than the feed has`);
}

interface Shown {
  readonly audience_id: string;
  readonly size: number;
  readonly state: string;
}

interface MembersPage {
  readonly members: readonly { readonly profile_id: string }[];
  readonly next_cursor: string | null;
}

interface Feed {
  readonly entries: readonly Entry[];
  /** Audience -> its members. */
  readonly seated: ReadonlyMap<string, ReadonlySet<string>>;
  /** How many entries are about the audience. */
  readonly toldOf: (audienceId: string) => number;
  /** To its end. */
  readonly readOn: () => Promise<void>;
}

function createFeed({ client, findings }: FollowDeps, { site }: Follower): Feed {
  const entries: Entry[] = [];
  const seated = new Map<string, Set<string>>();
  const told = new Map<string, number>();
  const add = ({ seq, type, audience_id: audienceId = "", profile_id: profileId = "" }: Entry): void => {
    told.set(audienceId, (told.get(audienceId) ?? 0) + 1);
    const members = seated.get(audienceId) ?? new Set<string>();
    if (type === "entered" && members.has(profileId)) findings.duplicated(`entry ${seq} lets somebody in again`);
    if (type === "left" && !members.delete(profileId)) findings.duplicated(`entry ${seq} lets somebody go again`);
    if (type === "entered") seated.set(audienceId, members.add(profileId));
    if (type === "audience_deleted") seated.delete(audienceId);
  };
  const readOn = async (): Promise<void> => {
    for (;;) {
      const page = await requireAnswer<{ readonly entries: readonly Entry[] }>(client, 200, {
        method: "GET",
        path: `/v1/feed?after=${entries.length}&limit=1000`,
        key: site.key,
      });
      for (const entry of page.entries) {
        if (entry.seq > entries.length + 1) findings.lost(`the feed has ${entry.seq} behind ${entries.length}`);
        if (entry.seq <= entries.length) findings.duplicated(`the feed has ${entry.seq} behind ${entries.length}`);
        entries.push(entry);
        add(entry);
      }
      if (page.entries.length === 0) return;
    }
  };
  return { entries, seated, toldOf: (audienceId) => told.get(audienceId) ?? 0, readOn };
}
