import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { exclusively } from "./exclusive.js";
import { installFolder, SOURCE } from "./paths.js";
import { findProgram } from "./process.js";

export type Progress = (line: string) => void;

const INSTALL_DEADLINE_MS = 15 * 60_000;
const OUTPUT_KEPT = 4_000;

/** The Debian packages of all that the Java servers need. */
export const JAVA_PACKAGES = "openjdk-17-jdk-headless maven";

/** The program, or an error that says how to install it. */
export function requireProgram(name: string, packages: string, folders: readonly string[] = []): string {
  const file = findProgram(name, folders);
  if (file !== null) return file;
  throw new Error(`${name} is missing; on Debian or Ubuntu: apt-get install -y --no-install-recommends ${packages}`);
}

/** The folder of what `build` made out of these files of the source folder, made once for each content of theirs. */
export async function installed(
  title: string,
  files: readonly string[],
  progress: Progress,
  build: (folder: string) => Promise<void>,
): Promise<string> {
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(path.join(SOURCE, file)));
  const folder = path.join(installFolder(), `${title}-${hash.digest("hex").slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  // One at a time: two Mavens at once can spoil each other's downloads.
  await exclusively(path.join(installFolder(), "lock.db"), INSTALL_DEADLINE_MS, async () => {
    if (existsSync(folder)) return;
    removeTorn();
    progress(`${title}: installing into ${folder}`);
    const unfinished = `${folder}.${process.pid}.unfinished`;
    mkdirSync(unfinished, { recursive: true });
    await build(unfinished);
    // The name comes last, so that an install which was cut short is made again.
    renameSync(unfinished, folder);
  });
  return folder;
}

function removeTorn(): void {
  for (const name of readdirSync(installFolder()))
    if (name.endsWith(".unfinished")) rmSync(path.join(installFolder(), name), { recursive: true, force: true });
}

/** The jars that a pom names, into a folder. */
export async function copyJars(pom: string, folder: string): Promise<void> {
  const maven = requireProgram("mvn", JAVA_PACKAGES);
  await run(maven, [
    "--batch-mode",
    "--quiet",
    `--file=${path.join(SOURCE, pom)}`,
    "dependency:copy-dependencies",
    "-DincludeScope=runtime",
    `-DoutputDirectory=${folder}`,
  ]);
}

/** Runs a program to its end. The error of a failed one ends with what it printed last. */
export async function run(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-OUTPUT_KEPT);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once("error", reject).once("close", resolve),
  );
  if (code !== 0) throw new Error(`${path.basename(file)} ended with ${code}:\n${output.trim()}`);
}
