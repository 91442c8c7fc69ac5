import assert from "node:assert/strict";
import type { Entry, Seat } from "../../core/audience/seat.js";
import { newId, type AudienceId, type ClaimId, type ProfileId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { MemberCopying, MemberRows } from "../../core/ports/copying.js";
import type { MarkStore } from "../../core/ports/mark-store.js";
import type { SeatStore } from "../../core/ports/seat-store.js";
import type { Contract } from "../support/contract.js";
import { dumpAll, dumpedInOneTurn, loadAll, sorted, type Dumped } from "../support/copying/rows.js";

export interface CopiedMembers {
  readonly seats: SeatStore;
  readonly marks: MarkStore;
  readonly copying: MemberCopying;
  readonly close: () => Promise<void>;
}

/** Seats of each kind, a feed of which the oldest is forgotten, and marks, of two workspaces. */
export async function fillMembers({ seats, marks }: CopiedMembers): Promise<readonly WorkspaceId[]> {
  const workspaces = [newId<WorkspaceId>(), newId<WorkspaceId>()];
  for (const workspace of workspaces) {
    const [rich, gone] = [newId<AudienceId>(), newId<AudienceId>()];
    for (let n = 1; n <= 9; n += 1) {
      const claim = newId<ClaimId>();
      const profileId = newId<ProfileId>();
      await seats.claim(workspace, claim, [profileId]);
      const memberships = n === 3 ? [] : [{ audienceId: rich, since: n }];
      const untils =
        n % 3 === 0
          ? [
              { audienceId: rich, until: n },
              { audienceId: gone, until: n + 1 },
            ]
          : [];
      const seat: Seat = { profileId, memberships, untils };
      const entries: readonly Entry[] =
        n === 3
          ? []
          : [{ type: "entered", at: n, audienceId: rich, profileId, cause: n === 4 ? "split" : "changed", into: null }];
      assert.deepEqual(await seats.save(workspace, claim, [{ seat, entries }]), [true]);
      while (await seats.publish(workspace, 100));
    }
    await seats.claim(workspace, newId<ClaimId>(), [newId<ProfileId>()]);
    await seats.append(workspace, `deleted:${gone}`, [{ type: "audience_deleted", at: 10, audienceId: gone }]);
    while (await seats.trim(workspace, 3, 1));
    await marks.mark(workspace, [newId<Uid>(), newId<Uid>()], 5);
  }
  return workspaces;
}

export const ofThese = (all: Dumped<MemberRows>, workspaces: readonly WorkspaceId[]): Dumped<MemberRows> => ({
  seats: all.seats.filter(({ workspace }) => workspaces.includes(workspace)),
  feed: all.feed.filter(({ workspace }) => workspaces.includes(workspace)),
  feedHeads: all.feedHeads.filter(({ workspace }) => workspaces.includes(workspace)),
  marks: all.marks.filter(({ workspace }) => workspaces.includes(workspace)),
});

export const memberCopyingContract: Contract<CopiedMembers> = {
  "the event loop turns before each page": async ({ port }) => {
    assert.deepEqual(await dumpedInOneTurn(port.copying), []);
    let hasTurned = false;
    setImmediate(() => (hasTurned = true));
    await port.copying.seatsOf(newId(), { limit: 7, after: null });
    assert.ok(hasTurned);
  },

  "dumps seats, feed and marks, each row once": async ({ port, reopen }) => {
    const workspaces = await fillMembers(port);
    const given = ofThese(await dumpAll<MemberRows>(port.copying), workspaces);
    assert.deepEqual(
      [given.seats.length, given.feed.length, given.feedHeads.length, given.marks.length],
      [18, 14, 2, 4],
      "what was claimed alone is no row, and two entries of each are forgotten",
    );
    const again = ofThese(await dumpAll<MemberRows>((await reopen()).copying, 500), workspaces);
    assert.deepEqual(sorted(again), sorted(given));
  },

  "lists the seats of a workspace alone, by profile id, the same as it dumps": async ({ port }) => {
    const workspaces = await fillMembers(port);
    const { seats } = ofThese(await dumpAll<MemberRows>(port.copying, 500), workspaces);
    for (const workspace of workspaces) {
      const own = seats.filter((row) => row.workspace === workspace);
      const ids = own.map(({ profileId }) => profileId).toSorted();
      const all = await port.copying.seatsOf(workspace, { limit: 100, after: null });
      assert.deepEqual(
        all,
        ids.map((id) => own.find(({ profileId }) => profileId === id)!),
      );
      assert.deepEqual(await port.copying.seatsOf(workspace, { limit: 3, after: ids[1]! }), all.slice(2, 5));
      assert.deepEqual(await port.copying.seatsOf(workspace, { limit: 3, after: ids.at(-1)! }), []);
    }
    assert.deepEqual(await port.copying.seatsOf(newId(), { limit: 3, after: null }), []);
  },

  "writes the sizes where the feed ends at the row's head, and nowhere else": async ({ port, reopen }) => {
    const [workspace, other] = (await fillMembers(port)) as [WorkspaceId, WorkspaceId];
    const before = await port.seats.sizes(other);
    const { head } = await port.seats.sizes(workspace);
    const [one, two] = [newId<AudienceId>(), newId<AudienceId>()];
    assert.equal(await port.copying.mend({ workspace, head: head - 1, sizes: [[one, 1]] }), false);
    assert.equal(await port.copying.mend({ workspace: newId(), head, sizes: [[one, 1]] }), false);
    assert.equal(await port.copying.mend({ workspace, head, sizes: [[two, 2]] }), true);
    const { seats } = await reopen();
    assert.deepEqual(await seats.sizes(workspace), { sizes: new Map([[two, 2]]), head });
    assert.deepEqual(await seats.sizes(other), before);
  },

  "what stands stays as it stands when it is loaded": async ({ port }) => {
    const workspaces = await fillMembers(port);
    const given = ofThese(await dumpAll<MemberRows>(port.copying), workspaces);
    await loadAll(port.copying, {
      seats: given.seats.map((row) => ({ ...row, untils: [[newId<AudienceId>(), 77]] as const })),
      feed: given.feed.map((row) => ({ ...row, entry: given.feed[0]!.entry })),
      feedHeads: given.feedHeads.map((row) => ({ ...row, sizes: [] })),
      marks: given.marks.map((row) => ({ ...row, since: 77 })),
    });
    assert.deepEqual(sorted(ofThese(await dumpAll<MemberRows>(port.copying), workspaces)), sorted(given));
  },
};
