import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { eventually } from "../shared/async.js";
import { openClient, requireAnswer } from "../shared/client.js";
import { IDENTITY } from "./identity.js";
import { INGEST } from "./ingest.js";
import { REFUSALS } from "./refusals.js";
import { expectStatus, openWorld, type Checks, type Json, type World } from "./world.js";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const DEFAULT_URL = "http://127.0.0.1:8080";
/** `docker compose up` without `--wait` comes back before all are ready. */
const START_MS = 60_000;

const HEALTH: Checks = {
  "/healthz answers, and /readyz says that every part is there": async ({ ask }) => {
    expectStatus(await ask("GET", "/healthz"), 200);
    const { body } = expectStatus(await ask("GET", "/readyz"), 200);
    assert.equal(body["status"], "ready");
    const parts = Object.values(body["checks"] as Json);
    assert.ok(parts.length > 0 && parts.every((isThere) => isThere === true), JSON.stringify(body));
  },
};

function operatorKey(): string {
  const given = process.env["OPERATOR_KEY"];
  if (given !== undefined && given !== "") return given;
  try {
    const key = parseEnv(readFileSync(path.join(ROOT, ".env"), "utf8"))["OPERATOR_KEY"];
    if (key !== undefined && key !== "") return key;
  } catch {
    // Said below, with what to do about it.
  }
  throw new Error(
    "OPERATOR_KEY: is neither set nor in .env: run npm run make-env, or set it to the one of the service",
  );
}

async function untilReady(url: string): Promise<void> {
  const client = openClient(url, 1);
  try {
    await eventually(() => requireAnswer(client, 200, { method: "GET", path: "/readyz" }), START_MS);
  } catch (error) {
    throw new Error(`URL: ${url} is not ready after ${START_MS / 1_000} s: ${messageOf(error)}`, { cause: error });
  } finally {
    client.close();
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function runChecks(world: World, checks: Checks): Promise<number> {
  let failed = 0;
  for (const [sentence, check] of Object.entries(checks)) {
    try {
      await check(world);
      process.stdout.write(`  ok    ${sentence}\n`);
    } catch (error) {
      failed += 1;
      process.stdout.write(`FAILED  ${sentence}\n        ${messageOf(error).replaceAll("\n", "\n        ")}\n`);
    }
  }
  process.stdout.write(`${Object.keys(checks).length - failed} passed, ${failed} failed\n`);
  return failed;
}

try {
  const url = process.env["URL"] ?? DEFAULT_URL;
  const key = operatorKey();
  await untilReady(url);
  const world = await openWorld(url, key);
  process.exitCode = (await runChecks(world, { ...HEALTH, ...INGEST, ...IDENTITY, ...REFUSALS })) === 0 ? 0 : 1;
  world.close();
} catch (error) {
  process.stderr.write(`compose-test: ${messageOf(error)}\n`);
  process.exitCode = 2;
}
