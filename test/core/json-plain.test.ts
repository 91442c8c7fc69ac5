import assert from "node:assert/strict";
import { plainMembers } from "../../core/json/plain.js";
import { scanCarefully } from "../../core/json/scan.js";

const DEPTH_MAX = 64;
const members = (text: string, depthMax = DEPTH_MAX) => plainMembers(Buffer.from(text), depthMax);
const object = (keys: readonly string[]): string => `{${keys.map((key) => `"${key}":0`).join()}}`;
const nested = (depth: number): string => `{"a":`.repeat(depth) + "1" + "}".repeat(depth);

describe("The short way through a JSON body", () => {
  it("is gone by what programs send, and finds the same members as the careful walk", () => {
    for (const text of [
      '{"schema_id":"signup","timestamp":"2026-01-31T12:00:00Z","payload":{"email":"ada@example.com","n":[1,-2.5,{"a":null}]}}',
      ' {\n\t"a" : { "b" : [ ] , "c":{} },\r\n "d": [ true , false , null , "x" ] , "ü":"日本\u{1f600}" } ',
      '{"a":"\\"quoted\\" \\\\ \\/ \\b\\f\\n\\r\\t \\u00e9 \\ud83d\\ude00"}',
      '{"a":0.12345678901234567,"b":1.5e3,"c":-9007199254740991}',
      object(Array.from({ length: 128 }, (_, at) => `property_${at}`)),
      nested(64),
    ]) {
      const found = members(text);
      assert.notEqual(found, null, text);
      assert.deepEqual(found, scanCarefully(Buffer.from(text), DEPTH_MAX).members, text);
    }
  });

  it("is left for whatever needs a closer look", () => {
    for (const text of [
      "",
      "1",
      "[]",
      '[{"a":1}]',
      "{}",
      '{"a":1}}',
      '{"a":1,"a":2}',
      '{"a":1,"\\u0061":2}',
      '{"a":"\\ud800"}',
      '{"a":1e400}',
      '{"a":9007199254740993}',
      '{"a":"\u0001"}',
      object(["Aa", "BB"]),
      object(Array.from({ length: 129 }, (_, at) => `k${at}`)),
      nested(65),
    ])
      assert.equal(members(text), null, text);
    assert.equal(members(nested(200), 1_000), null, "deeper than it has room for");
    assert.equal(members('{"a":1}', 0), null);
    assert.deepEqual(members('{"a":1}', 1), [{ name: "a", start: 5, end: 6 }]);
  });

  it("keeps the keys of an object apart from those inside it and beside it", () => {
    assert.notEqual(members('{"a":{"a":[{"a":1},{"a":{"a":2}}]},"b":{"a":1},"c":[{"a":1,"b":2}]}'), null);
    for (const text of [
      '{"a":{"b":{"c":1}},"a":2}',
      '{"a":[{"b":1},2],"c":{"d":[],"e":{},"d":1}}',
      '{"x":{"b":[{"c":1}],"b":1}}',
    ])
      assert.equal(members(text), null, text);
  });
});
