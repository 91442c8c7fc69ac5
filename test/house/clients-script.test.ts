import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { SDKS } from "../../scripts/clients/sdks.js";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const PROGRAMS = path.join(ROOT, "scripts/clients/sdk");
/** Drives the browser; the page does not have it. */
const DRIVER = "playwright-core";

/** How each language's file names what it loads itself. */
const PINS: Readonly<Record<string, RegExp>> = {
  "package.json": /^ {4}"(?<name>[^"]+)": "(?<version>[\d.]+)",?$/gm,
  "requirements.txt": /^(?<name>(?:segment|rudder)-[^=]+)==(?<version>[\d.]+) /gm,
  "go.mod": /^\s*(?:require )?(?<name>\S+) (?<version>v[\d.]+)$/gm,
  "pom.xml":
    /<groupId>(?<group>[^<]+)<\/groupId>\s*<artifactId>(?<name>[^<]+)<\/artifactId>\s*<version>(?<version>[\d.]+)<\/version>\s*<\/dependency>/g,
};

function pinned(folder: string): readonly string[] {
  const files = readdirSync(path.join(PROGRAMS, folder)).filter((file) => file in PINS);
  return files.flatMap((file) =>
    [...readFileSync(path.join(PROGRAMS, folder, file), "utf8").matchAll(PINS[file]!)].map(({ groups }) => {
      const { group, name, version } = groups as { group?: string; name: string; version: string };
      return `${group === undefined ? "" : `${group}:`}${name} ${version}`;
    }),
  );
}

describe("The clients' script", () => {
  const folders = readdirSync(PROGRAMS).filter((folder) => folder !== "python");

  it("runs the versions that the page of SDKs lists, and lists all that it runs", () => {
    const page = readFileSync(path.join(ROOT, "docs/sdk.md"), "utf8").split("## Tested with")[1]!;
    const listed = [...page.matchAll(/^\| `([^`]+)`[^|]*\| (\S+) +\|$/gm)].map(
      ([, name, version]) => `${name} ${version}`,
    );
    const runs = folders.flatMap(pinned).filter((one) => !one.startsWith(DRIVER));
    assert.equal(runs.length, SDKS.length);
    assert.deepEqual(runs.toSorted(), listed.toSorted());
  });

  it("has a program for each SDK", () => {
    const wanted = SDKS.map(({ name, language }) => (language === "browser" ? "browser" : name));
    assert.deepEqual([...new Set(wanted)].toSorted(), folders.toSorted());
  });
});
