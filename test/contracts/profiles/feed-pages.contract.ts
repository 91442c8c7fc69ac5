import assert from "node:assert/strict";
import type { Entry } from "../../../core/audience/seat.js";
import { newId, type AudienceId, type ProfileId, type WorkspaceId } from "../../../core/ids.js";
import type { SeatStore } from "../../../core/ports/seat-store.js";
import type { Contract } from "../../support/contract.js";

const newWorkspace = (): WorkspaceId => newId<WorkspaceId>();
const newProfile = (): ProfileId => newId<ProfileId>();
const newAudience = (): AudienceId => newId<AudienceId>();
const told = (type: "entered" | "left", audienceId: AudienceId, profileId: ProfileId, at: number): Entry => {
  return { type, at, audienceId, profileId, cause: "changed", into: null };
};

const erased = (profileId: ProfileId, at: number): Entry => ({ type: "profile_erased", at, profileId });

/** Of the contract of seats: feeds, their pages where entries were appended together, and what is forgotten of them. */
export const feedPages: Contract<SeatStore> = {
  "forgets no entry that is young, whatever stands before it and was appended with it": async ({ port }) => {
    const [workspace, a, rich] = [newWorkspace(), newProfile(), newAudience()];
    await port.append(workspace, "both", [told("entered", rich, a, 1), told("left", rich, a, 9)]);
    await port.append(workspace, "last", [told("entered", rich, a, 10)]);
    while (await port.trim(workspace, 5, 10));
    const { entries, oldest } = await port.feed(workspace, 1, 10);
    assert.deepEqual(
      entries.map(({ seq }) => seq),
      [2, 3],
    );
    assert.ok(oldest <= 2, `${oldest}`);
  },

  "forgets entries from after now with the next one that is not, and keeps them as long as there is none": async ({
    port,
  }) => {
    const workspace = newWorkspace();
    const append = async (...times: readonly number[]): Promise<void> => {
      for (const at of times) await port.append(workspace, newProfile(), [erased(newProfile(), at)]);
    };
    const keptAfter = async (before: number, now: number): Promise<readonly number[]> => {
      while (await port.trim(workspace, before, 2, now));
      const { entries, oldest } = await port.feed(workspace, 0, 100);
      assert.equal(oldest, entries[0]!.seq);
      return entries.map(({ entry }) => entry.at);
    };
    await append(1, 90, 91, 92, 93, 94, 2, 95, 10);
    assert.deepEqual(await keptAfter(0, 50), [1, 90, 91, 92, 93, 94, 2, 95, 10]);
    assert.deepEqual(await keptAfter(2, 50), [90, 91, 92, 93, 94, 2, 95, 10]);
    assert.deepEqual(await keptAfter(3, 50), [95, 10]);
    await append(11, 96, 97, 98, 99);
    assert.deepEqual(await keptAfter(11, 50), [11, 96, 97, 98, 99]);
    assert.deepEqual(await keptAfter(12, 50), [96, 97, 98, 99]);
    assert.deepEqual(await keptAfter(50, 60), [96, 97, 98, 99], "none says yet how old they are");
    assert.deepEqual(await keptAfter(98, 200), [98, 99]);
  },

  "appends entries of an origin again once the last of them is forgotten, and not before": async ({ port, reopen }) => {
    const [workspace, neighbour, a, b] = [newWorkspace(), newWorkspace(), newProfile(), newProfile()];
    for (const one of [workspace, neighbour]) {
      await port.append(one, "first", [erased(a, 1), erased(b, 4)]);
      await port.append(one, "last", [erased(b, 10)]);
    }
    const numbersAfter = async (store: SeatStore, where: WorkspaceId): Promise<readonly number[]> => {
      for (const origin of ["first", "last"]) await store.append(where, origin, [erased(a, 11)]);
      return (await store.feed(where, 2, 10)).entries.map(({ seq }) => seq);
    };
    while (await port.trim(workspace, 3, 10));
    assert.deepEqual(await numbersAfter(port, workspace), [3], "one of its entries is young");
    while (await port.trim(workspace, 5, 10));
    const again = await reopen();
    assert.deepEqual(await numbersAfter(again, neighbour), [3], "another workspace forgot it");
    assert.deepEqual(await numbersAfter(again, workspace), [3, 4]);
    assert.deepEqual(await numbersAfter(again, workspace), [3, 4]);
  },

  "feeds lists the workspaces whose feed has entries, page by page, while it is open": async ({ port }) => {
    const all = [newWorkspace(), newWorkspace(), newWorkspace()].toSorted();
    const never = newWorkspace();
    for (const [n, workspace] of all.entries())
      for (let at = 0; at <= n; at += 1) await port.append(workspace, `${at}`, [erased(newProfile(), at)]);
    await port.append(never, "nothing", []);
    await port.trim(all[1]!, 1_000, 10);
    const found: WorkspaceId[] = [];
    for (let after: WorkspaceId | null = null; ;) {
      const page: readonly WorkspaceId[] = await port.feeds({ limit: 2, after });
      assert.ok(page.length <= 2);
      found.push(...page);
      if (page.length < 2) break;
      after = page.at(-1)!;
    }
    assert.deepEqual(found, found.toSorted());
    // Other tests may use the same place.
    assert.deepEqual(
      found.filter((one) => [...all, never].includes(one)),
      all,
    );
    await port.close();
    await assert.rejects(port.feeds({ limit: 1, after: null }), { code: "unavailable" });
  },

  "pages of a feed begin and end anywhere in what was appended together, and beside another workspace's": async ({
    port,
  }) => {
    const [a, b, profile, rich] = [newWorkspace(), newWorkspace(), newProfile(), newAudience()];
    const five = Array.from({ length: 5 }, (_, n) => told(n % 2 === 0 ? "entered" : "left", rich, profile, n));
    await port.append(a, "five", five);
    for (let n = 0; n < 8; n += 1) await port.append(b, `${n}`, [told("entered", rich, profile, n)]);
    for (const [after, limit] of [
      [0, 2],
      [2, 2],
      [3, 9],
      [5, 9],
    ] as const) {
      const numbers = (await port.feed(a, after, limit)).entries.map(({ seq }) => seq);
      assert.deepEqual(numbers, [1, 2, 3, 4, 5].slice(after, after + limit), `${after} ${limit}`);
    }
    while (await port.trim(b, 5, 10));
    assert.deepEqual([(await port.feed(b, 5, 9)).oldest, (await port.feed(a, 0, 9)).oldest], [6, 1]);
  },
};
