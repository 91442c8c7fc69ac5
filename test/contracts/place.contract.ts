import assert from "node:assert/strict";
import type { CatalogPlace, MoveMark } from "../../core/ports/copying.js";
import type { Contract } from "../support/contract.js";

/** A place has nothing to close of its own. */
export type ClosablePlace = CatalogPlace & { close(): Promise<void> };

const LEAVING: MoveMark = { moveId: "m1", state: "leaving", other: "there" };
const LEFT: MoveMark = { ...LEAVING, state: "left" };

export const placeContract: Contract<ClosablePlace> = {
  "keeps a mark until it is taken away, across close and reopen": async ({ port, reopen }) => {
    assert.equal(await port.mark(), null);
    await port.setMark(LEAVING);
    await port.setMark(LEFT);
    const again = await reopen();
    assert.deepEqual(await again.mark(), LEFT);
    for (let times = 0; times < 2; times += 1) await again.setMark(null);
    assert.equal(await again.mark(), null);
  },

  "puts a mark in the place of the one that is named, and answers so as often as it is asked": async ({ port }) => {
    for (const mark of [LEFT, null]) {
      await port.setMark(LEAVING);
      for (let times = 0; times < 2; times += 1) assert.equal(await port.replaceMark(LEAVING, mark), true);
      assert.deepEqual(await port.mark(), mark);
    }
  },

  "leaves a mark of another move or state, or none, as it is, and says so": async ({ port }) => {
    for (const standing of [null, LEFT, { ...LEAVING, moveId: "m2" }]) {
      await port.setMark(standing);
      const mark: MoveMark = { moveId: "m3", state: "left", other: "there" };
      assert.equal(await port.replaceMark(LEAVING, mark), false);
      if (standing !== null) assert.equal(await port.replaceMark(LEAVING, null), false);
      assert.deepEqual(await port.mark(), standing);
    }
  },

  "has the secret that it was given last, across close and reopen": async ({ port, reopen }) => {
    for (const word of ["first", "second"]) await port.adopt(Buffer.from(word));
    assert.equal((await (await reopen()).secret())?.toString(), "second");
  },

  "has no secret before anything opened it": async ({ port }) => {
    assert.equal(await port.secret(), null);
  },

  "lets one of those win who replace a mark at once": async ({ port }) => {
    await port.setMark(LEAVING);
    const marks = [0, 1, 2, 3, 4].map((n): MoveMark => ({ moveId: `n${n}`, state: "left", other: "there" }));
    const answers = await Promise.all(marks.map((mark) => port.replaceMark(LEAVING, mark)));
    assert.equal(answers.filter((isThere) => isThere).length, 1);
    assert.deepEqual(await port.mark(), marks[answers.indexOf(true)]);
  },
};
