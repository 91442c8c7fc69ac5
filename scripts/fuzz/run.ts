import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { silentLog } from "../../app/logger.js";
import { startService } from "../../app/service.js";
import { readConfig } from "../../core/config.js";
import type { Json } from "../../gateway/openapi/operation.js";
import { bodyOf, createWorkspace, openClient, type Client, type Request } from "../shared/client.js";
import { openScratch } from "../shared/scratch.js";
import { countHits, type Count } from "./count.js";
import { createWalk, type Operation, type Prepared } from "./walk.js";

const OPERATOR_KEY = "operator-key-of-the-fuzzing";
export interface FuzzOptions {
  /** The program of schemathesis. */
  readonly program: string;
  readonly examplesMax: number;
  readonly seed: number;
}

export interface Fuzzed {
  readonly exitCode: number;
  readonly counts: readonly Count[];
}

/** Runs schemathesis against a service of its own on a temporary folder. */
export async function fuzz(options: FuzzOptions): Promise<Fuzzed> {
  const { folder, remove } = openScratch("fuzz");
  const config = readConfig({
    PORT: "0",
    DATA_DIR: path.join(folder, "data"),
    OPERATOR_KEY,
    LOG_LEVEL: "silent",
    // It tries wrong keys, and checks events, far more often than a person would.
    AUTH_FAILURES_PER_MINUTE: "1000000",
    INLINE_PER_MINUTE: "1000000",
  });
  const service = await startService({ config, log: silentLog });
  const client = openClient(service.url, 1);
  try {
    const { key } = await createWorkspace(client, OPERATOR_KEY, "fuzz");
    const document = bodyOf<Json>(await client.send({ method: "GET", path: "/openapi.json" }));
    const walk = createWalk(document, (prepared) => send(client, key, prepared));
    const prepared: Prepared[] = [];
    for (const operation of walk.operations) prepared.push(await walk.prepare(operation));
    const files = {
      document: path.join(folder, "openapi.json"),
      settings: path.join(folder, "schemathesis.toml"),
      report: path.join(folder, "report.har"),
    };
    await writeFile(files.document, JSON.stringify(withExamples(document, prepared)));
    await writeFile(files.settings, settingsOf({ apiKey: key, operatorKey: OPERATOR_KEY }), { mode: 0o600 });
    const exitCode = await runProgram(options, service.url, files);
    return { exitCode, counts: countHits(walk.operations, await readFile(files.report, "utf8")) };
  } finally {
    client.close();
    await service.close();
    await remove();
  }
}

const keyFor = (owner: string, { security }: Operation): string => (security === "operatorKey" ? OPERATOR_KEY : owner);

async function send(client: Client, owner: string, { operation, target }: Prepared) {
  const answer = await client.send({
    method: operation.method as Request["method"],
    path: target,
    key: keyFor(owner, operation),
    ...(operation.body !== undefined && { body: operation.body as object }),
  });
  if (answer.status >= 300) throw new Error(`${operation.operationId}: ${answer.status}: ${answer.text}`);
  return { status: answer.status, body: answer.text === "" ? null : bodyOf<unknown>(answer) };
}

/**
 * The document with the ids of what is there in place of those that are only shown, and without `wait`: each call with it takes
 * seconds. What was registered cannot be registered again, so the example of that leaves the id to the service.
 */
function withExamples(document: Json, prepared: readonly Prepared[]): Json {
  const copy = structuredClone(document) as { readonly paths: Record<string, Record<string, Described>> };
  for (const { operation, params } of prepared) {
    const described = copy.paths[operation.path]![operation.method.toLowerCase()]!;
    const parameters = (described.parameters ?? []).filter(({ name }) => name !== "wait");
    for (const parameter of parameters) if (parameter.in === "path") parameter.example = params[parameter.name];
    described.parameters = parameters;
    const example = described.requestBody?.content["application/json"]?.example;
    if (operation.operationId === "registerSchema") delete example?.["schema_id"];
  }
  return copy;
}
interface Described {
  parameters?: { readonly name: string; readonly in: string; example?: unknown }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: Record<string, unknown> }>> };
}

/** All checks are on but what these say. */
const CHECKS = `[checks]
# A body that has the right form may still name what is not there.
positive_data_acceptance.enabled = false
[[operations]]
# A check of an event answers 200 with what is wrong with it.
include-operation-id = "collect"
checks.negative_data_rejection.enabled = false
`;

const settingsOf = (keys: Readonly<Record<string, string>>): string =>
  [
    ...Object.entries(keys).map(([scheme, key]) => `[auth.openapi.${scheme}]\nbearer = ${JSON.stringify(key)}\n`),
    CHECKS,
  ].join("");

async function runProgram(
  { program, examplesMax, seed }: FuzzOptions,
  url: string,
  files: { readonly document: string; readonly settings: string; readonly report: string },
): Promise<number> {
  const asked = {
    url,
    phases: "examples,coverage,fuzzing",
    "max-examples": examplesMax,
    seed,
    report: "har",
    "report-har-path": files.report,
    "request-timeout": 20,
    warnings: "off",
  };
  const flags = Object.entries(asked).map(([name, value]) => `--${name}=${value}`);
  const args = [
    "--config-file",
    files.settings,
    "run",
    files.document,
    ...flags,
    "--continue-on-failure",
    "--no-shrink",
  ];
  const child = spawn(program, args, { stdio: "inherit", cwd: path.dirname(files.document) });
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}
