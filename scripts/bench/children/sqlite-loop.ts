/** What the disk and the driver alone cost: rows in group commits, with the settings of the real store and nothing around them. */
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { openDatabase } from "../../../store/embedded/database.js";
import { openScratch } from "../../shared/scratch.js";
import type { Asks } from "../targets.js";
import { serve } from "./serve.js";

const ROWS_PER_COMMIT = 64;

const { folder, remove } = openScratch("bench");
const database = openDatabase({
  file: path.join(folder, "rows.db"),
  checkpointMs: 1_000,
  onError: (message, error) => console.error(message, error),
});
database.prepare("CREATE TABLE rows (id INTEGER PRIMARY KEY, body BLOB NOT NULL)").run([]);
const begin = database.prepare("BEGIN IMMEDIATE");
const insert = database.prepare("INSERT INTO rows (body) VALUES (?)");
const commit = database.prepare("COMMIT");

const loop: Asks["loop"] = async ({ rowBytes, seconds }) => {
  const row = Buffer.alloc(rowBytes, "x");
  const latenciesMs: number[] = [];
  const start = performance.now();
  let now = start;
  while (now < start + seconds * 1_000) {
    const began = now;
    begin.run([]);
    for (let i = 0; i < ROWS_PER_COMMIT; i++) insert.run([row]);
    commit.run([]);
    await setImmediate();
    now = performance.now();
    latenciesMs.push(now - began);
  }
  return { operations: latenciesMs.length * ROWS_PER_COMMIT, seconds: (now - start) / 1_000, latenciesMs };
};

serve({}, { loop }, async () => {
  await database.close();
  await remove();
});
