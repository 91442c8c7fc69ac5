import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** The folder tree is the architecture: who may import whom, and where a package may stand. */
const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: ["core"],
  graph: ["core", "graph"],
  store: ["core", "store"],
  commands: ["core", "commands"],
  gateway: ["core", "commands", "gateway"],
  worker: ["core", "commands", "worker"],
  app: ["core", "graph", "store", "commands", "gateway", "worker", "app"],
  scripts: ["core", "graph", "store", "commands", "gateway", "worker", "app", "scripts"],
  test: ["core", "graph", "store", "commands", "gateway", "worker", "app", "scripts", "test"],
};
/** Package -> the only places that may name it (tests may name all). */
const ONLY_IN: Readonly<Record<string, readonly string[]>> = {
  ajv: ["core/schema/", "core/config.ts", "gateway/http/validate.ts"],
  "ajv-formats": ["core/schema/"],
  re2js: ["core/schema/"],
  typebox: ["core/config.ts", "gateway/"],
  uuid: ["core/ids.ts"],
  "lru-cache": ["core/", "store/", "commands/", "gateway/"],
  "libphonenumber-js": ["core/identity/normalization.ts"],
  helmet: ["gateway/http/pages.ts"],
  express: ["gateway/", "scripts/bench/"],
  "express-rate-limit": ["gateway/"],
  libsql: ["store/embedded/", "scripts/bench/", "scripts/servers/exclusive.ts"],
  pino: ["app/logger.ts"],
  "rabbitmq-client": ["store/rabbitmq/", "scripts/"],
  mongodb: ["store/mongo/", "scripts/"],
  "neo4j-driver": ["graph/", "scripts/"],
};
const LINES_MAX = 320;

const sources = (): readonly string[] =>
  Object.keys(MAY_IMPORT).flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => path.join(folder, name)),
  );

interface Import {
  readonly file: string;
  readonly target: string;
}

const importsOf = (file: string): readonly Import[] => {
  const text = readFileSync(path.join(ROOT, file), "utf8");
  const found = text.matchAll(/(?:^|\n)\s*(?:import|export)\s(?:[^;"']*?\sfrom\s*)?["']([^"']+)["']/g);
  const later = text.matchAll(/\bimport\(\s*["']([^"']+)["']\s*\)/g);
  return [...found, ...later].map((match) => ({ file, target: match[1]! }));
};

const folderOf = ({ file, target }: Import): string =>
  path.normalize(path.join(path.dirname(file), target)).split("/")[0]!;
const packageOf = (target: string): string =>
  target.startsWith("@") ? target.split("/", 2).join("/") : target.split("/")[0]!;

/** What breaks the table, in words. */
export function violations(imports: readonly Import[]): readonly string[] {
  return imports.flatMap((one) => {
    const from = one.file.split("/")[0]!;
    if (one.target.startsWith("node:")) return [];
    if (one.target.startsWith(".")) {
      const to = folderOf(one);
      return MAY_IMPORT[from]!.includes(to) ? [] : [`${one.file} imports ${one.target}: ${from} may not import ${to}`];
    }
    if (from === "test") return [];
    const places = ONLY_IN[packageOf(one.target)];
    if (places === undefined) return [`${one.file} imports ${one.target}: the package is not in the table`];
    return places.some((place) => one.file.startsWith(place))
      ? []
      : [`${one.file} imports ${one.target}: only ${places.join(", ")} may`];
  });
}

describe("architecture", () => {
  const imports = sources().flatMap(importsOf);

  it("imports go one way, and packages stand only where the table says", () => {
    assert.ok(imports.length > 100, "the imports were found");
    assert.deepEqual(violations(imports), []);
  });

  it("sees an import against the table", () => {
    const wrong = [
      { file: "core/profile/fold.ts", target: "../../gateway/http/app.js" },
      { file: "gateway/http/app.ts", target: "../../store/embedded/queue/queue.js" },
      { file: "worker/worker.ts", target: "express" },
      { file: "core/profile/fold.ts", target: "left-pad" },
    ];
    assert.equal(violations(wrong).length, wrong.length);
  });

  it("keeps every file readable in one go", () => {
    const long = sources().filter((file) => readFileSync(path.join(ROOT, file), "utf8").split("\n").length > LINES_MAX);
    assert.deepEqual(long, []);
  });

  it("reads the environment in the start alone", () => {
    const readers = sources().filter(
      (file) => !/^(test|scripts)\//.test(file) && readFileSync(path.join(ROOT, file), "utf8").includes("process.env"),
    );
    assert.deepEqual(readers, ["app/main.ts"]);
  });
});
