import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { packList, unpackList } from "../../../store/rabbitmq/list.js";
import { messagesOf } from "../../support/queue.js";
import { WORKSPACES } from "../../support/worker-bench.js";

describe("A list of messages for RabbitMQ", () => {
  const lists: readonly (readonly Buffer[])[] = [
    [Buffer.alloc(0), Buffer.from("\n"), randomBytes(1_000)],
    messagesOf(WORKSPACES[0], 100),
    [packList([Buffer.from("a")]), packList([])],
  ];

  it("comes apart as it was put together, whatever the messages are", () => {
    for (const list of lists) assert.deepEqual(unpackList(packList(list)), list);
  });

  it("is told from a message of ours", () => {
    for (const message of messagesOf(WORKSPACES[0], 2)) assert.deepEqual(unpackList(message), [message]);
  });

  it("that is none stays one message, so that nothing of it is lost", () => {
    const sound = packList(lists[0]!);
    for (const body of [
      Buffer.alloc(0),
      Buffer.from("foreign"),
      sound.subarray(0, -1),
      Buffer.concat([sound, Buffer.from("x")]),
      sound.subarray(0, 12),
      ...["[]", "[-1,1]", "[0.5]", '["1"]', "[1e99]", "[null]"].map((list) => Buffer.from(`{"list":${list}}\nx`)),
    ])
      assert.deepEqual(unpackList(body), [body], body.toString("latin1", 0, 20));
  });
});
