import assert from "node:assert/strict";
import { afterTry, resumed, withTurn } from "../../../core/webhook/webhook.js";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import { aWebhook } from "../../contracts/catalog/webhook-store.contract.js";

const begun = aWebhook(newId<WorkspaceId>(), { delivered: 4 });
const sending = withTurn(begun, { first: 5, last: 7 }, { turnId: newId(), by: newId(), until: 100 });
const failed = afterTry(sending, { kind: "failed", error: "It answered 500.", retryAfterMs: null }, 10, 0.5);

describe("A webhook after a try", () => {
  it("has failed no more once its batch was taken, so that a later failure begins anew", () => {
    assert.deepEqual(
      [failed.delivered, failed.failing, failed.batch],
      [4, { since: 10, tries: 1 }, { first: 5, last: 7 }],
    );
    const taken = afterTry(failed, { kind: "delivered" }, 20, 0.5);
    assert.deepEqual([taken.delivered, taken.failing, taken.batch, taken.nextTryAt], [7, null, null, 0]);
  });

  it("that is set back has no batch any more and nobody who sends it; one that only goes on keeps its batch", () => {
    const back = resumed({ ...sending, isStopped: true }, 2);
    assert.deepEqual([back.delivered, back.batch, back.turn, back.replays, back.isStopped], [2, null, null, 1, false]);
    const goesOn = resumed({ ...failed, isStopped: true }, null);
    assert.deepEqual([goesOn.delivered, goesOn.batch, goesOn.replays, goesOn.isStopped], [4, failed.batch, 0, false]);
  });
});
