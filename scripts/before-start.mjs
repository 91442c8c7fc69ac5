// What `npm start` runs first: it builds where the compiler is, and takes the build that is there where it is not, as after
// `npm prune --omit=dev`. Not TypeScript, because there may be nothing yet that could compile it.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

const { include: sources } = JSON.parse(readFileSync("tsconfig.build.json", "utf8"));
const compiler = path.join("node_modules", ".bin", "tsc");
const main = path.join("dist", "app", "main.js");
const stamp = path.join("dist", ".tsbuildinfo");

const madeAt = (file) => (existsSync(file) ? statSync(file).mtimeMs : 0);
const sourceFiles = sources.flatMap((folder) =>
  readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => path.join(folder, name)),
);
const changedAt = Math.max(0, ...[...sourceFiles, "tsconfig.json"].map(madeAt));
// The compiler leaves what has not changed as it is, but for its stamp.
const isBuilt = existsSync(main) && Math.max(madeAt(main), madeAt(stamp)) >= changedAt;

if (!isBuilt && existsSync(compiler))
  process.exitCode = spawnSync(compiler, ["-p", "tsconfig.json"], { stdio: "inherit" }).status ?? 1;
else if (!existsSync(main)) {
  console.error("onym: not built. Run `npm ci && npm run build && npm prune --omit=dev`, then `npm start`.");
  process.exitCode = 1;
} else if (!isBuilt)
  console.error("onym: the sources are newer than the build, which starts. To build them: `npm ci && npm run build`.");
