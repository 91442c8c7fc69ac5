import assert from "node:assert/strict";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import { openRabbitLiveChannel } from "../../../store/rabbitmq/live.js";
import { soon } from "../../support/eventually.js";
import { aQueueName } from "../../support/servers/rabbitmq-backend.js";
import { SERVERS } from "../../support/servers/servers.js";

const TELL_MS = 100;

describe("Two gateways on RabbitMQ", () => {
  const open = (name: string) =>
    openRabbitLiveChannel({ url: SERVERS!.RABBITMQ_URL, name, onError: () => {}, tellMs: TELL_MS });

  it("tell each other what comes in, as long as somebody watches", async () => {
    const name = aQueueName();
    const [one, two] = [await open(name), await open(name)];
    try {
      const [watched, other] = [newId<WorkspaceId>(), newId<WorkspaceId>()];
      const heard: string[] = [];
      const stop = await one.watch(watched, (message) => heard.push(message.toString()));
      await soon(() => assert.deepEqual([two.isWatched(watched), two.isWatched(other)], [true, false]));
      two.tell(watched, Buffer.from("seen"));
      two.tell(other, Buffer.from("not seen"));
      await soon(() => assert.deepEqual(heard, ["seen"]));
      stop();
      await soon(() => assert.equal(two.isWatched(watched), false));
      two.tell(watched, Buffer.from("late"));
      const again = await one.watch(other, (message) => heard.push(message.toString()));
      two.tell(other, Buffer.from("other"));
      await soon(() => assert.deepEqual(heard, ["seen", "other"]));
      again();
    } finally {
      await Promise.all([one.close(), two.close()]);
    }
  });

  it("of different queue names hear nothing of each other", async () => {
    const [one, two] = [await open(aQueueName()), await open(aQueueName())];
    try {
      const workspace = newId<WorkspaceId>();
      const heard: string[] = [];
      await one.watch(workspace, (message) => heard.push(message.toString()));
      await new Promise((resolve) => setTimeout(resolve, 3 * TELL_MS));
      assert.equal(two.isWatched(workspace), false);
      two.tell(workspace, Buffer.from("elsewhere"));
      one.tell(workspace, Buffer.from("here"));
      await soon(() => assert.deepEqual(heard, ["here"]));
    } finally {
      await Promise.all([one.close(), two.close()]);
    }
  });
});
