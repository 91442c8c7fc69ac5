import assert from "node:assert/strict";
import { createGroupRead } from "../../store/embedded/group-read.js";

describe("Reads of one turn", () => {
  const counting = () => {
    let transactions = 0;
    const reads = createGroupRead((work) => {
      transactions += 1;
      work();
    });
    return { reads, count: () => transactions };
  };

  it("share one transaction, and each gets its own answer", async () => {
    const { reads, count } = counting();
    const answers = await Promise.all([1, 2, 3].map((n) => reads.read(() => n * 2)));
    assert.deepEqual(answers, [2, 4, 6]);
    assert.equal(count(), 1);
    await Promise.all([reads.read(() => 1), reads.read(() => 2)]);
    assert.equal(count(), 2);
  });

  it("need no transaction when one is alone", async () => {
    const { reads, count } = counting();
    assert.equal(await reads.read(() => 7), 7);
    assert.equal(count(), 0);
  });

  it("fail alone", async () => {
    const { reads } = counting();
    const failing = reads.read(() => {
      throw new Error("mine");
    });
    const fine = reads.read(() => 1);
    await assert.rejects(failing, /mine/);
    assert.equal(await fine, 1);
  });

  it("all fail when their transaction does, and the next ones are tried again", async () => {
    let broken = true;
    const reads = createGroupRead((work) => {
      if (broken) throw new Error("broken");
      work();
    });
    const settled = await Promise.allSettled([reads.read(() => 1), reads.read(() => 2)]);
    assert.deepEqual(new Set(settled.map(({ status }) => status)), new Set(["rejected"]));
    broken = false;
    assert.deepEqual(await Promise.all([reads.read(() => 1), reads.read(() => 2)]), [1, 2]);
  });

  it("run at once when flushed", () => {
    const { reads } = counting();
    let ran = 0;
    void reads.read(() => (ran += 1));
    reads.flush();
    assert.equal(ran, 1);
  });
});
