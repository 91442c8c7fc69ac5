import type { Static } from "typebox";
import type { RestoredFacet } from "../../../commands/imports/erased.js";
import { placed } from "../../../commands/imports/place.js";
import type { ImportRecord } from "../../../commands/imports/records.js";
import type { CatalogRecord } from "../../../commands/exports/catalog.js";
import { AppError, mismatch } from "../../../core/errors.js";
import { isNotes } from "../../../core/event/notes.js";
import { parseTimestamp } from "../../../core/event/time.js";
import type { Change, Evidence, Source } from "../../../core/identity/model.js";
import type {
  AudienceId,
  ChangeId,
  DatasetId,
  EventId,
  ForbiddenPairId,
  KeyId,
  ProfileId,
  SchemaId,
  Uid,
  WorkspaceId,
} from "../../../core/ids.js";
import { bodyCheck, bodyReader } from "../../http/validate.js";
import { CATALOG_LINES } from "./catalog-lines.js";
import { ERASURE_LINE, readErasure } from "./erasure-line.js";
import { readFacet } from "./read-facet.js";
import { CHANGE_LINE, EVENT_LINE, LINK_LINES, PROFILE_LINE } from "./lines.js";

/** Reads lines of exports back into what they show. */

/** A schema is the deepest that a line holds. */
const DEPTH_MAX = 100;
const LINES = {
  erasure: ERASURE_LINE,
  ...CATALOG_LINES,
  ...LINK_LINES,
  profile: PROFILE_LINE,
  change: CHANGE_LINE,
  event: EVENT_LINE,
};
type LineType = keyof typeof LINES;
type LineOf<Type extends LineType> = Static<(typeof LINES)[Type]>;
type Raw = (name: string) => Buffer;

const checks = new Map(Object.entries(LINES).map(([type, body]) => [type, bodyCheck(body)]));
/** Once, and then it is checked by its type: a line may be long. */
const readAny = bodyReader({ body: { type: "object" }, bodyDepthMax: DEPTH_MAX });

/**
 * Null for the line that ends an export, and for one that only names a damaged event. Throws what is wrong with the place of the line
 * before each path. `now` is in milliseconds since 1970.
 */
export function readLine(bytes: Buffer, place: string, now: number): ImportRecord | null {
  try {
    const { body, raw } = readAny(bytes);
    const { type } = body as { readonly type?: unknown };
    if (type === "end" || type === "damaged_event") return null;
    const check = checks.get(String(type));
    if (check === undefined) throw mismatch([{ path: "type", message: "is not a type of an export line" }]);
    check(body, bytes.length);
    const read = (READ[type as LineType] as Read<unknown>)(body, raw, now);
    return read.kind === "catalog" ? { ...read, place } : read;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { errors = [{ path: "", message: error.message }], names } = error;
    throw placed(mismatch(errors, "validation_failed", names && { names }), place);
  }
}

/** Its place is put in by who knows it. */
const catalog = (record: CatalogRecord): ImportRecord => ({ kind: "catalog", record, place: "" });
const ms = (time: string): number => Date.parse(time);
/** The target's own is put in its place. */
const NO_WORKSPACE = "" as WorkspaceId;

