import assert from "node:assert/strict";
import { createFindings } from "../../app/verify/findings.js";
import { verifyGraph } from "../../app/verify/graph.js";
import type { Identifier } from "../../core/event/event.js";
import { newId, type ForbiddenPairId, type WorkspaceId } from "../../core/ids.js";
import type { GraphCopying, GraphRows, ProfileRow } from "../../core/ports/copying.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import type { Contract } from "../support/contract.js";
import { dumpAll } from "../support/copying/rows.js";
import { erase, finish } from "../support/identity/erasures.js";
import { anAssertion, anIdentifier, aWorkspace, step } from "../support/identity/fixtures.js";
import { allow, forbid, takeApart } from "../support/identity/plans.js";

export type VerifiedGraph = IdentityGraph & { readonly copying: GraphCopying };

/** The servers are shared by all tests, so only the rows of the workspace are looked at, and those of none. */
const only = (copying: GraphCopying, own: WorkspaceId): GraphCopying => ({
  ...copying,
  dump: async (kind, page) => {
    const { rows, next } = await copying.dump(kind, page);
    return { rows: rows.filter(({ workspace }) => workspace === own || (workspace as string) === ""), next };
  },
});

async function check(
  port: VerifiedGraph,
  workspace: WorkspaceId,
  isRepair = false,
  graph = only(port.copying, workspace),
  reads: Partial<IdentityGraph> = {},
): Promise<readonly string[]> {
  const findings = createFindings();
  const copying = { graph } as Parameters<typeof verifyGraph>[0]["copying"];
  await verifyGraph({ graph: { ...port, ...reads }, copying }, findings, isRepair);
  return findings.lines();
}

async function rowOf(port: VerifiedGraph, workspace: WorkspaceId, one: Identifier): Promise<ProfileRow> {
  const { identifiers, profiles } = await dumpAll<GraphRows>(only(port.copying, workspace), 500);
  const profileId = identifiers.find(({ identifier }) => identifier.value === one.value)?.profileId;
  return profiles.find((row) => row.profileId === profileId)!;
}

/** As a restore or a mistake leaves it: the profile names these pairs and no others. */
async function damage(
  port: VerifiedGraph,
  workspace: WorkspaceId,
  one: Identifier,
  forbidden: readonly ForbiddenPairId[],
): Promise<void> {
  assert.ok(await port.copying.mend({ ...(await rowOf(port, workspace, one)), forbidden }));
}

/** Ann may come together with neither Bob nor Cat; Dan is on his own. */
async function forbidden(port: VerifiedGraph) {
  const workspace = aWorkspace();
  const [ann, bob, cat, dan] = ["ann", "bob", "cat", "dan"].map((value) => anIdentifier(value)) as [
    Identifier,
    Identifier,
    Identifier,
    Identifier,
  ];
  for (const one of [ann, bob, cat, dan]) await step(port, workspace, anAssertion(one));
  const pairs = [await forbid(port, workspace, [ann, bob]), await forbid(port, workspace, [ann, cat])];
  const pairIds = pairs.map(({ forbiddenPairId }) => forbiddenPairId).toSorted();
  assert.deepEqual(await check(port, workspace), []);
  return { workspace, pairIds, ann, bob, cat, dan };
}

