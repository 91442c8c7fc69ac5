import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { SchemaVersion } from "../../core/catalog/catalog.js";
import { AppError, type ErrorItem } from "../../core/errors.js";
import type { EventRecord, Instant } from "../../core/event/event.js";
import { eventIdFor, newId, type EventId, type SchemaId, type WorkspaceId } from "../../core/ids.js";
import { scanAll, scanJson } from "../../core/json/scan.js";
import { encodeMessage } from "../../core/event/message.js";
import { admit, namespaceTable, type Admission, type GivenIdentifier } from "../../core/identity/namespaces.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { EventStore } from "../../core/ports/event-store.js";
import { effectiveTs, isFarAhead, parseTimestamp } from "../../core/event/time.js";
import { tooLarge } from "../http/body.js";
import { acceptedJson } from "../http/respond.js";
import { reply, type Context, type Reply, type Route } from "../route.js";
import { beyondNamespaces, registerNamespaces } from "./namespaces.js";
import { readFlag } from "../shapes/query.js";
import { bounded, mismatch, parseJson, scanError } from "../shapes/shape.js";

/** What collect needs of the schema engine; `core/schema/validation/validator.ts` is it. */
export interface EventValidator {
  check(schema: SchemaVersion, payload: unknown, bytes: Buffer): readonly ErrorItem[] | Promise<readonly ErrorItem[]>;
  checkAll(schema: SchemaVersion, bytes: Buffer): Promise<readonly ErrorItem[]>;
  /** The identifiers that the payload holds, by the schema's annotations; `refused` is the first value that no event may hold. */
  extract(
    schema: SchemaVersion,
    payload: unknown,
  ): { readonly identifiers: readonly GivenIdentifier[]; readonly refused: ErrorItem | null };
}

export interface CollectDeps {
  readonly catalog: Pick<CatalogStore, "findSchema" | "isUnified" | "namespaces" | "registerNamespaces">;
  readonly queue: Pick<EventQueue, "publish">;
  readonly events: Pick<EventStore, "find">;
  readonly validator: EventValidator;
  readonly payloadBytesMax: number;
  readonly depthMax: number;
  readonly identifiersMax: number;
  readonly namespacesMax: number;
}

/** What came in an envelope that is right: the payload parsed, and its bytes as they came. */
interface Submission {
  readonly schemaId: SchemaId;
  readonly timestamp: string;
  readonly instant: Instant;
  readonly payload: unknown;
  readonly bytes: Buffer;
}

export function collectRoutes(deps: CollectDeps): readonly Route[] {
  const accept = createAcceptance(deps);
  return [
    {
      method: "post",
      path: "/v1/collect",
      access: { kind: "role", role: "editor", ingest: true },
      body: "event",
      query: ["syncValidation"],
      inlineLimited: (request) => request.query["syncValidation"] === "true",
      handle: async (context) =>
        readFlag(context.query, "syncValidation") ? validateInline(deps, context) : accept(context),
    },
  ];
}

const ENVELOPE = ["schema_id", "timestamp", "payload"] as const;
/** Problems of the payload are told relative to it; those of the envelope name its field. */
const relative = (path: string): string => (path.startsWith("payload.") ? path.slice("payload.".length) : path);

interface Opened {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly bytes: Buffer;
}

/** JSON, sizes and depth: what is refused in both modes. */
function open(deps: CollectDeps, body: Buffer, refuseUnstorable: boolean): Opened {
  // The payload's own depth counts, and it stands one level down.
  const { problem, members } = scanJson(body, deps.depthMax + 1);
  if (problem !== null && (refuseUnstorable || !isUnstorable(problem.kind)))
    throw scanError(problem, relative(problem.path));
  const value = parseJson(body);
  if (members === null) throw mismatch([{ path: "", message: "must be an object" }]);
  const member = members.find(({ name }) => name === "payload");
  const bytes = member === undefined ? NOTHING : body.subarray(member.start, member.end);
  if (bytes.length > deps.payloadBytesMax) throw tooLarge({ toldMax: deps.payloadBytesMax, path: "payload" });
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

function readEnvelope({ fields, bytes }: Opened, now: number): Envelope {
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
      message: "must be a real date-time in UTC of the years 1970-9999 with a trailing Z, such as 2026-01-31T12:00:00Z",
    });
  if (instant !== null && isFarAhead(instant, now))
    errors.push({ path: "timestamp", message: "must not be more than 24 hours ahead" });
  if (payload !== undefined && !isObject(payload)) errors.push({ path: "payload", message: "must be an object" });
  if (errors.length > 0 || instant === null) return { errors, submission: null };
  const submission = { schemaId: schemaId as SchemaId, timestamp: timestamp as string, instant, payload, bytes };
  return { errors, submission };
}

const UNKNOWN_SCHEMA: ErrorItem = { path: "schema_id", message: "is not a schema of this workspace" };

async function admission(
  deps: CollectDeps,
  workspace: WorkspaceId,
  schema: SchemaVersion,
  payload: unknown,
): Promise<Admission> {
  const { identifiers: given, refused } = deps.validator.extract(schema, payload);
  if (refused !== null) return { ...NO_IDENTIFIERS, errors: [refused] };
  if (given.length === 0) return NO_IDENTIFIERS;
  const admitted = admit(given, namespaceTable(await deps.catalog.namespaces(workspace)));
  if (admitted.identifiers.length <= deps.identifiersMax) return admitted;
  const path = given[deps.identifiersMax]?.path ?? "";
  return {
    ...admitted,
    errors: [...admitted.errors, { path, message: `is beyond ${deps.identifiersMax} identifiers in one event` }],
  };
}
const NO_IDENTIFIERS: Admission = { identifiers: [], dropped: [], invalid: [], unregistered: [], errors: [] };

