import assert from "node:assert/strict";
import { identifierKey } from "../../../core/event/event.js";
import { createNewKeyGuess } from "../../../graph/neo4j/repeats.js";
import { aWorkspace, anIdentifier, lettersOf } from "../../support/identity/fixtures.js";

const workspace = aWorkspace();
const keys = (letters: string) => lettersOf(letters).map((letter) => identifierKey(workspace, anIdentifier(letter)));
const aNovelty = (max = 100) => createNewKeyGuess({ max, stepsOfRun: 3 });

describe("The guess at what is new", () => {
  it("takes a set for new if nothing was seen of any of it, once", () => {
    const newKeys = aNovelty();
    newKeys.miss(keys("ab"));
    newKeys.miss(keys("c"));
    assert.deepEqual(
      ["abx", "bc", "c"].map((letters) => newKeys.takeAll(keys(letters))),
      [false, false, false],
      "what was asked for beside something else is used up",
    );
    newKeys.miss(keys("abc"));
    assert.deepEqual(
      ["ac", "b", "b"].map((letters) => newKeys.takeAll(keys(letters))),
      [true, true, false],
    );
    assert.equal(newKeys.takeAll([]), false);
  });

  it("sees a run after so many steps of a workspace, until one was not new", () => {
    const newKeys = aNovelty();
    for (let step = 0; step < 3; step++) {
      assert.ok(!newKeys.isRun(workspace));
      newKeys.confirm(workspace);
    }
    assert.ok(newKeys.isRun(workspace));
    assert.ok(!newKeys.isRun(aWorkspace()));
    newKeys.deny(workspace);
    assert.ok(!newKeys.isRun(workspace));
    newKeys.confirm(workspace);
    assert.ok(!newKeys.isRun(workspace), "it begins anew");
  });

  it("takes nothing for new any more that a run alone took for it, once the run is over", () => {
    const newKeys = aNovelty();
    const elsewhere = identifierKey(aWorkspace(), anIdentifier("a"));
    newKeys.miss([...keys("ab"), elsewhere]);
    newKeys.deny(workspace);
    assert.ok(newKeys.takeAll(keys("a")), "it was looked for: there was no run");
    for (let step = 0; step < 3; step++) newKeys.confirm(workspace);
    newKeys.deny(workspace);
    assert.deepEqual([newKeys.takeAll(keys("b")), newKeys.takeAll([elsewhere])], [false, true]);
  });

  it("forgets rather than grows", () => {
    const newKeys = aNovelty(2);
    newKeys.miss(keys("ab"));
    newKeys.miss(keys("c"));
    assert.ok(!newKeys.takeAll(keys("a")));
    assert.ok(newKeys.takeAll(keys("c")));
    for (let n = 0; n < 3; n++) newKeys.confirm(workspace);
    for (let n = 0; n < 2; n++) newKeys.confirm(aWorkspace());
    assert.ok(!newKeys.isRun(workspace));
  });
});
