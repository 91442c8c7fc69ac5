import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const read = (name: string): string => readFileSync(path.join(ROOT, name), "utf8");

const FILES = readdirSync(path.join(ROOT, "test"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => `dist/test/${name.replace(/ts$/, "js")}`);

/** As mocha reads a pattern: `**` stands for any folders, `*` for anything within one. */
const matcher = (pattern: string): RegExp => {
  const parts = pattern.replaceAll(".", "\\.").split(/(\*\*\/|\*\*|\*)/);
  return new RegExp(`^${parts.map((part) => ({ "**/": "(.*/)?", "**": ".*", "*": "[^/]*" })[part] ?? part).join("")}$`);
};
const picked = (patterns: readonly string[]): readonly string[] => {
  const matchers = patterns.map(matcher);
  return FILES.filter((file) => matchers.some((one) => one.test(file)));
};

/** What a mocha configuration runs. */
function filesOf(config: string): readonly string[] {
  const { spec, ignore = [] } = JSON.parse(read(config)) as { readonly spec: string[]; readonly ignore?: string[] };
  const ignored = new Set(picked(ignore));
  return picked(spec).filter((file) => !ignored.has(file));
}

const RUN = new Map(
  readdirSync(ROOT)
    .filter((name) => /^\.mocharc\..*json$/.test(name))
    .map((name) => [name, filesOf(name)]),
);

describe("The files of the tests", () => {
  it("are each run by a mocha configuration", () => {
    const run = new Set([...RUN.values()].flat());
    assert.deepEqual(
      FILES.filter((file) => !run.has(file)),
      [],
    );
  });

  it("take turns in .ci/run only under a name that stands for one, outside `npm test`", () => {
    const turns = read(".ci/turns").split("\n");
    const others = new Set([...RUN].filter(([name]) => name !== ".mocharc.json").flatMap(([, files]) => files));
    const named = turns.filter((line) => line !== "" && !line.startsWith("#"));
    assert.deepEqual(
      named.filter((file) => !others.has(file)),
      [],
    );
    assert.equal(new Set(named).size, named.length);
  });
});