/** The asynchronous mode: everything that a retry or a later setting must not change is pinned here, then queued. */
function createAcceptance(deps: CollectDeps): (context: Context) => Promise<Reply> {
  const remember = createIdempotency(deps.events);
  return async ({ workspace, key, body, now, idempotencyKey }) => {
    const opened = open(deps, body, true);
    const eventId = idempotencyKey === null ? newId<EventId>() : eventIdFor(workspace, idempotencyKey);
    const fingerprint = idempotencyKey === null ? null : hash("sha256", body, "base64");
    if (fingerprint !== null && (await remember.isStored(workspace, eventId, fingerprint))) return accepted(eventId);

    const { errors: problems, submission } = readEnvelope(opened, now);
    if (submission === null) throw mismatch(problems);
    const schema = await deps.catalog.findSchema(workspace, submission.schemaId, null);
    if (schema === null)
      throw new AppError("unknown_schema", "schema_id: is not a schema of this workspace.", {
        errors: [UNKNOWN_SCHEMA],
      });
    const errors = await deps.validator.check(schema, submission.payload, submission.bytes);
    if (errors.length > 0) throw mismatch(errors);
    const admitted = await admission(deps, workspace, schema, submission.payload);
    if (admitted.errors.length > 0) throw mismatch(admitted.errors);
    await registerNamespaces(deps, workspace, admitted.unregistered);

    const event: EventRecord = {
      workspace,
      eventId,
      schemaId: schema.schemaId,
      schemaVersion: schema.version,
      timestamp: submission.timestamp,
      receivedAt: now,
      effectiveTs: effectiveTs(submission.instant, now),
      folds: await deps.catalog.isUnified(workspace, schema.schemaId),
      identifiers: admitted.identifiers,
      dropped: admitted.dropped,
      keyId: key.keyId,
      fingerprint,
      payload: submission.bytes,
    };
    if (fingerprint === null) await deps.queue.publish(encodeMessage(event));
    else await remember.publishing(workspace, eventId, fingerprint, () => deps.queue.publish(encodeMessage(event)));
    return accepted(eventId);
  };
}

const accepted = (eventId: EventId): Reply => ({ status: 202, json: acceptedJson(eventId) });

const REMEMBERED_MAX = 20_000;

function requireSame(known: string | null, given: string): void {
  if (known !== given)
    throw new AppError("idempotency_mismatch", "Idempotency-Key: was used with another body.", {
      errors: [{ path: "Idempotency-Key", message: "was used with another body" }],
    });
}

/** What this process saw under an Idempotency-Key; the event store knows the rest. */
function createIdempotency(events: Pick<EventStore, "find">) {
  const seen = new LRUCache<string, { readonly fingerprint: string; readonly confirmed: boolean }>({
    max: REMEMBERED_MAX,
  });
  return {
    /** True: this very request was accepted before, so there is nothing left to do. */
    isStored: async (workspace: WorkspaceId, eventId: EventId, fingerprint: string): Promise<boolean> => {
      const known = seen.get(`${workspace}:${eventId}`);
      if (known !== undefined) {
        requireSame(known.fingerprint, fingerprint);
        return known.confirmed;
      }
      // Without the store a 202 is still right: the worker compares the fingerprints again.
      const stored = await events.find(workspace, eventId).catch(() => null);
      if (stored === null) return false;
      requireSame(stored.fingerprint, fingerprint);
      return true;
    },
    publishing: async (workspace: WorkspaceId, eventId: EventId, fingerprint: string, publish: () => Promise<void>) => {
      const name = `${workspace}:${eventId}`;
      // Another body of the same key may have come this far while this one was validated.
      requireSame(seen.get(name)?.fingerprint ?? fingerprint, fingerprint);
      seen.set(name, { fingerprint, confirmed: false });
      await publish();
      seen.set(name, { fingerprint, confirmed: true });
    },
  };
}

/** The inline mode: the same checks, all problems at once, and nothing is queued or registered. */
async function validateInline(deps: CollectDeps, { workspace, body, now }: Context): Promise<Reply> {
  const opened = open(deps, body, false);
  const errors: ErrorItem[] = [...readEnvelope(opened, now).errors];
  for (const { path, message } of scanAll(body, deps.depthMax + 1)) errors.push({ path: relative(path), message });
  const { schema_id: schemaId, payload } = opened.fields;
  if (typeof schemaId === "string") {
    const schema = await deps.catalog.findSchema(workspace, schemaId as SchemaId, null);
    if (schema === null) errors.push(UNKNOWN_SCHEMA);
    else if (isObject(payload)) errors.push(...(await payloadProblems(deps, workspace, schema, payload, opened.bytes)));
  }
  return reply(200, { status: errors.length === 0 ? "pass" : "fail", errors: bounded(errors) });
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

async function payloadProblems(
  deps: CollectDeps,
  workspace: WorkspaceId,
  schema: SchemaVersion,
  payload: unknown,
  bytes: Buffer,
): Promise<readonly ErrorItem[]> {
  const errors = await deps.validator.checkAll(schema, bytes);
  if (errors.length > 0) return errors;
  const admitted = await admission(deps, workspace, schema, payload);
  if (admitted.errors.length > 0) return admitted.errors;
  return beyondNamespaces(await deps.catalog.namespaces(workspace), admitted.unregistered, deps.namespacesMax);
}
