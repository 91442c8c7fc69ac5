import assert from "node:assert/strict";
import {
  compare,
  expectedGroups,
  identifiersOf,
  type FoundProfile,
  type FoundProfiles,
} from "../../scripts/demo/expected.js";
import { keyValue, parseKeys } from "../../scripts/demo/keys.js";
import { runDemo, SAMPLE, type DemoResult } from "../../scripts/demo/run.js";
import { showSummary } from "../../scripts/demo/summary.js";
import { parseCsv, tableOf } from "../../scripts/demo/table.js";

const sample = (id: string | null): Promise<DemoResult> =>
  runDemo({
    files: [SAMPLE.file],
    keys: SAMPLE.keys,
    id,
    traits: null,
    concurrency: 8,
    server: null,
    onProgress: () => {},
  });

describe("The demo", () => {
  it("finds 7 profiles in the 12 records of the sample, as a union-find over the same keys does", async () => {
    const { summary, differences } = await sample(SAMPLE.id);
    assert.deepEqual(differences, []);
    assert.equal(summary.records, 12);
    assert.equal(summary.recordsWithoutIdentity, 0);
    assert.equal(summary.profiles, 7);
    assert.equal(summary.largestRecords, 3);
    assert.match(showSummary(summary), /^7 profiles$/m);
  });

  it("counts records that identify nobody, without making profiles of them", async () => {
    const { summary, differences } = await sample(null);
    assert.deepEqual(differences, []);
    assert.equal(summary.records, 12);
    assert.equal(summary.recordsWithoutIdentity, 2);
    assert.equal(summary.profiles, 5);
  });
});

const first: FoundProfile = {
  profileId: "p1",
  eventCount: 2,
  identifiers: [
    { namespace: "a", value: "1" },
    { namespace: "b", value: "2" },
  ],
};
const second: FoundProfile = {
  profileId: "p2",
  eventCount: 1,
  identifiers: [
    { namespace: "a", value: "3" },
    { namespace: "b", value: "4" },
  ],
};

describe("The union-find", () => {
  it("joins records that are connected over others, and only those", () => {
    const keys = parseKeys(["a", "b"], ["a", "b"]);
    const { records } = tableOf("chain", "a,b\n1,1\n3,3\n2,1\n2,2\n,2\n,\n");
    const groups = expectedGroups(records.map((record) => identifiersOf(record, keys)));
    assert.deepEqual(
      groups.map(({ rows }) => rows),
      [[0, 2, 3, 4], [1]],
    );
    assert.deepEqual(
      groups.map(({ identifiers }) => identifiers.length),
      [4, 2],
    );
  });
});

describe("The comparison with the union-find", () => {
  const keys = parseKeys(["a", "b"], ["a", "b"]);
  const { records } = tableOf("three", "a,b\n1,2\n1,\n3,4\n");
  const groups = expectedGroups(records.map((record) => identifiersOf(record, keys)));
  const right: FoundProfiles = new Map(
    [
      ["a", "1"],
      ["b", "2"],
      ["a", "3"],
      ["b", "4"],
    ].map(([namespace, value], i) => [`:${namespace}:${value}`, i < 2 ? first : second]),
  );
  const changed = (name: string, profile: FoundProfile): FoundProfiles => new Map([...right, [name, profile]]);

  it("finds no difference where there is none", () => {
    assert.equal(groups.length, 2);
    assert.deepEqual(compare(groups, right), []);
  });

  it("finds a group that is split", () => {
    const differences = compare(groups, changed(":b:2", { ...first, profileId: "p9" }));
    assert.deepEqual(differences, ["records 1, 2: stand in 2 profiles instead of one"]);
  });

  it("finds groups that share a profile", () => {
    const joined = new Map([...right.keys()].map((name) => [name, first]));
    assert.ok(compare(groups, joined).includes("records 3: share profile p1 with others"));
  });

  it("finds a wrong number of events", () => {
    const differences = compare(groups, changed(":a:3", { ...second, eventCount: 2 }));
    assert.deepEqual(differences, ["records 3: p2 has 2 events instead of 1"]);
  });

  it("finds identifiers that a profile lacks, has too many, or that the service does not know", () => {
    const [a, b] = second.identifiers;
    const other = { namespace: "a", value: "5" };
    const withIdentifiers = (...identifiers: FoundProfile["identifiers"]): readonly string[] =>
      compare(groups, changed(":a:3", { ...second, identifiers }));
    assert.deepEqual(withIdentifiers(a!), ["records 3: p2 lacks 1 identifiers"]);
    assert.deepEqual(withIdentifiers(a!, b!, other), ["records 3: p2 has 1 identifiers of others"]);
    assert.equal(withIdentifiers(a!, other).length, 2);
    const without = new Map([...right].filter(([name]) => name !== ":a:3"));
    assert.deepEqual(compare(groups, without), ["records 3: a is unknown to the service"]);
  });
});

describe("Keys of a CSV table", () => {
  it("join columns so that no two different rows have the same value", () => {
    const [key] = parseKeys(["a+b"], ["a", "b"]);
    const { records } = tableOf("rows", 'a,b\n"x"",""y",z\nx,"y"",""z"\n"x,y",z\nx,"y,z"\n');
    assert.equal(new Set(records.map((record) => keyValue(key!, record))).size, 4);
  });

  it("do not exist when one of their columns is blank", () => {
    const keys = parseKeys(["a+b", "b"], ["a", "b"]);
    const { records } = tableOf("rows", "a, b\n1,  \n, 2\n");
    assert.deepEqual(
      records.map((record) => keys.map((key) => keyValue(key, record))),
      [
        [null, null],
        [null, "2"],
      ],
    );
  });

  it("are refused when their column does not exist or when they would share a namespace", () => {
    assert.throws(() => parseKeys(["c"], ["a", "b"]), /c: is not a column; there are a, b/);
    assert.throws(() => parseKeys(["A b", "a_b"], ["A b", "a_b"]), /another key has the namespace a_b/);
  });
});

describe("The CSV reader", () => {
  it("reads quoted fields, doubled quotes, line ends inside quotes, CRLF, LF and a BOM", () => {
    assert.deepEqual(parseCsv('\uFEFFa,b\r\n"1,""x""\r\n2",\n,""'), [
      ["a", "b"],
      ['1,"x"\r\n2', ""],
      ["", ""],
    ]);
  });

  it("makes no row of the last line end and none of an empty text", () => {
    assert.deepEqual(parseCsv("a\n1\n"), [["a"], ["1"]]);
    assert.deepEqual(parseCsv(""), []);
  });

  it("keeps an empty field behind the last comma", () => {
    assert.deepEqual(parseCsv("a,b\n1,"), [
      ["a", "b"],
      ["1", ""],
    ]);
  });

  it("refuses what it would have to guess, and names the line", () => {
    for (const [text, message] of [
      ["a,b\n1\n", /line 2: has 1 fields/],
      ['a\n1"2\n', /line 2: a field must be plain/],
      ['a\n"1\n2', /line 2: a field must be plain/],
      ['a\n"1"2\n', /line 2: a field must be plain/],
      ["a\n1\r2\n", /line 2: a field must be plain/],
      ['a,b\n"1\n2",3\n4\n', /line 4: has 1 fields/],
    ] as const)
      assert.throws(() => parseCsv(text), message);
  });
});
