import assert from "node:assert/strict";
import { PUBLISHED_BYTES_MAX } from "../../../core/ports/event-queue.js";
import { useApp } from "../../support/service/app.js";
import { sendSdk, track } from "../../support/sdk/client.js";

describe("An SDK's body whose calls are more than the queue takes in one step", () => {
  const app = useApp({ SDK_BODY_BYTES_MAX: "16777216" });

  it("is taken whole", async () => {
    const workspace = await app().workspace();
    const calls = Array.from({ length: 66 }, (_, n) => track({ messageId: `m-${n}`, t: "x".repeat(249_000) }));
    const body = JSON.stringify({ batch: calls });
    assert.ok(body.length > PUBLISHED_BYTES_MAX && body.length < 16_777_216);
    const answer = await sendSdk(app(), "/v1/batch", { key: await workspace.key("collect"), body });
    assert.deepEqual([answer.status, answer.body["accepted"]], [200, 66], answer.text.slice(0, 500));
  });
});
