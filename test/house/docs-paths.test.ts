import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const read = (page: string): string => readFileSync(path.join(ROOT, page), "utf8");
const cellsOf = (page: string, heading: string): readonly (readonly string[])[] => {
  const section =
    page.split(/^(?=##)/m).find((one) => one.replace(/^#+ /, "").startsWith(`${heading}\n`)) ?? assert.fail(heading);
  return [...section.matchAll(/^\| (.*) \|$/gm)].slice(2).map(([, row]) => row!.split("|").map((cell) => cell.trim()));
};
const foldersIn = (folder: string): readonly string[] =>
  readdirSync(path.join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${folder}/${name}`);

describe("CONTRIBUTING.md", () => {
  const page = read("CONTRIBUTING.md");

  it("names only files and folders that exist", () => {
    const named = [...page.matchAll(/`([\w.-]+(?:\/[\w.-]+)*(?:\/|\/[\w.-]+\.(?:ts|md|json)))`/g)].map(
      ([, one]) => one!,
    );
    assert.ok(named.length > 80, "the paths were found");
    assert.deepEqual(
      named.filter((one) => !existsSync(path.join(ROOT, one))),
      [],
    );
  });

  it("has a row for each folder, and for each room of those that have rooms", () => {
    const rows = cellsOf(page, "Folders")
      .map(([folder]) => folder!)
      .join(" ");
    const outer = [
      "core",
      "graph",
      "store",
      "commands",
      "gateway",
      "worker",
      "keeper",
      "app",
      "client",
      "console",
      "cli",
    ];
    const folders = [...outer, "scripts", "deploy", "docs", ...outer.flatMap(foldersIn)];
    assert.deepEqual(
      folders.filter((folder) => !rows.includes(`\`${folder}/\``)),
      [],
    );
  });
});

describe("docs/concepts.md", () => {
  const words = ["API terms", "Code terms"].flatMap((heading) => cellsOf(read("docs/concepts.md"), heading));

  it("defines each word once", () => {
    assert.ok(words.length > 60, "the words were found");
    const names = words.map(([name]) => name!);
    assert.deepEqual(
      names.filter((name, at) => names.indexOf(name) !== at),
      [],
    );
  });

  it("says of each word where the code defines it, and that file exists", () => {
    for (const [name, , defined] of words)
      assert.ok(existsSync(path.join(ROOT, defined!.replaceAll("`", ""))), `${name}: ${defined}`);
  });
});

describe("docs/api.md, on errors", () => {
  it("lists every error code", () => {
    const codes = [...read("core/errors.ts").matchAll(/^ {2}\| "(\w+)"/gm)].map(([, code]) => code!);
    assert.ok(codes.length > 30, "the codes were found");
    const section =
      read("docs/api.md")
        .split("\n## ")
        .find((one) => one.startsWith("Errors\n")) ?? assert.fail();
    assert.deepEqual(
      codes.filter((code) => !section.includes(`\`${code}\``)),
      [],
    );
  });
});

describe("README.md", () => {
  it("lists every page", () => {
    const listed = read("README.md");
    const pages = readdirSync(path.join(ROOT, "docs")).filter((name) => name.endsWith(".md"));
    assert.deepEqual(
      pages.filter((name) => !listed.includes(`](docs/${name})`)),
      [],
    );
  });

  it("and the pages link only to files and headings that exist", () => {
    const pages = [
      "README.md",
      "CONTRIBUTING.md",
      ...readdirSync(path.join(ROOT, "docs")).map((name) => `docs/${name}`),
    ];
    const texts = new Map(pages.filter((name) => name.endsWith(".md")).map((name) => [name, read(name)]));
    const broken: string[] = [];
    for (const [name, text] of texts)
      for (const [, target] of text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
        const [file, anchor] = target!.split("#") as [string, string | undefined];
        const place = file === "" ? name : path.join(path.dirname(name), file);
        const headings = [...(texts.get(place) ?? "").matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!));
        if (!existsSync(path.join(ROOT, place)) || (anchor !== undefined && !headings.includes(anchor)))
          broken.push(`${name}: ${target}`);
      }
    assert.deepEqual(broken, []);
  });
});

/** The anchor that GitHub makes of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
