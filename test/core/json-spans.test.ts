import assert from "node:assert/strict";
import * as fc from "fast-check";
import { elementsOf, elementsOfOnly, membersOf, readBytes, trimmed, withoutMembers } from "../../core/json/spans.js";

const whole = (body: Buffer) => trimmed(body);
const textsOf = (body: Buffer, spans: readonly { readonly start: number; readonly end: number }[] | null) =>
  spans?.map(({ start, end }) => body.toString("utf8", start, end)) ?? null;

describe("The parts of an array or object", () => {
  it("are those that JSON.parse finds, in any text of it", () => {
    fc.assert(
      fc.property(fc.array(fc.json()), fc.dictionary(fc.string(), fc.jsonValue()), (items, members) => {
        const list = Buffer.from(` [ ${items.join(" ,\n")} ] `);
        const found = textsOf(list, elementsOf(list, whole(list), items.length)) ?? assert.fail("it is an array");
        assert.deepEqual(
          found.map((text) => JSON.parse(text) as unknown),
          JSON.parse(list.toString()),
        );
        const object = Buffer.from(JSON.stringify(members, null, 2));
        const spans = membersOf(object, whole(object)) ?? assert.fail("it is an object");
        const read = spans.map(({ name, start, end }) => [
          name,
          JSON.parse(object.toString("utf8", start, end)) as unknown,
        ]);
        assert.deepEqual(read, Object.entries(JSON.parse(object.toString()) as object));
      }),
    );
  });

  it("are found up to a number of them, whatever follows", () => {
    const body = Buffer.from('{"a":[1,{}],"b":"x","c":]');
    const found = [1, 2].map((max) => textsOf(body, membersOf(body, whole(body), max)));
    assert.deepEqual(found, [["[1,{}]"], ["[1,{}]", '"x"']]);
    assert.equal(membersOf(body, whole(body)), null);
  });

  it("are cut without a change of what is left", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.func(fc.boolean()), (members, isCut) => {
        const body = Buffer.from(JSON.stringify(members));
        const spans = membersOf(body, whole(body)) ?? assert.fail("it is an object");
        const left = withoutMembers(body, whole(body), spans, isCut);
        const expected = Object.entries(JSON.parse(body.toString()) as object).filter(([name]) => !isCut(name));
        assert.deepEqual(JSON.parse(left.toString()), Object.fromEntries(expected));
      }),
    );
  });

  it("are found though something in one of them is wrong", () => {
    const body = Buffer.from('[{"a":1,"a":2},{"b":tru}, {"]":"}\\"]"},[1,,2]]');
    assert.deepEqual(textsOf(body, elementsOf(body, whole(body), 10)), [
      '{"a":1,"a":2}',
      '{"b":tru}',
      '{"]":"}\\"]"}',
      "[1,,2]",
    ]);
  });

  it("are those of the only member, where one walk finds them as two do", () => {
    const tokens = ["{", "}", "[", "]", ",", ":", '"events"', '"e\\u0076ents"', '"x"', "1", " ", '"}]"', "[1,2]", "{}"];
    const bodies = fc.oneof(
      fc.array(fc.constantFrom(...tokens), { maxLength: 10 }).map((some) => some.join("")),
      fc.array(fc.constantFrom(...tokens), { maxLength: 8 }).map((some) => `{"events":[${some.join("")}]}`),
      fc
        .array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 4 })
        .map((some) => ` { "events" : [ ${some.map((one) => JSON.stringify(one)).join(" , ")} ] } `),
    );
    let both = 0;
    fc.assert(
      fc.property(bodies, (text) => {
        const body = Buffer.from(text);
        const only = elementsOfOnly(body, whole(body), "events", 3);
        if (only === null) return;
        both += 1;
        const members = membersOf(body, whole(body)) ?? assert.fail(`${text} is no object`);
        assert.deepEqual(
          members.map(({ name }) => name),
          ["events"],
        );
        assert.deepEqual(only, elementsOf(body, members[0]!, 3));
        assert.ok(only.length <= 3);
      }),
      { numRuns: 3_000 },
    );
    assert.ok(both > 300, `it answered ${both} times`);
  });

  it("are one more than asked for where there are more", () => {
    const body = Buffer.from("[1,2,3,4,5");
    assert.equal(elementsOf(body, whole(body), 2)?.length, 3);
  });

  const broken = [
    "",
    "{",
    "[",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[1]x",
    '{"a"}',
    '{"a":}',
    "{a:1}",
    '{"a":1,}',
    '{"\\x":1}',
    '["',
    "]",
  ];
  for (const text of broken)
    it(`are not found in ${JSON.stringify(text)}`, () => {
      const body = Buffer.from(text);
      assert.deepEqual([elementsOf(body, whole(body), 9), membersOf(body, whole(body))], [null, null]);
    });

  it("count for more than their text once they are read", () => {
    assert.equal(readBytes(Buffer.from('"abc"')), 5);
    assert.ok(readBytes(Buffer.from(`[${Array(1_000).fill("{}").join(",")}]`)) > 64_000);
  });
});
