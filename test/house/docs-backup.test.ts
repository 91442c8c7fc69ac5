import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { withFolder } from "../support/faults.js";
import { composeFile, textOf } from "../support/house/compose-file.js";
import { blocksOf, pageOf } from "../support/house/docs-page.js";

const compose = composeFile("docker-compose.yml");
const VOLUMES = ["mongodb-data", "mongodb-config", "neo4j-data", "rabbitmq-data"];
const LOGGED = '{"_id":"1","entry":"an erasure"}\n';
const CREDENTIALS = "-u onym -p secret --authenticationDatabase onym -d onym";

/** In place of the real ones: each notes how it is called. A volume is a folder, and what runs in a container runs here. */
const PROGRAMS: Readonly<Record<string, string>> = {
  docker: `
case "$1 $2" in
"compose exec") shift 4; exec env MONGODB_PASSWORD=secret "$@" ;;
"run --rm")
  while [ "$1" != "$IMAGE" ]; do [ "$1" != -v ] || volume=$(echo "$2" | cut -d: -f1); shift; done
  shift
  for one; do shift; case $one in /from | /to) one=volumes/$volume ;; esac; set -- "$@" "$one"; done
  exec "$@" ;;
esac`,
  mongoexport: `
while [ $# -gt 0 ]; do [ "$1" != --out ] || exec > "$2"; shift; done
cat logged`,
  mongoimport: `
while [ $# -gt 0 ]; do [ "$1" != --file ] || exec < "$2"; shift; done
cat > imported`,
  kubectl: "",
};

/** Runs a block as who pastes it does, in the folder; answers the calls of the programs. */
async function paste(folder: string, { text }: { readonly text: string }): Promise<readonly string[]> {
  await mkdir(path.join(folder, "bin"), { recursive: true });
  for (const [name, script] of Object.entries(PROGRAMS))
    await writeFile(path.join(folder, "bin", name), `#!/bin/sh -e\necho "${name} $*" >> calls${script}\n`, {
      mode: 0o755,
    });
  await writeFile(path.join(folder, "calls"), "");
  const env = {
    PATH: `${path.join(folder, "bin")}:${process.env["PATH"]}`,
    IMAGE: compose.services["gateway"]!.image,
    MONGODB_URL: "mongodb://onym:secret@127.0.0.1/onym",
  };
  await promisify(execFile)("sh", ["-ec", text], { env, cwd: folder });
  return (await readFile(path.join(folder, "calls"), "utf8")).split("\n").slice(0, -1);
}

const blocksUnder = async (page: string, heading: string) =>
  blocksOf(await pageOf(page)).filter(({ name }) => name === heading || /^ \d+$/.test(name.slice(heading.length)));
const makeVolumes = async (folder: string, textIn: (volume: string) => string | null): Promise<void> => {
  await rm(path.join(folder, "volumes"), { recursive: true, force: true });
  for (const volume of Object.keys(compose.volumes ?? {})) {
    const made = path.join(folder, "volumes", `onym_${volume}`);
    await mkdir(made, { recursive: true });
    const text = textIn(volume);
    if (text !== null) await writeFile(path.join(made, "file"), text);
  }
};
/** The files whose names match, which nobody else may read. */
const secretFiles = async (folder: string, names: RegExp): Promise<readonly string[]> => {
  const found = (await readdir(folder)).filter((name) => names.test(name));
  for (const name of found) assert.equal((await stat(path.join(folder, name))).mode & 0o077, 0, name);
  return found;
};
const imported = (folder: string): Promise<string> => readFile(path.join(folder, "imported"), "utf8");

describe("The commands of a backup and of a restore", () => {
  it("in deploy.md bring back what was copied, and start no process of the service before the erasures are there", () =>
    withFolder(async (folder) => {
      await writeFile(path.join(folder, "logged"), LOGGED);
      await writeFile(path.join(folder, "erasures-2020-01-01.json"), "old", { mode: 0o600 });
      await makeVolumes(folder, (volume) => volume);
      const [copy, exported, ...others] = await blocksUnder("deploy.md", "Backup");
      assert.deepEqual(others, []);
      const copied = await paste(folder, copy!);
      assert.deepEqual([copied[0], copied.at(-1)], ["docker compose stop", "docker compose up -d --wait"]);
      assert.deepEqual((await paste(folder, exported!)).slice(1), [`mongoexport ${CREDENTIALS} -c erasures`]);
      assert.equal((await secretFiles(folder, /\.tgz$|^erasures/)).length, VOLUMES.length + 2);
      assert.ok("MONGODB_PASSWORD" in compose.services["mongodb"]!.environment!);

      await makeVolumes(folder, () => null);
      const [unpack, bringIn, start, ...rest] = await blocksUnder("deploy.md", "Restore");
      assert.deepEqual(rest, []);
      const unpacked = (await paste(folder, unpack!)).filter((call) => call.startsWith("docker compose"));
      assert.deepEqual(unpacked, ["docker compose create", "docker compose up -d --wait mongodb"]);
      for (const volume of VOLUMES)
        assert.equal(await readFile(path.join(folder, "volumes", `onym_${volume}`, "file"), "utf8"), volume);
      const [inContainer, ...calls] = await paste(folder, bringIn!);
      assert.match(inContainer!, /^docker compose exec -T mongodb /);
      assert.deepEqual(calls, [`mongoimport ${CREDENTIALS} -c erasures --mode upsert`]);
      assert.equal(await imported(folder), LOGGED);
      const started = ["docker compose up -d --wait worker", "docker compose up -d --wait"];
      assert.deepEqual(await paste(folder, start!), started);
    }));

  it("in operations.md export the erasures, and import the newest export", () =>
    withFolder(async (folder) => {
      await writeFile(path.join(folder, "logged"), LOGGED);
      await writeFile(path.join(folder, "erasures-2020-01-01.json"), "old", { mode: 0o600 });
      const [exported, bringIn, ...others] = await blocksUnder("operations.md", "A backup of servers that run");
      assert.deepEqual(others, []);
      for (const block of [exported!, bringIn!])
        assert.match((await paste(folder, block)).join(), / --uri mongodb:\S+\/onym --collection erasures /);
      assert.equal((await secretFiles(folder, /^erasures/)).length, 2);
      assert.equal(await imported(folder), LOGGED);
    }));

  it("in scale.md stop the pods, and start the workers before the gateways", () =>
    withFolder(async (folder) => {
      const calls: string[] = [];
      for (const block of await blocksUnder("scale.md", "Restore")) calls.push(...(await paste(folder, block)));
      assert.deepEqual(calls, [
        "kubectl -n onym scale deployment/onym-gateway deployment/onym-worker --replicas=0",
        "kubectl -n onym scale deployment/onym-worker --replicas=2",
        "kubectl -n onym rollout status deployment/onym-worker",
        "kubectl -n onym scale deployment/onym-gateway --replicas=2",
      ]);
      for (const mode of ["gateway", "worker"])
        assert.match(
          textOf(`deploy/k8s/chart/base/${mode}.deployment.yaml`),
          new RegExp(`^  name: onym-${mode}$`, "m"),
        );
    }));
});
