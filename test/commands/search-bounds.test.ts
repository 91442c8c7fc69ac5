import assert from "node:assert/strict";
import { previewAudience } from "../../commands/audiences/preview.js";
import { listProfiles, type ProfileList } from "../../commands/search/list.js";
import { countProfiles, searchProfiles } from "../../commands/search/search.js";
import { topProfiles } from "../../commands/search/top.js";
import { createBudget } from "../../commands/search/walk.js";
import type { Services, TakeBytes } from "../../commands/services.js";
import { AppError } from "../../core/errors.js";
import { newId, type ProfileId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { StoredFacet } from "../../core/ports/profile-store.js";
import { emptyFacet } from "../../core/profile/fold.js";
import type { Context } from "../../gateway/route.js";
import { memberRoutes } from "../../gateway/routes/audiences/members.js";
import { profileListRoutes } from "../../gateway/routes/profile-lists.js";
import { isAppError } from "../support/errors.js";

const workspace = newId<WorkspaceId>();
const LOOKED_AT_MAX = 5_000;

/** So many profiles of one identifier, each with a score: 0, 7, 14, ... modulo their number, which 7 does not divide. */
function world(count: number, { onRead = async () => {}, onWalk = async () => {}, note = "" } = {}) {
  const ids = Array.from({ length: count }, () => newId<ProfileId>());
  const scoreOf = new Map(ids.map((id, n) => [id, (n * 7) % count]));
  const memberOf = (uid: Uid) => ({ uid, identifier: { namespace: "user_id", value: uid }, isShared: false });
  const facetOf = (uid: Uid): StoredFacet => ({
    rev: 1,
    pending: [],
    facet: {
      ...emptyFacet,
      traits: new Map([
        ["score", { merge: "max", value: scoreOf.get(uid)! }],
        ["note", { merge: "max", value: note }],
      ]),
    },
  });
  const services = {
    catalog: {
      traits: async () => new Map([["score", { merge: "max", registeredItself: false }]]),
      namespaces: async () => [],
      datasets: async () => [],
    },
    identity: {
      walk: async (_workspace: WorkspaceId, page: { readonly limit: number; readonly after: ProfileId | null }) => {
        await onWalk();
        const from = page.after === null ? 0 : ids.indexOf(page.after) + 1;
        return ids
          .slice(from, from + page.limit)
          .map((profileId) => ({ profileId, size: 1, members: [memberOf(profileId)] }));
      },
      lookup: async () => ids.map((profileId) => ({ profileId, size: 1 })),
      members: async (_workspace: WorkspaceId, profileId: ProfileId) => {
        await onRead();
        return [memberOf(profileId)];
      },
      resolve: async (_workspace: WorkspaceId, profileId: ProfileId) => ({ profileId, size: 1 }),
    },
    profiles: {
      findSome: async (_workspace: WorkspaceId, uids: readonly Uid[]) => ({
        found: new Map(uids.map((uid) => [uid, facetOf(uid)])),
        looked: uids.length,
      }),
    },
    audiences: { audiences: async () => ({ version: 0, audiences: [] }) },
    limits: { profileIdentifiersMax: 10_000, payloadBytesMax: 1 },
  } as unknown as Services;
  return { ids, scoreOf, services };
}

const takeBytes = async (): Promise<boolean> => false;
const HIGH = { "traits.score": { $gte: 0 } };
const SOUGHT = {
  rule: { "identifiers.user_id": { $in: ["one", "another"] } },
  limit: 100,
  after: null,
  now: 0,
};
/** Each look at the clock finds it so much later. */
const clockOf = (stepMs: number) => {
  let ms = 0;
  return () => (ms += stepMs);
};

describe("The bounds of a search", () => {
  it("are 5,000 profiles, and a quarter of a second behind the first of them", () => {
    const byCount = createBudget(() => 0);
    for (let n = 0; n < LOOKED_AT_MAX; n++) {
      assert.equal(byCount.isSpent(), false, String(n));
      byCount.spend();
    }
    assert.deepEqual([byCount.isSpent(), byCount.lookedAt()], [true, LOOKED_AT_MAX]);
    let ms = 0;
    const byTime = createBudget(() => ms);
    ms = 10_000;
    assert.equal(byTime.isSpent(), false, "each call comes further");
    byTime.spend();
    assert.equal(byTime.isSpent(), true);
    ms = 0;
    const inTime = createBudget(() => ms);
    inTime.spend();
    ms = 249;
    assert.equal(inTime.isSpent(), false);
    ms = 250;
    assert.equal(inTime.isSpent(), true);
  });

  it("cut a search that finds little, and the next call goes on behind", async () => {
    const { ids, services } = world(LOOKED_AT_MAX + 1);
    const last = { [`traits.score`]: { $gte: LOOKED_AT_MAX } };
    const asked = { rule: last, limit: 10, now: 0 };
    const still = () => createBudget(() => 0);
    const first = await searchProfiles(services, workspace, { ...asked, after: null }, takeBytes, still());
    assert.deepEqual([first.lookedAt, first.next], [LOOKED_AT_MAX, ids[LOOKED_AT_MAX - 1]]);
    const second = await searchProfiles(services, workspace, { ...asked, after: first.next }, takeBytes, still());
    assert.deepEqual([second.lookedAt, second.next], [1, null]);
    assert.equal(first.profiles.length + second.profiles.length, 1);
  });

  for (const stepMs of [30, 125, 300])
    it(`by the clock meet every profile once, in any number of calls (a look takes ${stepMs} ms)`, async () => {
      const { ids, services } = world(20);
      const found: ProfileId[] = [];
      let counted = 0;
      let calls = 0;
      for (let after: ProfileId | null = null; ; calls++) {
        const budget = createBudget(clockOf(stepMs));
        const asked = { rule: HIGH, limit: 100, after, now: 0 };
        const { profiles, next } = await searchProfiles(services, workspace, asked, takeBytes, budget);
        const same = await countProfiles(services, workspace, asked, takeBytes, createBudget(clockOf(stepMs)));
        assert.deepEqual([same.count, same.next], [profiles.length, next]);
        counted += same.count;
        found.push(...profiles.map(({ profileId }) => profileId));
        if (next === null) break;
        assert.ok(profiles.length > 0);
        after = next;
      }
      assert.ok(calls > 0);
      assert.deepEqual([found, counted], [ids, 20]);
    });

  it("cut a ranking into slices that carry the first ones so far: it is exact once the walk is through", async () => {
    const { ids, scoreOf, services } = world(40);
    let [after, best]: readonly [ProfileId | null, readonly ProfileId[]] = [null, []];
    let slices = 0;
    for (;;) {
      const asked = { trait: "score", limit: 5, after, best };
      const { profiles, next } = await topProfiles(services, workspace, asked, takeBytes, createBudget(clockOf(60)));
      slices += 1;
      const seen = ids.slice(0, next === null ? ids.length : ids.indexOf(next.last) + 1);
      const wanted = seen.toSorted((a, b) => scoreOf.get(b)! - scoreOf.get(a)!).slice(0, 5);
      assert.deepEqual(
        profiles.map(({ profileId }) => profileId),
        wanted,
      );
      if (next === null) break;
      [after, best] = [next.last, next.best];
    }
    assert.ok(slices > 3);
  });

  for (const [name, ask] of [
    [
      "list",
      (services: Services, page: { limit: number; after: ProfileId | null }, take: TakeBytes) =>
        listProfiles(services, workspace, page, take),
    ],
    [
      "search",
      (services: Services, page: { limit: number; after: ProfileId | null }, take: TakeBytes) =>
        searchProfiles(
          services,
          workspace,
          { ...page, rule: HIGH, now: 0 },
          take,
          createBudget(() => 0),
        ),
    ],
  ] as const)
    it(`end a page of profiles where no memory is free for one more, and refuse one that would be empty: ${name}`, async () => {
      const { ids, services } = world(4, { note: "x".repeat(20_000) });
      let left = 0;
      const take: TakeBytes = async (bytes) => {
        if (bytes > left) throw new AppError("rate_limited", "full");
        left -= bytes;
        return false;
      };
      const pages: number[] = [];
      const found: ProfileId[] = [];
      for (let after: ProfileId | null = null; ;) {
        left = 80_000;
        const { profiles, next }: ProfileList = await ask(services, { limit: 4, after }, take);
        pages.push(profiles.length);
        found.push(...profiles.map(({ profileId }) => profileId));
        if (next === null) break;
        after = next;
      }
      assert.deepEqual([pages, found], [[3, 1], ids]);
      left = 20_000;
      await assert.rejects(async () => ask(services, { limit: 1, after: null }, take), isAppError("rate_limited"));
    });

  const never = () => createBudget(() => 0);
  for (const [name, ask] of [
    ["search", (services: Services) => searchProfiles(services, workspace, SOUGHT, takeBytes, never())],
    ["count", (services: Services) => countProfiles(services, workspace, SOUGHT, takeBytes, never())],
    ["preview", (services: Services) => previewAudience(services, workspace, { ...SOUGHT, sample: 0 }, takeBytes)],
  ] as const)
    it(`let others have a turn of the event loop among the profiles that its identifiers name: ${name}`, async () => {
      const perTurn = [0];
      const onRead = async (): Promise<void> => {
        perTurn[perTurn.length - 1]! += 1;
        for (const began = performance.now(); performance.now() - began < 1;);
      };
      const { services } = world(100, { onRead });
      let isOver = false;
      const turn = (): void => {
        perTurn.push(0);
        if (!isOver) setImmediate(turn);
      };
      setImmediate(turn);
      await Promise.resolve(ask(services)).finally(() => (isOver = true));
      assert.equal(
        perTurn.reduce((sum, reads) => sum + reads),
        100,
      );
      assert.ok(Math.max(...perTurn) <= 5, `${perTurn.filter((reads) => reads > 0).join(", ")} in a turn`);
    });

  for (const [path, routesOf, max] of [
    ["/v1/profiles/search", profileListRoutes, 10],
    ["/v1/profiles/count", profileListRoutes, 10],
    ["/v1/audiences/preview", memberRoutes, 4],
  ] as const)
    it(`let a workspace have ${max} of ${path} under way at once, and those beyond wait`, async () => {
      let begun = 0;
      let go = (): void => {};
      const held = new Promise<void>((resolve) => {
        go = resolve;
      });
      const onWalk = async (): Promise<void> => {
        begun += 1;
        await held;
      };
      const { handle } = routesOf(world(1, { onWalk }).services).find((one) => one.path === path)!;
      const page = { limit: 10, after: null, cursorOf: () => "" };
      const context = {
        workspace,
        now: 0,
        body: { rule: HIGH },
        page,
        takeBytes,
        takeBytesForLong: takeBytes,
        isGone: () => false,
      } as unknown as Context;
      const answers = Array.from({ length: 40 }, () => handle(context));
      for (let turns = 0; turns < 100; turns += 1) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(begun, max);
      go();
      assert.deepEqual(
        (await Promise.all(answers)).map((answer) => "status" in answer && answer.status),
        Array(40).fill(200),
      );
    });
});
