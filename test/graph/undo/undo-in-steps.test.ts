import assert from "node:assert/strict";
import { AppError } from "../../../core/errors.js";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import type { UndoResult } from "../../../core/identity/api.js";
import type { KeyId } from "../../../core/ids.js";
import type { Plan } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { useEmbeddedGraph } from "../../support/identity/use-graph.js";
import { anIdentifier } from "../../support/identity/fixtures.js";
import { NEWEST } from "../../support/identity/snapshots.js";
import {
  anUndoBench,
  checkRight,
  deliver,
  EVERYBODY,
  hub,
  identify,
  linksOf,
  LINKS_PER_STEP,
  people,
  revert,
  unlinkHub,
  type UndoBench,
} from "../../support/identity/undo-bench.js";

const d: Identifier = people[3]!;
/** What is left of them without the hub: a and e belong together, and so do b and f. */
const APART = [["a", "e"], ["b", "f"], ["c"], ["d"], ["g"], ["hub"], ["stranger"]];
const TOGETHER = [["a", "b", "c", "d", "e", "f", "g", "hub"], ["stranger"]];
/** Two in each, and one in the last. */
const STEPS = 4;

describe("An undo of more links than a step may take", () => {
  const graphOf = useEmbeddedGraph();

  const aBench = (longTimeoutMs?: number): Promise<UndoBench> => anUndoBench(graphOf(), longTimeoutMs);
  const shapeOf = ({ outcome, profileIds, before: was, after: is }: UndoResult) => ({
    outcome,
    profiles: profileIds.length,
    before: was.map(({ size }) => size).toSorted((x, y) => x - y),
    after: is.map(({ size }) => size).toSorted((x, y) => x - y),
  });

  it("goes in steps of so many links, leaves one record, and answers as one step would", async () => {
    const bench = await aBench();
    const plans: Plan[] = [];
    bench.beforeStep((_, plan) => void plans.push(plan));
    const tried = await unlinkHub(bench, true);
    assert.deepEqual([plans.length, tried.changeId], [0, null]);
    const undone = await unlinkHub(bench);
    assert.deepEqual(shapeOf(undone), {
      outcome: "unlinked",
      profiles: 6,
      before: [8],
      after: [1, 1, 1, 1, 2, 2],
    });
    assert.deepEqual({ ...undone, changeId: null }, tried);
    assert.deepEqual(await checkRight(bench), APART);
    const restored = await revert(bench, undone);
    assert.deepEqual(shapeOf(restored), { outcome: "reverted", profiles: 1, before: [1, 1, 1, 1, 2, 2], after: [8] });
    assert.deepEqual(await checkRight(bench), TOGETHER);
    const again = await revert(bench, restored);
    assert.deepEqual(shapeOf(again), { ...shapeOf(undone), outcome: "reverted" });
    assert.deepEqual(await checkRight(bench), APART);
    const shapes = plans.map(({ removes, restores, changes }) => [removes.length, restores.length, changes.length]);
    const removing = ["2 0 1", "2 0 0", "2 0 0", "1 0 0"];
    const restoring = ["0 2 1", "0 2 0", "0 2 0", "0 1 0"];
    assert.deepEqual(
      shapes.map((shape) => shape.join(" ")),
      [...removing, ...restoring, ...removing],
    );
    const changes = await bench.identity.changes(bench.workspace, null, NEWEST);
    assert.deepEqual(
      changes.slice(0, 3).map(({ changeId }) => changeId),
      [again.changeId, restored.changeId, undone.changeId],
    );
  });

  /** The call fails at that step, and leaves a graph that is right; the same call then does the rest. */
  async function failingAt(bench: UndoBench, failing: number, call: () => Promise<UndoResult>): Promise<UndoResult> {
    bench.beforeStep((number) => {
      if (number === failing) throw new AppError("unavailable", "the power went");
    });
    await assert.rejects(call, /the power went/);
    await checkRight(bench);
    bench.beforeStep(() => undefined);
    const undone = await call();
    assert.equal(bench.steps(), STEPS - failing + 1, "only the rest");
    return undone;
  }

  for (let failing = 1; failing <= STEPS; failing++) {
    it(`that fails at step ${failing} leaves a graph that is right, and the same call does the rest`, async () => {
      const bench = await aBench();
      const sent = bench.now.at - 1;
      const rest = await failingAt(bench, failing, () => unlinkHub(bench));
      assert.deepEqual(await checkRight(bench), APART);
      assert.equal((await deliver(bench, sent, hub, d)).changeId, null, "what was sent before it stays out");
      assert.deepEqual(await checkRight(bench), APART);
      const records = await bench.identity.changes(bench.workspace, "unlinked", NEWEST);
      assert.equal(records.length, failing > 1 ? 2 : 1);
      assert.equal(records[0]!.changeId, rest.changeId);
      for (const record of records) await revert(bench, record);
      assert.deepEqual(await checkRight(bench), TOGETHER);
    });

    it(`and so does a revert that fails at step ${failing}, and the revert of that`, async () => {
      const bench = await aBench();
      const undone = await unlinkHub(bench);
      await failingAt(bench, failing, () => revert(bench, undone));
      assert.deepEqual(await checkRight(bench), TOGETHER);
      const restored = await bench.identity.changes(bench.workspace, "reverted", NEWEST);
      for (const record of restored) await revert(bench, record);
      assert.deepEqual(await checkRight(bench), APART);
      const sent = bench.now.at - 1;
      const whole = await aBench();
      const back = await revert(whole, await unlinkHub(whole));
      await failingAt(whole, failing, () => revert(whole, back));
      assert.equal((await deliver(whole, sent, hub, d)).changeId, null, "unlinked again, as it was");
      assert.deepEqual(await checkRight(whole), APART);
    });
  }

  it("keeps older events out from its first step on", async () => {
    const bench = await aBench();
    const sent = bench.now.at - 1;
    const late: Promise<unknown>[] = [];
    bench.beforeStep((number) => {
      if (number === 1) late.push(deliver(bench, sent, hub, anIdentifier("late")));
    });
    await unlinkHub(bench);
    await Promise.all(late);
    assert.deepEqual(await checkRight(bench), APART);
  });

  it("takes what stood when it began: what others link and merge meanwhile stays, and it comes to an end", async () => {
    const bench = await aBench();
    await identify(bench, anIdentifier("far"), anIdentifier("away"));
    const [near, far] = [anIdentifier("near"), anIdentifier("far")];
    const meanwhile: Promise<unknown>[] = [];
    bench.beforeStep((_, { removes }) => {
      const [gone] = removes;
      if (gone === undefined) return;
      const taken = people.find((one) => gone.pair.includes(identifierKey(bench.workspace, one)))!;
      // In each step: a new one for the hub, a merge of one whose link goes just then, and that link again.
      bench.now.at += 1;
      meanwhile.push(identify(bench, hub, anIdentifier(`new-${meanwhile.length}`)));
      if (meanwhile.length === 1) meanwhile.push(identify(bench, hub, near), identify(bench, d, far));
      if (meanwhile.length === 3) meanwhile.push(identify(bench, hub, taken));
    });
    const undone = await unlinkHub(bench);
    await Promise.all(meanwhile);
    assert.deepEqual(shapeOf(undone), {
      outcome: "unlinked",
      profiles: 6,
      before: [8],
      after: [1, 1, 1, 1, 2, 2],
    });
    bench.beforeStep(() => undefined);
    const others = ["near", "far", "away"].map((value) => anIdentifier(value));
    const news = meanwhile.map((_, n) => anIdentifier(`new-${n}`));
    const partition = await checkRight(bench, [...EVERYBODY, ...others, ...news]);
    const withHub = partition.find((values) => values.includes("hub"))!;
    assert.ok(withHub.includes("near") && withHub.includes("new-0"), withHub.join());
    assert.deepEqual(
      partition.find((values) => values.includes("d")),
      ["away", "d", "far"],
    );
    assert.ok(
      partition.some((values) => values.join() === "c" || values.join() === "g"),
      "old links are gone",
    );
    const unlinked = await bench.identity.changes(bench.workspace, "unlinked", NEWEST);
    assert.deepEqual(
      unlinked.map(({ changeId }) => changeId),
      [undone.changeId],
    );
  });

  it("is decided anew when the link goes between the look and the reading of the profile", async () => {
    const { graph, workspace, now } = await aBench();
    const pair = { from: hub, to: d, forbid: false };
    const evidence = { source: "unlink", keyId: "key0000001" as KeyId, at: now.at } as const;
    const other = createIdentity({ graph, timeoutMs: 60_000 });
    let isFirst = true;
    const links: IdentityGraph["links"] = async (...asked) => {
      if (isFirst) {
        isFirst = false;
        await other.unlink(workspace, pair, evidence);
      }
      return graph.links(...asked);
    };
    const late = createIdentity({ graph: { ...graph, links }, timeoutMs: 60_000 });
    const { outcome, profileIds } = await late.unlink(workspace, pair, evidence);
    assert.deepEqual([isFirst, outcome, profileIds.length], [false, "unchanged", 2]);
  });

  it("restores around what others link meanwhile, and once", async () => {
    const bench = await aBench();
    const undone = await unlinkHub(bench);
    const meanwhile: Promise<unknown>[] = [];
    bench.beforeStep((_, { restores }) => {
      if (restores.length === 0) return;
      meanwhile.push(identify(bench, hub, people[6]!, anIdentifier(`new-${meanwhile.length + 1}`)));
    });
    const restored = await revert(bench, undone);
    await Promise.all(meanwhile);
    assert.equal(restored.outcome, "reverted");
    bench.beforeStep(() => undefined);
    const news = meanwhile.map((_, n) => anIdentifier(`new-${n + 1}`));
    await checkRight(bench, [...EVERYBODY, ...news]);
    for (const one of people) {
      const { connected } = await bench.identity.explain(bench.workspace, hub, one);
      assert.ok(connected, one.value);
    }
    assert.equal((await revert(bench, undone)).outcome, "unchanged");
  });

  /** Whenever the hub's profile is read it is another one before the next step. */
  const disturb = (bench: UndoBench): readonly Promise<unknown>[] => {
    const meanwhile: Promise<unknown>[] = [];
    bench.onRead(() => void meanwhile.push(identify(bench, hub, anIdentifier(`new-${meanwhile.length}`))));
    return meanwhile;
  };

  it("reads a profile once that others link to before it can write", async () => {
    const bench = await aBench();
    const meanwhile = disturb(bench);
    assert.equal((await unlinkHub(bench)).outcome, "unlinked");
    bench.onRead(() => undefined);
    await Promise.all(meanwhile);
    assert.equal(meanwhile.length, 1);
    assert.equal(await linksOf(bench, hub), 1, "of the one that came meanwhile");
    await checkRight(bench, [...EVERYBODY, ...meanwhile.map((_, n) => anIdentifier(`new-${n}`))]);
  });

  it("keeps other undos waiting at last, and nobody else, when links go each time before it can write", async () => {
    const bench = await aBench();
    const { graph, workspace, now } = bench;
    const other = createIdentity({ graph, timeoutMs: 60_000 });
    const evidence = { source: "unlink", keyId: "key0000001" as KeyId, at: now.at } as const;
    const unlinkPair = (of: typeof other, n: number) =>
      of.unlink(workspace, { from: hub, to: people[n]!, forbid: false }, evidence);
    const order: string[] = [];
    let reads = 0;
    const late: Promise<unknown>[] = [];
    bench.onRead(async () => {
      reads += 1;
      if (reads <= 3) await unlinkPair(other, reads);
      if (reads !== 4) return;
      late.push(unlinkPair(bench.identity, 6).then(() => order.push("the other undo")));
      await identify(bench, hub, anIdentifier("late"));
      order.push("others");
    });
    assert.equal((await unlinkHub(bench)).outcome, "unlinked");
    order.push("the undo");
    await Promise.all(late);
    assert.deepEqual(order, ["others", "the undo", "the other undo"]);
    await checkRight(bench, [...EVERYBODY, anIdentifier("late")]);
  });

  it("does not keep them waiting when nobody waits for it any more", async () => {
    const bench = await aBench(100);
    const meanwhile = disturb(bench);
    bench.beforeStep((_, { removes }) => {
      if (removes.length > 0) for (const until = performance.now() + 150; performance.now() < until;);
    });
    await assert.rejects(unlinkHub(bench), /did not answer in time/);
    await Promise.all(meanwhile);
    assert.equal(await linksOf(bench, hub), people.length + meanwhile.length - LINKS_PER_STEP);
  });

  it("stops when nobody waits for it any more, and keeps nobody from the next one", async () => {
    const bench = await aBench(100);
    for (let calls = 1; calls <= 3; calls++) {
      bench.beforeStep(() => {
        for (const until = performance.now() + 150; performance.now() < until;);
      });
      await assert.rejects(unlinkHub(bench), /did not answer in time/);
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert.equal(bench.steps(), 1);
      assert.equal(await linksOf(bench, hub), people.length - LINKS_PER_STEP * calls);
      await checkRight(bench);
    }
    bench.beforeStep(() => undefined);
    await unlinkHub(bench);
    assert.deepEqual(await checkRight(bench), APART);
  });
});
