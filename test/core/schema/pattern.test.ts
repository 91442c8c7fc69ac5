import assert from "node:assert/strict";
import { compilePattern } from "../../../core/schema/limits/pattern.js";
import { createRandom, SEED } from "../../support/random/random.js";
import { assertWithin, timeOf } from "../../support/house/yardstick.js";

/** Pattern -> texts that it finds, texts that it does not. */
const MEANINGS: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ["b", ["abc"], ["ac"]],
  ["^a$", ["a"], ["a\n", "ba", "\na"]],
  ["^.$", ["a", "é", "🐲"], ["\n", "\r", "\u2028", "\u2029", "ab"]],
  ["^\\s+$", [" \t\n\v\f\r\u00a0\u1680\u2003\u2028\u3000\ufeff"], ["a", "\u200b", "\u180e"]],
  ["^\\S$", ["a", "\u200b", "🐲"], [" ", "\u00a0", "\ufeff"]],
  ["^[\\s,]+$", [", \u00a0"], ["a"]],
  ["^[\\S ]+$", ["a b"], ["a\tb", "\u00a0"]],
  ["^[^\\s]$", ["a"], ["\u3000"]],
  ["^\\u0041\\x42\\u{43}$", ["ABC"], ["abc"]],
  ["^[\\u0041-\\u0043]+$", ["ABCA"], ["D"]],
  ["^\\uD83D\\uDC32$", ["🐲"], ["\ud83d"]],
  ["^[🐲-🐴]$", ["🐳"], ["\ud83d", "a"]],
  ["^\\p{L}\\p{Letter}\\p{gc=Lu}$", ["éaÉ"], ["éaé", "1aA"]],
  ["^\\P{Letter}[\\p{Script=Greek}\\d]$", ["1α", "-7"], ["aα", "1a"]],
  ["^a\\-b\\_c\\@d\\/e$", ["a-b_c@d/e"], ["a\\-b_c@d/e"]],
  ["^[\\-\\.\\]\\[^]+$", ["-.]^["], ["\\"]],
  ["^[[:a]+$", ["[:a"], ["b"]],
  ["^[^]$", ["\n", "a"], [""]],
  ["^[\\b]$", ["\b"], ["b"]],
  ["^\\0\\t\\n$", ["\0\t\n"], ["0"]],
  ["\\bcat\\b", ["a cat!"], ["concatenate", "écate"]],
  ["^(?<year>\\d{4})-(?:0[1-9]|1[0-2])$", ["2026-12"], ["2026-13", "٢٠٢٦-12"]],
  ["^(a+)+$", ["aaaa"], ["aaab"]],
  ["^a{2,3}?$", ["aa", "aaa"], ["a", "aaaa"]],
];

const REFUSED: readonly string[] = [
  "(?=a)",
  "(?!a)",
  "(?<=a)",
  "(?<!a)",
  "(a)\\1",
  "(?<n>a)\\k<n>",
  "\\cA",
  "\\ud83d",
  "\\p{Alphabetic}",
  "\\p{Greek}",
  "\\p{C}",
  "(?i)a",
  "(?P<n>a)",
  "\\Aa",
  "a\\z",
  "\\Qa",
  "\\pL",
  "\\07",
  "\\a",
  "a++",
  "[[:alpha:]]",
  "[]",
  "[][a]",
  "(",
  "a{1001}",
  "]",
  "{",
];

describe("Patterns of a schema", () => {
  for (const [source, found, missed] of MEANINGS)
    it(`mean in ${source} what ECMA-262 says`, () => {
      const native = new RegExp(source.replaceAll(/\\([-_@])(?![^[]*\])/g, "$1"), "u");
      const pattern = compilePattern(source);
      for (const text of found) assert.deepEqual([text, pattern.test(text), native.test(text)], [text, true, true]);
      for (const text of missed) assert.deepEqual([text, pattern.test(text), native.test(text)], [text, false, false]);
    });

  it("are refused where RE2 cannot follow, or would understand something else", () => {
    for (const source of REFUSED) assert.throws(() => compilePattern(source), Error, source);
  });

  it("differ as keys when they differ", () => {
    assert.notEqual(String(compilePattern("a")), String(compilePattern("b")));
  });

  it(`find what the native engine finds, for random patterns and texts (seed ${SEED})`, () => {
    const random = createRandom(SEED);
    const atoms = [
      "a",
      "b",
      ".",
      "\\d",
      "\\w",
      "\\s",
      "\\S",
      "\\W",
      "[ab]",
      "[^a]",
      "[\\s\\d]",
      "[^\\S]",
      "\\b",
      "^",
      "$",
      "é",
      "🐲",
      "\\n",
      "\\u00e9",
    ];
    const characters = ["a", "b", "1", " ", "\n", "\u00a0", "é", "🐲", "\u2028", "_", "-"];
    const source = (depth: number): string => {
      const kind = depth === 0 ? 0 : random.below(5);
      if (kind === 1) return `(?:${source(depth - 1)}|${source(depth - 1)})`;
      if (kind === 2) return `(?:${source(depth - 1)})${random.pick(["*", "+", "?", "{0,2}", "*?"])}`;
      if (kind >= 3) return source(depth - 1) + source(depth - 1);
      return random.pick(atoms);
    };
    for (let turn = 0; turn < 3_000; turn += 1) {
      const text = source(3);
      const pattern = compilePattern(text);
      const native = new RegExp(text, "u");
      for (let other = 0; other < 6; other += 1) {
        const subject = Array.from({ length: random.below(7) }, () => random.pick(characters)).join("");
        assert.equal(pattern.test(subject), native.test(subject), JSON.stringify([text, subject]));
      }
    }
  });

  it("take no time that doubles with the text", async () => {
    // The short one first: where time doubles, it takes seconds, and the long one would never end.
    for (const length of [28, 5_000]) {
      const text = `${"a".repeat(length)}!`;
      await assertWithin(200, () => timeOf(() => assert.equal(compilePattern("^(a+)+$").test(text), false)));
    }
  });
});
