import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ROOT, textOf } from "../support/house/compose-file.js";

const SCRIPT = "scripts/before-start.mjs";
const LONG_AGO = new Date("2020-01-01");

/** Stands in for the builder of the console. */
const BUNDLER = `#!/bin/sh
echo "bundled $*"
mkdir -p dist/console && touch dist/console/index.html
`;

/** Stands in for the compiler: says that it was called, and with what. */
const COMPILER = `#!/bin/sh
echo "built $*"
mkdir -p dist/app && touch dist/app/main.js
`;

describe("npm start", () => {
  let folder: string;
  const file = (name: string, text = ""): void => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text, { mode: 0o755 });
  };
  const age = (name: string): void => utimesSync(path.join(folder, name), LONG_AGO, LONG_AGO);
  const start = () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT], { cwd: folder, encoding: "utf8" });
    return { status, stdout: stdout.trim(), stderr: stderr.trim() };
  };

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "onym-start-"));
    cpSync(path.join(ROOT, SCRIPT), path.join(folder, SCRIPT));
    file("app/main.ts");
    file("tsconfig.build.json", '{ "include": ["app"] }');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("runs the script, and then the built service alone", () => {
    const { scripts } = JSON.parse(textOf("package.json")) as { readonly scripts: Readonly<Record<string, string>> };
    assert.equal(scripts["prestart"], `node ${SCRIPT}`);
    // Without `exec` a SIGTERM to npm would end the shell in between and leave the service running.
    assert.match(scripts["start"]!, /^exec node .*dist\/app\/main\.js$/);
  });

  it("builds when nothing is built, and when a source is newer, and not otherwise", () => {
    file("node_modules/.bin/tsc", COMPILER);
    const built = { status: 0, stdout: "built -p tsconfig.json", stderr: "" };
    assert.deepEqual(start(), built);
    assert.deepEqual(start(), { ...built, stdout: "" });
    age("dist/app/main.js");
    assert.deepEqual(start(), built);
  });

  it("builds the console when it is not built, and when one of its sources is newer, and not otherwise", () => {
    file("node_modules/.bin/tsc", COMPILER);
    file("node_modules/.bin/vite", BUNDLER);
    file("console/ui/kit.css");
    const bundled = { status: 0, stdout: "bundled build --config console/vite.config.ts", stderr: "" };
    assert.match(start().stdout, /^built .*\nbundled /);
    assert.deepEqual(start(), { ...bundled, stdout: "" });
    age("dist/console/index.html");
    assert.deepEqual(start(), bundled);
  });

  it("fails where the build fails", () => {
    file("node_modules/.bin/tsc", "#!/bin/sh\nexit 2\n");
    assert.equal(start().status, 2);
  });

  it("takes the build that is there without a compiler, and says when it is old", () => {
    file("dist/app/main.js");
    // npm prune writes it again, after the build.
    file("package-lock.json");
    assert.deepEqual(start(), { status: 0, stdout: "", stderr: "" });
    age("dist/app/main.js");
    const { status, stderr } = start();
    assert.equal(status, 0);
    assert.match(stderr, /^onym: the sources are newer than the build.*$/);
  });

  it("says in one line what to do without a build and a compiler", () => {
    const { status, stderr } = start();
    assert.equal(status, 1);
    assert.match(stderr, /^onym: not built\. Run `npm ci && npm run build && npm prune --omit=dev`.*$/);
    assert.ok(!existsSync(path.join(folder, "dist")));
  });
});
