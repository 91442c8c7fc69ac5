#!/usr/bin/env node
import { createInterface } from "node:readline/promises";
import { run } from "./run.js";

const { argv, stdin, stdout, stderr } = process;

// Each write is told of its own error, and nobody has to read what was refused.
stdout.on("error", () => undefined);
stderr.on("error", () => undefined);

async function ask(question: string): Promise<boolean> {
  const terminal = createInterface({ input: stdin, output: stderr });
  try {
    return /^y(?:es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}

process.exitCode = await run(argv.slice(2), {
  env: process.env,
  stdin,
  out: (text) =>
    new Promise((resolve, reject) => {
      // Waits for a slow reader, so that what is printed does not fill the memory.
      stdout.write(text, (error) => (error ? reject(error) : resolve()));
    }),
  err: (text) => void stderr.write(text),
  showsProgress: stderr.isTTY,
  ask: stdin.isTTY && stderr.isTTY ? ask : null,
});
