import assert from "node:assert/strict";
import { errorPaths, textAt, useApp } from "../../support/service/app.js";
import { startReceiver } from "../../support/service/receiver.js";

describe("Webhooks without WEBHOOK_PRIVATE", () => {
  const app = useApp();

  it("refuse http and addresses that are no public ones, also when a name leads there", async () => {
    const workspace = await app().workspace();
    const receiver = await startReceiver();
    try {
      const { port } = new URL(receiver.url);
      for (const url of [
        receiver.url,
        "http://example.com/",
        `https://127.0.0.1:${port}/`,
        "https://2130706433/",
        "https://0x7f.1/",
        "https://0/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:a9fe:a9fe]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[fd00::1]/",
        "https://10.1.2.3/",
        "https://100.64.0.1/",
        "https://169.254.169.254/latest/meta-data/",
      ]) {
        const answer = await workspace.send("POST", "/v1/webhooks", { url });
        assert.deepEqual([answer.status, errorPaths(answer)], [422, ["url"]], url);
      }
      const made = await workspace.send("POST", "/v1/webhooks", { url: `https://localhost:${port}/` });
      assert.equal(made.status, 201, "a name is looked at each time that something is sent");
      const tested = await workspace.send("POST", `/v1/webhooks/${textAt(made.body, "webhook_id")}/test`);
      assert.deepEqual(tested.body, { status: null, error: "The url was refused: the address is not a public one." });
      assert.equal(receiver.received.length, 0);
    } finally {
      await receiver.close();
    }
  });
});
