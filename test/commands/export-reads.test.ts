import assert from "node:assert/strict";
import { exportChanges } from "../../commands/exports/changes.js";
import { exportLinks } from "../../commands/exports/links.js";
import { exportProfiles } from "../../commands/exports/profiles.js";
import type { Services } from "../../commands/services.js";
import type { Identity } from "../../core/identity/api.js";
import type { Change, Member } from "../../core/identity/model.js";
import { firstIdAt, newId, type ChangeId, type ProfileId, type Uid } from "../../core/ids.js";
import { aWorkspace, anIdentifier } from "../support/identity/fixtures.js";
import { aChange } from "../support/identity/plans.js";

/** As long as a value may be, and as many as a call may name. */
const LONG = "\u{1F600}".repeat(1_024);
const TWENTY = Array.from({ length: 20 }, (_, n) => anIdentifier(`${n}${LONG}`));
const MIB = 1_048_576;
const CHANGES = 300;

/** An identity with these changes, the newest first, and how many were asked for at a time. */
function withChanges(all: readonly Change[]) {
  const limits: number[] = [];
  const identity: Partial<Identity> = {
    walk: async () => [],
    resolveAll: async (_workspace, asked) => asked.map(() => null),
    forbiddenPairs: async () => [],
    takenBy: async () => ({ links: [], unlinked: [], next: null }),
    changes: async (_workspace, outcome, { limit, before }) => {
      limits.push(limit);
      const found = all.filter((one) => (outcome ?? one.outcome) === one.outcome);
      return found.filter(({ changeId }) => before === null || changeId < before).slice(0, limit);
    },
  };
  return { identity: identity as Identity, limits };
}

const changesOf = (identifiersOf: (n: number) => Change["identifiers"], parts: Partial<Change> = {}) =>
  Array.from({ length: CHANGES }, (_, n) =>
    aChange({ changeId: firstIdAt<ChangeId>(1_000_000 - n), identifiers: identifiersOf(n), ...parts }),
  );

describe("What an export reads at a time", () => {
  it("is few changes where they are large, and a portion of a list where they are small; it has all of them", async () => {
    for (const [what, identifiersOf, most] of [
      ["small", () => [anIdentifier("a")], 32],
      ["large", () => TWENTY, 8],
      ["large behind small", (n: number) => (n < 100 ? [] : TWENTY), 32],
      ["small behind large", (n: number) => (n < 100 ? TWENTY : []), 32],
    ] as const) {
      const all = changesOf(identifiersOf);
      const { identity, limits } = withChanges(all);
      const found = [];
      for await (const some of exportChanges({ identity }, aWorkspace(), null)) found.push(...some);
      assert.deepEqual(found, all, what);
      assert.equal(limits[0], 8, `${what}: nothing came before them`);
      assert.equal(Math.max(...limits), most, what);
    }
  });

  it("is few changes also where it looks for links that moved or were removed, and each turn has one such read", async () => {
    for (const outcome of ["linked", "unlinked"] as const) {
      const { identity, limits } = withChanges(changesOf(() => TWENTY, { outcome }));
      let before = 0;
      const since = firstIdAt<ChangeId>(0);
      for await (const some of exportLinks({ identity }, aWorkspace(), { kind: "moved", since, before: null })) {
        assert.deepEqual(some, []);
        // Each pass begins and ends with a look at single changes.
        const many = limits.slice(before).filter((limit) => limit > 1);
        assert.ok(many.length <= 3, `${outcome}: ${many.join()} in one turn`);
        before = limits.length;
      }
      assert.ok(Math.max(...limits) <= 8, `${outcome}: ${Math.max(...limits)} at a time`);
      assert.ok(limits.length > CHANGES / 8);
    }
  });

  it("is few profiles where their identifiers are large", async () => {
    const many = Array.from({ length: 40 }, (_, p) => {
      const members = Array.from({ length: 100 }, (_, n): Member => {
        return { uid: newId<Uid>(), identifier: anIdentifier(`${p}-${n}${LONG}`), isShared: false };
      });
      return { profileId: newId<ProfileId>(), rev: 1, size: 100, members };
    });
    let most = 0;
    const identity: Partial<Identity> = {
      walk: async (_workspace, { limit, after }) => {
        const from = many.findIndex(({ profileId }) => profileId === after) + 1;
        most = Math.max(most, limit);
        return many.slice(from, from + limit);
      },
    };
    const profiles: Partial<Services["profiles"]> = {
      findSome: async (_workspace, uids) => ({ found: new Map(), looked: uids.length }),
    };
    const services = { identity: identity as Identity, profiles: profiles as Services["profiles"] };
    const found = [];
    for await (const some of exportProfiles(services, aWorkspace(), null)) found.push(...some);
    assert.equal(found.length, many.length);
    assert.ok(most * 100 * LONG.length * 2 <= 5 * MIB, `${most} at a time`);
  });
});
