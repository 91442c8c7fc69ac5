import type { UndoResult } from "../../core/identity/api.js";
import type { IdentifierKey, ProfileId, WorkspaceId } from "../../core/ids.js";
import type { Change, Snapshot, Plan, ProfileRef } from "../../core/identity/model.js";

/** What every decision that takes something back begins with. */
export interface Undoing {
  readonly workspace: WorkspaceId;
  /** Links that one step takes or restores at most. */
  readonly linksPerStep: number;
  /** Makes the record of it, once its time has come. */
  readonly change: (what: {
    readonly outcome: Change["outcome"];
    readonly before: readonly ProfileRef[];
    readonly after: readonly ProfileRef[];
    readonly dropped?: Change["dropped"];
  }) => () => Change;
}

export interface Ruling {
  /** Of each profile that it was decided on, except those that the steps name. */
  readonly keys: readonly IdentifierKey[];
  /** Null when nothing is to be written. */
  readonly work: Work | null;
  /** The record's id is only known once it is written. */
  readonly undone: UndoResult & { readonly changeId: null };
}

/** What is to be written, step by step; after each of them the graph is right. The first one leaves the record of all. */
export interface Work {
  readonly what: "removed links" | "restored links";
  readonly change: () => Change;
  /** What the first step writes beside. */
  readonly marks: (change: Change) => Partial<Pick<Plan, "unlinked" | "forbids" | "allows">>;
  /** At least one; each is made from what those before it left, so they are written in their order. */
  readonly steps: Iterable<Step>;
}

export interface Step {
  /** Of each profile that it changes, one. */
  readonly keys: readonly IdentifierKey[];
  /** Links that it takes or restores. */
  readonly links: number;
  /** From a snapshot of the keys. */
  readonly plan: (now: Snapshot, change: Change) => Partial<Plan>;
}

export const noMarks: Work["marks"] = () => ({});

/** A component of thousands may fall into as many; nobody reads more ids than these. */
const IDS_MAX = 1_000;

export const idsOf = (refs: readonly ProfileRef[]): readonly ProfileId[] =>
  shown(refs).map(({ profileId }) => profileId);

/** Nothing done. */
export function undone(before: readonly ProfileRef[], after: readonly ProfileRef[]): Ruling["undone"] {
  const are = shown(after);
  return {
    outcome: "unchanged",
    profileIds: are.map(({ profileId }) => profileId),
    changeId: null,
    stillJoinedBy: null,
    dropped: [],
    before: shown(before),
    after: are,
  };
}

/** By id, each once. All that are too many are left out before the rest is sorted. */
function shown(refs: readonly ProfileRef[]): readonly ProfileRef[] {
  let found = new Map<ProfileId, ProfileRef>();
  let isCut = false;
  let last: ProfileId | undefined;
  const cut = (): void => {
    const least = [...found.values()].toSorted(byId).slice(0, IDS_MAX);
    found = new Map(least.map((ref) => [ref.profileId, ref]));
    last = least.at(-1)?.profileId;
  };
  for (const { profileId, size } of refs) {
    if (isCut && profileId > last!) continue;
    found.set(profileId, { profileId, size });
    if (found.size < 2 * IDS_MAX) continue;
    cut();
    isCut = true;
  }
  cut();
  return [...found.values()];
}

const byId = (a: ProfileRef, b: ProfileRef): number => (a.profileId < b.profileId ? -1 : 1);
