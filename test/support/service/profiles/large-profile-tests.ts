import assert from "node:assert/strict";
import type { Identifier } from "../../../../core/event/event.js";
import type { Identity, PathLink, UndoResult } from "../../../../core/identity/api.js";
import type { ChangeId, KeyId, ProfileId, WorkspaceId } from "../../../../core/ids.js";
import type { Evidence, Link, Member, Source } from "../../../../core/identity/model.js";
import type { LinkPage, MemberPage } from "../../../../core/identity/pages.js";
import type { IdentityGraph } from "../../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../../graph/identity.js";
import type { Backend } from "../../contract.js";
import { aWorkspace, anIdentifier } from "../../identity/fixtures.js";
import { distancesFrom, makeLargeProfile, type LargeProfile } from "./large-profile.js";
import { inPages } from "../../house/pages.js";
import { whileAsking, type Probe } from "../probe.js";
import { createRandom, SEED, tell } from "../../random/random.js";
import { assertWithin } from "../../house/yardstick.js";

export interface LargeProfileSizes {
  readonly large: number;
  readonly small: number;
  /** Links that each of them has in one row. */
  readonly chain: number;
}

const PAGE = 1_000;
const ASK_EVERY_MS = 50;
/** At p99, for whoever asks meanwhile. */
const WAIT_MS_MAX = 1_000;

const evidence = (source: Source): Evidence => ({ source, keyId: "key0000001" as KeyId, at: Date.now() });
const namesOf = ({ from, to }: PathLink): string => [from.value, to.value].toSorted().join(" ");

/** There is no cap: what works on a profile of a few works on one of so many, and nobody else waits long for it. */
export function testLargeProfile(backend: Backend<IdentityGraph>, sizes: LargeProfileSizes): void {
  describe(`A profile of ${sizes.large.toLocaleString("en")} identifiers in ${backend.name}, seed ${SEED}`, () => {
    const workspace = aWorkspace();
    let close: () => Promise<void>;
    let identity: Identity;
    let large: LargeProfile;
    let small: LargeProfile;
    let probes: readonly Probe[];
    before(async () => {
      const place = await backend.place();
      const graph = await place.open();
      close = async () => {
        await graph.close();
        await place.drop();
      };
      const began = performance.now();
      const make = (name: string, size: number) =>
        makeLargeProfile(graph, workspace, { name, size, chain: sizes.chain, seed: SEED });
      large = await make("large", sizes.large);
      small = await make("small", sizes.small);
      tell(`made in ${ms(performance.now() - began)}`);
      identity = createIdentity({ graph, timeoutMs: 8_000, longTimeoutMs: 60_000 });
      probes = [repeatsIn(identity, large), newcomersIn(identity, aWorkspace())];
    });
    after(() => close?.());

    const undisturbed = <T>(what: string, work: () => Promise<T>): Promise<T> => undisturbedBy(probes)(what, work);
    const identify = (...identifiers: readonly Identifier[]) => identifyIn(identity, workspace, ...identifiers);
    const lastOf = ({ size, identifierAt }: LargeProfile): Identifier => identifierAt(size - 1);
    const refsOf = async (...profiles: readonly LargeProfile[]) => {
      const members = profiles.flatMap((profile) => [profile.identifierAt(0), lastOf(profile)]);
      const found = await identity.lookup(workspace, members);
      return found.map((ref) => ref && { profileId: ref.profileId, size: ref.size });
    };
    const apart = async (): Promise<void> => {
      const [one, other] = [refOf(large, large.size + 1), refOf(small, small.size)];
      assert.deepEqual(await refsOf(large, small), [one, one, other, other]);
    };
    const together = async (): Promise<void> => {
      const one = refOf(large, large.size + 1 + small.size);
      assert.deepEqual(await refsOf(large, small), [one, one, one, one]);
    };

    it("is read in pages: every member by age and every link, each once", async () => {
      const { profileId, uids, edges } = large;
      const members = await inPages<Member, MemberPage["after"]>(
        PAGE,
        (page) => identity.members(workspace, profileId, page),
        ({ uid }) => uid,
      );
      assert.deepEqual(
        members.map(({ uid }) => uid),
        uids,
      );
      const links = await inPages<Link, LinkPage["after"]>(
        PAGE,
        (page) => identity.links(workspace, profileId, page),
        (link) => link,
      );
      const wanted = edges.map(([from, to]) => `${uids[from]} ${uids[to]}`).toSorted();
      assert.deepEqual(
        links.map(({ from, to }) => `${from} ${to}`),
        wanted,
      );
    });

    it("takes a new identifier in as any other does", async () => {
      const { outcome, before, after } = await undisturbed("a new member", () =>
        identify(lastOf(large), anIdentifier("newcomer")),
      );
      assert.deepEqual(
        [outcome, before, after],
        ["linked", [refOf(large, large.size)], [refOf(large, large.size + 1)]],
      );
    });

    it("tells a shortest way between two far members, and the links of it that have no way around", async () => {
      const distances = distancesFrom(large, 0);
      const far = distances.indexOf(Math.max(...distances.slice(-1_000)), large.size - 1_000);
      const { path, bridges, ...rest } = await undisturbed("an explanation", () =>
        identity.explain(workspace, large.identifierAt(0), large.identifierAt(far)),
      );
      const isPartial = path!.length < distances[far]!;
      assert.deepEqual(rest, { connected: true, profileId: large.profileId, isPartial });
      let at = large.identifierAt(0);
      for (const { from, to } of path!) at = from.value === at.value ? to : (assert.equal(to.value, at.value), from);
      // As far from the first one as it can be by so many links.
      const stops = distances.flatMap((distance, n) =>
        distance === path!.length ? [large.identifierAt(n).value] : [],
      );
      assert.ok(stops.includes(at.value), at.value);
      const held = new Set(bridges!.map(namesOf));
      const row = path!.slice(0, sizes.chain - 1).map(namesOf);
      assert.deepEqual(
        row.filter((name) => !held.has(name)),
        [],
      );
    });

    it("is told in short: every identifier and link is in it or counted, and its bridges stand alone", async () => {
      const kept = large.identifierAt(Math.floor(large.size / 2));
      const outline = await undisturbed("an outline", () => identity.outline(workspace, large.profileId, kept));
      const { nodes, groups, single, bundles, ...rest } = outline!;
      assert.deepEqual(rest, {
        profileId: large.profileId,
        identifiers: large.size + 1,
        links: large.edges.length + 1,
        isPartial: false,
      });
      assert.equal(
        groups.reduce((all, { count }) => all + count, nodes.length),
        large.size + 1,
      );
      assert.ok(nodes.length + groups.length < 500, `${nodes.length} nodes and ${groups.length} groups`);
      assert.ok(single.length + bundles.length < 5_000, `${single.length} links and ${bundles.length} bundles`);
      assert.ok(nodes.some(({ identifier }) => identifier.value === kept.value));
      const uids = new Set(nodes.map(({ uid }) => uid));
      assert.ok(single.every(({ link: { from, to } }) => uids.has(from) && uids.has(to)));
      // The chain parts the most of them.
      assert.ok(single.some(({ bridge }) => bridge !== null && bridge >= Math.floor(sizes.chain / 2)));
    });

    describe("together with a smaller one", () => {
      let merge: ChangeId;
      let split: ChangeId;

      it("becomes one by an alias", async () => {
        const identifiers = [lastOf(large), lastOf(small)];
        const result = await undisturbed("the merge", () =>
          identity.assert(workspace, { identifiers, evidence: evidence("alias") }),
        );
        assert.deepEqual([result.outcome, result.mergedProfileIds], ["merged", [small.profileId]]);
        merge = result.changeId!;
        await together();
      });

      it("comes apart when the one link between them is taken back, each with its former id", async () => {
        const asked = { from: lastOf(large), to: lastOf(small), forbid: false };
        const undone = await undisturbed("the split", () => identity.unlink(workspace, asked, evidence("unlink")));
        assert.deepEqual(whatOf(undone), ["unlinked", [large.profileId, small.profileId], null]);
        split = undone.changeId!;
        await apart();
      });

      it("is one again when that is reverted, and apart when the merge is", async () => {
        const revert = (changeId: ChangeId) => identity.revert(workspace, changeId, evidence("revert"));
        const joined = await undisturbed("the revert of the split", () => revert(split));
        assert.deepEqual(whatOf(joined), ["reverted", [large.profileId], null]);
        await together();
        const parted = await undisturbed("the revert of the merge", () => revert(merge));
        assert.deepEqual(whatOf(parted), ["reverted", [large.profileId, small.profileId], null]);
        await apart();
      });
    });
  });
}

