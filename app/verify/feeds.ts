import { setTimeout as sleep } from "node:timers/promises";
import { publishAll } from "../../commands/audiences/publish.js";
import type { Entry } from "../../core/audience/seat.js";
import { newId, type AudienceId, type WorkspaceId } from "../../core/ids.js";
import type { Backends } from "../backends.js";
import type { Findings } from "./findings.js";
import { seatPages } from "./rows.js";
import { ALL, canBeHalved, createTold, entriesOf, halvesOf, lackingTwice, type Lack, type Part } from "./told.js";

interface FeedDeps {
  readonly backends: Pick<Backends, "copying" | "seats">;
  readonly findings: Findings;
  readonly isRepair: boolean;
  readonly now: number;
}

const PER_PAGE = 1_000;
/** That are appended together, and so read together. */
const PER_APPEND = 1_000;
/** A look that is under way ends in this. */
const SETTLE_MS = 1_000;
const TRIES_MAX = 5;
/** Of all audiences: so many are held at once, about a hundred bytes each. */
const MEMBERS_MAX = 1_000_000;

/**
 * Whoever reads the feed from its beginning must come to the members that are stored, and to their number. Of more members than fit into
 * memory, seats and feed are read once for each part of the profiles.
 */
export async function verifyFeed(deps: FeedDeps, workspace: WorkspaceId, membersMax = MEMBERS_MAX): Promise<void> {
  // What was saved and is not told yet lacks nothing.
  if (deps.isRepair) await publishAll(deps.backends, workspace);
  const lacking = new Set<AudienceId>();
  if (!(await verifyPart(deps, workspace, { part: ALL, membersMax, lacking })))
    deps.findings.passedOver("feeds of which the oldest entries are forgotten");
  await verifySizes(deps, workspace, lacking);
}

interface Parting {
  readonly part: Part;
  readonly membersMax: number;
  /** Gets the audiences of which the feed lacks somebody. */
  readonly lacking: Set<AudienceId>;
}

/** Answers false where the feed does not begin at its first entry any more. */
async function verifyPart(deps: FeedDeps, workspace: WorkspaceId, parting: Parting): Promise<boolean> {
  const first = await look(deps.backends, workspace, parting);
  if (first === "forgotten") return false;
  if (first === "full") return verifyHalves(deps, workspace, parting);
  if (first.length === 0) return true;
  // Somebody may be at them.
  await sleep(SETTLE_MS);
  const second = await look(deps.backends, workspace, parting);
  if (second === "forgotten") return false;
  if (second === "full") return verifyHalves(deps, workspace, parting);
  const lacks = lackingTwice(second, first);
  for (const { audienceId } of lacks) parting.lacking.add(audienceId);
  await tell(deps, workspace, lacks);
  return true;
}

async function verifyHalves(deps: FeedDeps, workspace: WorkspaceId, parting: Parting): Promise<boolean> {
  for (const part of halvesOf(parting.part))
    if (!(await verifyPart(deps, workspace, { ...parting, part }))) return false;
  return true;
}

/** `full`: it would hold too many members. */
async function look(
  { copying, seats }: FeedDeps["backends"],
  workspace: WorkspaceId,
  { part, membersMax }: Parting,
): Promise<readonly Lack[] | "full" | "forgotten"> {
  const told = createTold(part);
  const isFull = (): boolean => told.size() > membersMax && canBeHalved(part);
  for await (const page of seatPages(copying.members, workspace)) {
    for (const { profileId, memberships } of page)
      told.store(
        profileId,
        memberships.map(([audienceId]) => audienceId),
      );
    if (isFull()) return "full";
  }
  for (let after = 0; ;) {
    const { entries, oldest } = await seats.feed(workspace, after, PER_PAGE);
    if (oldest > 1) return "forgotten";
    for (const { entry } of entries) told.tell(entry);
    if (isFull()) return "full";
    if (entries.length === 0) return told.lacks();
    after = entries.at(-1)!.seq;
  }
}

async function tell(
  { backends, findings, isRepair, now }: FeedDeps,
  workspace: WorkspaceId,
  lacks: readonly Lack[],
): Promise<void> {
  const profiles = new Set(lacks.flatMap(({ profileIds }) => profileIds));
  for (const profileId of profiles) findings.found("wrong_feeds", profileId);
  if (!isRepair) return;
  const append = (entries: readonly Entry[]): Promise<void> =>
    backends.seats.append(workspace, `mended:${newId<string>()}`, entries);
  let some: Entry[] = [];
  for (const entry of entriesOf(lacks, now)) {
    some.push(entry);
    if (some.length < PER_APPEND) continue;
    await append(some);
    some = [];
  }
  if (some.length > 0) await append(some);
  for (const _ of profiles) findings.mended("wrong_feeds");
}

const MOVING = "sizes of audiences whose members kept changing";

/** Looks twice, as somebody may be at them. What the feed lacks its sizes lack too, and that is told already. */
async function verifySizes(
  { backends, findings, isRepair }: FeedDeps,
  workspace: WorkspaceId,
  lacking: ReadonlySet<AudienceId>,
): Promise<void> {
  const compare = async (): Promise<readonly AudienceId[]> => {
    const wrong = await wrongSizes(backends, workspace);
    if (wrong === null) findings.passedOver(MOVING);
    return wrong ?? [];
  };
  let wrong = await compare();
  if (wrong.length > 0) {
    await sleep(SETTLE_MS);
    const again = new Set(await compare());
    wrong = wrong.filter((audienceId) => again.has(audienceId));
  }
  const sizes = wrong.filter((audienceId) => !lacking.has(audienceId));
  for (const audienceId of sizes) findings.found("wrong_sizes", audienceId);
  if (!isRepair || lacking.size + wrong.length === 0) return;
  if (!(await mendSizes(backends, workspace))) return findings.passedOver(MOVING);
  for (const _ of sizes) findings.mended("wrong_sizes");
}

/** Null where somebody came or went meanwhile, who is counted on one side alone. */
async function wrongSizes(
  backends: FeedDeps["backends"],
  workspace: WorkspaceId,
): Promise<readonly AudienceId[] | null> {
  const { head: begun } = await backends.seats.sizes(workspace);
  const counted = await countMembers(backends, workspace);
  const { sizes, head } = await backends.seats.sizes(workspace);
  const all = [...new Set([...sizes.keys(), ...counted.keys()])];
  return head === begun ? all.filter((id) => (sizes.get(id) ?? 0) !== (counted.get(id) ?? 0)) : null;
}

/** Counts the members while nothing comes into the feed: only then it is known who is counted. */
async function mendSizes(backends: FeedDeps["backends"], workspace: WorkspaceId): Promise<boolean> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    await publishAll(backends, workspace);
    const { head } = await backends.seats.sizes(workspace);
    const sizes = [...(await countMembers(backends, workspace))];
    // Of a seat that was saved meanwhile this moves the end.
    await publishAll(backends, workspace);
    if (await backends.copying.members.mend({ workspace, head, sizes })) return true;
  }
  return false;
}

async function countMembers(
  { copying }: FeedDeps["backends"],
  workspace: WorkspaceId,
): Promise<ReadonlyMap<AudienceId, number>> {
  const counted = new Map<AudienceId, number>();
  for await (const page of seatPages(copying.members, workspace))
    for (const { memberships } of page)
      for (const [audienceId] of memberships) counted.set(audienceId, (counted.get(audienceId) ?? 0) + 1);
  return counted;
}
