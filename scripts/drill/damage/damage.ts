import { cpSync, mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { each } from "../../shared/async.js";
import { startChild, type ChildProcess } from "../../shared/child.js";
import { createRandom } from "../../shared/random.js";
import { openScratch } from "../../shared/scratch.js";
import { damageFiles } from "./files.js";
import type { Found, Truth } from "./truth.js";

/** What the child found in a damaged copy. */
export type Look =
  | { readonly kind: "refused"; readonly message: string }
  | ({ readonly kind: "started"; readonly alarms: number } & Found);

export interface Filling {
  readonly folder: string;
  readonly checkpointMs: number;
}

export interface Asks {
  fill(filling: Filling): Promise<Truth>;
  stop(): Promise<void>;
  look(copy: { readonly folder: string; readonly truth: Truth }): Promise<Look>;
}

/** `told`: some answers were 500 `damaged` with an alarm, and all others were right. */
const VERDICTS = ["right", "refused", "told", "other 5xx", "WRONG", "ABORT"] as const;
type Verdict = (typeof VERDICTS)[number];

const WIDTH = 2;
/** The driver frees its memory late. */
const LOOKS_OF_A_CHILD = 40;

interface Source {
  readonly name: string;
  readonly folder: string;
  readonly truth: Truth;
}

/** True when no damage was answered as data, no process was aborted, and nothing was lost without a word. */
export async function drillDamage(options: {
  readonly trials: number;
  readonly seed: number;
  readonly progress: (line: string) => void;
}): Promise<boolean> {
  const { trials, seed, progress } = options;
  const { folder, remove } = openScratch("damage");
  const table = new Map<string, Map<Verdict, number>>();
  let [done, isGood] = [0, true];
  try {
    const sources: Source[] = [];
    for (const name of ["closed", "killed", "killed, all in the log"] as const) {
      const source = await makeSource(folder, name);
      await requireWhole(source, folder);
      sources.push(source);
    }
    progress(`${sources[0]!.truth.answers.length} questions to each of ${trials} damaged copies, seed ${seed}`);
    const lanes = Array.from({ length: WIDTH }, (_, lane) => lane);
    await each(lanes, WIDTH, async (lane) => {
      let child: Child | null = null;
      for (let trial = lane; trial < trials; trial += WIDTH) {
        if (Math.floor(trial / WIDTH) % LOOKS_OF_A_CHILD === 0) {
          await child?.close();
          child = null;
        }
        child ??= await openChild();
        const { kind, verdict, examples } = await tryDamage(
          child,
          sources[trial % sources.length]!,
          path.join(folder, `copy-${lane}`),
          seed + trial,
        );
        if (verdict === "ABORT") child = null;
        if (verdict === "WRONG" || verdict === "ABORT" || verdict === "other 5xx") {
          isGood = false;
          for (const example of examples) console.log(`${verdict}, seed ${seed + trial}: ${example}`);
        }
        const row = table.get(kind) ?? new Map<Verdict, number>();
        table.set(kind, row.set(verdict, (row.get(verdict) ?? 0) + 1));
        done += 1;
        if (done % 100 === 0) progress(`${done} of ${trials}`);
      }
      await child?.close();
    });
  } finally {
    await remove();
  }
  console.log(tableOf(table));
  return isGood;
}

type Child = ChildProcess<Asks>;
async function openChild(): Promise<Child> {
  const child = await startChild<Asks, object>(new URL("child.js", import.meta.url), [], {
    env: { PATH: process.env["PATH"] },
    execArgv: [],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  if ("signal" in child) throw new Error(`the child ended: ${child.log}`);
  return child;
}

/** A store that was closed, or whose process was killed behind a checkpoint or before the first. */
async function makeSource(root: string, name: "closed" | "killed" | "killed, all in the log"): Promise<Source> {
  const folder = path.join(root, name);
  mkdirSync(folder);
  const child = await openChild();
  const truth = await child.ask("fill", { folder, checkpointMs: name === "killed, all in the log" ? 60_000 : 200 });
  if (name === "closed") {
    await child.ask("stop");
    await child.close();
  } else {
    child.kill();
    await child.ended;
    // What is left of a killed process; a folder with a socket is not copied.
    rmSync(path.join(folder, "backup.sock"), { force: true });
  }
  return { name, folder, truth };
}

/** A drill that finds the whole store wrong would prove nothing. */
async function requireWhole({ name, folder, truth }: Source, root: string): Promise<void> {
  const child = await openChild();
  const copy = path.join(root, "whole");
  cpSync(folder, copy, { recursive: true });
  const look = await child.ask("look", { folder: copy, truth });
  await child.close();
  rmSync(copy, { recursive: true });
  if (look.kind === "refused" || look.right !== truth.answers.length || look.alarms > 0)
    throw new Error(`the ${name} store is not whole before any damage: ${JSON.stringify(look)}`);
}

async function tryDamage(child: Child, source: Source, copy: string, seed: number) {
  rmSync(copy, { recursive: true, force: true });
  cpSync(source.folder, copy, { recursive: true });
  const { kind, description } = damageFiles(copy, createRandom(seed));
  const of = (verdict: Verdict, examples: readonly string[] = []) => ({
    kind: `${source.name}, ${kind}`,
    verdict,
    examples: examples.slice(0, 3).map((example) => `${description}: ${example}`),
  });
  const look = await child.ask("look", { folder: copy, truth: source.truth }).catch((error: Error) => error);
  if (look instanceof Error) {
    child.kill();
    return of("ABORT", [look.message]);
  }
  if (look.kind === "refused") return look.message === "" ? of("WRONG", ["refused without a word"]) : of("refused");
  if (look.wrong.length > 0) return of("WRONG", look.wrong);
  if (look.failed.length > 0) return of("other 5xx", look.failed);
  if (look.damaged === 0) return of("right");
  return look.alarms > 0 ? of("told") : of("WRONG", ["damage without an alarm"]);
}

function tableOf(table: ReadonlyMap<string, ReadonlyMap<Verdict, number>>): string {
  const rows = [...table]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([kind, counts]) => [kind, ...VERDICTS.map((verdict) => String(counts.get(verdict) ?? 0))]);
  const totals = VERDICTS.map((_, column) => String(rows.reduce((sum, row) => sum + Number(row[column + 1]), 0)));
  return [["", ...VERDICTS], ...rows, ["all", ...totals]]
    .map(([kind, ...cells]) => kind!.padEnd(50) + cells.map((cell) => cell.padStart(10)).join(""))
    .join("\n");
}
