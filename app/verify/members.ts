import { setTimeout as sleep } from "node:timers/promises";
import { compileAudiences } from "../../commands/audiences/judged.js";
import { judgeAll, lookAtProfiles, type LookServices } from "../../commands/audiences/look.js";
import type { Found } from "../../core/audience/look.js";
import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import type { MemberRows, SeatRow } from "../../core/ports/copying.js";
import type { Backends } from "../backends.js";
import { verifyFeed } from "./feeds.js";
import type { Findings } from "./findings.js";
import { forEachRow, seatPages } from "./rows.js";

export interface MemberDeps {
  readonly backends: Pick<Backends, "audiences" | "copying" | "graph" | "marks" | "seats">;
  readonly services: LookServices;
  readonly findings: Findings;
  readonly isRepair: boolean;
  readonly now: () => number;
}

/** What is stored of a profile. */
type Stored = Omit<SeatRow, "workspace">;
const noSeat = (profileId: ProfileId): Stored => ({ profileId, memberships: [], untils: [] });

const PER_PAGE = 256;
/** So many are held before somebody looks at them again. */
const DOUBTFUL_MAX = 5_000;
/** A look that is under way ends in this. */
const SETTLE_MS = 1_000;

/** The seats of profiles against the rules, and the feed against the seats. */
export async function verifyMembers(deps: MemberDeps): Promise<void> {
  const { backends, findings } = deps;
  const unsettled = new Set<WorkspaceId>();
  await forEachRow<MemberRows, "marks">(
    backends.copying.members,
    "marks",
    async ({ workspace }) => void unsettled.add(workspace),
  );
  for (const workspace of await watched(backends)) {
    const { audiences, deleted } = await backends.audiences.audiences(workspace);
    if (audiences.length + deleted.length === 0) continue;
    if (
      unsettled.has(workspace) ||
      deleted.length > 0 ||
      audiences.some(({ build }) => build !== null) ||
      (await backends.graph.moved(workspace, 1)).length > 0
    )
      findings.passedOver("workspaces in which somebody has still to look at profiles");
    else await verifyWorkspace(deps, workspace);
  }
}

async function watched({ audiences }: Pick<Backends, "audiences">): Promise<readonly WorkspaceId[]> {
  const all: WorkspaceId[] = [];
  for (;;) {
    const page = await audiences.watching({ limit: PER_PAGE, after: all.at(-1) ?? null });
    all.push(...page);
    if (page.length < PER_PAGE) return all;
  }
}

async function verifyWorkspace(deps: MemberDeps, workspace: WorkspaceId): Promise<void> {
  // The feed first: what is mended in a seat is told in it.
  await verifyFeed({ ...deps, now: deps.now() }, workspace);
  const doubtful: ProfileId[] = [];
  /** In front of the first of them. */
  let behind: ProfileId | null = null;
  for await (const seated of seatedProfiles(deps, workspace)) {
    doubtful.push(...(await wrongOf(deps, workspace, seated)));
    if (doubtful.length >= DOUBTFUL_MAX) await lookAgain(deps, workspace, doubtful.splice(0), behind);
    if (doubtful.length === 0) behind = seated.profiles.at(-1)!.profileId;
  }
  if (doubtful.length > 0) await lookAgain(deps, workspace, doubtful, behind);
}

/** By id, the first of them behind the position. */
async function lookAgain(
  deps: MemberDeps,
  workspace: WorkspaceId,
  doubtful: readonly ProfileId[],
  behind: ProfileId | null,
): Promise<void> {
  // Somebody may be at them.
  await sleep(SETTLE_MS);
  const stored = await seatsOf(deps, workspace, doubtful, behind);
  const readAt = deps.now();
  for (let at = 0; at < doubtful.length; at += PER_PAGE) {
    const profiles = doubtful
      .slice(at, at + PER_PAGE)
      .map((profileId): Stored => stored.get(profileId) ?? noSeat(profileId));
    const wrong = await wrongOf(deps, workspace, { profiles, readAt });
    for (const profileId of wrong) deps.findings.found("wrong_seats", profileId);
    if (deps.isRepair) await mend(deps, workspace, wrong);
  }
}

