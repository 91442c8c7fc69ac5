import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createEngine, compileSchema } from "../../../core/schema/validation/engine.js";
import { examine } from "../../../core/schema/examine.js";
import { isObject, type Draft, type SchemaObject } from "../../../core/schema/keywords.js";
import { shapeProblems } from "../../../core/schema/limits/limits.js";
import { REMOTES } from "../../support/servers/suite-remotes.js";

interface Case {
  readonly file: string;
  readonly description: string;
  readonly schema: SchemaObject | boolean;
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[];
}
type Name = "draft7" | "draft2020-12";

const FOLDER = new URL("../../../../../shared/data/", import.meta.url);
const DRAFTS: Readonly<Record<Name, Draft>> = { draft7: "draft-07", "draft2020-12": "2020-12" };
/** What Ajv itself reaches with own properties and a fresh instance for each schema. */
const FLOOR: Readonly<Record<Name, number>> = { draft7: 923, "draft2020-12": 1_241 };

type AssertResult = boolean | "failed";

/** Judges by a fresh instance; a schema that does not compile, or a run that throws, has "failed". */
function judge(compile: () => (data: unknown) => unknown, tests: Case["tests"]): readonly AssertResult[] {
  let validate: (data: unknown) => unknown;
  try {
    validate = compile();
  } catch {
    return tests.map(() => "failed");
  }
  return tests.map(({ data }) => {
    try {
      return validate(data) === true;
    } catch {
      return "failed";
    }
  });
}

function open(name: Name, schema: Case["schema"]): (data: unknown) => unknown {
  const engine = createEngine(DRAFTS[name], { assertsFormats: false, withMetaSchemas: true });
  for (const [uri, remote] of Object.entries(REMOTES[name])) engine.addSchema(remote, uri);
  return engine.compile(schema);
}

/** The suite's schemas judge any value, those of events an object only; so the type of the root is set aside for the question. */
function isRegistrable(schema: SchemaObject): boolean {
  if (shapeProblems(schema).length > 0) return false;
  const { type: _type, ...rest } = JSON.parse(JSON.stringify(schema)) as SchemaObject;
  return examine(rest, () => {}).kind === "fine";
}
const DRAFT_07 = "http://json-schema.org/draft-07/schema#";

function hardened(name: Name, { schema, tests }: Case): readonly AssertResult[] | "refused" {
  if (!isObject(schema)) return "refused";
  const drafted = name === "draft7" ? { ...schema, $schema: DRAFT_07 } : schema;
  return isRegistrable(drafted) ? judge(() => compileSchema(drafted, { assertsFormats: false }), tests) : "refused";
}

describe("The judge of the test suite", () => {
  const tests = [1, "one"].map((data) => ({ description: "", data, valid: data === 1 }));

  it("tells a right answer from a wrong one, and from none", () => {
    assert.deepEqual(
      judge(() => open("draft7", { type: "integer" }), tests),
      [true, false],
    );
    assert.deepEqual(
      judge(() => open("draft7", { type: "string" }), tests),
      [false, true],
    );
    assert.deepEqual(
      judge(() => open("draft7", { $ref: "#/nowhere" }), tests),
      ["failed", "failed"],
    );
  });
});

describe("The official JSON Schema test suite", () => {
  const file = new URL("json-schema-test-suite.json", FOLDER);
  if (!existsSync(file)) {
    console.warn(
      "\n  NOT RUN: the official JSON Schema test suite (shared/data, a folder beside the checkout) is not here\n",
    );
    return;
  }
  const suite = JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<Name, readonly Case[]>>;
  for (const name of ["draft7", "draft2020-12"] as const) {
    it(`is answered right in at least ${FLOOR[name]} cases of ${name}, formats being annotations`, () => {
      const wrong = suite[name].flatMap(({ file, description, schema, tests }) =>
        judge(() => open(name, schema), tests).flatMap((result, at) =>
          result === tests[at]!.valid ? [] : [`${file}: ${description}: ${tests[at]!.description}: ${result}`],
        ),
      );
      const total = suite[name].reduce((sum, { tests }) => sum + tests.length, 0);
      assert.ok(total - wrong.length >= FLOOR[name], `${total - wrong.length} of ${total}:\n${wrong.join("\n")}`);
    });

    it(`is answered right in every case of ${name} that registration does not refuse`, () => {
      let answered = 0;
      const wrong: string[] = [];
      for (const one of suite[name]) {
        const results = hardened(name, one);
        if (results === "refused") continue;
        answered += results.length;
        for (const [at, result] of results.entries())
          if (result !== one.tests[at]!.valid)
            wrong.push(`${one.file}: ${one.description}: ${one.tests[at]!.description}: ${result}`);
      }
      assert.deepEqual(wrong, []);
      assert.ok(answered > FLOOR[name] * 0.8, `only ${answered} cases were answered`);
    });
  }
});
