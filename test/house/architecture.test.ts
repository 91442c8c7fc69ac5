import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
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
  keeper: ["core", "commands", "keeper"],
  // Runs elsewhere, so it knows nothing but HTTP.
  client: ["client"],
  // Runs in a browser: it knows the API, and of the shapes there only the types.
  console: ["client", "console"],
  // Talks to the service over HTTP alone; the pure rules tell it beforehand what the service would do.
  cli: ["core", "client", "cli"],
  app: ["core", "graph", "store", "commands", "gateway", "worker", "keeper", "app"],
  scripts: ["core", "graph", "store", "commands", "gateway", "worker", "keeper", "app", "scripts"],
  test: [
    "core",
    "graph",
    "store",
    "commands",
    "gateway",
    "worker",
    "keeper",
    "app",
    "client",
    "cli",
    "scripts",
    "test",
  ],
};
/** Inside a folder: room -> the other rooms of it that it may import; "" is what stands in no room. */
const ROOMS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  core: {
    "": [],
    json: [""],
    catalog: [""],
    event: ["", "json"],
    identity: ["", "catalog", "event"],
    profile: ["", "json", "catalog", "event"],
    rule: ["", "event", "profile"],
    schema: ["", "json", "catalog", "profile"],
    audience: ["", "event", "rule"],
    webhook: ["", "audience"],
    ports: ["", "audience", "webhook", "catalog", "event", "identity", "profile"],
    sdk: ["", "json", "catalog", "event", "identity"],
  },
  graph: {
    "": ["restore", "rules", "undo", "scheduling"],
    restore: ["", "rules"],
    rules: [],
    scheduling: [""],
    undo: ["", "rules", "scheduling"],
    // Each engine writes what the rules have decided, and knows neither the undos nor the other engine.
    sqlite: ["rules", "scheduling"],
    neo4j: ["", "rules", "scheduling"],
  },
  cli: {
    "": ["commands"],
    commands: ["", "export", "import"],
    export: ["", "import"],
    import: [""],
  },
  console: {
    "": ["shell", "state", "styles"],
    api: ["state"],
    pages: ["api", "state", "styles", "ui"],
    shell: ["api", "pages", "state", "ui"],
    state: ["api", "ui"],
    styles: [],
    ui: ["api", "state"],
  },
  gateway: {
    "": ["body", "routes", "sdk", "shapes"],
    access: ["", "body", "http", "shapes"],
    console: ["access", "body", "http", "shapes"],
    body: [],
    http: ["", "access", "body", "sdk", "shapes", "stream"],
    openapi: ["", "shapes"],
    routes: ["", "access", "body", "http", "shapes"],
    sdk: ["", "access", "body", "http", "shapes"],
    shapes: ["", "http"],
    stream: ["", "access", "http"],
  },
};
/** Package -> the only places that may name it (tests may name all). */
const ONLY_IN: Readonly<Record<string, readonly string[]>> = {
  ajv: ["core/schema/", "core/config.ts", "gateway/http/validate.ts"],
  "ajv-formats": ["core/schema/"],
  re2js: ["core/schema/"],
  typebox: ["core/config.ts", "gateway/"],
  uuid: ["core/ids.ts"],
  "lru-cache": ["core/", "store/", "commands/", "gateway/", "app/verify/"],
  "libphonenumber-js": ["core/identity/normalization.ts"],
  preact: ["console/"],
  "d3-force": ["console/"],
  vite: ["console/vite.config.ts"],
  "playwright-core": ["scripts/pictures/"],
  helmet: ["gateway/http/page-router.ts"],
  express: ["gateway/", "scripts/bench/"],
  "prom-client": ["app/telemetry/"],
  "@opentelemetry/api": ["app/telemetry/"],
  "express-rate-limit": ["gateway/"],
  libsql: ["store/embedded/", "scripts/bench/", "scripts/servers/exclusive.ts"],
  pino: ["app/logger.ts"],
  "rabbitmq-client": ["store/rabbitmq/", "scripts/"],
  mongodb: ["store/mongo/", "scripts/"],
  "neo4j-driver": ["graph/", "scripts/"],
};
const LINES_MAX = 320;
const FILES_MAX = 15;

const sources = (): readonly string[] =>
  Object.keys(MAY_IMPORT).flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => path.join(folder, name)),
  );
const isThere = (file: string): boolean => existsSync(path.join(ROOT, file));

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

const targetOf = ({ file, target }: Import): string => sourceOf(path.normalize(path.join(path.dirname(file), target)));
const sourceOf = (target: string): string => {
  const plain = target.replace(/\.js$/, ".ts");
  return isThere(`${plain}x`) ? `${plain}x` : plain;
};
const folderOf = (file: string): string => file.split("/")[0]!;
/** The folder below the outermost one, or "" for a file that stands in none. */
const roomOf = (file: string): string => file.split("/").slice(1, -1)[0] ?? "";
const packageOf = (target: string): string =>
  target.startsWith("@") ? target.split("/", 2).join("/") : target.split("/")[0]!;

