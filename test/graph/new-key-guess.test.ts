import assert from "node:assert/strict";
import { identifierKey } from "../../core/event/event.js";
import { createNovelty } from "../../graph/neo4j/new-key-guess.js";
import { aWorkspace, anIdentifier, lettersOf } from "../support/identity/fixtures.js";

const workspace = aWorkspace();
const keys = (letters: string) => lettersOf(letters).map((letter) => identifierKey(workspace, anIdentifier(letter)));
const aNovelty = (max = 100) => createNovelty({ max, stepsOfRun: 3 });

describe("The guess at what is new", () => {
  it("takes a set for new if nothing was seen of any of it, once", () => {
    const novelty = aNovelty();
    novelty.miss(keys("ab"));
    novelty.miss(keys("c"));
    assert.deepEqual(
      ["abx", "bc", "c"].map((letters) => novelty.takeAll(keys(letters))),
      [false, false, false],
      "what was asked for beside something else is used up",
    );
    novelty.miss(keys("abc"));
    assert.deepEqual(
      ["ac", "b", "b"].map((letters) => novelty.takeAll(keys(letters))),
      [true, true, false],
    );
    assert.equal(novelty.takeAll([]), false);
  });

  it("sees a run after so many steps of a workspace, until one was not new", () => {
    const novelty = aNovelty();
    for (let step = 0; step < 3; step++) {
      assert.ok(!novelty.isRun(workspace));
      novelty.confirm(workspace);
    }
    assert.ok(novelty.isRun(workspace));
    assert.ok(!novelty.isRun(aWorkspace()));
    novelty.deny(workspace);
    assert.ok(!novelty.isRun(workspace));
    novelty.confirm(workspace);
    assert.ok(!novelty.isRun(workspace), "it begins anew");
  });

  it("takes nothing for new any more that a run alone took for it, once the run is over", () => {
    const novelty = aNovelty();
    const elsewhere = identifierKey(aWorkspace(), anIdentifier("a"));
    novelty.miss([...keys("ab"), elsewhere]);
    novelty.deny(workspace);
    assert.ok(novelty.takeAll(keys("a")), "it was looked for: there was no run");
    for (let step = 0; step < 3; step++) novelty.confirm(workspace);
    novelty.deny(workspace);
    assert.deepEqual([novelty.takeAll(keys("b")), novelty.takeAll([elsewhere])], [false, true]);
  });

  it("forgets rather than grows", () => {
    const novelty = aNovelty(2);
    novelty.miss(keys("ab"));
    novelty.miss(keys("c"));
    assert.ok(!novelty.takeAll(keys("a")));
    assert.ok(novelty.takeAll(keys("c")));
    for (let n = 0; n < 3; n++) novelty.confirm(workspace);
    for (let n = 0; n < 2; n++) novelty.confirm(aWorkspace());
    assert.ok(!novelty.isRun(workspace));
  });
});
