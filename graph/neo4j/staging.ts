import { setTimeout as sleep } from "node:timers/promises";
import { newId, type ProfileId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { Component, ComponentPlan, PartPlan, SplitPlan, Plan } from "../../core/identity/model.js";
import type { Snapshot } from "../../core/identity/snapshot.js";
import { REMOVAL_REV, type Turn } from "../../core/identity/step.js";
import { inShares } from "../scheduling/chunks.js";
import { createPace } from "../scheduling/pace.js";
import { BRING_OVER, LEFT_BEHIND, RELEASE, STAGE } from "./cypher/staging.js";
import { type Client, type Step, inWrite, whole } from "./client.js";
import { changedMeanwhile } from "./failure.js";

/** The staging node of a part, and the members that were staged there. */
export interface StagedPart {
  readonly hub: string;
  readonly uids: ReadonlySet<Uid>;
}

/** The parts whose members were staged. */
export type Staged = ReadonlyMap<ProfileId, StagedPart>;

/** So many members at most leave a profile in one step, while the workspace waits: as measured, about 30 ms. */
const LEAVING_MAX = 500;
/** A portion has no fewer, however slow the server is. */
const LEAVING_MIN = 100;

/** In a step a profile of its own takes as much memory as so many members that move. */
const SMALL = 8;

/** Those that a step moves itself, which may move `max` identifiers, and the rest. Small ones are always moved: staging saves nothing. */
export function fitting<T>(all: readonly T[], sizeOf: (one: T) => number, max: number) {
  const [fits, rest]: [T[], T[]] = [[], []];
  let room = max;
  for (const one of all.toSorted((a, b) => sizeOf(a) - sizeOf(b))) {
    room -= sizeOf(one);
    (room >= 0 || sizeOf(one) <= Math.min(SMALL, max) ? fits : rest).push(one);
  }
  return { fits, rest };
}

export interface Move {
  readonly into: Component;
  readonly gone: Component;
}

/** What the plan's components absorb: moved within the step, or left where it is. */
export function movesOf({ components }: Pick<Plan, "components">, snapshot: Snapshot, max: number) {
  const all = components.flatMap(({ into, absorbed }: ComponentPlan): Move[] =>
    absorbed.map((gone) => ({ into: into!, gone })),
  );
  return fitting(all, ({ gone }) => snapshot.components.get(gone)!.size, max);
}

/**
 * Parts that must be staged before they leave: those that are too large for the step, and all whose leaving changes the profile's id.
 * Whoever reads without the lock sees a commit bit by bit: a part that has not left yet would be seen with the new id, as somebody else's.
 */
function partsToStage({ splits }: Pick<Plan, "splits">, max: number) {
  const parts = splits.flatMap(({ component, stays, parts }) =>
    parts.map((part) => ({ component, isRenamed: stays.profileId !== component, ...part })),
  );
  const renamed = parts.filter(({ isRenamed }) => isRenamed);
  const others = parts.filter(({ isRenamed }) => !isRenamed);
  return [...renamed, ...fitting(others, ({ size }) => size, Math.min(max, LEAVING_MAX)).rest];
}

export const isStaged = ({ splits }: Pick<Plan, "splits">, staged: Staged, max: number): boolean =>
  partsToStage({ splits }, max).every(({ profileId }) => staged.has(profileId));

/** Members that move to a part. */
interface Leave {
  readonly part: Uid;
  readonly uids: readonly Uid[];
}

/** Batches of at most `maxOf()` members: of one large part, or of thousands of small ones. */
export function* leavesOf(
  parts: readonly Pick<PartPlan, "profileId" | "members">[],
  maxOf: () => number,
): Generator<readonly Leave[]> {
  for (const shares of inShares(parts, ({ members }) => members, maxOf))
    yield shares.map(({ of, some }) => ({ part: of.profileId, uids: some }));
}

export interface Leaving {
  readonly plan: Pick<Plan, "splits">;
  /** The snapshot that the plan was made for. */
  readonly snapshot: Snapshot;
  /** At most this many members leave in the step itself, and in each portion. */
  readonly max: number;
  /** Runs a portion. */
  readonly turn: Turn;
}

/** So long nobody brings back staged members. */
const HELD = { ms: whole(600_000) };

/** Stages what is too much to leave in one step, portion by portion. Fails when the profile loses links meanwhile. */
export async function stage(
  client: Client,
  ws: WorkspaceId,
  { plan, snapshot, max, turn }: Leaving,
  staged: Map<ProfileId, StagedPart>,
): Promise<void> {
  const parts = partsToStage(plan, max);
  const pace = createPace({ max: Math.max(Math.min(max, LEAVING_MAX), 1), min: LEAVING_MIN });
  for (const { profileId, members } of parts) staged.set(profileId, { hub: newId(), uids: new Set(members) });
  for (const component of new Set(parts.map(({ component }) => component))) {
    const own = parts.filter((part) => part.component === component);
    const from = Math.floor(snapshot.components.get(component)!.rev / REMOVAL_REV) * REMOVAL_REV;
    const q = { ...HELD, from: whole(from), below: whole(from + REMOVAL_REV) };
    for (const portion of leavesOf(own, pace.size)) {
      const leaves = portion.map(({ part, uids }) => ({ hub: staged.get(part)!.hub, from: component, uids }));
      const move = () => inWrite(client, ws, async (step) => (await step.run(STAGE, { ...q, leaves }))[0]?.[0] ?? 0);
      const moved = await turn(() => pace.timed(move));
      if (moved !== countOf(portion)) throw changedMeanwhile();
    }
  }
}

/** Stages members that joined the parts since, in the step that makes profiles of the parts. */
export async function stageLate(step: Step, { component, parts }: SplitPlan, staged: Staged): Promise<void> {
  const leaves = parts.flatMap(({ profileId, members }) => {
    const own = staged.get(profileId);
    const uids = own === undefined ? [] : members.filter((uid) => !own.uids.has(uid));
    return uids.length === 0 ? [] : { hub: own!.hub, from: component, uids };
  });
  const anyRev = { from: whole(0), below: whole(Number.MAX_SAFE_INTEGER) };
  if (leaves.length > 0) await step.run(STAGE, { ...HELD, ...anyRev, leaves });
}

/** From now on staged members that did not become a profile may be brought back. */
export async function release(client: Client, staged: Staged): Promise<void> {
  if (staged.size > 0) await client.write(RELEASE, { hubs: [...staged.values()].map(({ hub }) => hub) });
}

const countOf = (leaves: readonly Leave[]): number => leaves.reduce((sum, { uids }) => sum + uids.length, 0);

const FAILURES_MAX = 10;

export interface TidyingOptions {
  /** This many members are brought over in one step. */
  readonly max: number;
  /** A pause before each step, so that others get their turn. */
  readonly pauseMs: number;
}

export interface Tidying {
  /** Brings over the staged members of the profile, some time from now. */
  readonly tidy: (ws: WorkspaceId, uid: Uid) => void;
  /** The same for everything that another process left behind. */
  readonly tidyAll: () => void;
}

/** Never fails: members that stay staged do no harm, and the next step that meets them tries again. */
export function createTidying(client: Client, { max, pauseMs }: TidyingOptions): Tidying {
  const underWay = new Set<Uid>();
  const later = new Set<Uid>();
  const bringOver = async (ws: WorkspaceId, uid: Uid): Promise<void> => {
    const q = { ws, uid, limit: whole(max) };
    for (let failures = 0; failures < FAILURES_MAX;) {
      await sleep(pauseMs, undefined, { ref: false });
      const [row] = await inWrite(client, ws, (step) => step.run(BRING_OVER, q)).catch(() => [null]);
      if (row === null) failures += 1;
      else if (row === undefined || row[0] === 0) return void comeBack(ws, uid, (row?.[1] ?? null) as number | null);
    }
  };
  /** A process that was killed releases nothing, and perhaps nobody else writes to the profile. */
  const comeBack = async (ws: WorkspaceId, uid: Uid, heldMs: number | null): Promise<void> => {
    if (heldMs === null || later.has(uid)) return;
    later.add(uid);
    await sleep(heldMs, undefined, { ref: false });
    later.delete(uid);
    tidy(ws, uid);
  };
  const tidy = (ws: WorkspaceId, uid: Uid): void => {
    if (underWay.has(uid)) return;
    underWay.add(uid);
    void bringOver(ws, uid).finally(() => underWay.delete(uid));
  };
  const tidyAll = async (): Promise<void> => {
    const left = (await client.read(LEFT_BEHIND, {})) as readonly (readonly [WorkspaceId, Uid])[];
    for (const [ws, uid] of left) tidy(ws, uid);
  };
  return { tidy, tidyAll: () => void tidyAll().catch(() => undefined) };
}