async function mend(
  { services, findings, now }: MemberDeps,
  workspace: WorkspaceId,
  profileIds: readonly ProfileId[],
): Promise<void> {
  const causes = new Map(profileIds.map((profileId) => [profileId, "changed" as const]));
  for (const _ of await lookAtProfiles(services, workspace, causes, now())) findings.mended("wrong_seats");
}

/** Profiles, with their seats as they stood then or before. */
interface Seated {
  readonly profiles: readonly Stored[];
  /** Behind the read of the seats: whoever saved one has judged it by an earlier time. */
  readonly readAt: number;
}

async function seatsOf(
  { backends }: MemberDeps,
  workspace: WorkspaceId,
  profileIds: readonly ProfileId[],
  behind: ProfileId | null,
): Promise<ReadonlyMap<ProfileId, Stored>> {
  const [asked, last] = [new Set(profileIds), profileIds.at(-1)!];
  const seats = new Map<ProfileId, Stored>();
  for await (const page of seatPages(backends.copying.members, workspace, behind)) {
    for (const seat of page) if (asked.has(seat.profileId)) seats.set(seat.profileId, seat);
    if ((page.at(-1)?.profileId ?? last) >= last) break;
  }
  return seats;
}

/** All that stand, and all that have a seat, by id: both lists are, so neither has to be held. */
async function* seatedProfiles(deps: MemberDeps, workspace: WorkspaceId): AsyncGenerator<Seated> {
  let readAt = 0;
  async function* readSeats(): AsyncGenerator<Stored> {
    for await (const page of seatPages(deps.backends.copying.members, workspace)) {
      readAt = deps.now();
      yield* page;
    }
  }
  let profiles: Stored[] = [];
  for await (const one of merged(profilesOf(deps, workspace), readSeats())) {
    profiles.push(one);
    if (profiles.length < PER_PAGE) continue;
    yield { profiles, readAt };
    profiles = [];
  }
  if (profiles.length > 0) yield { profiles, readAt };
}

async function* merged(profileIds: AsyncGenerator<ProfileId>, seats: AsyncGenerator<Stored>): AsyncGenerator<Stored> {
  let seat = await seats.next();
  for await (const profileId of profileIds) {
    for (; seat.done !== true && seat.value.profileId < profileId; seat = await seats.next()) yield seat.value;
    if (seat.done === true || seat.value.profileId !== profileId) yield noSeat(profileId);
  }
  for (; seat.done !== true; seat = await seats.next()) yield seat.value;
}

async function* profilesOf({ backends }: MemberDeps, workspace: WorkspaceId): AsyncGenerator<ProfileId> {
  for (let after: ProfileId | null = null; ;) {
    const page: readonly { readonly profileId: ProfileId }[] = await backends.graph.walk(workspace, {
      limit: PER_PAGE,
      after,
      membersMax: 0,
    });
    for (const { profileId } of page) yield profileId;
    if (page.length < PER_PAGE) return;
    after = page.at(-1)!.profileId;
  }
}

async function wrongOf(
  { backends, services, findings }: MemberDeps,
  workspace: WorkspaceId,
  { profiles, readAt }: Seated,
): Promise<readonly ProfileId[]> {
  const asked = profiles.filter(({ untils }) => untils.every(([, until]) => until > readAt));
  for (let n = asked.length; n < profiles.length; n += 1)
    findings.passedOver("profiles whose time to be looked at has come");
  const profileIds = asked.map(({ profileId }) => profileId);
  const by = compileAudiences(await backends.audiences.audiences(workspace));
  const found = await judgeAll(services, workspace, { profileIds, by, now: readAt });
  return profileIds.filter((_, n) => !agrees(asked[n]!, found[n]!));
}

function agrees({ memberships, untils }: Stored, found: Found): boolean {
  if (found.kind === "unread") return true;
  const judged = found.kind === "live" ? found.judged : [];
  const stored = new Map(untils);
  const isIn = new Set(judged.flatMap(({ audienceId, is }) => (is ? [audienceId] : [])));
  return (
    memberships.length === isIn.size &&
    memberships.every(([audienceId]) => isIn.has(audienceId)) &&
    // It may be looked at too early, never too late.
    judged.every(({ audienceId, until }) => (stored.get(audienceId) ?? Infinity) <= (until ?? Infinity))
  );
}
