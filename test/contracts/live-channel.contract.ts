import assert from "node:assert/strict";
import { newId, type WorkspaceId } from "../../core/ids.js";
import type { LiveChannel } from "../../core/ports/live-channel.js";
import type { Contract } from "../support/contract.js";
import { soon } from "../support/eventually.js";
import { isAppError } from "../support/errors.js";

const workspace = (): WorkspaceId => newId<WorkspaceId>();

/** What is heard of a workspace, as text. */
async function hear(port: LiveChannel, of: WorkspaceId) {
  const heard: string[] = [];
  const stop = await port.watch(of, (message) => heard.push(message.toString("utf8")));
  return { heard, stop };
}

export const liveChannelContract: Contract<LiveChannel> = {
  "hands what is told to all who watch, in order": async ({ port }) => {
    const of = workspace();
    const [one, two] = [await hear(port, of), await hear(port, of)];
    for (const text of ["a", "b", "ä"]) port.tell(of, Buffer.from(text));
    await soon(() =>
      assert.deepEqual(
        [one.heard, two.heard],
        [
          ["a", "b", "ä"],
          ["a", "b", "ä"],
        ],
      ),
    );
  },
  "tell and watch and isWatched keep workspaces apart": async ({ port }) => {
    const [of, other] = [workspace(), workspace()];
    const [own, others] = [await hear(port, of), await hear(port, other)];
    port.tell(of, Buffer.from("mine"));
    port.tell(other, Buffer.from("theirs"));
    await soon(() => assert.deepEqual([own.heard, others.heard], [["mine"], ["theirs"]]));
    own.stop();
    assert.deepEqual([port.isWatched(of), port.isWatched(other)], [false, true]);
  },
  "knows what is watched, and forgets it when the last one stops": async ({ port }) => {
    const of = workspace();
    assert.equal(port.isWatched(of), false);
    const [one, two] = [await hear(port, of), await hear(port, of)];
    one.stop();
    one.stop();
    assert.equal(port.isWatched(of), true);
    two.stop();
    assert.equal(port.isWatched(of), false);
  },
  "tells nothing to who stopped": async ({ port }) => {
    const of = workspace();
    const [gone, here] = [await hear(port, of), await hear(port, of)];
    gone.stop();
    port.tell(of, Buffer.from("after"));
    await soon(() => assert.deepEqual(here.heard, ["after"]));
    assert.deepEqual(gone.heard, []);
  },
  "knows nothing of before after close and reopen": async ({ port, reopen }) => {
    const of = workspace();
    const { heard } = await hear(port, of);
    const again = await reopen();
    assert.equal(again.isWatched(of), false);
    again.tell(of, Buffer.from("late"));
    assert.deepEqual(heard, []);
  },
  "is unavailable once it is closed": async ({ port }) => {
    await port.ready();
    await port.close();
    await port.close();
    await assert.rejects(port.ready(), isAppError("unavailable"));
    await assert.rejects(hear(port, workspace()), isAppError("unavailable"));
    port.tell(workspace(), Buffer.from("nobody hears"));
  },
};
