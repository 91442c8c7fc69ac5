import assert from "node:assert/strict";
import { AppError } from "../../../core/errors.js";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import { CLIENT_LEFT } from "../../../gateway/http/bytes-in-flight.js";
import { createAtOnce } from "../../../gateway/access/at-once.js";

const refusal = (): AppError => new AppError("rate_limited", "Too many.");
const [one, other] = [newId<WorkspaceId>(), newId<WorkspaceId>()];

/** Work that ends when it is told to. */
function held() {
  const ends: (() => void)[] = [];
  return {
    ends,
    work: (): Promise<number> => new Promise((resolve) => ends.push(() => resolve(ends.length))),
  };
}
const never = (): boolean => false;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("What a workspace may have under way at once", () => {
  it("is so many, of each workspace; those beyond begin in their order, whatever became of those before", async () => {
    const atOnce = createAtOnce({ max: 2, waitMs: 60_000, refusal });
    const { ends, work } = held();
    const begun: string[] = [];
    const begin = (workspace: WorkspaceId, name: string): Promise<number> =>
      atOnce({ workspace, isGone: never }, () => {
        begun.push(name);
        return work();
      });
    const failed = atOnce({ workspace: one, isGone: never }, async () => {
      await turn();
      throw new Error("failed");
    });
    const all = [begin(one, "first"), begin(one, "second"), begin(one, "third"), begin(other, "other")];
    await turn();
    assert.deepEqual(begun.splice(0), ["first", "other"]);
    await assert.rejects(failed, /failed/);
    await turn();
    assert.deepEqual(begun.splice(0), ["second"]);
    ends[0]!();
    await turn();
    assert.deepEqual(begun, ["third"]);
    for (const end of ends) end();
    await Promise.all(all);
  });

  it("is refused to one that has waited its time, which then takes nobody's place", async () => {
    const atOnce = createAtOnce({ max: 1, waitMs: 5, refusal });
    const { ends, work } = held();
    const first = atOnce({ workspace: one, isGone: never }, work);
    await assert.rejects(atOnce({ workspace: one, isGone: never }, work), refusal());
    ends[0]!();
    await first;
    const second = atOnce({ workspace: one, isGone: never }, work);
    await turn();
    assert.equal(ends.length, 2);
    ends[1]!();
    await second;
  });

  it("is refused at once behind fifty of the workspace that wait, because each of them holds what it sent", async () => {
    const atOnce = createAtOnce({ max: 1, waitMs: 60_000, refusal });
    const { ends, work } = held();
    const first = atOnce({ workspace: one, isGone: never }, work);
    const waiting = Array.from({ length: 50 }, () => atOnce({ workspace: one, isGone: never }, async () => "done"));
    const further = atOnce({ workspace: one, isGone: never }, async () => "too many").catch(() => "refused");
    await turn();
    ends[0]!();
    assert.equal(await further, "refused");
    await first;
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set(["done"]));
  });

  it("leaves out one who is gone while it waits", async () => {
    const atOnce = createAtOnce({ max: 1, waitMs: 60_000, refusal });
    const { ends, work } = held();
    const first = atOnce({ workspace: one, isGone: never }, work);
    const gone = atOnce({ workspace: one, isGone: () => true }, work);
    const next = atOnce({ workspace: one, isGone: never }, async () => "next");
    await turn();
    ends[0]!();
    await first;
    await assert.rejects(gone, CLIENT_LEFT);
    assert.equal(await next, "next");
    assert.equal(ends.length, 1);
  });
});
