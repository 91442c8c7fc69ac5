import assert from "node:assert/strict";
import { isUnavailable } from "../../core/errors.js";
import { createLimiter } from "../../graph/scheduling/limiter.js";

const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Work that ends when the test says so. */
function aPiece() {
  let end = (): void => undefined;
  let begun = false;
  const work = (): Promise<string> => {
    begun = true;
    return new Promise((resolve) => (end = () => resolve("done")));
  };
  return { work, hasBegun: () => begun, end: () => end() };
}

describe("Limiter of work on whole profiles", () => {
  it("let only so many go on at once; the next begins when one ends, however it ends", async () => {
    const turns = createLimiter(2, 10);
    const pieces = [aPiece(), aPiece(), aPiece()];
    const failed = turns.take({ expired: false }, () => Promise.reject(new Error("refused")));
    const answers = pieces.map(({ work }) => turns.take({ expired: false }, work));
    await assert.rejects(failed, /refused/);
    await turnOfTheLoop();
    assert.deepEqual(
      pieces.map(({ hasBegun }) => hasBegun()),
      [true, true, false],
    );
    pieces[0]!.end();
    assert.equal(await answers[0], "done");
    await turnOfTheLoop();
    assert.equal(pieces[2]!.hasBegun(), true);
  });

  it("leave out those for whom nobody waits any more, and refuse what is too much", async () => {
    const turns = createLimiter(1, 1);
    const [first, late] = [aPiece(), aPiece()];
    const call = { expired: false };
    const answer = turns.take({ expired: false }, first.work);
    void turns.take(call, late.work);
    await assert.rejects(turns.take({ expired: false }, late.work), isUnavailable);
    call.expired = true;
    first.end();
    await answer;
    await turnOfTheLoop();
    assert.equal(late.hasBegun(), false);
  });
});
