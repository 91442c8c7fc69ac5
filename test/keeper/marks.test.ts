import assert from "node:assert/strict";
import { newId, type MarkId, type ProfileId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { Mark } from "../../core/ports/mark-store.js";
import type { AudienceDeps } from "../../keeper/audiences/deps.js";
import { createAudienceTask } from "../../keeper/audiences/task.js";

const byPlace = (a: Mark, b: Mark): number =>
  a.workspace === b.workspace ? a.since - b.since : a.workspace < b.workspace ? -1 : 1;

/** More than a step reads. */
const MANY = 6_000;

/** A hub of `size` identifiers, most of them marked, and behind them somebody of another workspace. */
function aHub(size: number, resolves: (workspace: WorkspaceId) => void = () => undefined) {
  const [hub, other] = [newId<WorkspaceId>(), newId<WorkspaceId>()];
  const [hubId, somebody] = [newId<ProfileId>(), newId<ProfileId>()];
  const markOf = (workspace: WorkspaceId, since: number): Mark => {
    return { workspace, uid: newId<Uid>(), markId: newId<MarkId>(), since };
  };
  let marks: readonly Mark[] = [];
  let isDamaged = false;
  let [looks, asked, questions, now] = [0, 0, 0, 1];
  const deps = {
    log: { warn: () => undefined, error: () => undefined },
    now: () => now,
    // Whoever is looked at is done at once.
    catalog: { isImporting: async () => true },
    marks: {
      marks: async (limit: number, after: Mark | WorkspaceId | null) => {
        questions += 1;
        if (isDamaged) throw new TypeError("A damaged page.");
        const isBehind = ({ workspace, since }: Mark): boolean => {
          if (after === null || typeof after === "string") return after === null || workspace > after;
          return workspace === after.workspace ? since > after.since : workspace > after.workspace;
        };
        return marks.filter(isBehind).toSorted(byPlace).slice(0, limit);
      },
      clear: async (gone: readonly Mark[]) => {
        const ids = new Set(gone.map(({ markId }) => markId));
        marks = marks.filter(({ markId }) => !ids.has(markId));
      },
    },
    identity: {
      resolveAll: async (workspace: WorkspaceId, uids: readonly Uid[]) => {
        resolves(workspace);
        asked += uids.length;
        const ref = workspace === hub ? { profileId: hubId, size } : { profileId: somebody, size: 1 };
        return uids.map(() => ({ ...ref, members: null }));
      },
    },
    movements: {
      moved: async (workspace: WorkspaceId) => {
        if (workspace === hub) looks += 1;
        return [];
      },
    },
    seats: { due: async () => [] },
    audiences: {
      watching: async () => [],
      audiences: async () => ({ audiences: [], deleted: [] }),
    },
  } as unknown as AudienceDeps;
  const task = createAudienceTask(deps);
  return {
    task,
    setNow: (ms: number) => void (now = ms),
    damage: () => void (isDamaged = true),
    markHub: (count: number, from: number) =>
      (marks = [...marks, ...Array.from({ length: count }, (_, n) => markOf(hub, from + n))]),
    /** A change of each of them. */
    markAgain: () => (marks = marks.map((mark) => ({ ...mark, markId: newId<MarkId>() }))),
    markOther: (since: number) => (marks = [...marks, markOf(other, since)]),
    left: (workspace: "hub" | "other") =>
      marks.filter((mark) => mark.workspace === (workspace === "hub" ? hub : other)).length,
    looks: () => looks,
    asked: () => asked,
    questions: () => questions,
  };
}

/** Answers when the last of them wants to go on. */
const steps = async (task: { readonly step: () => Promise<number> }, count: number): Promise<number> => {
  let inMs = 0;
  for (let n = 0; n < count; n += 1) inMs = await task.step();
  return inMs;
};

describe("Looks at what is marked", () => {
  it("are behind once a mark has waited for more than ten seconds, and not because more come all the time", async () => {
    const { task, markOther, setNow } = aHub(1);
    for (let n = 1; n < 5; n += 1) {
      markOther(n * 1_000);
      setNow(n * 1_000 + 500);
      assert.equal(await steps(task, 1), 0, "it looks again at once");
      assert.equal(task.isBehind!(), false);
    }
    markOther(5_000);
    setNow(16_000);
    assert.equal(await steps(task, 1), 0);
    assert.equal(task.isBehind!(), true);
    await steps(task, 1);
    assert.equal(task.isBehind!(), false);
  });

  it("hurry once a mark has waited for a tenth of a second, until one step meets only younger ones", async () => {
    const { task, markOther, setNow } = aHub(1);
    const after = async (waitedMs: number): Promise<boolean> => {
      markOther(1_000);
      setNow(1_000 + waitedMs);
      await steps(task, 1);
      return task.hurries!();
    };
    assert.deepEqual([await after(50), await after(200), await after(50)], [false, true, false]);
    await after(200);
    await steps(task, 1);
    assert.equal(task.hurries!(), false, "nor when there are none");
  });

  it("do not hurry because a profile that was looked at just now has to wait", async () => {
    const { task, markHub, setNow, left } = aHub(60_000);
    markHub(1, 1);
    await task.step();
    markHub(1, 2);
    setNow(5_000);
    await steps(task, 1);
    assert.deepEqual([left("hub"), task.hurries!()], [1, false]);
  });

  it("do not hurry any more where marks cannot be read", async () => {
    const { task, markOther, setNow, damage } = aHub(1);
    markOther(1_000);
    setNow(2_000);
    await steps(task, 1);
    assert.equal(task.hurries!(), true);
    damage();
    await steps(task, 1);
    assert.equal(task.hurries!(), false);
  });

  it("are not behind because one identifier changes during each of them, and do not hurry", async () => {
    let change = (): unknown => null;
    const { task, markOther, markAgain, setNow, left } = aHub(1, () => void change());
    change = markAgain;
    markOther(1_000);
    let lookedAt = -Infinity;
    for (let n = 1; n < 30; n += 1) {
      setNow(n * 1_000 + 500);
      const begunAt = performance.now();
      await steps(task, 1);
      // A machine that stalls makes them late in truth.
      const isStalled = performance.now() - lookedAt > 50;
      lookedAt = begunAt;
      assert.deepEqual([task.isBehind!(), left("other")], [false, 1], `after ${n} s`);
      assert.equal(!isStalled && task.hurries!(), false, `after ${n} s`);
    }
  });
});

describe("Marks of one large profile", () => {
  it("are one look together", async () => {
    const { task, markHub, left, looks } = aHub(60_000);
    markHub(4_000, 1);
    await task.step();
    assert.deepEqual([left("hub"), looks()], [0, 1]);
  });

  it("hold up nobody else while it may not be looked at again, and cost little", async () => {
    const { task, markHub, markOther, left, looks, asked } = aHub(60_000);
    markHub(1, 1);
    await task.step();
    markHub(MANY, 2);
    markOther(MANY + 2);
    await steps(task, 2);
    assert.deepEqual([left("hub"), left("other"), looks()], [MANY, 0, 1]);
    // A walk over so many takes two steps, and then it does not ask all the time.
    const pauses = [await steps(task, 1), await steps(task, 1)];
    assert.equal(pauses.filter((ms) => ms > 0).length, 1);
    assert.equal(pauses[1]! > 0 || (await steps(task, 1)) > 0, true);
    assert.equal(task.isWaiting!(), true, "and is not at rest");
    await steps(task, 4);
    assert.equal(asked(), MANY + 2, "whom a mark names is asked once");
  });

  it("hold up nobody else either where they fail", async () => {
    let fails = true;
    const { task, markHub, markOther, left } = aHub(1, () => {
      if (fails) throw new TypeError("A fault of ours.");
    });
    markHub(MANY, 1);
    await task.step();
    fails = false;
    markOther(MANY + 2);
    await steps(task, 3);
    assert.deepEqual([left("hub"), left("other")], [MANY, 0]);
  });
});
