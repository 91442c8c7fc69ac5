import type { SchemaVersion } from "../../core/catalog/catalog.js";
import { isTooExpensive, type ErrorItem } from "../../core/errors.js";
import type { SchemaId, WorkspaceId } from "../../core/ids.js";
import { scanAll } from "../../core/json/scan.js";
import { beyondNamespaces } from "../change-namespace.js";
import type { Caller } from "../services.js";
import { admitEvent, UNKNOWN_SCHEMA, type JudgeServices } from "./judge.js";
import {
  isObject,
  KEY_MEMBER,
  keyProblems,
  openSubmission,
  readEnvelope,
  relative,
  type Opened,
} from "./submission.js";

/** The inline mode: the same checks as at acceptance, all problems at once, and nothing is queued or registered. */
export async function checkEvent(
  services: JudgeServices,
  caller: Pick<Caller, "workspace" | "now">,
  sent: Buffer,
): Promise<readonly ErrorItem[]> {
  const opened = openSubmission(services.limits, sent, false);
  return checkOpened(services, caller, sent, opened, readEnvelope(opened, caller.now).errors);
}

/** So for an item of a batch, which may have a key of its own. */
export async function checkItem(
  services: JudgeServices,
  caller: Pick<Caller, "workspace" | "now">,
  sent: Buffer,
): Promise<readonly ErrorItem[]> {
  const opened = openSubmission(services.limits, sent, false);
  const { errors } = readEnvelope(opened, caller.now, KEY_MEMBER);
  return checkOpened(services, caller, sent, opened, [...errors, ...keyProblems(opened.fields)]);
}

async function checkOpened(
  services: JudgeServices,
  { workspace }: Pick<Caller, "workspace">,
  sent: Buffer,
  opened: Opened,
  found: readonly ErrorItem[],
): Promise<readonly ErrorItem[]> {
  const { depthMax } = services.limits;
  const errors: ErrorItem[] = [...found];
  for (const { path, message } of scanAll(sent, depthMax + 1)) errors.push({ path: relative(path), message });
  const { schema_id: schemaId, payload } = opened.fields;
  if (typeof schemaId !== "string") return errors;
  const schema = await services.catalog.findSchema(workspace, schemaId as SchemaId, null);
  if (schema === null) errors.push(UNKNOWN_SCHEMA);
  else if (isObject(payload))
    errors.push(...(await payloadProblems(services, workspace, schema, payload, opened.bytes)));
  return errors;
}

async function payloadProblems(
  services: JudgeServices,
  workspace: WorkspaceId,
  schema: SchemaVersion,
  payload: unknown,
  bytes: Buffer,
): Promise<readonly ErrorItem[]> {
  const { admission } = await admitEvent(services, workspace, schema, { payload, bytes, named: [] });
  const stored = await services.catalog.namespaces(workspace);
  return [
    ...admission.errors,
    ...beyondNamespaces(stored, admission.unregistered, services.limits.namespacesMax),
    // At the end, because its last item may say that there are more.
    ...(await services.validator.checkAll(schema, bytes).catch(givenUp)),
  ];
}

/** That the check takes too long is a problem of the event like others. */
function givenUp(error: unknown): readonly ErrorItem[] {
  // Without a problem it would pass.
  if (!isTooExpensive(error) || error.errors === undefined) throw error;
  return error.errors;
}
