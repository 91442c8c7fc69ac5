import assert from "node:assert/strict";
import { newId, type MarkId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { Mark } from "../../core/ports/mark-store.js";
import { createMarkWalk } from "../../keeper/audiences/mark-walk.js";

const PER_STEP = 256;

/** A workspace with so many marks, and the walk through them; each step takes 256, in the order of their numbers. */
function aWalk(count: number) {
  const workspace = newId<WorkspaceId>();
  const all = Array.from({ length: count }, (_, n): Mark => {
    return { workspace, uid: newId<Uid>(), markId: newId<MarkId>(), since: n + 1 };
  });
  const marks = async (limit: number, after: Mark | string | null = null): Promise<readonly Mark[]> => {
    if (typeof after === "string") return [];
    return all.filter(({ since }) => since > (after?.since ?? 0)).slice(0, limit);
  };
  const walk = createMarkWalk({ marks });
  const step = async (): Promise<readonly number[]> => {
    const taken: number[] = [];
    await walk.step({
      take: async (some) => void taken.push(...some.map(({ since }) => since)),
      isFull: () => taken.length >= PER_STEP,
      hasOpen: () => true,
      isParked: () => false,
    });
    return taken;
  };
  return { walk, step };
}

const from = (first: number, count: number): readonly number[] => Array.from({ length: count }, (_, n) => first + n);

describe("The walk through the marks", () => {
  it("goes on behind those that it has seen, and has an eye on the oldest", async () => {
    const { step } = aWalk(1_000);
    assert.deepEqual(await step(), from(1, 256));
    assert.deepEqual(await step(), [...from(1, 64), ...from(257, 192)]);
  });

  it("takes the oldest again after a rewind: some of them came again while they were looked at", async () => {
    const { step, walk } = aWalk(1_000);
    await step();
    walk.rewind();
    assert.deepEqual(await step(), from(1, 256));
    assert.deepEqual(await step(), [...from(1, 64), ...from(257, 192)]);
  });
});
