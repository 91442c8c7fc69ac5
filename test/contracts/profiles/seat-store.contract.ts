import assert from "node:assert/strict";
import type { Cause, Entry, Seat } from "../../../core/audience/seat.js";
import { newId, type AudienceId, type ClaimId, type ProfileId, type WorkspaceId } from "../../../core/ids.js";
import type { SeatStore } from "../../../core/ports/seat-store.js";
import type { Contract } from "../../support/contract.js";
import { dueOf, dueSeats } from "./due-seats.contract.js";
import { feedPages } from "./feed-pages.contract.js";

const newWorkspace = (): WorkspaceId => newId<WorkspaceId>();
const newClaim = (): ClaimId => newId<ClaimId>();
const newProfile = (): ProfileId => newId<ProfileId>();
const newAudience = (): AudienceId => newId<AudienceId>();

const empty = (profileId: ProfileId): Seat => ({ profileId, memberships: [], untils: [] });
const seatOf = (profileId: ProfileId, audiences: readonly AudienceId[], due: number | null = null): Seat => ({
  profileId,
  memberships: audiences.map((audienceId) => ({ audienceId, since: 7 })),
  untils: due === null ? [] : [...audiences, newAudience()].map((audienceId, n) => ({ audienceId, until: due + n })),
});
const told = (
  type: "entered" | "left",
  audienceId: AudienceId,
  profileId: ProfileId,
  at = 7,
  cause: Cause = "changed",
): Entry => ({ type, at, audienceId, profileId, cause, into: null });

const save = async (port: SeatStore, workspace: WorkspaceId, seat: Seat, ...entries: readonly Entry[]) => {
  const claim = newClaim();
  await port.claim(workspace, claim, [seat.profileId]);
  assert.deepEqual(await port.save(workspace, claim, [{ seat, entries }]), [true]);
};
const publishAll = async (port: SeatStore, workspace: WorkspaceId): Promise<void> => {
  while (await port.publish(workspace, 2));
};
const seatIn = async (port: SeatStore, workspace: WorkspaceId, profileId: ProfileId) =>
  (await port.claim(workspace, newClaim(), [profileId]))[0];
/** All entries, whose numbers are 1, 2, 3, ... */
const readFeed = async (port: SeatStore, workspace: WorkspaceId): Promise<readonly Entry[]> => {
  const { entries, head, oldest } = await port.feed(workspace, 0, 1_000);
  assert.deepEqual([entries.length, oldest], [head, 1]);
  assert.deepEqual(
    entries.map(({ seq }) => seq),
    entries.map((_, n) => n + 1),
  );
  return entries.map(({ entry }) => entry);
};
const membersOf = async (port: SeatStore, workspace: WorkspaceId, audience: AudienceId) =>
  (await port.members(workspace, audience, { limit: 100, after: null })).map(({ profileId }) => profileId);

