import assert from "node:assert/strict";
import * as fc from "fast-check";
import type { Namespace } from "../../core/catalog/catalog.js";
import { admit, BUILT_IN_NAMESPACES, namespaceTable } from "../../core/identity/namespaces.js";
import { NORMALIZE } from "../../core/identity/normalization.js";
import { SEED } from "../support/random/random.js";

const { phone, email } = NORMALIZE;

describe("A phone number", () => {
  /** Spellings -> the one form of all of them. */
  const ONE: Readonly<Record<string, readonly string[]>> = {
    "+442079460958": ["+44 (20) 7946-0958", "+44 (0)20 7946 0958", "0044 20 7946 0958", "tel:+44-20-7946-0958"],
    "+4930123456": ["+49 30 123456", "0049 30 123456", "00 49 30 123456", "＋49 30 123456", '"+49 30 123456"'],
    "+12025550110": ["+1 202 555 0110", "\u202a+12025550110\u202c", "+1.202.555.0110", "+1\u00a0202\n5550110"],
    "+12025550110;ext=5": ["+12025550110 ext. 5", "+1 202-555-0110 x5", "tel:+12025550110;ext=5", "0012025550110 #5"],
    // Mexico's older form of a mobile number, which the list of numbering plans no longer has.
    "+5215512345678": ["+52 1 55 1234 5678"],
  };
  for (const [form, spellings] of Object.entries(ONE))
    it(`is ${form} in all its spellings`, () => {
      for (const spelling of [form, ...spellings]) assert.equal(phone(spelling), form, spelling);
    });

  it("keeps its extension, which is another person's", () => {
    assert.notEqual(phone("+12025550110 ext. 5"), phone("+12025550110 ext. 7"));
    assert.notEqual(phone("+12025550110 ext. 5"), phone("+12025550110"));
    assert.notEqual(phone("020 7946 0958 ext. 5"), phone("020 7946 0958 ext. 7"));
    assert.equal(phone("+12025550110;isub=1;ext=5"), null, "an extension would be read past");
  });

  it("stays as it was sent without a country code, which could be any", () => {
    for (const value of ["020 7946 0958", "(030) 123456", "030/123456", "555-1234 x9", "110"])
      assert.equal(phone(` ${value} `), value);
    assert.equal(phone("0011 49 30 123456"), "0011 49 30 123456", "Australia's prefix is not +11");
    assert.equal(phone("00 999 12345"), "00 999 12345");
  });

  it("is not what has another text in it, or no country's code behind the plus", () => {
    const others = ["", "abc", "p1", "1", "12", "+", "+49", "call +49 30 123456 now", "+12025550110 (office)"];
    for (const value of [...others, "+999 12345678", "+49+30123456", "ada@example.com", "+12025550110 x5 x7"])
      assert.equal(phone(value), null, value);
  });

  it("has a form that is its own form", () => {
    const text = fc.string({
      unit: fc.constantFrom(...Array.from("0123456789 -()x;"), "+", "00", "ext. ", ";ext=", "０", "\u200b"),
    });
    const code = fc.constantFrom("+", "00", "+1", "+44", "+49", "+54", "+86", "+39", "+5215", "", " ", '"');
    fc.assert(
      fc.property(code, text, (beginning, rest) => {
        const once = phone(beginning + rest);
        if (once !== null) assert.equal(phone(once), once);
      }),
      { seed: SEED, numRuns: 5_000 },
    );
  });
});

describe("An e-mail address", () => {
  it("is trimmed and lowered", () => {
    assert.equal(email(" Ada.L+x@Example.COM\n"), "ada.l+x@example.com");
  });

  it("may be in any script, at any host, and have any of the characters that real ones have", () => {
    for (const value of [
      "用户@例子.公司",
      "josé@exämple.de",
      "o'brien@x.ie",
      "a@localhost",
      "a/b=c!%{}@x.com",
      "a@[127.0.0.1]",
    ])
      assert.equal(email(value), value);
  });

  it("has one @ between two parts, and nothing that parts it from another one", () => {
    const others = [
      "",
      "x",
      "@",
      "a@",
      "@b",
      "a@b@c",
      "a b@c",
      "a@b c",
      "Ada <a@b.c>",
      "a@b.c,d@e.f",
      "a@b.c;",
      '"a@b.c"',
    ];
    for (const value of [...others, "a@b\u0000c"]) assert.equal(email(value), null, value);
  });

  it("has a form that is its own form", () => {
    const part = fc.string({ unit: "grapheme", minLength: 1 });
    fc.assert(
      fc.property(part, part, (local, domain) => {
        const once = email(`${local}@${domain}`);
        if (once !== null) assert.equal(email(once), once);
      }),
      { seed: SEED, numRuns: 5_000 },
    );
  });
});

describe("Values of a namespace with normalisation", () => {
  const blocking = (name: string, ...blocked: readonly string[]): readonly Namespace[] => [
    { ...BUILT_IN_NAMESPACES.find((one) => one.name === name)!, blocked },
  ];
  const ruleOf = (namespace: string, value: string, stored: readonly Namespace[] = []) =>
    admit([{ path: "p", namespace, value }], namespaceTable(stored)).dropped[0]?.rule ?? null;

  it("are blocked in every spelling once they are blocked in one", () => {
    const stored = blocking("phone", "+1 (202) 555-0110", " '0049 30 123456' ", "555-0100", "+12025550199 ext. 5");
    for (const value of ["+12025550110", "001 202 555 0110", '"+49 30 123456"', "555-0100", "+12025550199 x5"])
      assert.equal(ruleOf("phone", value, stored), "blocked", value);
    for (const value of ["+12025550111", "+12025550110 x5", "+12025550199"])
      assert.equal(ruleOf("phone", value, stored), null, value);
    assert.equal(ruleOf("email", " SHARED@x.com", blocking("email", "'shared@X.com'")), "blocked");
    assert.equal(ruleOf("email", "'Shared@x.com'", blocking("email", "shared@x.com")), "blocked");
  });

  it("are dropped as invalid when they are not what the namespace holds, junk as blocked", () => {
    assert.equal(ruleOf("email", "nobody"), "invalid");
    assert.equal(ruleOf("phone", "nobody"), "invalid");
    assert.equal(ruleOf("user_id", "nobody"), null);
    assert.equal(ruleOf("email", " NULL "), "blocked");
    assert.equal(ruleOf("phone", "000"), "blocked");
  });
});
