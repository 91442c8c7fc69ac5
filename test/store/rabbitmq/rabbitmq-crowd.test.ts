import assert from "node:assert/strict";
import { createCrowd, type Crowd } from "../../../store/rabbitmq/consumer/crowd.js";

const PLACES = 100;

describe("The places of the express queue in a worker", () => {
  const enter = (crowd: Crowd, workspace: string, count: number): readonly (() => void)[] =>
    Array.from({ length: count }, () => crowd.enter(workspace));

  it("are for whoever comes while half of them are free", () => {
    const crowd = createCrowd(PLACES);
    enter(crowd, "flooder", PLACES / 2);
    assert.equal(crowd.isCrowdedBy("flooder"), false);
    enter(crowd, "flooder", 1);
    assert.equal(crowd.isCrowdedBy("flooder"), true);
  });

  it("are divided by those who have some once half are taken", () => {
    const crowd = createCrowd(PLACES);
    const leave = enter(crowd, "flooder", PLACES / 2);
    enter(crowd, "neighbour", PLACES / 4);
    assert.deepEqual([crowd.isCrowdedBy("flooder"), crowd.isCrowdedBy("neighbour")], [true, false]);
    enter(crowd, "neighbour", 1);
    assert.equal(crowd.isCrowdedBy("neighbour"), true);
    for (const one of leave) one();
    assert.equal(crowd.isCrowdedBy("neighbour"), false, "the other is gone, and few places are taken");
  });

  it("never run out for one more workspace, where each leaves those that are too many", () => {
    const crowd = createCrowd(PLACES);
    let held = 0;
    for (const workspace of Array.from({ length: 2_000 }, (_, n) => (n < 1_000 ? "a" : "b"))) {
      const leave = crowd.enter(workspace);
      if (crowd.isCrowdedBy(workspace)) leave();
      else held += 1;
    }
    assert.ok(held < PLACES, `${held}`);
    enter(crowd, "c", 1);
    assert.equal(crowd.isCrowdedBy("c"), false);
  });

  it("are one for each workspace at least", () => {
    const crowd = createCrowd(1);
    enter(crowd, "a", 1);
    assert.equal(crowd.isCrowdedBy("a"), false);
    enter(crowd, "a", 1);
    assert.equal(crowd.isCrowdedBy("a"), true);
  });
});
