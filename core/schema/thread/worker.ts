import { readlinkSync } from "node:fs";
import path from "node:path";
import { workerData, type MessagePort } from "node:worker_threads";
import type { ValidateFunction } from "ajv";
import { LRUCache } from "lru-cache";
import { incompatibilities } from "../compatibility/compatibility.js";
import { compileSchema } from "../validation/engine.js";
import { examine } from "../examine.js";
import type { SchemaObject } from "../keywords.js";
import { allProblems, firstProblem } from "../validation/problems.js";
import { COMPILED_MAX, type Answer, type Request } from "./protocol.js";

const { port } = workerData as { readonly port: MessagePort };
const compiled = new LRUCache<string, ValidateFunction>({ max: COMPILED_MAX });
const decoder = new TextDecoder();

const answer = (message: Answer): void => port.postMessage(message);

function handle(request: Request): Answer {
  const { id } = request;
  if (request.kind === "examine") {
    const schema = JSON.parse(request.schema) as SchemaObject;
    return { kind: "examined", id, examination: examine(schema, () => answer({ kind: "stage", id })) };
  }
  if (request.kind === "compare") {
    const [previous, next] = [JSON.parse(request.previous) as object, JSON.parse(request.next) as object];
    return { kind: "compared", id, errors: incompatibilities(previous, next) };
  }
  const validate = validatorFor(request);
  if (validate === null) return { kind: "needs_schema", id };
  if (validate(JSON.parse(decoder.decode(request.payload)))) return { kind: "validated", id, errors: [] };
  const errors = validate.errors ?? [];
  const { all } = request;
  return { kind: "validated", id, errors: all === null ? firstProblem(errors) : allProblems(errors, all) };
}

function validatorFor({ id, name, schema, all }: Request & { kind: "validate" }): ValidateFunction | null {
  const known = compiled.get(name);
  if (known === undefined && schema === null) return null;
  const validate = known ?? compileSchema(JSON.parse(schema!) as SchemaObject, { allErrors: all !== null });
  if (known === undefined) compiled.set(name, validate);
  if (schema !== null) answer({ kind: "stage", id });
  return validate;
}

port.on("message", (request: Request) => {
  try {
    answer(handle(request));
  } catch {
    answer({ kind: "failed", id: request.id });
  }
});
// Compiles the meta-schemas now, so that no job waits for it.
for (const $schema of ["http://json-schema.org/draft-07/schema#", undefined])
  examine($schema === undefined ? {} : { $schema }, () => {});
answer({ kind: "ready", tid: tidOf() });

/** Linux alone says what a single thread has used. */
function tidOf(): number | null {
  try {
    return Number(path.basename(readlinkSync("/proc/thread-self")));
  } catch {
    return null;
  }
}
