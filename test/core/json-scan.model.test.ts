import assert from "node:assert/strict";
import * as fc from "fast-check";
import { isUnsafeNumber } from "../../core/json/number.js";
import { scanCarefully, scanJson, scanStrictly, type Scan } from "../../core/json/scan.js";
import { createRandom, SEED, type Random } from "../support/random/random.js";

const DEPTH_MAX = 64;
/** Writes a value as JSON with random spaces and escapes: many texts of one value. */
function write(value: unknown, random: Random): string {
  const gap = (): string => random.pick(["", "", "", " ", "\n", "\t \r"]);
  if (typeof value === "string") return writeString(value, random);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${gap()}${value.map((item) => write(item, random) + gap()).join(`,${gap()}`)}]`;
  const members = Object.entries(value).map(
    ([key, item]) => `${writeString(key, random)}${gap()}:${gap()}${write(item, random)}${gap()}`,
  );
  return `{${gap()}${members.join(`,${gap()}`)}}`;
}

const writeString = (text: string, random: Random): string => {
  const written = text.split("").map((unit) => {
    if (random.below(4) === 0 || unit < " " || unit === '"' || unit === "\\" || isSurrogate(unit))
      return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
    return unit;
  });
  return `"${written.join("")}"`;
};
const isSurrogate = (unit: string): boolean => unit >= "\ud800" && unit <= "\udfff";

const key = fc.string({ unit: "binary", maxLength: 6 }).map((text) => text.replaceAll("\0", "0"));
const { value: anyValue } = fc.letrec<{ value: unknown; array: unknown[]; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.oneof(
      fc.string({ unit: "binary" }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    ),
    tie("array"),
    tie("object"),
  ),
  array: fc.array(tie("value"), { maxLength: 5 }),
  object: fc.dictionary(key, tie("value"), { maxKeys: 20 }),
}));
const anyObject = fc.dictionary(key, anyValue, { maxKeys: 20 });

/** What JSON.parse reads, put together from the members' own bytes. */
function assertMembers(body: Buffer, { members }: Scan): void {
  const whole = JSON.parse(body.toString()) as Record<string, unknown>;
  if (Array.isArray(whole) || typeof whole !== "object") return assert.equal(members, null);
  assert.deepEqual(new Set(members?.map(({ name }) => name)), new Set(Object.keys(whole)));
  for (const { name, start, end } of members ?? []) {
    const raw = body.toString("utf8", start, end);
    assert.equal(raw, raw.trim());
    assert.deepEqual(JSON.parse(raw), whole[name]);
  }
}

/** In its strict way it knows what JSON.parse knows, and minds nothing that can only not be stored. */
function assertStrict(body: Buffer, { problem }: Scan, depthMax = DEPTH_MAX): void {
  const strict = scanStrictly(body, depthMax)?.kind ?? null;
  if (strict === null) assert.ok(isJson(body), body.toString());
  else if (strict === "malformed") assert.ok(!isJson(body), body.toString());
  else assert.equal(strict, problem?.kind);
}

describe(`The scan beside JSON.parse (seed ${SEED})`, () => {
  it("reads the same members, however an object is written", () => {
    fc.assert(
      fc.property(anyObject, fc.nat(), (object, seed) => {
        const body = Buffer.from(write(object, createRandom(seed)));
        for (const scan of [scanJson, scanCarefully]) {
          const result = scan(body, DEPTH_MAX);
          assert.equal(result.problem, null);
          assertMembers(body, result);
        }
      }),
      { seed: SEED, numRuns: 400 },
    );
  });

  it("finds a duplicate wherever one is put and however it is written", () => {
    fc.assert(
      fc.property(anyObject, anyValue, key, fc.nat(), (object, value, name, seed) => {
        const random = createRandom(seed);
        const rest = Object.entries(object).filter(([other]) => other !== name);
        const members = rest.map(([other, item]) => `${writeString(other, random)}:${write(item, random)}`);
        for (let twin = 0; twin < 2; twin += 1)
          members.splice(random.below(members.length + 1), 0, `${writeString(name, random)}:${write(value, random)}`);
        for (const scan of [scanJson, scanCarefully]) {
          const { problem } = scan(Buffer.from(`{"in":[{${members.join()}}]}`), DEPTH_MAX);
          assert.deepEqual([problem?.kind, problem?.path], ["duplicate_key", `in.0.${name}`]);
        }
      }),
      { seed: SEED, numRuns: 400 },
    );
  });

  it("never lets a damaged body pass that JSON.parse reads in another way, and never fails on one", () => {
    fc.assert(
      fc.property(anyObject, fc.nat(), (object, seed) => {
        const random = createRandom(seed);
        const body = Buffer.from(write(object, random));
        for (let flip = 0; flip <= random.below(3); flip += 1) body[random.below(body.length)] = random.pick(BYTES);
        for (const bytes of [body, body.subarray(0, random.below(body.length + 1))]) {
          const result = scanCarefully(bytes, DEPTH_MAX);
          assert.deepEqual(scanJson(bytes, DEPTH_MAX), result);
          if (result.problem?.kind === "malformed") assert.equal(isJson(bytes), false);
          if (result.problem === null && isJson(bytes)) assertMembers(bytes, result);
          assertStrict(bytes, result);
        }
      }),
      { seed: SEED, numRuns: 600 },
    );
  });

  it("says the same in its short way, whatever stands among ordinary values", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }), fc.boolean(), (pieces, isArray) => {
        const inside = pieces.map((piece, at) => (isArray ? piece : `"k${at % 7}":${piece}`)).join();
        const body = Buffer.from(`{"a":${isArray ? `[${inside}]` : `{${inside}}`},"z" : 1}`);
        const result = scanJson(body, SHALLOW);
        assert.deepEqual(result, scanCarefully(body, SHALLOW));
        assertStrict(body, result, SHALLOW);
      }),
      { seed: SEED, numRuns: 3_000 },
    );
  });

  it("takes every double as JSON.stringify writes it, and refuses an integer exactly when its digits change", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        assert.equal(isUnsafeNumber(JSON.stringify(value)), false);
      }),
      { seed: SEED, numRuns: 2_000 },
    );
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (integer) => {
        const changed = BigInt(Number(integer)) !== integer && BigInt(printed(Number(integer))) !== integer;
        assert.equal(isUnsafeNumber(String(integer)), changed);
        assert.equal(isUnsafeNumber(`${integer}.0e0`), changed);
      }),
      { seed: SEED, numRuns: 2_000 },
    );
  });
});

const SHALLOW = 4;
/** Of every kind that either way treats by itself. */
const PIECES: readonly string[] = [
  "1",
  "-1.5",
  "123456789012345",
  "1234567890123456",
  "9007199254740993",
  "0.12345678901234567",
  "1e5",
  "1E400",
  "-",
  "01",
  "true",
  "false",
  "null",
  "tru",
  "nulls",
  "x",
  "",
  '"x"',
  '""',
  '"\\n"',
  '"\\u00e9"',
  '"\\ud800"',
  '"\\ud83d\\ude00"',
  '"\\x"',
  '"\\u00g0"',
  '"\0"',
  '"\t"',
  '"é"',
  '"',
  "[]",
  "{}",
  "[ ]",
  "{ }",
  "[1,]",
  "[1 2]",
  "[1}",
  "{]",
  '{"b":1,}',
  '{"b" 1}',
  '{"b":1]',
  "[[[]]]",
  '{"b":{"b":[]}}',
  '[{"b":[1]}]',
  '{"b":1,"b":2}',
  '{"b":1,"\\u0062":2}',
  '{"Aa":1,"BB":2}',
  '{"b\\u0000":1}',
  '{"b\\:1}',
  '{"b";1}',
  '{"b\n:1}',
  '{"b\\":1}',
  '{"b\0":1}',
  '{"ü":1,"b":[{"b":1}]}',
];

/** The digits of a large double as JavaScript prints them, without an exponent. */
const printed = (value: number): string => value.toLocaleString("en", { useGrouping: false, maximumFractionDigits: 0 });
const BYTES: readonly number[] = [...Buffer.from('{}[]",:\\u0e+-.1 \n'), 0x00, 0x80, 0xff];
const isJson = (body: Buffer): boolean => {
  try {
    JSON.parse(body.toString());
    return true;
  } catch {
    return false;
  }
};
