import assert from "node:assert/strict";
import { createLive } from "../../commands/live/live.js";
import { encodeMessage } from "../../core/event/message.js";
import { newId, type WorkspaceId } from "../../core/ids.js";
import { createMemoryLiveChannel } from "../../store/memory-live.js";
import { anEvent } from "../support/builders.js";
import { isAppError } from "../support/errors.js";
import { soon } from "../support/eventually.js";

const PLACES = 200;

describe("Workspaces that are watched live", () => {
  const watch = (workspace: WorkspaceId) => live.watch(workspace, () => {});
  let looks: Promise<unknown>;
  let live: ReturnType<typeof createLive>;
  let all: readonly WorkspaceId[];
  beforeEach(() => {
    looks = Promise.resolve();
    live = createLive({ channel: createMemoryLiveChannel(), lastErased: () => looks.then(() => 0) });
    all = Array.from({ length: PLACES }, () => newId<WorkspaceId>());
  });
  afterEach(() => live.close());
  const watchAll = () => Promise.all(all.map(watch));
  const seenBy = async (workspace: WorkspaceId): Promise<number> => {
    const { entries, stop } = await watch(workspace);
    stop();
    return entries.length;
  };

  it("take the place of those that nobody watches any more, the longest left first, and of no others", async () => {
    const watching = await watchAll();
    live.queued(all.map((workspace) => encodeMessage(anEvent({ workspace }))));
    for (const n of [3, 5, 7]) await soon(async () => assert.equal(await seenBy(all[n]!), 1));
    await assert.rejects(watch(newId<WorkspaceId>()), isAppError("unavailable"));
    for (const n of [7, 3, 5]) watching[n]!.stop();
    // Back before anybody needed the place.
    const back = await watch(all[7]!);
    const [one, other] = [newId<WorkspaceId>(), newId<WorkspaceId>()];
    const first = await watch(one);
    assert.equal(await seenBy(all[5]!), 1);
    await watch(other);
    await assert.rejects(watch(all[3]!), isAppError("unavailable"));
    assert.equal(back.entries.length, 1);
    first.stop();
    assert.equal(await seenBy(all[3]!), 0);
  });

  it("have a place of their own again where another took it while they began", async () => {
    const watching = await watchAll();
    let look = (): void => {};
    looks = new Promise<void>((resolve) => (look = resolve));
    const told: unknown[] = [];
    const beginning = live.watch(all[0]!, (batch) => told.push(batch));
    // Behind its beginning the last one leaves, and another one needs the place.
    await new Promise((resolve) => setImmediate(resolve));
    watching[0]!.stop();
    const taking = watch(newId<WorkspaceId>());
    await new Promise((resolve) => setImmediate(resolve));
    watching[1]!.stop();
    look();
    await Promise.all([beginning, taking]);
    live.queued([encodeMessage(anEvent({ workspace: all[0]! }))]);
    await soon(() => assert.equal(told.length, 1));
  });
});
