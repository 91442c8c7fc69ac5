import { readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Random } from "../../shared/random.js";

const NAMES = ["onym.db", "onym.db-wal", "lock.db"] as const;
type Name = (typeof NAMES)[number];

/** One damage of one file of a folder that nobody uses. */
export interface Damage {
  /** For the table. */
  readonly kind: string;
  readonly description: string;
}

/** Most are flipped bits: of the database, and of what stands in the log. An empty file has nothing to flip or to cut. */
export function damageFiles(folder: string, random: Random): Damage {
  const used = new Map(NAMES.map((name) => [name, usedBytes(path.join(folder, name))]));
  const full = NAMES.filter((name) => used.get(name)! > 0);
  const choice = random.below(10);
  if (choice < 7) return flip(folder, random.pick(full), used, random);
  const name = choice < 9 ? random.pick(full) : random.pick(NAMES);
  return choice < 9 ? cut(folder, name, used.get(name)!, random) : remove(folder, name);
}

/** Behind the last byte that is not zero. */
function usedBytes(file: string): number {
  try {
    return readFileSync(file).findLastIndex((byte) => byte !== 0) + 1;
  } catch {
    return 0;
  }
}

function flip(folder: string, name: Name, used: ReadonlyMap<Name, number>, random: Random): Damage {
  const file = path.join(folder, name);
  const [position, bit] = [random.below(used.get(name)!), random.below(8)];
  const bytes = readFileSync(file);
  bytes[position]! ^= 1 << bit;
  writeFileSync(file, bytes);
  return { kind: `${name}: a bit flipped`, description: `${name}: bit ${bit} of byte ${position}` };
}

function cut(folder: string, name: Name, used: number, random: Random): Damage {
  const bytes = random.once(4) ? 0 : random.below(used);
  truncateSync(path.join(folder, name), bytes);
  return {
    kind: `${name}: ${bytes === 0 ? "emptied" : "cut"}`,
    description: `${name}: cut to ${bytes} of ${used} bytes`,
  };
}

function remove(folder: string, name: Name): Damage {
  rmSync(path.join(folder, name), { force: true });
  return { kind: `${name}: removed`, description: `${name}: removed` };
}
