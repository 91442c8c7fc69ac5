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
type Stored = Pick<SeatRow, "due" | "memberships">;
const NONE: Stored = { due: null, memberships: [] };

const PER_PAGE = 256;
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
  await verifyFeed({ ...deps, now: deps.now() }, workspace, () => seatsOf(deps, workspace));
  const seats = await readSeats(deps, workspace);
  const doubtful: ProfileId[] = [];
  for await (const page of profilesOf(deps, workspace, seats.stored))
    doubtful.push(...(await wrongOf(deps, workspace, page, seats)));
  if (doubtful.length === 0) return;
  // Somebody may be at them.
  await sleep(SETTLE_MS);
  const again = await readSeats(deps, workspace);
  for (let at = 0; at < doubtful.length; at += PER_PAGE) {
    const wrong = await wrongOf(deps, workspace, doubtful.slice(at, at + PER_PAGE), again);
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

interface Seats {
  readonly stored: ReadonlyMap<ProfileId, Stored>;
  readonly readAt: number;
}

/** The time comes after the seats: whoever saved one has judged it by an earlier time. */
async function readSeats(deps: MemberDeps, workspace: WorkspaceId): Promise<Seats> {
  const stored = await seatsOf(deps, workspace);
  return { stored, readAt: deps.now() };
}

async function seatsOf({ backends }: MemberDeps, workspace: WorkspaceId): Promise<ReadonlyMap<ProfileId, Stored>> {
  const seats = new Map<ProfileId, Stored>();
  for await (const page of seatPages(backends.copying.members, workspace))
    for (const { profileId, due, memberships } of page) seats.set(profileId, { due, memberships });
  return seats;
}

/** All that stand, and all that have a seat. */
async function* profilesOf(
  { backends }: MemberDeps,
  workspace: WorkspaceId,
  seats: ReadonlyMap<ProfileId, Stored>,
): AsyncGenerator<readonly ProfileId[]> {
  const left = new Set(seats.keys());
  for (let after: ProfileId | null = null; ;) {
    const page: readonly { readonly profileId: ProfileId }[] = await backends.graph.walk(workspace, {
      limit: PER_PAGE,
      after,
      membersMax: 0,
    });
    const ids = page.map(({ profileId }) => profileId);
    for (const id of ids) left.delete(id);
    yield ids;
    if (page.length < PER_PAGE) break;
    after = ids.at(-1)!;
  }
  const others = [...left];
  for (let at = 0; at < others.length; at += PER_PAGE) yield others.slice(at, at + PER_PAGE);
}

async function wrongOf(
  { backends, services, findings }: MemberDeps,
  workspace: WorkspaceId,
  profileIds: readonly ProfileId[],
  { stored, readAt }: Seats,
): Promise<readonly ProfileId[]> {
  const isDue = (profileId: ProfileId): boolean => (stored.get(profileId)?.due ?? Infinity) <= readAt;
  for (const _ of profileIds.filter(isDue)) findings.passedOver("profiles whose time to be looked at has come");
  const asked = profileIds.filter((profileId) => !isDue(profileId));
  const by = compileAudiences(await backends.audiences.audiences(workspace));
  const found = await judgeAll(services, workspace, { profileIds: asked, by, now: readAt });
  return asked.filter((profileId, n) => !agrees(stored.get(profileId) ?? NONE, found[n]!));
}

function agrees({ due, memberships }: Stored, found: Found): boolean {
  if (found.kind === "unread") return true;
  const judged = found.kind === "live" ? found.judged : [];
  const until = Math.min(...judged.map((one) => one.until));
  const isIn = new Set(judged.flatMap(({ audienceId, is }) => (is ? [audienceId] : [])));
  return (
    memberships.length === isIn.size &&
    memberships.every(([audienceId]) => isIn.has(audienceId)) &&
    // It may be looked at too early, never too late.
    (due ?? Infinity) <= until
  );
}
