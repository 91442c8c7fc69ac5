// What `npm start` runs first: it builds where the compilers are, and takes the build that is there where they are not, as after
// `npm prune --omit=dev`. Not TypeScript, because there may be nothing yet that could compile it.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

const { include } = JSON.parse(readFileSync("tsconfig.build.json", "utf8"));
const MAIN = path.join("dist", "app", "main.js");

const madeAt = (file) => (existsSync(file) ? statSync(file).mtimeMs : 0);
const filesIn = (folder, isSource) =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true })
        .filter(isSource)
        .map((name) => path.join(folder, name))
    : [];

const builds = [
  {
    tool: "tsc",
    args: ["-p", "tsconfig.json"],
    // The compiler leaves what has not changed as it is, but for its stamp.
    made: [MAIN, path.join("dist", ".tsbuildinfo")],
    sources: include.flatMap((folder) => filesIn(folder, (name) => name.endsWith(".ts"))).concat("tsconfig.json"),
  },
  {
    tool: "vite",
    args: ["build", "--config", path.join("console", "vite.config.ts")],
    made: [path.join("dist", "console", "index.html")],
    sources: filesIn("console", (name) => path.extname(name) !== ""),
  },
];

const compilerOf = ({ tool }) => path.join("node_modules", ".bin", tool);
const isOld = ({ made, sources }) =>
  !existsSync(made[0]) || Math.max(...made.map(madeAt)) < Math.max(0, ...sources.map(madeAt));

const old = builds.filter((build) => build.sources.length > 0 && isOld(build));
for (const build of old.filter((build) => existsSync(compilerOf(build)))) {
  if ((process.exitCode ?? 0) !== 0) break;
  process.exitCode = spawnSync(compilerOf(build), build.args, { stdio: "inherit" }).status ?? 1;
}
const left = old.filter((build) => !existsSync(compilerOf(build)));
if (!existsSync(MAIN) && left.length > 0) {
  console.error("onym: not built. Run `npm ci && npm run build && npm prune --omit=dev`, then `npm start`.");
  process.exitCode = 1;
} else if (left.length > 0)
  console.error("onym: the sources are newer than the build, which starts. To build them: `npm ci && npm run build`.");
