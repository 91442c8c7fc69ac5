import assert from "node:assert/strict";
import { isUnavailable } from "../../../core/errors.js";
import { setTimeout as sleep } from "node:timers/promises";
import { createLimiter } from "../../../graph/scheduling/limiter.js";
import { createLine } from "../../../graph/scheduling/line.js";
import { createPace } from "../../../graph/scheduling/pace.js";
import { aWorkspace } from "../../support/identity/fixtures.js";

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

const here = (): { expired: boolean } => ({ expired: false });

describe("Limiter of work on whole profiles", () => {
  const [one, other, third] = [aWorkspace(), aWorkspace(), aWorkspace()];
  const begun = (pieces: readonly ReturnType<typeof aPiece>[]) => pieces.map(({ hasBegun }) => hasBegun());

  it("lets only so many go on at once; the next begins when one ends, however it ends", async () => {
    const limiter = createLimiter({ atOnceMax: 3, waitingMax: 10 });
    const pieces = [aPiece(), aPiece(), aPiece()];
    const failed = limiter.take(one, here(), () => Promise.reject(new Error("refused")));
    const answers = pieces.map(({ work }) => limiter.take(one, here(), work));
    await assert.rejects(failed, /refused/);
    await turnOfTheLoop();
    assert.deepEqual(begun(pieces), [true, true, false]);
    pieces[0]!.end();
    assert.equal(await answers[0], "done");
    await turnOfTheLoop();
    assert.equal(pieces[2]!.hasBegun(), true);
  });

  it("leaves a place free for others, however much one workspace has", async () => {
    const limiter = createLimiter({ atOnceMax: 2, waitingMax: 10 });
    const own = [aPiece(), aPiece(), aPiece()];
    for (const { work } of own) void limiter.take(one, here(), work);
    const [first, second] = [aPiece(), aPiece()];
    void limiter.take(other, here(), first.work);
    void limiter.take(third, here(), second.work);
    await turnOfTheLoop();
    assert.deepEqual(begun([...own, first, second]), [true, false, false, true, false]);
  });

  it("gives workspaces turns: whoever comes last waits behind one piece of each, not behind all of one", async () => {
    const limiter = createLimiter({ atOnceMax: 2, waitingMax: 10 });
    const held = [aPiece(), aPiece()];
    void limiter.take(third, here(), held[0]!.work);
    void limiter.take(aWorkspace(), here(), held[1]!.work);
    const order: string[] = [];
    const piece = (name: string) => async () => void order.push(name);
    const answers = ["a", "a", "a"].map((name) => limiter.take(one, here(), piece(name)));
    answers.push(limiter.take(other, here(), piece("b")));
    held[0]!.end();
    await Promise.all(answers);
    assert.deepEqual(order, ["a", "b", "a", "a"]);
  });

  it("leaves out those for whom nobody waits any more, and refuses what is too much of one workspace alone", async () => {
    const limiter = createLimiter({ atOnceMax: 2, waitingMax: 1 });
    const [first, late, others] = [aPiece(), aPiece(), aPiece()];
    const call = here();
    const answer = limiter.take(one, here(), first.work);
    let refused: unknown = null;
    limiter.take(one, call, late.work).catch((error: unknown) => (refused = error));
    await assert.rejects(limiter.take(one, here(), late.work), isUnavailable);
    void limiter.take(other, here(), others.work);
    assert.equal(others.hasBegun(), true);
    call.expired = true;
    first.end();
    await answer;
    await turnOfTheLoop();
    assert.equal(late.hasBegun(), false);
    assert.ok(isUnavailable(refused), "whoever asked for it is answered");
  });

  it("counts nobody as waiting who has gone", async () => {
    const limiter = createLimiter({ atOnceMax: 2, waitingMax: 1 });
    const [first, gone, next] = [aPiece(), aPiece(), aPiece()];
    const call = here();
    const answer = limiter.take(one, here(), first.work);
    let refused: unknown = null;
    limiter.take(one, call, gone.work).catch((error: unknown) => (refused = error));
    call.expired = true;
    const nexts = limiter.take(one, here(), next.work);
    await turnOfTheLoop();
    assert.ok(isUnavailable(refused), "whoever asked for it is answered");
    first.end();
    await answer;
    await turnOfTheLoop();
    assert.deepEqual(begun([gone, next]), [false, true]);
    next.end();
    await nexts;
  });
});

describe("Pace of long work", () => {
  const slow = () => sleep(110);
  const quick = () => Promise.resolve();

  it("halves the next step after a slow one and doubles it after a quick one, between the least and the most", async () => {
    const { size, timed } = createPace({ max: 250, min: 100 });
    const sizes = [size()];
    for (const step of [slow, slow, quick, quick]) {
      await timed(step);
      sizes.push(size());
    }
    assert.deepEqual(sizes, [250, 125, 100, 200, 250]);
  });

  it("keeps a step that is small anyway, and passes on what it answers or throws", async () => {
    const { size, timed } = createPace({ max: 2, min: 100 });
    await timed(slow);
    assert.deepEqual([size(), await timed(async () => "answer")], [2, "answer"]);
    await assert.rejects(
      timed(() => Promise.reject(new Error("refused"))),
      /refused/,
    );
  });
});

describe("Line of the undos of each workspace", () => {
  it("runs the work of a workspace in its order, however it ends, and keeps nobody else waiting", async () => {
    const line = createLine();
    const [workspace, other] = [aWorkspace(), aWorkspace()];
    const [first, next, beside] = [aPiece(), aPiece(), aPiece()];
    const failed = line(workspace, () => first.work().then(() => Promise.reject(new Error("refused"))));
    const works = [line(workspace, next.work), line(other, beside.work)];
    await turnOfTheLoop();
    assert.deepEqual(
      [first, next, beside].map(({ hasBegun }) => hasBegun()),
      [true, false, true],
    );
    first.end();
    await assert.rejects(failed, /refused/);
    await turnOfTheLoop();
    assert.equal(next.hasBegun(), true);
    next.end();
    beside.end();
    assert.deepEqual(await Promise.all(works), ["done", "done"]);
  });
});