export const seatStoreContract: Contract<SeatStore> = {
  "answers an empty seat for a profile that has none, in order, and what was saved": async ({ port }) => {
    const [workspace, a, b, rich] = [newWorkspace(), newProfile(), newProfile(), newAudience()];
    assert.deepEqual(await port.claim(workspace, newClaim(), [b, a]), [empty(b), empty(a)]);
    const seat = seatOf(a, [rich, newAudience()], 1_000);
    await save(port, workspace, seat);
    assert.deepEqual(await port.claim(workspace, newClaim(), [b, a]), [empty(b), seat]);
    assert.deepEqual(await port.claim(workspace, newClaim(), []), []);
  },

  "saves nothing where another claim stands": async ({ port }) => {
    const [workspace, a, b, rich] = [newWorkspace(), newProfile(), newProfile(), newAudience()];
    const [first, second] = [newClaim(), newClaim()];
    await port.claim(workspace, first, [a, b]);
    await port.claim(workspace, second, [a]);
    const saves = [a, b].map((one) => ({ seat: seatOf(one, [rich]), entries: [told("entered", rich, one)] }));
    assert.deepEqual(await port.save(workspace, first, saves), [false, true]);
    assert.deepEqual(await port.save(workspace, newClaim(), saves), [false, false]);
    assert.deepEqual(await port.save(workspace, first, saves), [false, false], "its claim went with it");
    await publishAll(port, workspace);
    assert.deepEqual(await readFeed(port, workspace), [told("entered", rich, b)]);
    assert.deepEqual(await port.save(workspace, second, saves.slice(0, 1)), [true]);
    assert.deepEqual(await membersOf(port, workspace, rich), [a, b]);
    assert.deepEqual(await port.save(workspace, second, []), []);
  },

  "saves many seats in one call, and answers each in order": async ({ port }) => {
    const [workspace, rich] = [newWorkspace(), newAudience()];
    const profiles = Array.from({ length: 85 }, newProfile).toSorted();
    const taken = profiles[40]!;
    const others = profiles.filter((one) => one !== taken);
    const saveAll = async (type: "entered" | "left"): Promise<void> => {
      const claim = newClaim();
      await port.claim(workspace, claim, profiles);
      await port.claim(workspace, newClaim(), [taken]);
      const seats = profiles.map((one) => (type === "entered" ? seatOf(one, [rich], 5) : empty(one)));
      const saves = seats.map((seat) => ({ seat, entries: [told(type, rich, seat.profileId)] }));
      const expected = profiles.map((one) => one !== taken);
      assert.deepEqual(await port.save(workspace, claim, saves), expected);
      await publishAll(port, workspace);
    };
    await saveAll("entered");
    assert.deepEqual(await membersOf(port, workspace, rich), others);
    await saveAll("left");
    assert.deepEqual([await membersOf(port, workspace, rich), await dueOf(port, workspace, 5)], [[], []]);
    assert.equal((await readFeed(port, workspace)).length, 2 * others.length);
  },

  "claimed lists the profiles of looks that have not saved, by id, page by page": async ({ port }) => {
    const [workspace, rich] = [newWorkspace(), newAudience()];
    const profiles = [newProfile(), newProfile(), newProfile(), newProfile()].toSorted();
    const [a, b, c, d] = profiles as [ProfileId, ProfileId, ProfileId, ProfileId];
    await save(port, workspace, seatOf(d, [rich], 5), told("entered", rich, d));
    assert.deepEqual(await port.claimed(workspace, { limit: 9, after: null }), []);
    const claim = newClaim();
    await port.claim(workspace, claim, profiles);
    assert.deepEqual(await port.claimed(workspace, { limit: 9, after: null }), profiles);
    assert.deepEqual(await port.claimed(workspace, { limit: 2, after: a }), [b, c]);
    const saves = [seatOf(b, [rich]), empty(c)].map((seat) => ({ seat, entries: [] }));
    assert.deepEqual(await port.save(workspace, claim, saves), [true, true]);
    assert.deepEqual(await port.claimed(workspace, { limit: 9, after: null }), [a, d]);
    await publishAll(port, workspace);
    assert.deepEqual(await port.claimed(newWorkspace(), { limit: 9, after: null }), []);
  },

  "keeps nothing of a seat that is empty": async ({ port }) => {
    const [workspace, a, rich] = [newWorkspace(), newProfile(), newAudience()];
    await save(port, workspace, seatOf(a, [rich], 5), told("entered", rich, a));
    await save(port, workspace, empty(a), told("left", rich, a));
    await publishAll(port, workspace);
    assert.deepEqual(await membersOf(port, workspace, rich), []);
    assert.deepEqual(await dueOf(port, workspace, 1_000), []);
    assert.deepEqual(await readFeed(port, workspace), [told("entered", rich, a), told("left", rich, a)]);
    assert.deepEqual(await seatIn(port, workspace, a), empty(a));
  },

  "keeps when a seat is due that is in no audience any more, and the claim of a look that is under way": async ({
    port,
  }) => {
    const [workspace, a, rich] = [newWorkspace(), newProfile(), newAudience()];
    await save(port, workspace, seatOf(a, [rich]), told("entered", rich, a));
    await save(port, workspace, seatOf(a, [], 30), told("left", rich, a));
    await publishAll(port, workspace);
    assert.deepEqual(await dueOf(port, workspace, 30), [a]);
    await save(port, workspace, empty(a), told("entered", rich, a), told("left", rich, a));
    const claim = newClaim();
    await port.claim(workspace, claim, [a]);
    await publishAll(port, workspace);
    assert.deepEqual(await port.save(workspace, claim, [{ seat: seatOf(a, [rich]), entries: [] }]), [true]);
    assert.deepEqual(await membersOf(port, workspace, rich), [a]);
  },

  "answers the members of an audience, by id, page by page": async ({ port }) => {
    const [workspace, rich, other] = [newWorkspace(), newAudience(), newAudience()];
    const all = Array.from({ length: 5 }, newProfile);
    for (const one of all.toReversed()) await save(port, workspace, seatOf(one, [rich]));
    await save(port, workspace, seatOf(newProfile(), [other]));
    const first = await port.members(workspace, rich, { limit: 2, after: null });
    assert.deepEqual(
      first,
      all.slice(0, 2).map((profileId) => ({ profileId, since: 7 })),
    );
    const rest = await port.members(workspace, rich, { limit: 9, after: all[1]! });
    assert.deepEqual(
      rest.map(({ profileId }) => profileId),
      all.slice(2),
    );
  },

  "numbers the entries of the feed without a gap, each once, in the order of the saves of a profile": async ({
    port,
  }) => {
    const [workspace, rich] = [newWorkspace(), newAudience()];
    const profiles = Array.from({ length: 6 }, newProfile);
    const round = async (type: "entered" | "left", at: number) => {
      for (const one of profiles)
        await save(port, workspace, type === "entered" ? seatOf(one, [rich]) : empty(one), told(type, rich, one, at));
    };
    await round("entered", 1);
    // Several at once, and more while they do.
    await Promise.all([
      publishAll(port, workspace),
      publishAll(port, workspace),
      round("left", 2),
      publishAll(port, workspace),
    ]);
    await round("entered", 3);
    await Promise.all([publishAll(port, workspace), publishAll(port, workspace)]);
    await publishAll(port, workspace);
    const entries = await readFeed(port, workspace);
    assert.equal(entries.length, 18);
    for (const one of profiles)
      assert.deepEqual(
        entries.filter((entry) => "profileId" in entry && entry.profileId === one).map(({ at }) => at),
        [1, 2, 3],
      );
    const page = await port.feed(workspace, 4, 3);
    assert.deepEqual([page.entries.map(({ seq }) => seq), page.head, page.oldest], [[5, 6, 7], 18, 1]);
    assert.deepEqual((await port.feed(workspace, 18, 5)).entries, []);
  },

  "appends entries of no seat once for each origin, behind the others": async ({ port }) => {
    const [workspace, a, rich] = [newWorkspace(), newProfile(), newAudience()];
    await save(port, workspace, seatOf(a, [rich]), told("entered", rich, a));
    await publishAll(port, workspace);
    const deleted: Entry = { type: "audience_deleted", at: 9, audienceId: rich };
    const erased: Entry = { type: "profile_erased", at: 9, profileId: a };
    await Promise.all(["deleted", "deleted"].map((origin) => port.append(workspace, origin, [deleted])));
    await port.append(workspace, "erased", [erased]);
    await port.append(workspace, "deleted", [deleted]);
    await port.append(workspace, "nothing", []);
    assert.deepEqual(await readFeed(port, workspace), [told("entered", rich, a), deleted, erased]);
  },

  "adds up the members of each audience to the head of the feed": async ({ port }) => {
    const [workspace, a, b, rich, few] = [newWorkspace(), newProfile(), newProfile(), newAudience(), newAudience()];
    assert.deepEqual(await port.sizes(workspace), { sizes: new Map(), head: 0 });
    await save(port, workspace, seatOf(a, [rich, few]), told("entered", rich, a), told("entered", few, a));
    await save(port, workspace, seatOf(b, [rich]), told("entered", rich, b));
    await publishAll(port, workspace);
    const sizes = new Map([
      [rich, 2],
      [few, 1],
    ]);
    assert.deepEqual(await port.sizes(workspace), { sizes, head: 3 });
    await save(port, workspace, seatOf(a, [rich]), told("left", few, a));
    await publishAll(port, workspace);
    assert.deepEqual(await port.sizes(workspace), { sizes: new Map([[rich, 2]]), head: 4 });
    await port.append(workspace, "x", [{ type: "audience_deleted", at: 9, audienceId: rich }]);
    assert.deepEqual(await port.sizes(workspace), { sizes: new Map(), head: 5 });
  },

  "forgets the oldest entries of the feed, and never the last one": async ({ port }) => {
    const [workspace, a, rich] = [newWorkspace(), newProfile(), newAudience()];
    for (const at of [1, 2, 3, 4]) {
      await save(port, workspace, seatOf(a, [rich]), told("entered", rich, a, at));
      await publishAll(port, workspace);
    }
    assert.equal(await port.trim(workspace, 1, 10), false);
    assert.equal((await port.feed(workspace, 0, 10)).oldest, 1);
    assert.equal(await port.trim(workspace, 3, 1), true);
    assert.equal(await port.trim(workspace, 3, 10), false);
    const { entries, oldest, head } = await port.feed(workspace, 0, 10);
    assert.deepEqual([entries.map(({ seq }) => seq), oldest, head], [[3, 4], 3, 4]);
    assert.equal(await port.trim(workspace, 1_000, 10), false);
    assert.deepEqual(
      (await port.feed(workspace, 0, 10)).entries.map(({ seq }) => seq),
      [4],
    );
    assert.deepEqual((await port.sizes(workspace)).head, 4);
  },

  ...dueSeats,
  ...feedPages,

  "claim, save, due, claimed and members keep workspaces apart": async ({ port }) => {
    const [a, b, profile, rich] = [newWorkspace(), newWorkspace(), newProfile(), newAudience()];
    await save(port, a, seatOf(profile, [rich], 5), told("entered", rich, profile));
    const claim = newClaim();
    assert.deepEqual(await port.claim(b, claim, [profile]), [empty(profile)]);
    assert.deepEqual(await port.save(a, claim, [{ seat: empty(profile), entries: [] }]), [false]);
    assert.deepEqual(await dueOf(port, b, 1_000), []);
    assert.deepEqual(await port.claimed(a, { limit: 9, after: null }), []);
    assert.deepEqual(await membersOf(port, b, rich), []);
    assert.deepEqual(await port.save(b, claim, [{ seat: empty(profile), entries: [] }]), [true]);
    assert.deepEqual(await membersOf(port, a, rich), [profile]);
  },

  "publish, append, feed, sizes and trim keep workspaces apart": async ({ port }) => {
    const [a, b, profile, rich] = [newWorkspace(), newWorkspace(), newProfile(), newAudience()];
    for (const at of [1, 2]) await save(port, a, seatOf(profile, [rich]), told("entered", rich, profile, at));
    await publishAll(port, b);
    assert.deepEqual(await port.feed(b, 0, 10), { entries: [], head: 0, oldest: 1 });
    await publishAll(port, a);
    const erased: Entry = { type: "profile_erased", at: 9, profileId: profile };
    await port.append(b, "origin", [erased]);
    await port.append(a, "origin", [erased]);
    assert.equal(await port.trim(b, 1_000, 10), false);
    // Whoever trims asks for the oldest entries, and the next one who asks asks of another workspace.
    await port.trim(newWorkspace(), 1_000, 10);
    assert.equal((await port.feed(a, 0, 10)).oldest, 1);
    assert.equal((await readFeed(port, a)).length, 3);
    assert.deepEqual(await readFeed(port, b), [erased]);
    assert.deepEqual([(await port.sizes(a)).head, (await port.sizes(b)).head], [3, 1]);
  },

  "keeps seats and feed across close and reopen": async ({ port, reopen }) => {
    const [workspace, a, b, rich] = [newWorkspace(), newProfile(), newProfile(), newAudience()];
    await save(port, workspace, seatOf(a, [rich], 5), told("entered", rich, a));
    await publishAll(port, workspace);
    await save(port, workspace, seatOf(b, [rich]), told("entered", rich, b));
    const again = await reopen();
    await publishAll(again, workspace);
    assert.deepEqual(await readFeed(again, workspace), [told("entered", rich, a), told("entered", rich, b)]);
    assert.deepEqual(await membersOf(again, workspace, rich), [a, b]);
    assert.deepEqual(await dueOf(again, workspace, 5), [a]);
  },

  "is ready while it is open, and may be closed twice": async ({ port }) => {
    await port.ready();
    await port.close();
    await port.close();
  },

  "refuses every method after close as unavailable": async ({ port }) => {
    await port.close();
    const [workspace, refused] = [newWorkspace(), { code: "unavailable" }];
    await assert.rejects(port.claim(workspace, newClaim(), [newProfile()]), refused);
    await assert.rejects(port.save(workspace, newClaim(), []), refused);
    await assert.rejects(port.due(workspace, 1, { limit: 1, after: null }), refused);
    await assert.rejects(port.claimed(workspace, { limit: 1, after: null }), refused);
    await assert.rejects(port.members(workspace, newAudience(), { limit: 1, after: null }), refused);
    await assert.rejects(port.publish(workspace, 1), refused);
    await assert.rejects(port.append(workspace, "x", []), refused);
    await assert.rejects(port.feed(workspace, 0, 1), refused);
    await assert.rejects(port.sizes(workspace), refused);
    await assert.rejects(port.trim(workspace, 1, 1), refused);
    await assert.rejects(port.ready(), refused);
  },
};
