import assert from "node:assert/strict";
import { createFindings } from "../../app/verify/findings.js";
import { verifyGraph } from "../../app/verify/graph.js";
import type { Identifier } from "../../core/event/event.js";
import type { ForbiddenPairId, WorkspaceId } from "../../core/ids.js";
import type { GraphCopying, GraphRows, ProfileRow } from "../../core/ports/copying.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import type { Contract } from "../support/contract.js";
import { dumpAll } from "../support/copying/rows.js";
import { erase, finish } from "../support/identity/erasures.js";
import { anAssertion, anIdentifier, aWorkspace, step } from "../support/identity/fixtures.js";
import { forbid } from "../support/identity/plans.js";

export type VerifiedGraph = IdentityGraph & { readonly copying: GraphCopying };

/** The servers are shared by all tests, so only the rows of the workspace are looked at. */
const only = (copying: GraphCopying, own: WorkspaceId): GraphCopying => ({
  ...copying,
  dump: async (kind, page) => {
    const { rows, next } = await copying.dump(kind, page);
    return { rows: rows.filter(({ workspace }) => workspace === own), next };
  },
});

async function check(
  port: VerifiedGraph,
  workspace: WorkspaceId,
  isRepair = false,
  graph = only(port.copying, workspace),
): Promise<readonly string[]> {
  const findings = createFindings();
  const copying = { graph } as Parameters<typeof verifyGraph>[0]["copying"];
  await verifyGraph({ graph: port, copying }, findings, isRepair);
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
