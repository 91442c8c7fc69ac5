import assert from "node:assert/strict";
import { newId, type DeadLetterId, type WorkspaceId } from "../../../core/ids.js";
import { aDeadLetter } from "../../support/builders.js";
import { listAt, textAt, useApp } from "../../support/service/app.js";

describe("A list of dead letters that looks at more than one request may", () => {
  /** As if there were thousands between any two of these times. */
  const STRETCHES = [10, 9, 8, 7, 6];
  const app = useApp(
    {},
    {
      wrap: (backends) => ({
        ...backends,
        events: {
          ...backends.events,
          letterBehind: async (_, { before }) => {
            const at = STRETCHES.find((one) => before === null || one < before.at);
            return at === undefined ? null : { at, deadLetterId: newId<DeadLetterId>() };
          },
        },
      }),
    },
  );

  it("answers without any, at once though it may wait, and goes on with its cursor", async () => {
    const workspace = await app().workspace();
    const letter = aDeadLetter({ workspace: workspace.id as WorkspaceId, at: 1, reason: "rejected", replayed: 1 });
    await app().service.backends.events.bury(letter);
    const path = "/v1/dead-letters?reason=rejected&state=replayed";
    const before = performance.now();
    const { body } = await workspace.send("GET", `${path}&wait=10`);
    assert.ok(performance.now() - before < 8_000, "it did not wait");
    assert.deepEqual(listAt(body, "dead_letters"), []);
    const next = await workspace.send("GET", `${path}&cursor=${textAt(body, "next_cursor")}`);
    assert.deepEqual(
      listAt(next.body, "dead_letters").map((one) => (one as { readonly dead_letter_id: string }).dead_letter_id),
      [letter.deadLetterId],
    );
    assert.equal(next.body["next_cursor"], null);
  });
});
