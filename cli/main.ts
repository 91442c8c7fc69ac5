#!/usr/bin/env node
import { createInterface } from "node:readline/promises";
import { run } from "./run.js";

const { argv, stdin, stdout, stderr } = process;

// Whoever reads the output may stop at any time: `onym tail | head`.
stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

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
    new Promise((resolve) => {
      // Waits for a slow reader, so that what is printed does not fill the memory.
      if (stdout.write(text)) resolve();
      else stdout.once("drain", resolve);
    }),
  err: (text) => void stderr.write(text),
  showsProgress: stderr.isTTY,
  ask: stdin.isTTY && stderr.isTTY ? ask : null,
});