/** Runs work on the profiles, and holds what others wait meanwhile to its limit. */
export const undisturbedBy =
  (probes: readonly Probe[]) =>
  async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    const probed = await whileAsking(ASK_EVERY_MS, probes, work);
    const told = [...probed.latencies].map(
      ([name, { count, p50, p99, max }]) => `${count} ${name} p50 ${ms(p50)}, p99 ${ms(p99)}, max ${ms(max)}`,
    );
    tell(`${what} took ${ms(probed.ms)}; ${told.join("; ")}`);
    for (const [name, { p99 }] of probed.latencies)
      await assertWithin(WAIT_MS_MAX, () => p99, `p99 of ${name} while ${what} went on`);
    return probed.result;
  };

const ms = (time: number): string => `${time.toFixed(0)} ms`;
const refOf = ({ profileId }: LargeProfile, size: number) => ({ profileId, size });
const whatOf = ({ outcome, profileIds, stillJoinedBy }: UndoResult) => [outcome, profileIds, stillJoinedBy];

export const identifyIn = (identity: Identity, workspace: WorkspaceId, ...identifiers: readonly Identifier[]) =>
  identity.assert(workspace, { identifiers, evidence: evidence("identify") });

/** Of any link of the profile. */
export function repeatsIn(identity: Identity, { workspace, profileId, edges, identifierAt }: LargeProfile): Probe {
  const random = createRandom(SEED);
  const ask = async (): Promise<void> => {
    const [from, to] = random.pick(edges);
    const result = await identifyIn(identity, workspace, identifierAt(from), identifierAt(to));
    assert.deepEqual([result.outcome, result.profileId], ["unchanged", profileId]);
  };
  return { name: "repeats", ask };
}

export function newcomersIn(identity: Identity, workspace: WorkspaceId): Probe {
  let asked = 0;
  const seen = new Set<ProfileId>();
  const ask = async (): Promise<void> => {
    asked += 1;
    const pair = [anIdentifier(`new-${asked}`), anIdentifier(`new-${asked}`, "device_id")];
    const { outcome, profileId } = await identifyIn(identity, workspace, ...pair);
    assert.deepEqual([outcome, seen.has(profileId!)], ["created", false]);
    seen.add(profileId!);
  };
  return { name: "new identifies elsewhere", ask };
}
