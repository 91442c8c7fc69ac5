import assert from "node:assert/strict";
import { createFindings } from "../../app/verify/findings.js";
import { verifyMembers } from "../../app/verify/members.js";
import type { Seat } from "../../core/audience/seat.js";
import { newId, type AudienceId, type ClaimId, type ProfileId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { Copied, MemberCopying, MemberRows } from "../../core/ports/copying.js";
import type { SeatStore } from "../../core/ports/seat-store.js";
import { copiedMemberBackends } from "../support/copying/backends.js";

type Deps = Parameters<typeof verifyMembers>[0];

/** Profiles that are in the audience, and a feed that tells so. */
async function seated(
  seats: SeatStore,
  workspace: WorkspaceId,
  audienceId: AudienceId,
  count: number,
  untils: Seat["untils"] = [],
) {
  const profileIds = Array.from({ length: count }, () => newId<ProfileId>());
  const claim = newId<ClaimId>();
  await seats.claim(workspace, claim, profileIds);
  const saves = profileIds.map((profileId) => ({
    seat: { profileId, memberships: [{ audienceId, since: 1 }], untils },
    entries: [{ type: "entered", at: 1, audienceId, profileId, cause: "changed", into: null }] as const,
  }));
  await seats.save(workspace, claim, saves);
  while (await seats.publish(workspace, 500));
  return profileIds;
}

/** These profiles stand, and everybody is in the audience. */
function depsOf(all: ReadonlyMap<WorkspaceId, readonly ProfileId[]>, audienceId: AudienceId, seats: SeatStore) {
  const rule = { kind: "and", parts: [] };
  const audience = { audienceId, name: "n", text: "{}", rule, version: 1, createdAt: 1, build: null };
  const audiences = {
    watching: async ({ after }: { readonly after: WorkspaceId | null }) => (after === null ? [...all.keys()] : []),
    audiences: async () => ({ audiences: [audience], deleted: [], tallies: [], forgotten: [] }),
  };
  const walk = async (workspace: WorkspaceId, { limit, after }: { limit: number; after: ProfileId | null }) =>
    all
      .get(workspace)!
      .filter((profileId) => after === null || profileId > after)
      .slice(0, limit)
      .map((profileId) => ({ profileId }));
  const live = new Set([...all.values()].flat());
  const resolveAll = async (_workspace: WorkspaceId, ids: readonly ProfileId[]) =>
    ids.map((profileId) => (live.has(profileId) ? { profileId, members: [], size: 0 } : null));
  const profiles = {
    findSome: async (_workspace: WorkspaceId, uids: readonly Uid[]) => ({ found: new Map(), looked: uids.length }),
  };
  const limits = { profileIdentifiersMax: 1_000 };
  const services = { audiences, identity: { resolveAll }, profiles, limits, log: { error: assert.fail } };
  return { backends: { audiences, graph: { moved: async () => [], walk }, seats }, services };
}

describe("npm run verify, of members", () => {
  it("reads the seats of each workspace, and not those of all others with each", async () => {
    const place = await copiedMemberBackends[0]!.place();
    const { seats, copying, close } = await place.open();
    try {
      const [audienceId, all] = [newId<AudienceId>(), new Map<WorkspaceId, readonly ProfileId[]>()];
      for (let n = 0; n < 8; n += 1) {
        const workspace = newId<WorkspaceId>();
        all.set(workspace, await seated(seats, workspace, audienceId, 20));
      }
      let read = 0;
      const members: MemberCopying = {
        ...copying,
        dump: async <K extends keyof MemberRows>(kind: K, page: Parameters<MemberCopying["dump"]>[1]) => {
          const copied: Copied<MemberRows[K]> = await copying.dump(kind, page);
          if (kind === "seats") read += copied.rows.length;
          return copied;
        },
        seatsOf: async (...asked) => {
          const rows = await copying.seatsOf(...asked);
          read += rows.length;
          return rows;
        },
      };
      const { backends, services } = depsOf(all, audienceId, seats);
      const findings = createFindings();
      const given = { backends: { ...backends, copying: { members } }, services } as unknown as Deps;
      await verifyMembers({ ...given, findings, isRepair: false, now: Date.now });
      assert.deepEqual(findings.lines(), []);
      assert.ok(read > 0 && read <= 3 * 8 * 20, `${read} rows read`);
    } finally {
      await close();
      await place.drop();
    }
  });

  it("passes over those whose time has come: somebody has still to look at them", async () => {
    const place = await copiedMemberBackends[0]!.place();
    const { seats, copying, close } = await place.open();
    try {
      const [audienceId, workspace, now] = [newId<AudienceId>(), newId<WorkspaceId>(), Date.now()];
      // All are gone, and still seated.
      await seated(seats, workspace, audienceId, 2, [{ audienceId, until: now }]);
      await seated(seats, workspace, audienceId, 3, [{ audienceId, until: now + 1 }]);
      const { backends, services } = depsOf(new Map([[workspace, []]]), audienceId, seats);
      const findings = createFindings();
      const given = { backends: { ...backends, copying: { members: copying } }, services } as unknown as Deps;
      await verifyMembers({ ...given, findings, isRepair: false, now: () => now });
      const lines = findings.lines().join("\n");
      assert.match(lines, /^wrong_seats: 3 /m);
      assert.match(lines, /\b2\b.* profiles whose time to be looked at has come/);
    } finally {
      await close();
      await place.drop();
    }
  });

  it("tells once of each that stands without its seat, and of each seat whose profile is gone, wherever they stand", async () => {
    const place = await copiedMemberBackends[0]!.place();
    const { seats, copying, close } = await place.open();
    try {
      const [audienceId, workspace] = [newId<AudienceId>(), newId<WorkspaceId>()];
      const live: ProfileId[] = [];
      let wrong = 0;
      // More than are held at a time, after some and before some that are right.
      for (const [standing, gone, seatless] of [
        [700, 0, 0],
        [1, 600, 3],
        [300, 1, 5_000],
        [700, 0, 0],
        [1, 2, 0],
      ] as const) {
        live.push(...(await seated(seats, workspace, audienceId, standing)));
        await seated(seats, workspace, audienceId, gone);
        live.push(...Array.from({ length: seatless }, () => newId<ProfileId>()));
        wrong += gone + seatless;
      }
      const { backends, services } = depsOf(new Map([[workspace, live]]), audienceId, seats);
      const findings = createFindings();
      const given = { backends: { ...backends, copying: { members: copying } }, services } as unknown as Deps;
      await verifyMembers({ ...given, findings, isRepair: false, now: Date.now });
      assert.match(findings.lines().join("\n"), new RegExp(`^wrong_seats: ${wrong} [^\\n]*$`));
      assert.equal(findings.open(), wrong);
    } finally {
      await close();
      await place.drop();
    }
  });
});
