import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, symlink } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv, promisify } from "node:util";
import { fillIn } from "../../scripts/make-env/environment.js";
import { openScratch } from "../../scripts/shared/scratch.js";
import { composeFile, ROOT, substitute, textOf } from "../support/house/compose-file.js";
import { dropPlaces } from "../support/house/places.js";
import { run, type Program } from "../support/service/process.js";
import { ownPlaces, serversUnderTest } from "../support/servers/servers.js";

const exec = promisify(execFile);
const CHECKS = fileURLToPath(new URL("../../scripts/compose-test/main.js", import.meta.url));
const BUILD_MS = 240_000;
const CHECKS_MS = 120_000;

const lines = textOf("Dockerfile")
  .replaceAll(/\\\n\s*/g, "")
  .split("\n");
/** The instructions of a stage, without the name of the instruction. */
const stage = (name: string, instruction: "COPY" | "RUN"): readonly string[] => {
  const from = lines.findIndex((line) => line.startsWith("FROM ") && line.endsWith(` AS ${name}`));
  const to = lines.findIndex((line, n) => n > from && line.startsWith("FROM "));
  return lines
    .slice(from, to < 0 ? undefined : to)
    .filter((line) => line.startsWith(`${instruction} `))
    .map((line) => line.slice(instruction.length + 1));
};

/** The files of the image. Packages are those that are installed here: the lock file is the same. */
async function buildImage(folder: string): Promise<string> {
  const [build, image] = [path.join(folder, "build"), path.join(folder, "image")];
  await mkdir(build);
  await symlink(path.join(ROOT, "node_modules"), path.join(build, "node_modules"));
  for (const copy of [...stage("manifest", "COPY"), ...stage("build", "COPY")])
    for (const name of copy.split(" ").slice(0, -1))
      await cp(path.join(ROOT, name), path.join(build, name), { recursive: true });
  const commands = stage("build", "RUN").filter((command) => !command.startsWith("npm "));
  for (const command of commands) await exec("sh", ["-c", command], { cwd: build });
  await cp(path.join(build, "dist"), path.join(image, "dist"), { recursive: true });
  await cp(path.join(build, "package.json"), path.join(image, "package.json"));
  const { stdout } = await exec("npm", ["ls", "--omit=dev", "--all", "--parseable"], { cwd: ROOT });
  for (const installed of stdout.trim().split("\n").slice(1))
    await cp(installed, path.join(image, path.relative(ROOT, installed)), { recursive: true });
  return path.join(image, "dist/app/main.js");
}

/** What `docker compose up` starts, without Docker. */
describe("The image with the environment of docker-compose.yml", () => {
  const scratch = openScratch("composed");
  const places = ownPlaces(serversUnderTest());
  const environment = parseEnv(fillIn(textOf(".env.example"))) as Readonly<Record<string, string>>;
  const { services } = composeFile("", substitute(textOf("docker-compose.yml"), environment));
  const programs: Program[] = [];
  let main = "";

  const start = async (
    name: "gateway" | "worker",
    settings: Readonly<Record<string, string>> = {},
  ): Promise<string> => {
    // Those of the Compose file win over those of settings.env.
    const own = { ...settings, ...services[name]!.environment, ...places, HOST: "127.0.0.1", PORT: "0" };
    const program = run(own, "pipe", main);
    programs.push(program);
    const url = await program.listening();
    assert.ok(url !== null, `${name}: ${program.stderr()}`);
    return url;
  };
  const isHealthy = async (name: "gateway" | "worker", url: string): Promise<void> => {
    const [, command = "", ...args] = services[name]!.healthcheck!.test;
    await exec(
      command,
      args.map((arg) => arg.replace("http://127.0.0.1:8080", url)),
    );
  };

  before(async function () {
    this.timeout(BUILD_MS);
    main = await buildImage(scratch.folder);
  });
  after(async () => {
    for (const program of programs) program.signal("SIGTERM");
    const codes = await Promise.all(programs.map((program) => program.exited()));
    await dropPlaces(places);
    await scratch.remove();
    assert.deepEqual(new Set(codes), new Set([0]));
  });

  it("is healthy, passes npm run test:compose, and has the console at the gateway alone", async function () {
    this.timeout(CHECKS_MS);
    const urls = { gateway: await start("gateway"), worker: await start("worker") };
    const settings = { URL: urls.gateway, OPERATOR_KEY: environment["OPERATOR_KEY"]! };
    const { stdout } = await exec(process.execPath, [CHECKS], { env: settings });
    assert.match(stdout, /^[1-9]\d* passed, 0 failed$/m);
    for (const name of ["gateway", "worker"] as const) await isHealthy(name, urls[name]);
    const page = await fetch(`${urls.gateway}/console/`);
    assert.equal(page.status, 200);
    assert.match(await page.text(), /<script type="module"/);
    assert.equal((await fetch(`${urls.worker}/console/`)).status, 404);
  });

  it("has no console with CONSOLE=off, as from settings.env", async () => {
    const url = await start("gateway", { CONSOLE: "off" });
    assert.equal((await fetch(`${url}/console/`)).status, 404);
    assert.equal((await fetch(`${url}/healthz`)).status, 200);
  });
});
