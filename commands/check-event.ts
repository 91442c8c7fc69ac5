import type { SchemaVersion } from "../core/catalog/catalog.js";
import { mismatch, tooLarge, type ErrorItem } from "../core/errors.js";
import type { Instant } from "../core/event/event.js";
import { isFarAhead, parseTimestamp } from "../core/event/time.js";
import { admit, namespaceTable, type Admission } from "../core/identity/namespaces.js";
import type { SchemaId, WorkspaceId } from "../core/ids.js";
import { parseJson, scanError } from "../core/json/read.js";
import { scanAll, scanJson } from "../core/json/scan.js";
import { extract } from "../core/schema/plan.js";
import { beyondNamespaces } from "./change-namespace.js";
import type { Caller, Limits, Services } from "./services.js";

/** A correct envelope: the parsed payload, and its bytes as received. */
interface Submission {
  readonly schemaId: SchemaId;
  readonly timestamp: string;
  readonly instant: Instant;
  readonly payload: unknown;
  readonly bytes: Buffer;
}

const ENVELOPE = ["schema_id", "timestamp", "payload"] as const;
/** Paths of problems in the payload are relative to it; problems of the envelope name its field. */
const relative = (path: string): string => (path.startsWith("payload.") ? path.slice("payload.".length) : path);

interface Opened {
  readonly fields: Readonly<Record<string, unknown>>;
  /** Of the payload. */
  readonly bytes: Buffer;
}

/** Checks JSON, sizes and depth, in both modes. */
export function openSubmission(
  limits: Pick<Limits, "payloadBytesMax" | "depthMax">,
  sent: Buffer,
  refuseUnstorable: boolean,
): Opened {
  // The payload's own depth counts, and the payload is one level down.
  const { problem, members } = scanJson(sent, limits.depthMax + 1);
  if (problem !== null && (refuseUnstorable || !isUnstorable(problem.kind)))
    throw scanError(problem, relative(problem.path), limits.depthMax);
  const value = parseJson(sent);
  if (members === null) throw mismatch([{ path: "", message: "must be an object" }]);
  const member = members.find(({ name }) => name === "payload");
  const bytes = member === undefined ? NOTHING : sent.subarray(member.start, member.end);
  if (bytes.length > limits.payloadBytesMax) throw tooLarge("payload", limits.payloadBytesMax);
  return { fields: value as Readonly<Record<string, unknown>>, bytes };
}
const NOTHING = Buffer.alloc(0);
const isUnstorable = (kind: string): boolean =>
  kind === "lone_surrogate" || kind === "nul_in_key" || kind === "unsafe_number";

interface Envelope {
  /** Every problem, one item per field. */
  readonly errors: readonly ErrorItem[];
  /** Null when there is a problem. */
  readonly submission: Submission | null;
}

export function readEnvelope({ fields, bytes }: Opened, now: number): Envelope {
  const errors: ErrorItem[] = [];
  for (const name of ENVELOPE) if (!Object.hasOwn(fields, name)) errors.push({ path: name, message: "is required" });
  for (const name of Object.keys(fields))
    if (!(ENVELOPE as readonly string[]).includes(name)) errors.push({ path: name, message: "is not a known field" });
  const { schema_id: schemaId, timestamp, payload } = fields;
  if (schemaId !== undefined && typeof schemaId !== "string")
    errors.push({ path: "schema_id", message: "must be a string" });
  const instant = typeof timestamp === "string" ? parseTimestamp(timestamp) : null;
  if (timestamp !== undefined && instant === null)
    errors.push({
      path: "timestamp",
      message: "must be a date-time in UTC of the years 1970 to 9999 with a trailing Z, such as 2026-01-31T12:00:00Z",
    });
  if (instant !== null && isFarAhead(instant, now))
    errors.push({ path: "timestamp", message: "must not be more than 24 hours ahead" });
  if (payload !== undefined && !isObject(payload)) errors.push({ path: "payload", message: "must be an object" });
  if (errors.length > 0 || instant === null) return { errors, submission: null };
  const submission = { schemaId: schemaId as SchemaId, timestamp: timestamp as string, instant, payload, bytes };
  return { errors, submission };
}

export const UNKNOWN_SCHEMA: ErrorItem = { path: "schema_id", message: "is not a schema of this workspace" };

/** The identifiers that the schema's annotations find in the payload, as they are stored. */
export async function admitEvent(
  { catalog, validator, limits: { identifiersMax } }: Pick<Services, "catalog" | "validator" | "limits">,
  workspace: WorkspaceId,
  schema: SchemaVersion,
  payload: unknown,
): Promise<Admission> {
  const { identifiers: given, refused } = extract(validator.plan(schema), payload);
  if (refused !== null) return { ...NO_IDENTIFIERS, errors: [refused] };
  if (given.length === 0) return NO_IDENTIFIERS;
  const admitted = admit(given, namespaceTable(await catalog.namespaces(workspace)));
  if (admitted.identifiers.length <= identifiersMax) return admitted;
  const path = given[identifiersMax]?.path ?? "";
  return {
    ...admitted,
    errors: [...admitted.errors, { path, message: `is beyond ${identifiersMax} identifiers in one event` }],
  };
}
const NO_IDENTIFIERS: Admission = { identifiers: [], dropped: [], invalid: [], unregistered: [], errors: [] };

/** The inline mode: the same checks as at acceptance, all problems at once, and nothing is queued or registered. */
export async function checkEvent(
  services: Pick<Services, "catalog" | "validator" | "limits">,
  { workspace, now }: Pick<Caller, "workspace" | "now">,
  sent: Buffer,
): Promise<readonly ErrorItem[]> {
  const { depthMax } = services.limits;
  const opened = openSubmission(services.limits, sent, false);
  const errors: ErrorItem[] = [...readEnvelope(opened, now).errors];
  for (const { path, message } of scanAll(sent, depthMax + 1)) errors.push({ path: relative(path), message });
  const { schema_id: schemaId, payload } = opened.fields;
  if (typeof schemaId !== "string") return errors;
  const schema = await services.catalog.findSchema(workspace, schemaId as SchemaId, null);
  if (schema === null) errors.push(UNKNOWN_SCHEMA);
  else if (isObject(payload))
    errors.push(...(await payloadProblems(services, workspace, schema, payload, opened.bytes)));
  return errors;
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

async function payloadProblems(
  services: Pick<Services, "catalog" | "validator" | "limits">,
  workspace: WorkspaceId,
  schema: SchemaVersion,
  payload: unknown,
  bytes: Buffer,
): Promise<readonly ErrorItem[]> {
  const errors = await services.validator.checkAll(schema, bytes);
  if (errors.length > 0) return errors;
  const admitted = await admitEvent(services, workspace, schema, payload);
  if (admitted.errors.length > 0) return admitted.errors;
  const stored = await services.catalog.namespaces(workspace);
  return beyondNamespaces(stored, admitted.unregistered, services.limits.namespacesMax);
}
