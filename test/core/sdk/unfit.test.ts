import assert from "node:assert/strict";
import { namedInUnfit } from "../../../core/sdk/identifiers.js";
import { mapOne, namesOf, unfitOf } from "../../support/sdk/mapping.js";

const SWITCHES = { phone: true, deviceId: true, advertisingId: true };

describe("Whom an SDK's call names that is no event", () => {
  const externalIds = (count: number) => Array.from({ length: count }, (_, n) => ({ type: "a", id: String(n) }));
  const namedIn = ({ bytes }: { readonly bytes: Buffer }) =>
    namedInUnfit(bytes, SWITCHES).map(({ namespace, value }) => `${namespace}:${value}`);

  it("is read wherever an item of any type says it, and once", () => {
    const context = { traits: { email: "b@x.test", phone: "1" }, device: { id: "d" }, externalIds: externalIds(1_000) };
    const traits = { email: "a@x.test" };
    const item = { type: "click", userId: "u-1", anonymousId: "a-1", previousId: "p-1", traits, context };
    const named = namedIn(unfitOf(item));
    assert.equal(named.filter((one) => one.startsWith("a:")).length, 1_000);
    const ids = ["user_id:u-1", "anonymous_id:a-1", "device_id:d", "user_id:p-1", "anonymous_id:p-1"];
    for (const one of [...ids, "email:a@x.test", "email:b@x.test", "phone:1"]) assert.ok(named.includes(one), one);
  });

  const levels = `${"[".repeat(70)}${"]".repeat(70)}`;
  const cases: readonly (readonly [string, string, string])[] = [
    ["a key twice", '"userId":"ada","userId":"bob"', "userId"],
    ["a key twice further in", '"context":{"traits":{"email":"ada"},"traits":{}}', "context.traits"],
    ["a key twice behind too many levels", `"a":${levels},"userId":"ada","userId":"bob"`, `a${".0".repeat(63)}`],
    ["1,001 external ids", `"context":{"externalIds":${JSON.stringify(externalIds(1_001))}}`, "context.externalIds"],
    ["1,001 of the other name", `"context":{"externalId":${JSON.stringify(externalIds(1_001))}}`, "context.externalId"],
    [
      "1,001 of them, and a number that is none",
      `"a":1e999,"context":{"externalIds":${JSON.stringify(externalIds(1_001))}}`,
      "context.externalIds",
    ],
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

  it("is an event's with 1,000 external ids, whose limits are another matter", () => {
    assert.equal(namesOf(mapOne({ type: "track", context: { externalIds: externalIds(1_000) } })).length, 1_000);
  });
});
