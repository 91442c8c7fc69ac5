import assert from "node:assert/strict";
import { newId, type AudienceId, type ClaimId, type ProfileId, type WorkspaceId } from "../../../core/ids.js";
import type { DueProfile, SeatStore } from "../../../core/ports/seat-store.js";
import type { Contract } from "../../support/contract.js";

export const dueOf = async (port: SeatStore, workspace: WorkspaceId, at: number): Promise<readonly ProfileId[]> =>
  (await port.due(workspace, at, { limit: 100, after: null })).map(({ profileId }) => profileId);

/** In the order of their ids. */
const newProfiles = (count: number): readonly ProfileId[] =>
  Array.from({ length: count }, () => newId<ProfileId>()).toSorted();

async function save(
  port: SeatStore,
  workspace: WorkspaceId,
  profileId: ProfileId,
  due: number | null,
): Promise<DueProfile> {
  const claim = newId<ClaimId>();
  await port.claim(workspace, claim, [profileId]);
  const audienceId = newId<AudienceId>();
  // The first of them counts, wherever it stands.
  const untils =
    due === null
      ? []
      : [
          { audienceId: newId<AudienceId>(), until: due + 1 },
          { audienceId, until: due },
        ];
  const seat = { profileId, memberships: [{ audienceId, since: 7 }], untils };
  assert.deepEqual(await port.save(workspace, claim, [{ seat, entries: [] }]), [true]);
  return { profileId, due: due! };
}

/** Of the contract of seats: whose time has come. */
export const dueSeats: Contract<SeatStore> = {
  "answers who is due, the earliest first": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const [late, early, never] = newProfiles(3) as [ProfileId, ProfileId, ProfileId];
    await save(port, workspace, late, 30);
    await save(port, workspace, early, 20);
    await save(port, workspace, never, null);
    assert.deepEqual(await dueOf(port, workspace, 19), []);
    assert.deepEqual(await dueOf(port, workspace, 20), [early]);
    assert.deepEqual(await dueOf(port, workspace, 99), [early, late]);
    assert.deepEqual(await port.due(workspace, 99, { limit: 1, after: null }), [{ profileId: early, due: 20 }]);
  },

  "answers who is due of one moment by id, and page by page": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const saved: DueProfile[] = [];
    for (const [n, profileId] of newProfiles(6).entries())
      saved.push(await save(port, workspace, profileId, n === 0 ? 1_800_000_000_002 : 1_800_000_000_001));
    const expected = [...saved.slice(1), saved[0]];
    for (const limit of [1, 2, 5]) {
      const found: DueProfile[] = [];
      for (let after: DueProfile | null = null; ;) {
        const page: readonly DueProfile[] = await port.due(workspace, 1_800_000_000_002, { limit, after });
        found.push(...page);
        if (page.length < limit || found.length > saved.length) break;
        after = page.at(-1)!;
      }
      assert.deepEqual(found, expected);
    }
    // Whoever is due later than was asked for does not come behind a position either.
    assert.deepEqual(await port.due(workspace, 1_800_000_000_001, { limit: 9, after: saved[4]! }), [saved[5]]);
  },
};
