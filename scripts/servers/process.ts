import { spawn, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** A process, told apart from a later one with the same number by when it began. */
export interface Recorded {
  readonly pid: number;
  readonly began: string;
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
}

const POLL_MS = 20;
const KILL_DEADLINE_MS = 10_000;

/** When the process began, in the system's own words; null when it is gone, or dead and not yet collected by its parent. */
export function beganOf(pid: number): string | null {
  return fs.existsSync("/proc/self/stat") ? beganOfProc(pid) : beganOfPs(pid);
}

function beganOfProc(pid: number): string | null {
  let stat: string;
  try {
    stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return null;
  }
  // The second field is the command in brackets and may hold anything; the third is the state, the 22nd the time.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return isDead(pid, fields[0]!) ? null : fields[19]!;
}

/** A killed process keeps its ports and files until its last thread is gone, and the first one may be dead before that. */
function isDead(pid: number, state: string): boolean {
  if (state !== "Z" && state !== "X") return false;
  try {
    return fs.readdirSync(`/proc/${pid}/task`).length <= 1;
  } catch {
    return true;
  }
}

function beganOfPs(pid: number): string | null {
  const [state, ...began] = spawnSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], { encoding: "utf8" })
    .stdout.trim()
    .split(/\s+/);
  return !state || state.startsWith("Z") ? null : began.join(" ");
}

export const isAlive = (one: Recorded): boolean => beganOf(one.pid) === one.began;

export function readRecord(file: string): Recorded | null {
  try {
    return JSON.parse(fs.readFileSync(file, "utf8")) as Recorded;
  } catch {
    // Absent, or torn by a kill in mid-write.
    return null;
  }
}

/** Starts a process that outlives this one, its output appended to a file. */
export function startDetached(command: Command, outputFile: string, recordFile: string): Recorded {
  const output = fs.openSync(outputFile, "a");
  try {
    const child = spawn(command.file, command.args, {
      cwd: command.folder,
      detached: true,
      env: { ...process.env, ...command.env },
      stdio: ["ignore", output, output],
    });
    child.on("error", () => undefined);
    child.unref();
    if (child.pid === undefined) throw new Error(`cannot start ${command.file}`);
    const record = { pid: child.pid, began: beganOf(child.pid) ?? "" };
    fs.writeFileSync(recordFile, JSON.stringify(record));
    return record;
  } finally {
    fs.closeSync(output);
  }
}

/** False when it was gone already. Never signals another process that got the same number. */
export function signal(one: Recorded, name: NodeJS.Signals): boolean {
  if (!isAlive(one)) return false;
  try {
    return process.kill(one.pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

/** True once it is gone, false when it is still there at the deadline. */
export async function gone(one: Recorded, deadlineMs: number): Promise<boolean> {
  const end = performance.now() + deadlineMs;
  while (isAlive(one)) {
    if (performance.now() > end) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** Asks it to stop; kills it when it has not by the deadline. */
export async function stop(one: Recorded, recordFile: string, deadlineMs: number): Promise<void> {
  if (signal(one, "SIGTERM")) {
    // A paused process hears the request only when it runs.
    signal(one, "SIGCONT");
    if (!(await gone(one, deadlineMs))) await kill(one);
  }
  fs.rmSync(recordFile, { force: true });
}

/** Resolves when it is gone, also when it was. */
export async function kill(one: Recorded): Promise<void> {
  if (!signal(one, "SIGKILL")) return;
  if (!(await gone(one, KILL_DEADLINE_MS))) throw new Error(`process ${one.pid} is still there after SIGKILL`);
}

/** The file of a program, or null. */
export function findProgram(name: string, folders: readonly string[] = []): string | null {
  const places = [...folders, ...(process.env["PATH"] ?? "").split(path.delimiter)];
  return places.map((folder) => path.join(folder, name)).find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
