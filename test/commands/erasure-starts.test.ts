import assert from "node:assert/strict";
import { restoreErasures, takeOut } from "../../commands/erasures/restore.js";
import { identifierKey } from "../../core/event/event.js";
import type { Identity } from "../../core/identity/api.js";
import type { Erasure } from "../../core/identity/erasure.js";
import type { Tomb } from "../../core/ids.js";
import { createIdentity } from "../../graph/identity.js";
import { tombOf } from "../support/builders.js";
import { anErasure, aStar, erase, NOW, uidsOf } from "../support/identity/erasures.js";
import { anAssertion, aWorkspace, step } from "../support/identity/fixtures.js";
import { ann, bob, cat } from "../support/identity/snapshots.js";
import { checkTakenOut } from "../support/identity/taken-out.js";
import { useEmbeddedGraph } from "../support/identity/use-graph.js";
import { catalogWithout, inMemory } from "../support/memory/erasure-log.js";

describe("A person of a restored store", () => {
  const graphOf = useEmbeddedGraph();

  it("is cut off from all others at once and goes part by part, not identifier by identifier", async () => {
    await checkTakenOut(graphOf());
    await checkTakenOut(inMemory().erasures);
  });

  it("is cut off in portions, so that links which one undo has no memory for are no end of the start", async () => {
    const { erasures } = inMemory();
    const { workspace, spokes } = await aStar(erasures, 300);
    const uids = new Set(await uidsOf(erasures, workspace, ...spokes));
    const erasure = await erase(inMemory().erasures, workspace, bob);
    // A profile of 300 links takes 105,000 bytes, and to remove all of them 240,000 more.
    const identity = createIdentity({ graph: erasures, timeoutMs: 60_000, now: () => NOW, profileBytesMax: 200_000 });
    const unlink: Identity["unlink"] = (of, asked, ...rest) =>
      identity.unlink(of, "within" in asked ? { ...asked, linksMax: Math.min(asked.linksMax, 100) } : asked, ...rest);
    await takeOut({ erasures, identity: { ...identity, unlink }, now: () => NOW }, erasure, uids);
    assert.equal((await erasures.livingUids(workspace, [...uids])).size, 0);
    const [left] = await identity.lookup(workspace, [ann]);
    assert.equal(left!.size, 1);
  });
});

describe("Workers that restore erasures together", () => {
  it("leaves what somebody said of an erasure while the start restored the others, readmission or suppression", async () => {
    const workspace = aWorkspace();
    const [before, { erasures, erasureLog, lines }] = [inMemory(), inMemory()];
    const made: Erasure[] = [];
    for (const one of [ann, bob, cat]) made.push(await erase(before.erasures, workspace, one, { suppress: true }));
    const [, second, third] = made as [Erasure, Erasure, Erasure];
    // The log has a readmission of the third.
    const logged = [made[0]!, second, { ...third, readmittedAt: NOW + 3 }];
    const tombs = Array.from({ length: 1_000 }, (_, n) => ({ tomb: `tomb ${n}` as Tomb, uid: null }));
    for (const [n, one] of [ann, bob, cat].entries())
      lines.push({
        erasure: logged[n]!,
        buried: [{ tomb: tombOf(identifierKey(workspace, one)), uid: null }, ...tombs],
      });
    let isFirst = true;
    const restoreErasure: typeof erasures.restoreErasure = async (...asked) => {
      if (isFirst) {
        isFirst = false;
        // Another start is ahead, and its service takes requests.
        for (const { erasure, buried } of lines.slice(1))
          await erasures.restoreErasure(workspace, erasure, buried.slice(0, 1));
        await erasures.readmit(workspace, second.erasureId, NOW + 9);
        await erasures.erase(workspace, anErasure({ identifiers: [cat] }, { suppress: true, now: () => NOW + 9 }));
      }
      await erasures.restoreErasure(...asked);
    };
    const identity = createIdentity({ graph: erasures, timeoutMs: 1_000 });
    const wrapped = { ...erasures, restoreErasure };
    await restoreErasures({ erasures: wrapped, erasureLog, catalog: catalogWithout(), identity, now: () => NOW });
    const said = await Promise.all(logged.slice(1).map(({ erasureId }) => erasures.findErasure(workspace, erasureId)));
    assert.deepEqual(
      said.map((one) => [one!.erasedAt, one!.readmittedAt]),
      [
        [NOW, NOW + 9],
        [NOW + 9, null],
      ],
    );
    for (const { erasureId } of made.slice(1))
      assert.equal((await erasures.buried(workspace, erasureId, { limit: 5_000, after: null })).length, 1_001);
  });

  it("goes on where another start is at the same profile, and a step ahead", async () => {
    const workspace = aWorkspace();
    const { erasures } = inMemory();
    const others = [{ namespace: "user_id", value: "other" }];
    const erased = [0, 1].map((n) => ({ namespace: "cookie_id", value: `cookie-${n}` }));
    await step(erasures, workspace, anAssertion(...others, ...erased));
    const uids = new Set(await uidsOf(erasures, workspace, ...erased));
    const erasure = await erase(inMemory().erasures, workspace, ann);
    const identity = createIdentity({ graph: erasures, timeoutMs: 1_000 });
    const services = { erasures, identity, now: () => NOW };
    let isFirst = true;
    const unlink: typeof identity.unlink = async (...asked) => {
      if (isFirst) {
        isFirst = false;
        await takeOut(services, erasure, uids);
      }
      return identity.unlink(...asked);
    };
    await takeOut({ ...services, identity: { ...identity, unlink } }, erasure, uids);
    assert.equal((await erasures.livingUids(workspace, [...uids])).size, 0);
    assert.equal((await uidsOf(erasures, workspace, ...others)).length, 1);
  });

  it("take out everybody where one took the oldest out while the other read the members", async () => {
    const workspace = aWorkspace();
    const { erasures } = inMemory();
    const [oldest, younger] = [0, 1].map((n) => ({ namespace: "cookie_id", value: `cookie-${n}` })) as [
      typeof ann,
      typeof ann,
    ];
    // The profile has the id of the oldest.
    await step(erasures, workspace, anAssertion(oldest));
    await step(erasures, workspace, anAssertion(oldest, younger, { namespace: "user_id", value: "other" }));
    const uids = await uidsOf(erasures, workspace, younger, oldest);
    const livingUids: typeof erasures.livingUids = async (...asked) => {
      const living = await erasures.livingUids(...asked);
      return new Set(uids.filter((uid) => living.has(uid)));
    };
    const erasure = await erase(inMemory().erasures, workspace, ann);
    const identity = createIdentity({ graph: erasures, timeoutMs: 1_000 });
    let isFirst = true;
    const members: typeof identity.members = async (...asked) => {
      if (isFirst) {
        isFirst = false;
        const evidence = { source: "unlink", keyId: erasure.keyId, at: NOW } as const;
        await identity.unlink(workspace, { identifier: oldest }, evidence);
        await erase(erasures, workspace, oldest);
      }
      return identity.members(...asked);
    };
    const services = { erasures: { ...erasures, livingUids }, identity: { ...identity, members }, now: () => NOW };
    await takeOut(services, erasure, new Set(uids));
    assert.equal((await erasures.livingUids(workspace, uids)).size, 0);
  });
});