function roomViolations(one: Import): readonly string[] {
  const rooms = ROOMS[folderOf(one.file)];
  const [from, to] = [roomOf(one.file), roomOf(targetOf(one))];
  if (rooms === undefined || from === to || rooms[from]?.includes(to) === true) return [];
  return [`${one.file} imports ${one.target}: the room "${from}" may not import "${to}"`];
}

/** Circles of files that import each other, types as well: each as its files in a row. */
export function circles(imports: readonly Import[]): readonly string[] {
  const next = new Map<string, string[]>();
  for (const one of imports.filter(({ target }) => target.startsWith(".")))
    next.set(one.file, [...(next.get(one.file) ?? []), targetOf(one)]);
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) found.push([...way.slice(way.indexOf(file)), file].join(" -> "));
    else if (!done.has(file)) {
      for (const target of next.get(file) ?? []) walk(target, [...way, file]);
      done.add(file);
    }
  };
  for (const file of next.keys()) walk(file, []);
  return found;
}

/** What breaks the table, in words. */
export function violations(imports: readonly Import[]): readonly string[] {
  return imports.flatMap((one) => {
    const from = one.file.split("/")[0]!;
    if (one.target.startsWith("node:")) return [];
    if (one.target.startsWith(".")) {
      const to = folderOf(targetOf(one));
      if (MAY_IMPORT[from]!.includes(to)) return from === to ? roomViolations(one) : [];
      return [`${one.file} imports ${one.target}: ${from} may not import ${to}`];
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

  it("takes nothing but types into the console from elsewhere", () => {
    const values = (file: string): readonly string[] =>
      [
        ...readFileSync(path.join(ROOT, file), "utf8").matchAll(/^(?:import|export) (?!type ).*? from "([^"]+)";$/gm),
      ].map(([, target]) => folderOf(targetOf({ file, target: target! })));
    const files = sources().filter((file) => file.startsWith("console/"));
    assert.ok(files.length > 10, "the files were found");
    for (const file of files) assert.ok(!values(file).includes("client"), file);
  });

  it("has no circle of files", () => {
    assert.deepEqual(circles(imports.filter(({ file }) => !file.startsWith("test/"))), []);
  });

  it("sees a circle, and only that", () => {
    const one = (file: string, target: string): Import => ({ file, target });
    const [a, b, c] = [one("core/a.ts", "./b.js"), one("core/b.ts", "./json/c.js"), one("core/json/c.ts", "../a.js")];
    assert.deepEqual(circles([a, b, one("core/a.ts", "./json/c.js")]), []);
    assert.deepEqual(circles([a, b, c]), ["core/a.ts -> core/b.ts -> core/json/c.ts -> core/a.ts"]);
  });

  it("sees an import against the table", () => {
    const wrong = [
      { file: "graph/rules/assert.ts", target: "../undo/run.js" },
      { file: "graph/sqlite/graph.ts", target: "../neo4j/client.js" },
      { file: "graph/neo4j/cypher/write.ts", target: "../../undo/split.js" },
      { file: "core/ids.ts", target: "./event/event.js" },
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

  it("keeps every folder to what one look takes in", () => {
    const folders = new Map<string, number>();
    for (const file of sources().filter((one) => !one.startsWith("test/")))
      folders.set(path.dirname(file), (folders.get(path.dirname(file)) ?? 0) + 1);
    const large = [...folders].filter(([, files]) => files > FILES_MAX);
    assert.deepEqual(large, []);
  });

  // A tracked link to a folder would take the place of that folder in every other checkout.
  it("tracks no symbolic link", () => {
    if (!existsSync(path.join(ROOT, ".git"))) return;
    const tracked = execFileSync("git", ["ls-files", "--stage"], {
      cwd: ROOT,
      encoding: "utf8",
      maxBuffer: 16_777_216,
    });
    assert.deepEqual(
      tracked.split("\n").filter((line) => line.startsWith("120000 ")),
      [],
    );
  });

  // On Node 20 each call stays for ever in every signal that it is given.
  it("joins signals by listeners that are taken away again, not by AbortSignal.any", () => {
    const joining = sources().filter(
      (file) =>
        !file.startsWith("test/") && /AbortSignal\s*\.\s*any\(/.test(readFileSync(path.join(ROOT, file), "utf8")),
    );
    assert.deepEqual(joining, []);
  });

  it("reads the environment in the programs of app alone", () => {
    const readers = sources().filter(
      (file) => !/^(test|scripts)\//.test(file) && readFileSync(path.join(ROOT, file), "utf8").includes("process.env"),
    );
    assert.deepEqual(readers, [
      "cli/main.ts",
      "app/move/main.ts",
      "app/start/backup.ts",
      "app/start/owner-key.ts",
      "app/start/serve.ts",
      "app/start/write-erasures.ts",
      "app/verify/main.ts",
    ]);
  });
});