export const verifyGraphContract: Contract<VerifiedGraph> = {
  "finds a profile that does not name its forbidden pairs, and mends it, so that they stay apart": async ({ port }) => {
    const { workspace, pairIds, ann, bob } = await forbidden(port);
    await damage(port, workspace, ann, []);
    assert.match((await check(port, workspace)).join("\n"), /^profile_summaries: 1 [^;]*$/);
    assert.match((await check(port, workspace, true)).join("\n"), /^profile_summaries: 1 .*; 1 mended/);
    assert.deepEqual(await check(port, workspace), []);
    assert.deepEqual((await rowOf(port, workspace, ann)).forbidden, pairIds);
    const [refused] = await step(port, workspace, anAssertion(ann, bob));
    assert.deepEqual(
      refused?.dropped.map(({ rule }) => rule),
      ["forbidden_pair"],
    );
  },

  "counts a profile once whose forbidden pairs stand on two pages, and mends both": async ({ port }) => {
    const { workspace, pairIds, ann } = await forbidden(port);
    await damage(port, workspace, ann, []);
    const own = only(port.copying, workspace);
    const oneByOne: GraphCopying = {
      ...own,
      dump: (kind, page) => own.dump(kind, kind === "forbiddenPairs" ? { ...page, limit: 1 } : page),
    };
    assert.match((await check(port, workspace, false, oneByOne)).join("\n"), /^profile_summaries: 1 [^;]*$/);
    assert.match((await check(port, workspace, true, oneByOne)).join("\n"), /^profile_summaries: 1 .*; 1 mended/);
    assert.deepEqual((await rowOf(port, workspace, ann)).forbidden, pairIds);
  },

  "finds nothing wrong while a profile is being erased, also if one of it came back": async ({ port }) => {
    const workspace = aWorkspace();
    const spokes = Array.from({ length: 700 }, (_, n) => anIdentifier(`spoke${n}`));
    await step(port, workspace, ...spokes.map((spoke) => anAssertion("ann", spoke)));
    await step(port, workspace, anAssertion("bob", "cat"));
    const begun = await erase(port, workspace, anIdentifier("ann"));
    assert.equal(begun.isGone, false);
    for (const n of [0, 350, 699]) await step(port, workspace, anAssertion(spokes[n]!, "dan"));
    assert.deepEqual(await check(port, workspace), []);
    const live = async () => (await dumpAll<GraphRows>(only(port.copying, workspace), 500)).identifiers;
    const values = (await live()).map(({ identifier: { value } }) => value);
    assert.deepEqual(values.toSorted(), ["bob", "cat", "dan", "spoke0", "spoke350", "spoke699"]);
    await finish(port, begun);
    assert.deepEqual(await check(port, workspace), []);
  },

  "finds nothing wrong with who is erased after the page was read that names them": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion("ann", "bob"), anAssertion("cat"));
    const own = only(port.copying, workspace);
    let erasing = false;
    const between: GraphCopying = {
      ...own,
      dump: async (kind, page) => {
        const found = await own.dump(kind, page);
        if (kind === "identifiers" && found.rows.length > 0 && !erasing) {
          erasing = true;
          await erase(port, workspace, anIdentifier("ann"));
        }
        return found;
      },
    };
    assert.deepEqual(await check(port, workspace, false, between), []);
    assert.ok(erasing);
  },

  "finds nothing wrong with whose forbidden pair was allowed, or ended by an erasure, after the page was read": async ({
    port,
  }) => {
    for (const how of ["allowed", "erased"] as const) {
      const { workspace, pairIds, bob, cat } = await forbidden(port);
      const pair = (await port.findForbiddenPairs(workspace, pairIds)).find(({ to }) => to.value === bob.value);
      const own = only(port.copying, workspace);
      let isDone = false;
      const dump: GraphCopying["dump"] = async (kind, page) => {
        const found = await own.dump(kind, page);
        if (kind === "profiles" && found.rows.length > 0 && !isDone) {
          isDone = true;
          await (how === "allowed" ? allow(port, workspace, pair!) : erase(port, workspace, cat));
        }
        return found;
      };
      assert.deepEqual(await check(port, workspace, true, { ...own, dump }), [], how);
      assert.ok(isDone);
    }
  },

  "reads no more links of a profile than show that it is whole": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion("ann", "bob"));
    let pages = 0;
    const links: IdentityGraph["links"] = async (of, profileId, { limit }) => {
      const [link] = await port.links(of, profileId, { limit, after: null });
      if (++pages > 100) throw new Error("it holds all of them");
      return Array.from({ length: limit }, () => link!);
    };
    assert.deepEqual(await check(port, workspace, false, only(port.copying, workspace), { links }), []);
    assert.equal(pages, 1);
  },

  "finds nothing wrong with who is unlinked after their identifiers were read, or after the page of their link":
    async ({ port }) => {
      for (const between of ["members", "links"] as const) {
        const workspace = aWorkspace();
        await step(port, workspace, anAssertion("ann", "bob"));
        const [ann, bob] = [anIdentifier("ann"), anIdentifier("bob")];
        let isUnlinked = false;
        const unlink = async () => {
          if (!isUnlinked) await takeApart(port, workspace, [[ann, bob]], [[ann], [bob]]);
          isUnlinked = true;
        };
        const links: IdentityGraph["links"] = async (...asked) => {
          if (between === "members") await unlink();
          return port.links(...asked);
        };
        const own = only(port.copying, workspace);
        const dump: GraphCopying["dump"] = async (kind, page) => {
          const found = await own.dump(kind, page);
          if (kind === between && found.rows.length > 0) await unlink();
          return found;
        };
        assert.deepEqual(await check(port, workspace, false, { ...own, dump }, { links }), [], between);
        assert.ok(isUnlinked);
      }
    },

  "does not compare the links of a profile that changes whenever they are read": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion("ann", "bob"));
    let n = 0;
    const links = async () => {
      await step(port, workspace, anAssertion("ann", `new${n++}`));
      return [];
    };
    const found = await check(port, workspace, false, only(port.copying, workspace), { links });
    assert.match(found.join("\n"), /^not compared: \d profiles that kept changing$/m);
    assert.doesNotMatch(found.join("\n"), /loose_profiles/);
  },

  "finds an identifier that nothing links to its profile, and a link to another profile": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion("ann", "bob"), anAssertion("cat"));
    const { identifiers, links } = await dumpAll<GraphRows>(only(port.copying, workspace), 500);
    const [ann, cat] = ["ann", "cat"].map((value) => identifiers.find(({ identifier }) => identifier.value === value)!);
    await port.copying.load("links", [{ ...links[0]!, from: ann!.uid, to: cat!.uid }]);
    assert.deepEqual(await check(port, workspace), [
      `crossing_links: 1 links between two profiles (${ann!.uid} ${cat!.uid})`,
    ]);
    await port.copying.load("identifiers", [{ ...ann!, uid: newId(), identifier: anIdentifier("dan") }]);
    assert.match((await check(port, workspace)).join("\n"), new RegExp(`^loose_profiles: 1 .*${ann!.profileId}`, "m"));
    await finish(port, await erase(port, workspace, anIdentifier("ann")));
    assert.deepEqual(await check(port, workspace), [], "nothing is left for others to find");
  },

  "finds a profile that names a forbidden pair of others, and mends it": async ({ port }) => {
    const { workspace, pairIds, ann, dan } = await forbidden(port);
    await damage(port, workspace, dan, pairIds.slice(0, 1));
    assert.match((await check(port, workspace)).join("\n"), /^profile_summaries: 1 [^;]*$/);
    assert.match((await check(port, workspace, true)).join("\n"), /^profile_summaries: 1 .*; 1 mended/);
    assert.deepEqual(await check(port, workspace), []);
    assert.deepEqual((await rowOf(port, workspace, dan)).forbidden, []);
    assert.deepEqual((await rowOf(port, workspace, ann)).forbidden, pairIds);
  },
};
