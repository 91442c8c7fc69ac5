import assert from "node:assert/strict";
import { AppError } from "../../../core/errors.js";
import { mapBytes } from "../../support/sdk/mapping.js";

describe("A body of an SDK that cannot be read", () => {
  const codeOf = (text: string | Buffer, isBatch = true): string => {
    try {
      mapBytes(Buffer.from(text), isBatch);
    } catch (error) {
      return error instanceof AppError ? error.code : "internal";
    }
    return "none";
  };
  const cases: readonly (readonly [string, string | Buffer, string])[] = [
    ["nothing", "", "invalid_json"],
    ["half a body", '{"batch":[{"type":"track"}', "invalid_json"],
    ["a byte order mark", "\ufeff{}", "invalid_json"],
    ["no UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), "invalid_json"],
    ["something behind the body", '{"batch":[]}{}', "invalid_json"],
    ["an array", "[]", "invalid_json"],
    ["an item whose brackets do not fit", '{"batch":[{"type":"track"]}', "invalid_json"],
    ["two batches", '{"batch":[],"batch":[]}', "invalid_json"],
    ["a word that is none beside the batch", '{"batch":[{"type":"track"}],"foo":bar}', "invalid_json"],
    ["a wrong word beside the batch", '{"batch":[],"foo":trux}', "invalid_json"],
    ["a number that is none beside the batch", '{"foo":[01],"batch":[]}', "invalid_json"],
    ["nonsense between brackets beside the batch", '{"batch":[],"foo":{bar baz [1,,2]}}', "invalid_json"],
    ["an escape that is none beside the batch", '{"batch":[],"foo":"\\q"}', "invalid_json"],
    ["a line feed in a key beside the batch", '{"batch":[],"f\noo":1}', "invalid_json"],
    ["a member beside the batch that is there twice", '{"foo":1,"batch":[],"foo":1}', "invalid_json"],
    ["a member of the context that is there twice", '{"context":{"a":1,"a":2},"batch":[]}', "invalid_json"],
    ["500 levels beside the batch", `{"batch":[],"t":${"[".repeat(500)}${"]".repeat(500)}}`, "payload_too_large"],
    ["no batch", "{}", "bad_request"],
    ["a batch that is no array", '{"batch":{}}', "bad_request"],
    ["2,501 items", `{"batch":[${Array(2_501).fill("{}").join(",")}]}`, "payload_too_large"],
  ];
  for (const [name, text, code] of cases) it(`is refused as a whole: ${name}`, () => assert.equal(codeOf(text), code));

  it("may have anything beside the batch that is JSON, stored or not", () => {
    const around =
      '"n":[-0.5e+10,12345678901234567890,1e999],"w":[true,false,null],"s":"\\ud800 \\u0000","":{"\\u0000":{}}';
    assert.equal(codeOf(`{${around},"batch":[{"type":"track"}],"e" : [ ] }`), "none");
    assert.equal(codeOf(`{"batch":[],"t":"${"x".repeat(1_000_000)}"}`), "none");
  });

  it("takes 2,500 items, space everywhere, and none", () => {
    assert.equal(mapBytes(Buffer.from(`{"batch":[${Array(2_500).fill("{}").join(",")}]}`), true).length, 2_500);
    assert.equal(mapBytes(Buffer.from(' \n{ "a" : "]}" , "batch" : [ ] } '), true).length, 0);
    assert.equal(codeOf(' { "type" : "track" } ', false), "none");
  });
});
