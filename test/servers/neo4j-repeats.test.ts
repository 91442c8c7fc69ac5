import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../core/event.js";
import type { ProfileId } from "../../core/ids.js";
import type { IdentityGraph } from "../../core/ports.js";
import { createIdentity } from "../../graph/identity.js";
import { openNeo4jGraph } from "../../graph/neo4j-graph.js";
import { aWorkspace, anAssertion, anIdentifier, EVIDENCE } from "../support/identity-fixtures.js";
import { neo4jUnderTest, throwError } from "../support/neo4j-backend.js";

const FOR_MS = 6_000;
const READERS = 12;

/** Were the link found to stand before the profiles are read, about one answer in a second would be wrong here. */
describe("Repeats in Neo4j while their links are taken back and asserted again", () => {
  const opened: IdentityGraph[] = [];
  const open = async (): Promise<IdentityGraph> => {
    const port = await openNeo4jGraph({ ...neo4jUnderTest(), onError: throwError });
    opened.push(port);
    return port;
  };
  after(async () => {
    for (const port of opened) await port.close();
  });

  it("are answered with the profile that holds both, or not at all", async () => {
    const [identity, reader] = [createIdentity({ graph: await open(), timeoutMs: 8_000 }), await open()];
    const workspace = aWorkspace();
    const pairs = Array.from({ length: 8 }, (_, n) => [anIdentifier(`u${n}`), anIdentifier(`d${n}`, "device_id")]);
    const sets = pairs.map((pair) => pair.map((one) => identifierKey(workspace, one)));
    const link = async (pair: readonly Identifier[]): Promise<ProfileId> =>
      (await identity.assert(workspace, anAssertion(...pair))).profileId!;
    const ids: ProfileId[] = [];
    for (const pair of pairs) ids.push(await link(pair));

    const due = performance.now() + FOR_MS;
    const seen = { linked: 0, apart: 0, wrong: [] as unknown[] };
    const take = async (pair: readonly Identifier[]): Promise<void> => {
      // One side keeps the profile, the other gets one of its own: each in turn.
      for (let turn = 0; performance.now() < due; turn++) {
        await identity.unlink(workspace, { identifier: pair[turn % 2]! }, { ...EVIDENCE, source: "unlink" });
        await link(pair);
      }
    };
    const ask = async (): Promise<void> => {
      while (performance.now() < due)
        for (const [n, found] of (await reader.repeats(workspace, sets)).entries())
          if (found === null) seen.apart += 1;
          else if (found.profileId === ids[n] && found.size === 2) seen.linked += 1;
          else seen.wrong.push(found);
    };
    await Promise.all([...pairs.map(take), ...Array.from({ length: READERS }, ask)]);
    assert.deepEqual(seen.wrong, []);
    assert.ok(seen.linked > 1_000 && seen.apart > 1_000, JSON.stringify(seen));
  });
});
