import assert from "node:assert/strict";
import { logLacking } from "../../commands/erasures/log-lacking.js";
import { logErasure, readmit } from "../../commands/erasures/log.js";
import type { Erasure, ErasureRequest } from "../../core/identity/erasure.js";
import { newId, type ErasureId, type Tomb, type Uid, type WorkspaceId } from "../../core/ids.js";
import { restoreErasures } from "../../commands/erasures/restore.js";
import { createIdentity } from "../../graph/identity.js";
import { aWorkspace as aCatalogWorkspace } from "../support/builders.js";
import { erase, NOW, uidsOf } from "../support/identity/erasures.js";
import { anAssertion, aWorkspace, step } from "../support/identity/fixtures.js";
import { ann, bob, cat } from "../support/identity/snapshots.js";
import { catalogWithout, inMemory } from "../support/memory/erasure-log.js";

/** As whoever continues it does at the end. */
const complete = (erasures: ReturnType<typeof inMemory>["erasures"], { workspace, erasureId, rev }: Erasure) =>
  erasures.advanceErasure(workspace, erasureId, rev, { removed: {}, cursor: null, completedAt: NOW + 1 });

describe("The log of erasures", () => {
  it("ends with the record as it stands, whoever wrote what they had read before", async () => {
    const workspace = aWorkspace();
    const { erasures, erasureLog, lines } = inMemory();
    const read = await erase(erasures, workspace, ann, { suppress: true });
    await readmit({ erasures, erasureLog }, workspace, read.erasureId, 7);
    await logErasure({ erasures, erasureLog }, read);
    assert.deepEqual(
      lines.map(({ erasure }) => erasure.readmittedAt),
      [7, null, 7],
    );
  });

  it("does not suppress anew at the start whom somebody readmitted: died before the log had it, or wrote late", async () => {
    for (const written of ["not at all", "before an older line"]) {
      const workspace = aWorkspace();
      const { erasures, erasureLog, lines } = inMemory();
      const { erasureId, ...read } = await erase(erasures, workspace, ann, { suppress: true });
      const readmitted = await erasures.readmit(workspace, erasureId, NOW + 7);
      if (written !== "not at all") lines.push({ erasure: readmitted!, buried: [] });
      lines.push({ erasure: { ...read, erasureId }, buried: [] });
      const services = {
        erasures,
        erasureLog,
        catalog: catalogWithout(),
        identity: createIdentity({ graph: erasures, timeoutMs: 1_000 }),
        now: () => NOW + 9,
      };
      assert.equal(await restoreErasures(services), 0);
      assert.deepEqual(await erasures.findErasure(workspace, erasureId), readmitted, written);
    }
  });

  it("suppresses anew at the start whom a later request suppressed after the readmission", async () => {
    const workspace = aWorkspace();
    const { erasures, erasureLog, lines } = inMemory();
    const { erasureId, ...read } = await erase(erasures, workspace, ann, { suppress: true });
    await erasures.readmit(workspace, erasureId, NOW + 7);
    lines.push({ erasure: { ...read, erasureId, erasedAt: NOW + 8 }, buried: [] });
    const services = {
      erasures,
      erasureLog,
      catalog: catalogWithout(),
      identity: createIdentity({ graph: erasures, timeoutMs: 1_000 }),
      now: () => NOW + 9,
    };
    await restoreErasures(services);
    const { readmittedAt, erasedAt } = (await erasures.findErasure(workspace, erasureId))!;
    assert.deepEqual([readmittedAt, erasedAt], [null, NOW + 8]);
  });

  it("erases again however many the store lacks, and looks no further than so many in a row that it knows", async () => {
    const workspace = aWorkspace();
    const [before, { erasures, erasureLog, lines }] = [inMemory(), inMemory()];
    const made: Erasure[] = [];
    for (let n = 0; n < 8; n += 1)
      made.push(await erase(before.erasures, workspace, { namespace: "user_id", value: `user-${n}` }));
    for (const erasure of made) lines.push({ erasure, buried: [] });
    const asked: (readonly ErasureId[])[] = [];
    const watched = Object.assign(Object.create(erasures) as typeof erasures, {
      findErasures: (of: WorkspaceId, erasureIds: readonly ErasureId[]) => {
        asked.push(erasureIds);
        return erasures.findErasures(of, erasureIds);
      },
    });
    for (const erasure of made.slice(0, 4)) await erasures.restoreErasure(workspace, erasure, []);
    const identity = createIdentity({ graph: erasures, timeoutMs: 1_000 });
    const services = { erasures: watched, erasureLog, catalog: catalogWithout(), identity, now: () => NOW };
    assert.equal(await restoreErasures(services, 2), 4);
    const ids = made.map(({ erasureId }) => erasureId);
    assert.deepEqual(asked.flat(), ids.slice(2).toReversed());
    for (const id of ids) assert.notEqual(await erasures.findErasure(workspace, id), null);
  });

  it("is compared with the store by pages of each workspace", async () => {
    const all = [aWorkspace(), aWorkspace()];
    const { erasures, erasureLog, lines } = inMemory();
    for (let n = 0; n < 1_200; n += 1) {
      const erasure = await erase(erasures, all[n % 2]!, { namespace: "user_id", value: `user-${n}` });
      lines.push({ erasure, buried: [] });
    }
    const asked: number[] = [];
    const watched = Object.assign(Object.create(erasures) as typeof erasures, {
      findErasure: () => assert.fail("one by one"),
      findErasures: (of: WorkspaceId, erasureIds: readonly ErasureId[]) => {
        asked.push(erasureIds.length);
        return erasures.findErasures(of, erasureIds);
      },
    });
    const identity = createIdentity({ graph: erasures, timeoutMs: 1_000 });
    const services = { erasures: watched, erasureLog, catalog: catalogWithout(), identity, now: () => NOW };
    assert.equal(await restoreErasures(services), 0);
    assert.deepEqual(asked, [500, 100, 500, 100]);
  });

  it("goes on where a start ended: what was taken out by then is not taken out again", async () => {
    const workspace = aWorkspace();
    const [before, { erasures, erasureLog, lines }] = [inMemory(), inMemory()];
    for (let n = 0; n < 1_200; n += 1) {
      const erasure = await erase(before.erasures, workspace, { namespace: "user_id", value: `user-${n}` });
      lines.push({ erasure, buried: [{ tomb: `tomb ${n}` as Tomb, uid: newId<Uid>() }] });
    }
    let takenOut = 0;
    const ending = Object.assign(Object.create(erasures) as typeof erasures, {
      livingUids: (of: WorkspaceId, uids: readonly Uid[]) => {
        takenOut += 1;
        if (takenOut === 800) throw new Error("the process ends");
        return erasures.livingUids(of, uids);
      },
    });
    const identity = createIdentity({ graph: erasures, timeoutMs: 1_000 });
    let reads = 0;
    const counted: typeof erasureLog = {
      ...erasureLog,
      entries: () => {
        reads += 1;
        return erasureLog.entries();
      },
    };
    const services = { erasures: ending, erasureLog: counted, catalog: catalogWithout(), identity, now: () => NOW };
    await assert.rejects(restoreErasures(services, 300), /the process ends/);
    const left = lines.slice(500).map(({ erasure }) => erasure.erasureId);
    assert.deepEqual(await erasures.findErasures(workspace, left), [], "no record is there before its portion is done");
    reads = 0;
    assert.equal(await restoreErasures(services, 300), 700);
    assert.equal(reads, 5, "four to compare by 300, and one for all that it lacks");
    assert.equal((await erasures.findErasures(workspace, left)).length, 700);
    assert.equal(await restoreErasures(services), 0);
  });

  it("goes on with an erasure of which a start wrote a part, and holds lines that repeat each other once", async () => {
    const workspace = aWorkspace();
    const [before, { erasures, erasureLog, lines }] = [inMemory(), inMemory()];
    const erasure = await erase(before.erasures, workspace, ann, { suppress: true });
    const buried = Array.from({ length: 1_501 }, (_, n) => ({ tomb: `tomb ${n}` as Tomb, uid: null }));
    lines.push({ erasure, buried: [] });
    for (let copy = 0; copy < 3; copy += 1)
      for (const from of [0, 1_000]) lines.push({ erasure, buried: buried.slice(from, from + 1_000) });
    let writes = 0;
    const ending = Object.assign(Object.create(erasures) as typeof erasures, {
      restoreErasure: async (...given: Parameters<typeof erasures.restoreErasure>) => {
        writes += 1;
        if (writes === 2) throw new Error("the process ends");
        return erasures.restoreErasure(...given);
      },
    });
    const identity = createIdentity({ graph: erasures, timeoutMs: 1_000 });
    const services = { erasures: ending, erasureLog, catalog: catalogWithout(), identity, now: () => NOW };
    const buriedBy = async () =>
      (await erasures.buried(workspace, erasure.erasureId, { limit: 5_000, after: null })).length;
    await assert.rejects(restoreErasures(services), /the process ends/);
    assert.equal(await buriedBy(), 1_000);
    await restoreErasures(services);
    assert.deepEqual([await buriedBy(), writes], [1_501, 4]);
    const standing = (await erasures.findErasure(workspace, erasure.erasureId))!;
    assert.deepEqual([standing.erasedAt, standing.suppress], [erasure.erasedAt, true]);
    await restoreErasures(services);
    assert.equal(writes, 4, "it is whole");
  });

  it("erases a profile as one, whichever lines name its identifiers, and leaves a stranger in another one", async () => {
    const workspace = aWorkspace();
    const [before, { erasures, erasureLog, lines }] = [inMemory(), inMemory()];
    const asked: string[] = [];
    const watched = Object.assign(Object.create(erasures) as typeof erasures, {
      erase: (of: WorkspaceId, request: ErasureRequest) => {
        asked.push(Object.keys(request.target).join());
        return erasures.erase(of, request);
      },
    });
    const identity = createIdentity({ graph: watched, timeoutMs: 1_000 });
    const people = ["ann", "bob"].map((name) => [0, 1, 2, 3].map((n) => ({ namespace: "cookie_id", value: name + n })));
    const uids: Uid[][] = [];
    for (const identifiers of people) {
      await step(erasures, workspace, anAssertion(...identifiers));
      uids.push([...(await uidsOf(erasures, workspace, ...identifiers))]);
    }
    for (const [n, all] of [uids[0]!, uids[1]!.slice(1)].entries()) {
      const made = await erase(before.erasures, workspace, { namespace: "user_id", value: `user-${n}` });
      // So many that each is read by itself.
      const erasure = { ...made, identifiers: new Map([["cookie_id", 60_000]]) };
      const buried = all.map((uid) => ({ tomb: `tomb ${uid}` as Tomb, uid }));
      lines.push({ erasure, buried: buried.slice(0, 2) }, { erasure, buried: buried.slice(2) });
    }
    await restoreErasures({ erasures: watched, erasureLog, catalog: catalogWithout(), identity, now: () => NOW });
    assert.deepEqual(asked, ["profileId", "profileId"]);
    assert.deepEqual([...(await erasures.livingUids(workspace, uids.flat()))], [uids[1]![0]]);
  });

  it("asks once for a workspace that the backup does not have, and looks no further because of its erasures", async () => {
    const [here, missing] = [aWorkspace(), aWorkspace()];
    const [before, { erasures, erasureLog, lines }] = [inMemory(), inMemory()];
    for (let n = 0; n < 12; n += 1) {
      const workspace = n % 2 === 0 ? here : missing;
      const erasure = await erase(before.erasures, workspace, { namespace: "user_id", value: `user-${n}` });
      lines.push({ erasure, buried: [] });
      if (workspace === here) await erasures.restoreErasure(here, erasure, []);
    }
    const asked: WorkspaceId[] = [];
    const { findWorkspace } = catalogWithout(missing);
    const catalog = {
      findWorkspace: async (workspaceId: WorkspaceId) => {
        asked.push(workspaceId);
        return findWorkspace(workspaceId);
      },
    };
    const compared: ErasureId[] = [];
    const findErasures: typeof erasures.findErasures = (of, ids) => {
      compared.push(...ids);
      return erasures.findErasures(of, ids);
    };
    const identity = createIdentity({ graph: erasures, timeoutMs: 1_000 });
    const services = { erasures: { ...erasures, findErasures }, erasureLog, catalog, identity, now: () => NOW };
    assert.equal(await restoreErasures(services, 3), 0);
    assert.deepEqual(asked, [missing]);
    assert.equal(compared.length, 6, "the first three known ones are among the newest six");
  });

  it("leaves an erasure of a workspace that the backup does not have: nobody could complete it", async () => {
    const [here, missing] = [aWorkspace(), aWorkspace()];
    const [before, { erasures, erasureLog, lines }] = [inMemory(), inMemory()];
    for (const workspace of [missing, here])
      lines.push({ erasure: await erase(before.erasures, workspace, ann), buried: [] });
    const identity = createIdentity({ graph: erasures, timeoutMs: 1_000 });
    const catalog = catalogWithout(missing);
    assert.equal(await restoreErasures({ erasures, erasureLog, catalog, identity, now: () => NOW }), 1);
    const open = await erasures.openErasures({ limit: 10, after: null });
    assert.deepEqual(
      open.map(({ workspace }) => workspace),
      [here],
    );
  });

  it("is given what it lacks, the oldest first, also behind what it has, and nothing twice", async () => {
    const workspace = aWorkspace();
    const { erasures, erasureLog, lines } = inMemory();
    const made: Erasure[] = [];
    for (const one of [ann, bob, cat]) made.push(await erase(erasures, workspace, one, { suppress: true }));
    await logErasure({ erasures, erasureLog }, made[2]!);
    const [before, workspaces] = [lines.length, async () => [{ ...aCatalogWorkspace(), workspaceId: workspace }]];
    const services = { erasures, erasureLog, catalog: { workspaces }, now: () => NOW + 100 };
    assert.equal(await logLacking(services), 0, "whoever continues them logs them first");
    for (const one of made) await complete(erasures, one);
    assert.equal(await logLacking({ ...services, now: () => NOW }), 0, "they were made since");
    assert.equal(await logLacking(services), 2);
    const ids = made.map(({ erasureId }) => erasureId);
    assert.deepEqual(
      lines.slice(before).map(({ erasure }) => erasure.erasureId),
      ids.slice(0, 2),
    );
    await erasures.readmit(workspace, ids[0]!, NOW + 7);
    assert.equal(await logLacking(services), 1, "it was said again since");
    assert.equal(await logLacking(services), 0);
  });

  it("is given the rest of what it lacks where a start wrote a part, or somebody only the record", async () => {
    const workspace = aWorkspace();
    const { erasures, erasureLog, lines } = inMemory();
    const erasure = await erase(erasures, workspace, ann, { suppress: true });
    const buried = Array.from({ length: 2_500 }, (_, n) => ({ tomb: `tomb ${n}` as Tomb, uid: null }));
    await erasures.restoreErasure(workspace, erasure, buried);
    await complete(erasures, erasure);
    const all = (await erasures.buried(workspace, erasure.erasureId, { limit: 5_000, after: null })).length;
    const workspaces = async () => [{ ...aCatalogWorkspace(), workspaceId: workspace }];
    let writes = 0;
    const ending: typeof erasureLog = {
      entries: () => erasureLog.entries(),
      append: (entry) => {
        writes += 1;
        return writes === 2 ? Promise.reject(new Error("the process ends")) : erasureLog.append(entry);
      },
    };
    const services = { erasures, erasureLog: ending, catalog: { workspaces }, now: () => NOW + 100 };
    await assert.rejects(logLacking(services), /the process ends/);
    assert.equal(await logLacking(services), 1);
    const logged = () => new Set(lines.flatMap((line) => line.buried.map(({ tomb }) => tomb))).size;
    assert.equal(logged(), all);
    assert.equal(await logLacking(services), 0);
    lines.splice(0, lines.length, { erasure, buried: [] });
    assert.deepEqual([await logLacking(services), logged()], [1, all]);
  });
});
