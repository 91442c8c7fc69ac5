import assert from "node:assert/strict";
import { mapOne, unfitOf } from "../../support/sdk/mapping.js";

describe("Whom an SDK's call names that is no event", () => {
  const levels = `${"[".repeat(70)}${"]".repeat(70)}`;
  const cases: readonly (readonly [string, string, string])[] = [
    ["a key twice", '"userId":"ada","userId":"bob"', "userId"],
    ["a key twice further in", '"context":{"traits":{"email":"ada"},"traits":{}}', "context.traits"],
    ["a key twice behind too many levels", `"a":${levels},"userId":"ada","userId":"bob"`, `a${".0".repeat(63)}`],
  ];
  for (const [name, members, path] of cases)
    it(`is not kept where not all of it would be found: of ${name} its type, id and size are`, () => {
      const sent = `{"type":"track","messageId":"m-9",${members}}`;
      const unfit = unfitOf(sent);
      assert.deepEqual(JSON.parse(unfit.bytes.toString()), { type: "track", messageId: "m-9", bytes: sent.length });
      assert.deepEqual(
        unfit.errors.map((error) => error.path),
        [path],
      );
      assert.equal(unfit.eventId, mapOne({ type: "track", messageId: "m-9" }).eventId);
    });
});
