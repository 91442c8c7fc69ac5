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
import { WRITE_KEY_SHOWN } from "../../gateway/shapes/examples.js";
import { countHits, type Count } from "./count.js";
import { createWalk, type Prepared } from "./walk.js";

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
    const writeKey = await createWriteKey(client, key);
    const keys = { apiKey: key, writeKey, operatorKey: OPERATOR_KEY };
    const walk = createWalk(withWriteKey(document, writeKey), (prepared) => send(client, keys, prepared));
    const prepared: Prepared[] = [];
    for (const operation of walk.operations) prepared.push(await walk.prepare(operation));
    const files = {
      document: path.join(folder, "openapi.json"),
      settings: path.join(folder, "schemathesis.toml"),
      report: path.join(folder, "report.har"),
    };
    await writeFile(files.document, JSON.stringify(withExamples(document, prepared)));
    await writeFile(files.settings, settingsOf(keys), { mode: 0o600 });
    const exitCode = await runProgram(options, service.url, files);
    return { exitCode, counts: countHits(walk.operations, await readFile(files.report, "utf8")) };
  } finally {
    client.close();
    await service.close();
    await remove();
  }
}

/** The keys of the security schemes. */
type Keys = Readonly<Record<"apiKey" | "writeKey" | "operatorKey", string>>;

const basic = (user: string): string => `Basic ${Buffer.from(`${user}:`).toString("base64")}`;

async function createWriteKey(client: Client, key: string): Promise<string> {
  const body = { role: "editor", send: "collect" };
  return bodyOf<{ readonly key: string }>(await client.send({ method: "POST", path: "/v1/keys", key, body })).key;
}

/** One path holds the key itself, which the document cannot know. */
const withWriteKey = (document: Json, writeKey: string): Json =>
  JSON.parse(JSON.stringify(document).replaceAll(JSON.stringify(WRITE_KEY_SHOWN), JSON.stringify(writeKey))) as Json;

async function send(client: Client, keys: Keys, { operation, target }: Prepared) {
  const security = (operation.security ?? "apiKey") as keyof Keys;
  const answer = await client.send({
    method: operation.method as Request["method"],
    path: target,
    ...(security === "writeKey" ? { headers: { Authorization: basic(keys.writeKey) } } : { key: keys[security] }),
    ...(operation.body !== undefined && { body: operation.body as object }),
  });
  if (answer.status >= 300) throw new Error(`${operation.operationId}: ${answer.status}: ${answer.text}`);
  return { status: answer.status, body: answer.text === "" ? null : bodyOf<unknown>(answer) };
}

/**
 * The document with the ids of what is there in place of those that are only shown, and without `wait` and `follow`: each call with them takes
 * seconds. What was registered cannot be registered again, so the example of that leaves the id to the service.
 */
function withExamples(document: Json, prepared: readonly Prepared[]): Json {
  const copy = structuredClone(document) as { readonly paths: Record<string, Record<string, Described>> };
  for (const { operation, params } of prepared) {
    const described = copy.paths[operation.path]![operation.method.toLowerCase()]!;
    const parameters = (described.parameters ?? []).filter(({ name }) => name !== "wait" && name !== "follow");
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
# A check of events answers 200 with what is wrong with them.
include-operation-id = ["collect", "collectBatch"]
checks.negative_data_rejection.enabled = false
[[operations]]
# A message of an SDK that is wrong does not hold up the others: 200 tells it. Its key may stand in other places than the head.
include-operation-id-regex = "^(sendSdk|getSegment|getRudder)"
checks.negative_data_rejection.enabled = false
checks.ignored_auth.enabled = false
checks.missing_required_header.enabled = false
`;

const settingsOf = ({ writeKey, ...bearers }: Keys): string =>
  [
    ...Object.entries(bearers).map(([scheme, key]) => `[auth.openapi.${scheme}]\nbearer = ${JSON.stringify(key)}\n`),
    `[auth.openapi.writeKey]\nusername = ${JSON.stringify(writeKey)}\npassword = ""\n`,
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
