import assert from "node:assert/strict";
import { entryOfRefusal } from "../../commands/live/entry.js";
import { AppError } from "../../core/errors.js";

describe("A refused event among the live ones", () => {
  const partsOf = (body: string) => {
    const { schemaId, payload, payloadBytes } = entryOfRefusal(
      0,
      "key",
      Buffer.from(body),
      new AppError("bad_request", "no"),
    );
    assert.equal(payloadBytes, Buffer.byteLength(payload));
    return [schemaId, payload];
  };

  it("shows its payload byte by byte as it was sent, because what is read of it may hide why it was refused", () => {
    for (const payload of [
      '{"email":"a@example.com","email":"b@example.com"}',
      '{ "n" : 9007199254740993 , "city":"Z\\u00fcrich" }',
      '{"n":01}',
      "null",
    ])
      assert.deepEqual(partsOf(` { "payload" : ${payload} , "schema_id":"signup"}\n`), ["signup", payload]);
  });

  it("is shown whole where no payload can be found", () => {
    for (const body of ["{", "[]", "5", "", '{"payload":{]', '{"schema_id":7,"other":1}'])
      assert.deepEqual(partsOf(body), [null, body]);
    assert.deepEqual(partsOf('{"schema_id":"signup"}'), ["signup", '{"schema_id":"signup"}']);
  });
});
