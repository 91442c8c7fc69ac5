import assert from "node:assert/strict";
import { PER_LOOK } from "../../keeper/audiences/deps.js";
import { eventually } from "../support/eventually.js";
import { textAt, useApp } from "../support/service/app.js";
import { itemOf } from "../support/service/batch.js";

describe("An audience of more profiles than one look takes", () => {
  const app = useApp();

  it("has all of them once it is live", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema();
    const people = Array.from({ length: 2 * PER_LOOK + 1 }, (_, n) => ({ email: `p${n}@example.com`, city: "Paris" }));
    for (let from = 0; from < people.length; from += 100) {
      const events = people.slice(from, from + 100).map((payload) => itemOf(schemaId, payload));
      const sent = await workspace.send("POST", "/v1/collect/batch", { events });
      assert.equal(sent.status, 202, sent.text);
    }
    const { queue } = app().service.backends;
    await eventually("all are folded", async () => (await queue.depth()) === 0);
    const rule = { "traits.city": "Paris" };
    const made = await workspace.send("POST", "/v1/audiences", { name: "all", rule });
    await app().service.keeper!.rest();
    const { body } = await workspace.send("GET", `/v1/audiences/${textAt(made.body, "audience_id")}`);
    assert.deepEqual([body["state"], body["size"]], ["live", people.length]);
  });
});
