import assert from "node:assert/strict";
import { AppError } from "../../core/errors.js";
import { newId, type AudienceId, type ProfileId, type WorkspaceId } from "../../core/ids.js";
import type { AudienceSet } from "../../core/audience/audience.js";
import type { Page } from "../../core/ports/port.js";
import type { SeatSave } from "../../core/ports/seat-store.js";
import type { AudienceDeps } from "../../keeper/audiences/deps.js";
import { endDeleted } from "../../keeper/audiences/deleted.js";

const workspace = newId<WorkspaceId>();

const damaged = (): AppError => new AppError("damaged", "A stored record is damaged: members.");

/** A deleted audience with so many members. */
function aDeletedAudience(count: number, membersOf: () => void = () => undefined) {
  const audienceId = newId<AudienceId>();
  const members = new Set(Array.from({ length: count }, () => newId<ProfileId>()));
  let set: AudienceSet = { version: "1", audiences: [], deleted: [audienceId], tallies: [], forgotten: [] };
  const told: string[] = [];
  /** Begun before it was deleted: somebody who is let in all the same. */
  let lateMember: ProfileId | null = null;
  const lines: string[] = [];
  /** Their seats are on a damaged page. */
  const unreadable = new Set<ProfileId>();
  const deps = {
    now: () => 1,
    log: { error: (_: object, text: string) => lines.push(text) },
    identity: {
      resolveAll: async (_: WorkspaceId, ids: readonly ProfileId[]) =>
        ids.map((profileId) => ({ profileId, size: 1, members: [] })),
    },
    limits: { profileIdentifiersMax: 10_000 },
    audiences: {
      audiences: async () => set,
      changeAudiences: async (_: WorkspaceId, change: (current: AudienceSet) => Partial<AudienceSet> | null) =>
        (set = { ...set, ...change(set) }),
    },
    seats: {
      members: async (_: WorkspaceId, __: AudienceId, { limit, after }: Page<ProfileId>) => {
        membersOf();
        const found = [...members].toSorted().filter((profileId) => after === null || profileId > after);
        return found.slice(0, limit).map((profileId) => ({ profileId, since: 1 }));
      },
      claimed: async () => {
        if (lateMember !== null) members.add(lateMember);
        lateMember = null;
        return [];
      },
      claim: async (_: WorkspaceId, __: string, ids: readonly ProfileId[]) => {
        if (ids.some((profileId) => unreadable.has(profileId))) throw damaged();
        return ids.map((profileId) => ({ profileId, memberships: [{ audienceId, since: 1 }], untils: [] }));
      },
      save: async (_: WorkspaceId, __: string, saves: readonly SeatSave[]) =>
        saves.map(({ seat }) => seat.memberships.length === 0 && members.delete(seat.profileId)),
      publish: async () => false,
      append: async (_: WorkspaceId, origin: string) => void told.push(`${origin} of ${members.size}`),
    },
  } as unknown as AudienceDeps;
  return {
    audienceId,
    members,
    told,
    lines,
    unreadable,
    letIn: (profileId: ProfileId) => (lateMember = profileId),
    step: () => endDeleted(deps, workspace, set),
  };
}

describe("A deleted audience", () => {
  it("is left a page at a time, so that others do not wait for millions of members", async () => {
    const { audienceId, members, told, step } = aDeletedAudience(600);
    const left: number[] = [];
    while (await step()) left.push(members.size);
    assert.deepEqual(left, [344, 88, 0, 0]);
    assert.deepEqual(told, [`deleted:${audienceId} of 0`]);
  });

  it("is told to be no more only after whoever was let in by a look that began before has left", async () => {
    const { audienceId, told, letIn, step } = aDeletedAudience(1);
    letIn(newId<ProfileId>());
    while (await step());
    assert.deepEqual(told, [`deleted:${audienceId} of 0`]);
  });

  it("is no more also where members of it cannot be read: it would hold up those that are deleted after it", async () => {
    const { audienceId, told, lines, step } = aDeletedAudience(5, () => {
      throw damaged();
    });
    assert.deepEqual([await step(), await step()], [true, false]);
    assert.deepEqual(told, [`deleted:${audienceId} of 5`]);
    assert.deepEqual(lines, ["members of a deleted audience stay on a damaged page"]);
  });

  it("is left by all members but those who cannot be read", async () => {
    const { audienceId, members, told, lines, unreadable, step } = aDeletedAudience(600);
    for (const profileId of [...members].toSorted().filter((_, n) => n === 0 || n >= 300)) unreadable.add(profileId);
    while (await step());
    assert.deepEqual(members, unreadable);
    assert.deepEqual(told, [`deleted:${audienceId} of 301`]);
    assert.deepEqual(lines, ["members of a deleted audience stay on a damaged page"]);
  });
});
