import path from "node:path";
import { fileURLToPath } from "node:url";
import { writeEnvironment } from "./environment.js";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");

const EXISTS = [
  "make-env: .env exists and stays as it is: the servers were started with its passwords.",
  "To begin anew, with empty servers: docker compose down --volumes, remove .env, run this again.",
];
const NEXT = [
  ".env is written, with fresh passwords and an operator key; only you can read it.",
  "",
  "  docker compose up -d --wait      starts everything",
  "  npm run test:compose             asks it all the questions",
  "",
  "OPERATOR_KEY in .env makes workspaces (docs/deploy.md). Keep a copy of the file in a safe place.",
];

try {
  writeEnvironment(ROOT);
  process.stdout.write(`${NEXT.join("\n")}\n`);
} catch (error) {
  const exists = (error as NodeJS.ErrnoException).code === "EEXIST";
  const reason = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${exists ? EXISTS.join("\n") : `make-env: ${reason}`}\n`);
  process.exit(1);
}
