import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { ROOT, textOf } from "../support/house/compose-file.js";

const dockerfile = textOf("Dockerfile").replaceAll(/\\\n\s*/g, "");
const lines = dockerfile.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
const last = (instruction: string): string => lines.findLast((line) => line.startsWith(`${instruction} `)) ?? "";
const finalStage = lines.slice(lines.lastIndexOf(last("FROM")));
const { version, engines } = JSON.parse(textOf("package.json")) as {
  readonly version: string;
  readonly engines: { readonly node: string };
};

describe("Dockerfile", () => {
  it("begins with an exact Node 24, by tag and digest, in every stage of its own", () => {
    assert.match(lines[0]!, /^ARG NODE_IMAGE=node:24\.\d+\.\d+-bookworm-slim@sha256:[0-9a-f]{64}$/);
    assert.match(engines.node, /^>=20\./);
    const bases = lines.filter((line) => line.startsWith("FROM "));
    assert.ok(bases.length >= 3, "the tools of the build stay behind");
    const stages = new Set(bases.map((line) => / AS (\w+)$/.exec(line)?.[1]));
    for (const base of bases) {
      const [, from = ""] = base.split(" ");
      assert.ok(from === "${NODE_IMAGE}" || stages.has(from), base);
    }
  });

  it("installs what the lock file says, without running scripts of packages", () => {
    const installs = lines.filter((line) => /\bnpm (ci|install|i)\b/.test(line));
    assert.deepEqual(installs, ["RUN npm ci --ignore-scripts", "RUN npm ci --omit=dev --ignore-scripts"]);
    assert.match(dockerfile, /^COPY \.npmrc package\.json package-lock\.json /m);
  });

  it("carries what runs and nothing else", () => {
    const copies = finalStage.filter((line) => line.startsWith("COPY "));
    assert.deepEqual(copies, [
      "COPY LICENSE package.json ./",
      "COPY --from=dependencies /app/node_modules node_modules",
      "COPY --from=build /app/dist dist",
    ]);
    const { include } = JSON.parse(textOf("tsconfig.build.json")) as { readonly include: readonly string[] };
    const copied = lines.filter((line) => /^COPY (\w+) \1$/.test(line)).map((line) => line.split(" ")[1]!);
    assert.deepEqual(copied.toSorted(), [...include, "console"].toSorted());
    for (const folder of ["test", "scripts"]) assert.ok(!include.includes(folder), folder);
  });

  it("runs as a user that is not root and cannot change the code", () => {
    assert.match(last("USER"), /^USER [1-9]\d{3,}:[1-9]\d{3,}$/);
    assert.ok(finalStage.includes(last("USER")));
    for (const line of finalStage) assert.doesNotMatch(line, /^COPY .*--(chown|chmod)/);
  });

  it("starts node itself, for production, with source maps", () => {
    assert.equal(last("ENTRYPOINT"), "ENTRYPOINT []");
    assert.equal(last("CMD"), 'CMD ["node", "--enable-source-maps", "--max-semi-space-size=32", "dist/app/main.js"]');
    assert.match(last("ENV"), /\bNODE_ENV=production\b/);
    assert.match(dockerfile, /^HEALTHCHECK .*\/healthz/m);
  });

  it("has each program that the pages run in it", () => {
    const { include } = JSON.parse(textOf("tsconfig.build.json")) as { readonly include: readonly string[] };
    const npmRuns = textOf("package.json");
    const job = textOf("deploy/k8s/example/verify.job.yaml").replaceAll(", ", " ");
    for (const text of [textOf("docs/deploy.md"), textOf("docs/scale.md") + job]) {
      const programs = [...text.matchAll(/\bnode (dist\/\S+\.js)/g)].map(([, program]) => program!);
      assert.deepEqual(
        new Set(programs),
        new Set(["verify/main", "move/main", "start/write-erasures"].map((name) => `dist/app/${name}.js`)),
      );
      for (const program of programs) {
        assert.ok(npmRuns.includes(` ${program}"`), program);
        const source = program.replace(/^dist\/(.*)\.js$/, "$1.ts");
        assert.ok(existsSync(path.join(ROOT, source)) && include.includes(source.split("/")[0]!), program);
      }
    }
  });

  it("says what it is, with the version of package.json", () => {
    assert.match(dockerfile, new RegExp(`org\\.opencontainers\\.image\\.version="${version}"`));
    assert.match(dockerfile, /org\.opencontainers\.image\.licenses="Apache-2\.0"/);
  });
});

describe(".dockerignore", () => {
  const patterns = textOf(".dockerignore")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const letIn = patterns.slice(1).map((line) => line.slice(1));

  it("keeps everything out but what it names", () => {
    assert.equal(patterns[0], "*");
    for (const line of patterns.slice(1)) assert.match(line, /^!\.?[A-Za-z][A-Za-z.-]*$/);
    for (const name of [".env", ".git", "data", "node_modules", "dist", "test", "scripts"])
      assert.ok(!letIn.includes(name), name);
  });

  it("lets in what the Dockerfile copies", () => {
    const sources = lines
      .filter((line) => line.startsWith("COPY ") && !line.includes("--from="))
      .flatMap((line) => line.split(" ").slice(1, -1));
    assert.deepEqual(new Set(letIn), new Set(sources));
  });
});
