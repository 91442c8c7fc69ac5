import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import type { Identity } from "../../../core/identity/api.js";
import type { Assertion } from "../../../core/identity/model.js";
import type { ProfileId } from "../../../core/ids.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { openNeo4jGraph } from "../../../graph/neo4j/graph.js";
import { aWorkspace, anAssertion, anIdentifier, EVIDENCE } from "../../support/identity/fixtures.js";
import { neo4jUnderTest, throwError } from "../../support/servers/neo4j-backend.js";
import { tombOf } from "../../support/builders.js";

const FOR_MS = 6_000;
/** Seen before what leaves was taken aside: three or four wrong answers in a second. */
const ROUNDS_FOR_MS = 6_000;
const COUPLES = 150;
const OTHERS = 450;
const READERS = 12;

/** Were the link found to stand before the profiles are read, about one answer in a second would be wrong here. */
describe("Repeats in Neo4j while their links are taken back and asserted again", () => {
  const opened: IdentityGraph[] = [];
  const open = async (): Promise<IdentityGraph> => {
    const port = await openNeo4jGraph({ tombOf, ...neo4jUnderTest(), onError: throwError });
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

  it("are not answered with what the rest of their profile is from now on, while they leave it", async () => {
    const [identity, reader] = [
      createIdentity({ graph: await open(), timeoutMs: 8_000, longTimeoutMs: 20_000 }),
      await open(),
    ];
    const due = performance.now() + ROUNDS_FOR_MS;
    const seen = { whole: 0, apart: 0, wrong: [] as unknown[] };
    while (performance.now() < due) {
      const { workspace, hub, couples, own, whole } = await aHub(identity);
      const sets = couples.slice(0, 60).map((couple) => couple.map((one) => identifierKey(workspace, one)));
      const round = { isOver: false };
      const ask = async (): Promise<void> => {
        while (!round.isOver)
          for (const [n, found] of (await reader.repeats(workspace, sets)).entries())
            if (found?.profileId === whole) seen.whole += 1;
            else if (found?.profileId === own[n]) seen.apart += 1;
            else if (found !== null) seen.wrong.push(found);
      };
      const asking = Promise.all([ask(), ask(), ask()]);
      await identity.unlink(workspace, { identifier: hub }, { ...EVIDENCE, source: "unlink" });
      await sleep(20);
      round.isOver = true;
      await asking;
    }
    assert.deepEqual(seen.wrong, []);
    assert.ok(seen.whole > 100 && seen.apart > 100, JSON.stringify({ ...seen, wrong: 0 }));
  });
});

/** The oldest of a profile holds many couples and one large part; the part keeps the place once it is gone, and gets another id. */
async function aHub(identity: Identity) {
  const workspace = aWorkspace();
  const hub = anIdentifier("hub", "device_id");
  const others = Array.from({ length: OTHERS }, (_, n) => anIdentifier(`c${n}`));
  const couples = Array.from({ length: COUPLES }, (_, n) => [anIdentifier(`a${n}`), anIdentifier(`b${n}`, "email")]);
  const first = await identity.assert(workspace, anAssertion(hub, others[0]!));
  for (let n = 0; n < OTHERS; n += 15) await identity.assert(workspace, anAssertion(...others.slice(n, n + 16)));
  const assertAll = (assertions: readonly Assertion[]) => identity.assertAll(workspace, assertions);
  const own = (await assertAll(couples.map((couple) => anAssertion(...couple)))).map(({ profileId }) => profileId!);
  await assertAll(couples.map(([one]) => anAssertion(one!, hub)));
  return { workspace, hub, couples, own, whole: first.profileId! };
}
