import { setTimeout as sleep } from "node:timers/promises";
import { publishAll } from "../../commands/audiences/publish.js";
import type { Entry } from "../../core/audience/seat.js";
import { newId, type AudienceId, type ProfileId, type WorkspaceId } from "../../core/ids.js";
import type { SeatRow } from "../../core/ports/copying.js";
import type { Backends } from "../backends.js";
import type { Findings } from "./findings.js";

interface FeedDeps {
  readonly backends: Pick<Backends, "copying" | "seats">;
  readonly findings: Findings;
  readonly isRepair: boolean;
  readonly now: number;
}

type Members = Map<AudienceId, Set<ProfileId>>;

const PER_PAGE = 1_000;
/** That are appended together, and so read together. */
const PER_APPEND = 1_000;
/** A look that is under way ends in this. */
const SETTLE_MS = 1_000;
const TRIES_MAX = 5;

type ReadSeats = () => Promise<ReadonlyMap<ProfileId, Pick<SeatRow, "memberships">>>;

/** Whoever reads the feed from its beginning must come to the members that are stored, and to their number. */
export async function verifyFeed(deps: FeedDeps, workspace: WorkspaceId, readSeats: ReadSeats): Promise<void> {
  const { seats: store } = deps.backends;
  // What was saved and is not told yet lacks nothing.
  if (deps.isRepair) await publishAll(deps.backends, workspace);
  const look = async () => {
    const { head: begun } = await store.sizes(workspace);
    const stored = membersOf(await readSeats());
    const told = await fold(store, workspace);
    const lacking = told === null ? [] : differences(told, stored, deps.now);
    const { sizes, head } = await store.sizes(workspace);
    const audienceIds = [...new Set([...sizes.keys(), ...stored.keys()])];
    const wrongSizes = audienceIds.filter((id) => (sizes.get(id) ?? 0) !== (stored.get(id)?.size ?? 0));
    // Who came or went meanwhile is counted on one side alone.
    const isStill = head === begun;
    return { isWhole: told !== null, isStill, lacking, wrongSizes: isStill ? wrongSizes : [] };
  };
  const { isWhole, isStill, ...first } = await look();
  if (!isStill) deps.findings.passedOver(MOVING);
  if (!isWhole) deps.findings.passedOver("feeds of which the oldest entries are forgotten");
  if (first.lacking.length + first.wrongSizes.length === 0) return;
  // Somebody may be at them.
  await sleep(SETTLE_MS);
  const second = await look();
  if (!second.isStill && first.wrongSizes.length > 0) deps.findings.passedOver(MOVING);
  const known = new Set(first.lacking.map(keyOf));
  await tell(deps, workspace, readSeats, {
    lacking: second.lacking.filter((entry) => known.has(keyOf(entry))),
    wrongSizes: second.wrongSizes.filter((id) => first.wrongSizes.includes(id)),
  });
}

const MOVING = "sizes of audiences whose members kept changing";

/** Without its time. */
const keyOf = (entry: Entry): string => JSON.stringify({ ...entry, at: 0 });

interface Wrong {
  readonly lacking: readonly Entry[];
  readonly wrongSizes: readonly AudienceId[];
}

async function tell(
  { backends, findings, isRepair }: FeedDeps,
  workspace: WorkspaceId,
  readSeats: ReadSeats,
  { lacking, wrongSizes }: Wrong,
): Promise<void> {
  const profiles = new Set(lacking.flatMap((entry) => ("profileId" in entry ? [entry.profileId] : [])));
  for (const profileId of profiles) findings.found("wrong_feeds", profileId);
  const sizes = new Set(wrongSizes);
  // What the feed lacks its sizes lack too.
  for (const entry of lacking) if ("audienceId" in entry) sizes.delete(entry.audienceId);
  for (const audienceId of sizes) findings.found("wrong_sizes", audienceId);
  if (!isRepair || lacking.length + wrongSizes.length === 0) return;
  for (let from = 0; from < lacking.length; from += PER_APPEND) {
    const some = lacking.slice(from, from + PER_APPEND);
    await backends.seats.append(workspace, `mended:${newId<string>()}`, some);
  }
  for (const _ of profiles) findings.mended("wrong_feeds");
  if (!(await mendSizes(backends, workspace, readSeats))) return findings.passedOver(MOVING);
  for (const _ of sizes) findings.mended("wrong_sizes");
}

/** Counts the members while nothing comes into the feed: only then it is known who is counted. */
async function mendSizes(
  backends: FeedDeps["backends"],
  workspace: WorkspaceId,
  readSeats: ReadSeats,
): Promise<boolean> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    await publishAll(backends, workspace);
    const { head } = await backends.seats.sizes(workspace);
    const stored = membersOf(await readSeats());
    // Of a seat that was saved meanwhile this moves the end.
    await publishAll(backends, workspace);
    const sizes = [...stored].map(([audienceId, members]) => [audienceId, members.size] as const);
    if (await backends.copying.members.mend({ workspace, head, sizes })) return true;
  }
  return false;
}

function membersOf(seats: ReadonlyMap<ProfileId, Pick<SeatRow, "memberships">>): Members {
  const stored: Members = new Map();
  for (const [profileId, { memberships }] of seats)
    for (const [audienceId] of memberships) membersIn(stored, audienceId).add(profileId);
  return stored;
}

function membersIn(all: Members, audienceId: AudienceId): Set<ProfileId> {
  const known = all.get(audienceId) ?? new Set();
  all.set(audienceId, known);
  return known;
}

/** Null where it does not begin at its first entry any more. */
async function fold(store: Backends["seats"], workspace: WorkspaceId): Promise<Members | null> {
  const told: Members = new Map();
  for (let after = 0; ;) {
    const { entries, oldest } = await store.feed(workspace, after, PER_PAGE);
    if (oldest > 1) return null;
    for (const { entry } of entries) {
      if (entry.type === "entered") membersIn(told, entry.audienceId).add(entry.profileId);
      if (entry.type === "left") membersIn(told, entry.audienceId).delete(entry.profileId);
      if (entry.type === "audience_deleted") told.delete(entry.audienceId);
    }
    if (entries.length === 0) return told;
    after = entries.at(-1)!.seq;
  }
}

/** What the feed would have to say to come to the members that are stored. */
function differences(told: Members, stored: Members, at: number): readonly Entry[] {
  const of = (type: "entered" | "left", these: Members, others: Members): readonly Entry[] =>
    [...these].flatMap(([audienceId, members]) =>
      [...members]
        .filter((profileId) => others.get(audienceId)?.has(profileId) !== true)
        .map((profileId): Entry => ({ type, at, audienceId, profileId, cause: "changed", into: null })),
    );
  return [...of("left", told, stored), ...of("entered", stored, told)];
}
