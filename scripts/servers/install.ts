import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { exclusively } from "./exclusive.js";
import { installFolder, SOURCE } from "./paths.js";
import { findProgram } from "./process.js";

export type Progress = (line: string) => void;

const INSTALL_DEADLINE_MS = 15 * 60_000;
const OUTPUT_KEPT = 4_000;
const OUTPUT_BYTES_MAX = 64 * 1_024 * 1_024;

/** The Debian packages of all that the Java servers need. */
export const JAVA_PACKAGES = "openjdk-17-jdk-headless maven";

/** The program, or an error that says how to install it. */
export function requireProgram(name: string, packages: string, folders: readonly string[] = []): string {
  const file = findProgram(name, folders);
  if (file !== null) return file;
  throw new Error(`${name} is missing; on Debian or Ubuntu: apt-get install -y --no-install-recommends ${packages}`);
}

/** The folder of what `build` made out of these files of the source folder, made once for each content of theirs; a file elsewhere has a whole path. */
export async function installed(
  title: string,
  files: readonly string[],
  progress: Progress,
  build: (folder: string) => Promise<void>,
): Promise<string> {
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(path.resolve(SOURCE, file)));
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
  const goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", `-DoutputDirectory=${folder}`];
  const file = `--file=${path.resolve(SOURCE, pom)}`;
  await run(requireProgram("mvn", JAVA_PACKAGES), ["--batch-mode", "--quiet", file, ...goal]);
}

const execute = promisify(execFile);

/** Runs a program to its end. The error of a failed one ends with what it printed last. */
export async function run(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  try {
    await execute(file, args, { env: { ...process.env, ...env }, maxBuffer: OUTPUT_BYTES_MAX });
  } catch (error) {
    const { code, stdout = "", stderr = "" } = error as { code?: unknown; stdout?: string; stderr?: string };
    const output = `${stdout}${stderr}`.slice(-OUTPUT_KEPT).trim();
    throw new Error(`${path.basename(file)} ended with ${String(code)}:\n${output}`, { cause: error });
  }
}
