import type { SchemaVersion } from "../../core/catalog/catalog.js";
import { AppError, mismatch, type ErrorItem } from "../../core/errors.js";
import type { EventRecord, Instant } from "../../core/event/event.js";
import type { EventNotes } from "../../core/event/notes.js";
import { effectiveTs } from "../../core/event/time.js";
import {
  admit,
  namespaceTable,
  placesOf,
  type Admission,
  type GivenIdentifier,
} from "../../core/identity/namespaces.js";
import { withinScope, type Scoped } from "../../core/identity/scope.js";
import type { EventId, SchemaId, WorkspaceId } from "../../core/ids.js";
import { extract, type Extract } from "../../core/schema/extract.js";
import type { SchemaObject } from "../../core/schema/keywords.js";
import { namesIn } from "../../core/schema/names.js";
import { registerNamespaces } from "../change-namespace.js";
import type { Caller, Services } from "../services.js";
import { leaveTraitsOut, mayLeaveTraitsOut } from "./open-traits.js";

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

/** What an event's schema says about it. */
export interface Examined {
  readonly schema: SchemaVersion;
  readonly admitted: Admitted;
}

/**
 * The event as it is queued: everything that a retry or a later setting must not change is decided. Throws what is wrong with it. Each
 * event comes through here, so it waits for nothing that it does not need.
 */
export const judgeEvent = (services: JudgeServices, caller: Caller, candidate: Candidate): Promise<EventRecord> =>
  examineEvent(services, caller, candidate).then((examined) => settleEvent(services, caller, candidate, examined));

/** The first half of it: writes nothing. */
export async function examineEvent(
  services: JudgeServices,
  { workspace }: Pick<Caller, "workspace">,
  candidate: Candidate,
): Promise<Examined> {
  const schema = await services.catalog.findSchema(workspace, candidate.schemaId, null);
  if (schema === null) throw unknownSchema();
  const errors = await services.validator.check(schema, candidate.payload, candidate.bytes);
  if (errors.length > 0) throw refused(errors, schema);
  const admitted = await admitEvent(services, workspace, schema, candidate);
  if (admitted.admission.errors.length > 0) throw refused(admitted.admission.errors, schema);
  return { schema, admitted };
}

/** The second half: notes what is named for the first time, and no longer needs the parsed payload. */
export async function settleEvent(
  services: JudgeServices,
  caller: Caller,
  candidate: Omit<Candidate, "payload">,
  { schema, admitted: { admission, found } }: Examined,
): Promise<EventRecord> {
  const { workspace } = caller;
  if (admission.unregistered.length + admission.unused.length > 0)
    await registerNamespaces(services, workspace, admission);
  const scoped = caller.send === "collect" ? await scopedFor(services, caller, admission) : admission;
  const left = mayLeaveTraitsOut(found) ? await leaveTraitsOut(services, caller, found, candidate.bytes.length) : null;
  const folds = await services.catalog.isUnified(workspace, schema.schemaId);
  return recordOf(caller, candidate, schema, folds, scoped, left && { ...NO_NOTES, ...left });
}
const NO_NOTES = { countsMismatch: false, verdict: null };

const refused = (errors: readonly ErrorItem[], version: SchemaVersion): AppError =>
  mismatch(errors, "validation_failed", { schemaId: version.schemaId, names: () => namesOf(version) });

const names = new WeakMap<SchemaVersion, ReadonlySet<string>>();

function namesOf(version: SchemaVersion): ReadonlySet<string> {
  const known = names.get(version) ?? namesIn(JSON.parse(version.schema) as SchemaObject);
  names.set(version, known);
  return known;
}

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

export const unknownSchema = (): AppError =>
  new AppError("unknown_schema", "schema_id: is not a schema of this workspace.", { errors: [UNKNOWN_SCHEMA] });

export interface Admitted {
  readonly admission: Admission;
  /** All that the schema's annotations find. */
  readonly found: Extract;
}

/** The identifiers that the door named and those that the schema's annotations find in the payload, as they are stored. */
export async function admitEvent(
  { catalog, validator, limits: { identifiersMax } }: JudgeServices,
  workspace: WorkspaceId,
  schema: SchemaVersion,
  { payload, bytes, named }: Pick<Candidate, "payload" | "bytes" | "named">,
): Promise<Admitted> {
  const found = extract(validator.plan(schema), payload, bytes);
  const given = named.length === 0 ? found.identifiers : [...named, ...found.identifiers];
  if (given.length === 0) return { found, admission: withErrors(NO_IDENTIFIERS, found.refused) };
  const table = namespaceTable(await catalog.namespaces(workspace));
  const admission = admit(given, table);
  if (admission.identifiers.length <= identifiersMax) return { found, admission: withErrors(admission, found.refused) };
  const beyond = placesOf(given, table).slice(identifiersMax);
  return { found, admission: withErrors(admission, [...found.refused, ...beyond.map(beyondItem(identifiersMax))]) };
}

const withErrors = (admission: Admission, errors: readonly ErrorItem[]): Admission =>
  errors.length === 0 ? admission : { ...admission, errors: [...admission.errors, ...errors] };

/** Of an identifier that is one too many. */
export const beyondItem =
  (identifiersMax: number) =>
  ({ path }: { readonly path: string }): ErrorItem => ({
    path,
    message: `exceeds the limit of ${identifiersMax} identifiers per event`,
  });

const NO_IDENTIFIERS: Admission = {
  identifiers: [],
  dropped: [],
  invalid: [],
  unregistered: [],
  unused: [],
  errors: [],
};

/** `folds`: whether a dataset of the schema is enabled for unified profile. */
export const recordOf = (
  { workspace, keyId, send, now }: Caller,
  { eventId, fingerprint, timestamp, instant, bytes }: Omit<Candidate, "payload">,
  { schemaId, version }: SchemaVersion,
  folds: boolean,
  { identifiers, dropped }: Pick<Admission, "identifiers" | "dropped">,
  notes: EventNotes | null,
): EventRecord => ({
  workspace,
  eventId,
  schemaId,
  schemaVersion: version,
  timestamp,
  receivedAt: now,
  effectiveTs: effectiveTs(instant, now),
  folds,
  identifiers,
  dropped,
  scoped: send === "collect",
  keyId,
  fingerprint,
  notes,
  payload: bytes,
});
