import assert from "node:assert/strict";
import { lookUpProfiles } from "../../../commands/search/look-up.js";
import { allow, readProfile } from "../../../commands/read-profile.js";
import type { Services } from "../../../commands/services.js";
import { AppError } from "../../../core/errors.js";
import type { Identifier } from "../../../core/event/event.js";
import type { Member } from "../../../core/identity/model.js";
import { newId, type ProfileId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import { emptyFacet } from "../../../core/profile/fold.js";
import { isAppError } from "../../support/errors.js";
import { at, listAt, useApp } from "../../support/service/app.js";

const MIB = 1_048_576;
const list = <T>(length: number, item: (n: number) => T): T[] => Array.from({ length }, (_, n) => item(n));

describe("A look-up of several large profiles", () => {
  const app = useApp({ PROFILE_IDENTIFIERS_MAX: "100" });

  it("answers at most PROFILE_IDENTIFIERS_MAX identifiers in all: small profiles whole, the rest for the large ones", async () => {
    const workspace = await app().workspace();
    const hub = (name: string) => ({ namespace: "user_id", value: name });
    for (const [name, size] of [
      ["large", 80],
      ["small", 5],
      ["largest", 90],
    ] as const)
      for (let n = 1; n < size; n += 19) {
        const devices = list(Math.min(19, size - n), (i) => ({ namespace: "device_id", value: `${name}-${n + i}` }));
        await workspace.send("POST", "/v1/identify", { identifiers: [hub(name), ...devices] });
      }
    const asked = ["large", "small", "largest", "nobody"].map(hub);
    const { body } = await workspace.send("POST", "/v1/profiles/lookup", { identifiers: asked });
    const profiles = listAt(body, "profiles");
    assert.deepEqual(
      profiles.map((profile) => at(profile, "matched.0.value")),
      ["large", "small", "largest"],
    );
    assert.deepEqual(
      profiles.map((profile) => [listAt(profile, "identifiers").length, at(profile, "partial") ?? false]),
      [
        [48, true],
        [5, false],
        [47, true],
      ],
    );
    assert.deepEqual(listAt(body, "unknown"), [hub("nobody")]);
  });
});

describe("What is read of profiles for one answer", () => {
  const traitBytes = 100_000;
  /** A component of 10,000 members; a facet of so many bytes and a tenth more, or a long value, for each. */
  const servicesOf = (valueLength: number, reads: { facets: number; members: number }, bytes = traitBytes) => {
    const facet = {
      ...emptyFacet,
      traits: new Map(list(100, (n) => [`t${n}`, { merge: "max" as const, value: "x".repeat(bytes / 100) }] as const)),
    };
    const members = list(10_000, (n) => ({
      uid: String(n).padStart(5, "0") as Uid,
      identifier: { namespace: "user_id", value: "x".repeat(valueLength) },
      isShared: false,
    }));
    return {
      identity: {
        members: async (_: WorkspaceId, __: ProfileId, page: { limit: number; after: Uid | null }) => {
          const from = page.after === null ? 0 : Number(page.after) + 1;
          const found: readonly Member[] = members.slice(from, from + page.limit);
          reads.members += found.length;
          return found;
        },
      },
      profiles: {
        findSome: async (_: WorkspaceId, uids: readonly Uid[], bytesMax: number) => {
          const some = uids.slice(0, Math.ceil(bytesMax / bytes));
          reads.facets += some.length;
          return { found: new Map(some.map((uid) => [uid, { facet, rev: 1 }])), looked: some.length };
        },
      },
      events: { count: async () => 1 },
      limits: { profileIdentifiersMax: 10_000 },
    } as unknown as Services;
  };
  const readOne = async (services: Services, taken: (bytes: number) => void) => {
    const takeBytes = async (bytes: number) => {
      taken(bytes);
      return false;
    };
    const allowance = await allow(services, takeBytes, [10_000]);
    return readProfile(services, newId<WorkspaceId>(), newId<ProfileId>(), allowance);
  };

  it("is some 8 MB of facets and identifiers, however large they are, and is taken as it grows", async () => {
    for (const valueLength of [10, 4_000]) {
      const [reads, taken] = [{ facets: 0, members: 0 }, [] as number[]];
      const profile = await readOne(servicesOf(valueLength, reads), (bytes) => taken.push(bytes));
      assert.equal(profile.isPartial, true);
      const bytes = reads.facets * 1.1 * traitBytes + reads.members * valueLength;
      assert.ok(bytes > 5 * MIB && bytes < 12 * MIB, `${bytes} bytes read`);
      assert.ok(taken.length > 1 && taken.reduce((a, b) => a + b) > 6 * MIB);
    }
  });

  it("is that for all profiles of the answer together", async () => {
    const [reads, bytes, profiles] = [{ facets: 0, members: 0 }, 5_000, 8];
    const services = servicesOf(10, reads, bytes);
    const sizes = list(profiles, () => 10_000);
    const allowance = await allow(services, async () => false, sizes);
    for (const _ of sizes) await readProfile(services, newId<WorkspaceId>(), newId<ProfileId>(), allowance);
    const read = reads.facets * (bytes + 100 * 128);
    assert.ok(read > 4 * MIB && read < 12 * MIB, `${read} bytes read`);
  });

  it("ends when there is no room for more", async () => {
    const reads = { facets: 0, members: 0 };
    let calls = 0;
    const full = () => {
      calls += 1;
      if (calls > 1) throw new AppError("rate_limited", "full");
    };
    await assert.rejects(readOne(servicesOf(4_000, reads), full), isAppError("rate_limited"));
    assert.equal(reads.facets, 0);
  });
});

describe("Small profiles of one look-up", () => {
  it("are read beside each other, some at a time", async () => {
    let [reading, most] = [0, 0];
    const services = {
      catalog: { namespaces: async () => [] },
      identity: {
        lookup: async (_: WorkspaceId, asked: readonly Identifier[]) =>
          asked.map(({ value }) => ({ profileId: value as ProfileId, size: 1, uid: value as Uid })),
        members: async (_: WorkspaceId, profileId: ProfileId) => {
          reading += 1;
          most = Math.max(most, reading);
          await new Promise((resolve) => setImmediate(resolve));
          reading -= 1;
          return [{ uid: profileId, identifier: { namespace: "user_id", value: profileId }, isShared: false }];
        },
      },
      profiles: {
        findSome: async (_: WorkspaceId, uids: readonly Uid[]) => ({ found: new Map(), looked: uids.length }),
      },
      limits: { profileIdentifiersMax: 10_000 },
    } as unknown as Services;
    const asked = list(40, (n) => ({ namespace: "user_id", value: `u-${n}` }));
    const { profiles } = await lookUpProfiles(services, newId<WorkspaceId>(), asked, async () => false);
    assert.deepEqual([profiles.length, most], [40, 16]);
  });
});