type Read<Line> = (line: Line, raw: Raw, now: number) => ImportRecord;
const READ: { readonly [Type in LineType]: Read<LineOf<Type>> } = {
  identity_settings: (line) =>
    catalog({
      kind: "identity_settings",
      settings: {
        sharedIdentifierLimit: line.shared_identifier_limit,
        sendingKeysAddNamespaces: line.sending_keys_add_namespaces,
      },
    }),
  sdk: ({ settings, plan }) => {
    const names = new Set<string>();
    const repeated = plan.findIndex(({ name }) => names.size === names.add(name).size);
    if (repeated >= 0) throw mismatch([{ path: `plan.${repeated}.name`, message: "is there already" }]);
    return catalog({
      kind: "sdk",
      sdk: {
        settings: {
          unplanned: settings.unplanned,
          violations: settings.violations,
          keepRejects: settings.keep_rejects,
          collectOnlyAddsTraits: settings.collect_only_adds_traits,
          phone: settings.phone,
          deviceId: settings.device_id,
          advertisingId: settings.advertising_id,
        },
        plan: plan.map(({ name, schema_id: id, unplanned, violations }) => ({
          name,
          schemaId: id as SchemaId | null,
          unplanned,
          violations,
        })),
      },
    });
  },
  namespace: (line) =>
    catalog({
      kind: "namespace",
      namespace: {
        name: line.name,
        kind: line.kind,
        normalization: line.normalization,
        limit: line.limit,
        priority: line.priority,
        blocked: line.blocked,
        registeredItself: line.registered_itself,
        used: line.used,
      },
    }),
  trait: ({ name, merge, registered_itself: registeredItself }) => {
    if (registeredItself && merge !== "latest")
      throw mismatch([{ path: "merge", message: "must be latest for a name that registered itself" }]);
    return catalog({ kind: "trait", name, trait: { merge, registeredItself } });
  },
  dataset: (line) =>
    catalog({
      kind: "dataset",
      dataset: {
        workspace: NO_WORKSPACE,
        datasetId: line.dataset_id as DatasetId,
        name: line.name,
        schemaId: line.schema_id as SchemaId,
        unifiedProfile: line.unified_profile,
        retentionDays: line.retention_days,
        createdAt: ms(line.created_at),
      },
    }),
  audience: ({ audience_id: audienceId, name, rule, version, created_at: createdAt }) =>
    catalog({
      kind: "audience",
      audience: {
        audienceId: audienceId as AudienceId,
        name,
        text: JSON.stringify(rule),
        version,
        createdAt: ms(createdAt),
      },
    }),
  schema: (line, raw) =>
    catalog({
      kind: "schema",
      schema: {
        workspace: NO_WORKSPACE,
        schemaId: line.schema_id as SchemaId,
        version: line.version,
        schema: raw("schema").toString("utf8"),
        compatibility: line.compatibility,
        linear: line.linear,
        traits: Object.fromEntries(line.traits.map(({ name, merge }) => [name, merge])),
        createdAt: ms(line.created_at),
      },
    }),
  erasure: (line, _raw, now) => readErasure(line, now),
  profile: readProfile,
  change: (line) => ({ kind: "change", record: readChange(line) }),
  link: (line) => ({
    kind: "link",
    record: {
      from: line.from as Uid,
      to: line.to as Uid,
      changeId: line.change_id as ChangeId,
      evidence: evidenceOf(line, line.at),
      restoredBy: (line.restored_by as ChangeId | undefined) ?? null,
    },
  }),
  forbidden_pair: ({ from, to, change_id: changeId, key_id: keyId, at }) => ({
    kind: "forbidden_pair",
    record: {
      // The target computes its own.
      forbiddenPairId: "" as ForbiddenPairId,
      from,
      to,
      changeId: changeId as ChangeId,
      keyId: keyId as KeyId,
      at: ms(at),
    },
  }),
  removed_link: ({ from, to, change_id: changeId, removed_by: by, at }) => ({
    kind: "removed_link",
    record: { from, to, changeId: changeId as ChangeId, by: by as ChangeId, at: ms(at) },
  }),
  unlinked: ({ identifier, change_id: by, at }) => ({
    kind: "unlinked",
    record: { identifier, by: by as ChangeId, at: ms(at) },
  }),
  event: readEvent,
};

/** Links tell which profile it is, and whether it is all of it. */
function readProfile({ identifiers }: LineOf<"profile">): ImportRecord {
  const record = identifiers.map(({ uid, namespace, value, shared, seen_with: seenWith = [] }) => ({
    uid: uid as Uid,
    identifier: { namespace, value },
    isShared: shared === true,
    seenWith,
  }));
  const facets = identifiers.flatMap(({ uid, facet }, n): readonly RestoredFacet[] =>
    facet === undefined ? [] : [{ uid: uid as Uid, ...readFacet(facet, `identifiers.${n}.facet`) }],
  );
  if (record.length === 0) throw mismatch([{ path: "identifiers", message: "must not be empty" }]);
  return { kind: "profile", record, facets };
}

function readChange(line: LineOf<"change">): Change {
  return {
    changeId: line.change_id as ChangeId,
    at: ms(line.at),
    evidence: evidenceOf(line, line.asked_at ?? line.at),
    identifiers: line.identifiers,
    outcome: line.outcome,
    before: line.before.map((id) => id as ProfileId),
    after: line.after.map((id) => id as ProfileId),
    dropped: line.dropped,
    rule: line.rule ?? null,
    reverts: (line.reverts ?? null) as ChangeId | null,
    isForbidding: line.forbid ?? false,
  };
}

interface Sourced {
  readonly source: string;
  readonly event_id: string | null;
  readonly key_id: string;
}

const evidenceOf = ({ source, event_id: eventId, key_id: keyId }: Sourced, at: string): Evidence => ({
  source: (eventId ?? source) as Source,
  keyId: keyId as KeyId,
  at: ms(at),
});

function readEvent(line: LineOf<"event">, raw: Raw): ImportRecord {
  const isDropped = line.status === "dropped";
  const effectiveTs = isDropped ? null : parseTimestamp(line.effective_ts ?? "");
  if (!isDropped && effectiveTs === null)
    throw mismatch([{ path: "effective_ts", message: "must be a time as in an export" }]);
  if (line.notes !== undefined && !isNotes(line.notes))
    throw mismatch([{ path: "notes", message: "does not have the form of an export" }]);
  if (line.status === "folded" && line.facet === null)
    throw mismatch([{ path: "facet", message: "is required for a folded event" }]);
  const receivedAt = ms(line.received_at);
  return {
    kind: "event",
    record: {
      workspace: NO_WORKSPACE,
      eventId: line.event_id as EventId,
      schemaId: line.schema_id as SchemaId,
      schemaVersion: line.schema_version,
      timestamp: line.timestamp ?? "",
      receivedAt,
      effectiveTs: effectiveTs ?? "",
      folds: line.folds,
      identifiers: line.identifiers,
      dropped: line.dropped,
      scoped: line.scoped === true,
      keyId: line.key_id as KeyId,
      fingerprint: line.fingerprint,
      notes: line.notes === undefined ? null : line.notes,
      payload: raw("payload"),
      status: line.status,
      facet: line.facet as Uid | null,
      profileIdThen: line.profile_id_then as ProfileId | null,
      reason: line.reason,
    },
  };
}
