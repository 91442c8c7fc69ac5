import { setTimeout as sleep } from "node:timers/promises";
import { newId, type ProfileId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { Component, ComponentPlan, PartPlan, Snapshot, SplitPlan, Plan } from "../../core/identity/model.js";
import { REMOVAL_REV, type Turn } from "../../core/identity/step.js";
import { inShares } from "../scheduling/chunks.js";
import { createPace } from "../scheduling/pace.js";
import { BRING_OVER, LEFT_BEHIND, LET_GO, SET_ASIDE } from "./cypher/staging.js";
import { type Client, type Step, inStep, whole } from "./client.js";
import { changedMeanwhile } from "./failure.js";
import { LOCK } from "./cypher/writes.js";

/** The annex of a part, and the members that were taken there. */
export interface StagedPart {
  readonly hub: string;
  readonly uids: ReadonlySet<Uid>;
}

/** The parts whose members were taken aside. */
export type Aside = ReadonlyMap<ProfileId, StagedPart>;

/** So many members at most leave a profile in one step, while the workspace waits: as measured, about 30 ms. */
const LEAVING_MAX = 500;
/** A portion has no fewer, however slow the server is. */
const LEAVING_MIN = 50;

/** A profile of its own costs the step as much memory as so many members that move. */
const SMALL = 8;

/**
 * Those that fit into a step that may move so many identifiers, and those that are done another way. Small ones are always done within
 * it: the other way would spare nothing.
 */
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

/** What the plan's components take in: brought over within the step, or left where it is. */
export function movesOf({ components }: Pick<Plan, "components">, snapshot: Snapshot, max: number) {
  const all = components.flatMap(({ into, absorbed }: ComponentPlan): Move[] =>
    absorbed.map((gone) => ({ into: into!, gone })),
  );
  return fitting(all, ({ gone }) => snapshot.components.get(gone)!.size, max);
}

/**
 * Parts that leave by an annex: those that are too much for the step, and all whose leaving gives the profile another id. A commit
 * shows bit by bit to who reads without the lock: such a part would be seen with the new id and not yet gone, as somebody else's.
 */
function asideParts({ splits }: Pick<Plan, "splits">, max: number) {
  const parts = splits.flatMap(({ component, stays, parts }) =>
    parts.map((part) => ({ component, isRenamed: stays.profileId !== component, ...part })),
  );
  const renamed = parts.filter(({ isRenamed }) => isRenamed);
  const others = parts.filter(({ isRenamed }) => !isRenamed);
  return [...renamed, ...fitting(others, ({ size }) => size, Math.min(max, LEAVING_MAX)).rest];
}

export const isAside = ({ splits }: Pick<Plan, "splits">, aside: Aside, max: number): boolean =>
  asideParts({ splits }, max).every(({ profileId }) => aside.has(profileId));

/** The members that go to a part. */
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

/** For this long nobody brings back staged members. */
const HELD = { ms: whole(600_000) };

/** Stages what is too much to leave in one step, portion by portion. Fails when the profile loses links meanwhile. */
export async function setAside(
  client: Client,
  ws: WorkspaceId,
  { plan, snapshot, max, turn }: Leaving,
  aside: Map<ProfileId, StagedPart>,
): Promise<void> {
  const parts = asideParts(plan, max);
  const pace = createPace({ max: Math.max(Math.min(max, LEAVING_MAX), 1), min: LEAVING_MIN });
  for (const { profileId, members } of parts) aside.set(profileId, { hub: newId(), uids: new Set(members) });
  for (const component of new Set(parts.map(({ component }) => component))) {
    const own = parts.filter((part) => part.component === component);
    const from = Math.floor(snapshot.components.get(component)!.rev / REMOVAL_REV) * REMOVAL_REV;
    const q = { ...HELD, from: whole(from), below: whole(from + REMOVAL_REV) };
    for (const portion of leavesOf(own, pace.size)) {
      const leaves = portion.map(({ part, uids }) => ({ hub: aside.get(part)!.hub, from: component, uids }));
      const stage = () => inStep(client, (step) => commitCount(step, ws, SET_ASIDE, { ...q, leaves }));
      const moved = await turn(() => pace.timed(stage));
      if (moved !== countOf(portion)) throw changedMeanwhile();
    }
  }
}

/** In the step that makes profiles of the parts: takes aside who joined them since. */
export async function setLateAside(step: Step, { component, parts }: SplitPlan, aside: Aside): Promise<void> {
  const leaves = parts.flatMap(({ profileId, members }) => {
    const staged = aside.get(profileId);
    const uids = staged === undefined ? [] : members.filter((uid) => !staged.uids.has(uid));
    return uids.length === 0 ? [] : { hub: staged!.hub, from: component, uids };
  });
  const anyRev = { from: whole(0), below: whole(Number.MAX_SAFE_INTEGER) };
  if (leaves.length > 0) await step.run(SET_ASIDE, { ...HELD, ...anyRev, leaves });
}

/** Staged members that did not become a profile. */
export async function letGo(client: Client, aside: Aside): Promise<void> {
  if (aside.size > 0) await client.write(LET_GO, { hubs: [...aside.values()].map(({ hub }) => hub) });
}

const countOf = (leaves: readonly Leave[]): number => leaves.reduce((sum, { uids }) => sum + uids.length, 0);

async function commitCount(step: Step, ws: WorkspaceId, statement: string, q: object): Promise<number> {
  await step.run(LOCK, { ws });
  const [row] = await step.run(statement, { ws, ...q });
  await step.commit();
  return (row?.[0] ?? 0) as number;
}

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

/** Never fails: members that stay staged do no harm, and whoever meets them next goes on. */
export function createTidying(client: Client, { max, pauseMs }: TidyingOptions): Tidying {
  const underWay = new Set<Uid>();
  const bringOver = async (ws: WorkspaceId, uid: Uid): Promise<void> => {
    const q = { uid, limit: whole(max) };
    for (let failures = 0; failures < FAILURES_MAX;) {
      await sleep(pauseMs, undefined, { ref: false });
      const done = await inStep(client, (step) => commitCount(step, ws, BRING_OVER, q)).catch(() => null);
      if (done === 0) return;
      if (done === null) failures += 1;
    }
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
