import assert from "node:assert/strict";
import { scanAll, scanJson, type Scan, type ScanProblemKind } from "../../core/json/scan.js";
import { assertWithin, timeOf } from "../support/house/yardstick.js";

const DEPTH_MAX = 64;
const scan = (text: string): Scan => scanJson(Buffer.from(text), DEPTH_MAX);
const found = (text: string): readonly [ScanProblemKind, string] | null => {
  const { problem } = scan(text);
  return problem && [problem.kind, problem.path];
};
const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

describe("The scan of a JSON body", () => {
  it("lets ordinary JSON pass, with any spaces, words, escapes and characters", () => {
    for (const text of [
      "{}",
      " [ ] ",
      "null",
      "true",
      "-0",
      '"x"',
      '\t{ "a" :\r\n[ 1 , -2.5e3,true,false , null,"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9"] , "": {"b":{}} }\n',
      '{"ü":"日本\u{1f600}\u007f","\\ud83d\\ude00":1}',
      '{"__proto__":1,"constructor":{"__proto__":2}}',
    ])
      assert.equal(found(text), null, text);
  });

  it("refuses a byte order mark and bytes that are not UTF-8", () => {
    assert.deepEqual(found('\ufeff{"a":1}'), ["bom", ""]);
    for (const bytes of [
      [0x22, 0xc3, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0xff, 0xfe],
      [0x22, 0xc0, 0x80, 0x22],
    ])
      assert.equal(scanJson(Buffer.from(bytes), DEPTH_MAX).problem?.kind, "invalid_utf8");
  });

  it("finds a key that an object has twice, at any level and after unescaping", () => {
    const cases: readonly (readonly [string, string])[] = [
      ['{"a":1,"a":2}', "a"],
      ['{"a":1,"\\u0061":2}', "a"],
      ['{"\\u0061":1,"b":0,"a":2}', "a"],
      ['{"ü":1,"\\u00fc":2}', "ü"],
      ['{"\u{1f600}":1,"\\ud83d\\ude00":2}', "\u{1f600}"],
      ['{"":1,"":2}', ""],
      ['{"a\\\\b":1,"a\\u005cb":2}', "a\\b"],
      ['{"payload":{"a":[{"x":1},{"b":1,"b":2}]}}', "payload.a.1.b"],
      ['{"a":{"b":1},"b":{"a":1},"a":0}', "a"],
    ];
    for (const [text, path] of cases) assert.deepEqual(found(text), ["duplicate_key", path], text);
  });

  it("tells keys apart that only look alike, and objects that stand beside each other", () => {
    for (const text of [
      '{"a":1,"A":2,"a ":3}',
      '[{"a":1},{"a":2}]',
      '{"a":{"a":{"a":1}},"b":{"a":1}}',
      '{"\\\\u0061":1,"a":2}',
      '{"ü":1,"Ã¼":2}',
      '{"BB":1,"Aa":2,"C#":3}',
    ])
      assert.equal(found(text), null, text);
  });

  it("finds the only duplicate among any number of keys, wherever it stands", () => {
    for (const count of [2, 15, 16, 17, 18, 40])
      for (let twin = 0; twin < count - 1; twin += 1) {
        const keys = Array.from({ length: count }, (_, i) => `"k${i === count - 1 ? twin : i}":0`);
        assert.deepEqual(found(`{"in":{${keys.join()}}}`), ["duplicate_key", `in.k${twin}`]);
        assert.equal(found(`{${keys.slice(0, -1).join()}}`), null);
      }
  });

  it("takes a time that grows with the number of keys, not with its square", async () => {
    const keys = Array.from({ length: 100_000 }, (_, i) => `"key${i}":${i}`).join();
    const body = Buffer.from(`{${keys},"key5":0}`);
    await assertWithin(1_500, () => timeOf(() => assert.equal(scanJson(body, DEPTH_MAX).problem?.path, "key5")));
  });

  it("takes objects and arrays to the depth that it is given and none deeper", () => {
    assert.equal(found(nested(64)), null);
    assert.deepEqual(found(nested(65)), ["too_deep", Array(64).fill("0").join(".")]);
    assert.equal(scanJson(Buffer.from("7"), 0).problem, null);
    assert.equal(scanJson(Buffer.from("{}"), 0).problem?.kind, "too_deep");
    assert.equal(scanJson(Buffer.from('{"a":[{}]}'), 3).problem, null);
    assert.deepEqual(scanJson(Buffer.from('{"a":[{}]}'), 2).problem?.path, "a.0");
    assert.equal(found("[".repeat(1_000_000))?.[0], "too_deep");
  });

  it("finds half of a surrogate pair in values and keys, and lets whole pairs pass", () => {
    assert.deepEqual(found('{"a":["x","\\ud800"]}'), ["lone_surrogate", "a.1"]);
    for (const half of [
      "\\ud83d",
      "\\ude00",
      "\\ud83d\\ud83d\\ude00",
      "\\ude00\\ud83d",
      "\\ude00\\ude00",
      "\\ud83dx\\ude00",
      "\\uD83D\\n",
    ])
      assert.deepEqual(found(`{"a":"-${half}-"}`)?.[0], "lone_surrogate", half);
    assert.equal(found('{"a\\udfff":1}')?.[0], "lone_surrogate");
    assert.equal(found('"\\ud83d\\ude00\\uD83D\\uDE00\\ud7ff\\ue000"'), null);
    assert.equal(found('"\\\\ud800"'), null);
    assert.deepEqual(
      found('{"\\ud800":1,"\\ud801":2}')?.[0],
      "lone_surrogate",
      "two different halves are no duplicate",
    );
  });

  it("finds NUL in a key and keeps it in a value", () => {
    assert.deepEqual(found('{"a":{"b\\u0000":1}}'), ["nul_in_key", "a.b\0"]);
    assert.equal(found('{"a":"\\u0000"}'), null);
    assert.equal(found('{"a\\\\u0000":1}'), null);
  });

  it("finds numbers that a double changes", () => {
    for (const literal of [
      "12345678901234567890",
      "9007199254740993",
      "-9007199254740993",
      "9007199254740993.0",
      "9007199254740993e0",
      "90071992547409930e-1",
      "12345678901234567890E5",
      "1e400",
      "-1e400",
      "1e-400",
      `0.${"0".repeat(400)}1`,
      "9".repeat(400),
    ])
      assert.deepEqual(found(`{"a":[0,${literal}]}`), ["unsafe_number", "a.1"], literal);
  });

  it("lets numbers pass that come back as they were sent, and rounds only fractions", () => {
    for (const literal of [
      "0",
      "-0",
      "0.0",
      "0e400",
      "0.1",
      "1.5e3",
      "1e300",
      "1E+300",
      "1e-300",
      "5e-324",
      "9007199254740991",
      "-9007199254740991",
      "9007199254740992",
      "9007199254740994",
      "36028797018963968",
      `1${"0".repeat(300)}`,
      "1.7976931348623157e308",
      "0.12345678901234567890123456789",
      "47.123456789012345678",
      "123456789012345.678901",
      "9007199254740993.25",
      `1.${"0".repeat(400)}`,
      `0.${"1".repeat(1_000)}`,
    ])
      assert.equal(found(`[${literal}]`), null, literal);
  });

  it("stops at what is no JSON without reading beyond the end", () => {
    for (const text of ["", " \r\n\t"]) assert.deepEqual(found(text), ["empty", ""], JSON.stringify(text));
    for (const text of [
      "{",
      "[",
      '"',
      '"\\',
      '"\\u',
      '"\\u12',
      '{"a',
      '{"a"',
      '{"a":',
      '{"a":1',
      '{"a":1,',
      "[1",
      "[1,",
    ])
      assert.equal(found(text)?.[0], "malformed", text);
    for (const text of [
      "{,}",
      "[,]",
      "[1,]",
      '{"a":1,}',
      "{a:1}",
      "[1 2]",
      '{"a" 1}',
      "[1]]",
      "{}{}",
      "x",
      "[}",
      '{"a":1]',
      '"\\x"',
      '"\\u00g0"',
      '"a\nb"',
      '{"a\nb":1}',
      "nul",
    ])
      assert.equal(found(text)?.[0], "malformed", text);
    assert.deepEqual(found('{"a":[1,{"b":x}]}'), ["malformed", "a.1.b"]);
  });

  it("names what makes the body unreadable before what cannot be stored, wherever they stand", () => {
    assert.deepEqual(found('{"a":1e400,"b":"\\ud800","c":{"x":1,"x":2}}'), ["duplicate_key", "c.x"]);
    assert.deepEqual(found(`{"a":1e400,"b":${nested(64)}}`)?.[0], "too_deep");
    assert.deepEqual(found('{"a":"\\ud800","b":1e400}'), ["lone_surrogate", "a"]);
  });

  it("cuts long keys in a path, so that an answer cannot grow with them", () => {
    const path = found(`{"${"k".repeat(100_000)}":1e400}`)?.[1] ?? "";
    assert.ok(path.startsWith("kkk") && path.length < 200);
  });

  it("gives no members for a body that is no object or was not read to its end", () => {
    for (const text of ["[]", "1", '{"a":1,"a":2}', '{"a":', '{"a":1}}']) assert.equal(scan(text).members, null, text);
    assert.deepEqual(scan("{}").members, []);
    assert.deepEqual(scan('{ "a" : 1e400 }').members, [{ name: "a", start: 8, end: 13 }]);
  });
});

describe("The scan for all that cannot be stored", () => {
  it("lists each problem with its path, in document order", () => {
    const problems = scanAll(
      Buffer.from('{"a":{"x":1e400,"y":[1,"\\udc00"]},"b\\u0000":12345678901234567890}'),
      DEPTH_MAX,
    );
    assert.deepEqual(
      problems.map(({ kind, path }) => `${kind} ${path}`),
      ["unsafe_number a.x", "lone_surrogate a.y.1", "nul_in_key b\0", "unsafe_number b\0"],
    );
    assert.ok(problems.every(({ message }) => message.length > 0));
    assert.deepEqual(scanAll(Buffer.from('{"a":1}'), DEPTH_MAX), []);
  });

  it("stops at 100", () => {
    for (const bad of ["1e400", '"\\ud800"']) {
      const problems = scanAll(Buffer.from(`[${Array(300).fill(bad).join()}]`), DEPTH_MAX);
      assert.deepEqual(
        problems.map(({ path }) => path),
        Array.from({ length: 100 }, (_, i) => String(i)),
      );
    }
  });
});
