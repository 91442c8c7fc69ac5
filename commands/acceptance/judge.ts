import type { SchemaVersion } from "../../core/catalog/catalog.js";
import { AppError, mismatch, type ErrorItem } from "../../core/errors.js";
import type { EventRecord, Instant } from "../../core/event/event.js";
import { effectiveTs } from "../../core/event/time.js";
import { admit, namespaceTable, type Admission, type GivenIdentifier } from "../../core/identity/namespaces.js";
import { withinScope, type Scoped } from "../../core/identity/scope.js";
import type { EventId, SchemaId, WorkspaceId } from "../../core/ids.js";
import { extract, type Extract } from "../../core/schema/extract.js";
import { registerNamespaces } from "../change-namespace.js";
import type { Caller, Services } from "../services.js";
import { leaveTraitsOut } from "./open-traits.js";

export type JudgeServices = Pick<Services, "catalog" | "validator" | "limits">;

/** An event as a door understood it, before its schema was looked at. */
export interface Candidate {
  readonly eventId: EventId;
  /** Of the bytes that were sent; null where no second sending can have the same id. */
  readonly fingerprint: string | null;
  readonly schemaId: SchemaId;
  /** In UTC with a trailing Z. */
  readonly timestamp: string;
  readonly instant: Instant;
  readonly payload: unknown;
  /** Of the payload, as received. */
  readonly bytes: Buffer;
  /** What the door itself found, beside what the schema's annotations find. */
  readonly named: readonly GivenIdentifier[];
}

export const UNKNOWN_SCHEMA: ErrorItem = { path: "schema_id", message: "is not a schema of this workspace" };

/** The event as it is queued: everything that a retry or a later setting must not change is decided. Throws what is wrong with it. */
export async function judgeEvent(services: JudgeServices, caller: Caller, candidate: Candidate): Promise<EventRecord> {
  const { workspace } = caller;
  const schema = await requireSchema(services, workspace, candidate.schemaId);
  const errors = await services.validator.check(schema, candidate.payload, candidate.bytes);
  if (errors.length > 0) throw refused(errors, schema);
  const admitted = await admitEvent(services, workspace, schema, candidate);
  if (admitted.errors.length > 0) throw refused(admitted.errors, schema);
  await registerNamespaces(services, workspace, admitted.unregistered);
  const left = await leaveTraitsOut(services, caller, admitted.found);
  const scoped = await scopedFor(services, caller, admitted);
  return recordOf(services, caller, candidate, schema, { ...scoped, notes: left && { ...NO_NOTES, ...left } });
}
const NO_NOTES = { countsMismatch: false, verdict: null };

const refused = (errors: readonly ErrorItem[], { schemaId }: SchemaVersion): AppError =>
  mismatch(errors, "validation_failed", { schemaId });

/** What the caller's key may link of it. */
export async function scopedFor(
  { catalog }: Pick<Services, "catalog">,
  { workspace, send }: Pick<Caller, "workspace" | "send">,
  admitted: Pick<Admission, "identifiers" | "dropped">,
): Promise<Scoped> {
  if (send !== "collect" || admitted.identifiers.length < 2) return admitted;
  const scoped = withinScope(admitted.identifiers, namespaceTable(await catalog.namespaces(workspace)));
  return { ...scoped, dropped: [...admitted.dropped, ...scoped.dropped] };
}

/** The latest version. */
export async function requireSchema(
  { catalog }: Pick<Services, "catalog">,
  workspace: WorkspaceId,
  schemaId: SchemaId,
): Promise<SchemaVersion> {
  const schema = await catalog.findSchema(workspace, schemaId, null);
  if (schema !== null) return schema;
  throw new AppError("unknown_schema", "schema_id: is not a schema of this workspace.", { errors: [UNKNOWN_SCHEMA] });
}

export interface Admitted extends Admission {
  /** All that the schema's annotations find. */
  readonly found: Extract;
}

/** The identifiers that the door named and those that the schema's annotations find in the payload, as they are stored. */
export async function admitEvent(
  { catalog, validator, limits: { identifiersMax } }: JudgeServices,
  workspace: WorkspaceId,
  schema: SchemaVersion,
  { payload, named }: Pick<Candidate, "payload" | "named">,
): Promise<Admitted> {
  const found = extract(validator.plan(schema), payload);
  if (found.refused !== null) return { ...NO_IDENTIFIERS, found, errors: [found.refused] };
  const given = named.length === 0 ? found.identifiers : [...named, ...found.identifiers];
  if (given.length === 0) return { ...NO_IDENTIFIERS, found };
  const admitted = { ...admit(given, namespaceTable(await catalog.namespaces(workspace))), found };
  if (admitted.identifiers.length <= identifiersMax) return admitted;
  const path = given[identifiersMax]?.path ?? "";
  return {
    ...admitted,
    errors: [...admitted.errors, { path, message: `is beyond ${identifiersMax} identifiers in one event` }],
  };
}
const NO_IDENTIFIERS: Admission = { identifiers: [], dropped: [], invalid: [], unregistered: [], errors: [] };

export const recordOf = async (
  { catalog }: Pick<Services, "catalog">,
  { workspace, keyId, now }: Caller,
  { eventId, fingerprint, timestamp, instant, bytes }: Candidate,
  { schemaId, version }: SchemaVersion,
  { identifiers, dropped, notes }: Pick<EventRecord, "identifiers" | "dropped" | "notes">,
): Promise<EventRecord> => ({
  workspace,
  eventId,
  schemaId,
  schemaVersion: version,
  timestamp,
  receivedAt: now,
  effectiveTs: effectiveTs(instant, now),
  folds: await catalog.isUnified(workspace, schemaId),
  identifiers,
  dropped,
  keyId,
  fingerprint,
  notes,
  payload: bytes,
});
