import { isUtf8 } from "node:buffer";
import { Type } from "typebox";
import type { DamagedEvent } from "../../../commands/exports/events.js";
import type { LinkRecord } from "../../../commands/exports/link-records.js";
import type { ExportedMember, ExportedProfile } from "../../../commands/exports/profiles.js";
import type { StoredEvent } from "../../../core/event/event.js";
import { showInstant, showTime } from "../../../core/event/time.js";
import type { Change } from "../../../core/identity/model.js";
import { facetToJson } from "../../../core/profile/facet-json.js";
import { nullable, record, TIME, UUID } from "../../shapes/fields.js";
import {
  ASSERTED,
  CHANGE,
  DROPPED_IDENTIFIER,
  showAsserted,
  showChange,
  SHOWN_IDENTIFIER,
} from "../../shapes/records.js";
import { STATUS } from "../events.js";
import { PROFILE, showTraits } from "../profiles.js";

/** The lines of exports. An import reads them again, so each holds all that is needed to make the same record anew. */

/** Opaque: with `?after=` it, an export goes on behind the line. */
export const POSITION = { position: Type.String() };

/** The last line. Without it the export is not complete, whatever else came. */
export const END = record({
  type: Type.Literal("end"),
  complete: Type.Boolean(),
  lines: Type.Integer({ minimum: 0 }),
  reason: Type.Optional(Type.Literal("shutting_down")),
});

/** Text that we wrote, for an import; it says nothing to anybody else. */
const OPAQUE = Type.Unknown();

export const PROFILE_LINE = record({
  type: Type.Literal("profile"),
  ...POSITION,
  profile_id: UUID,
  traits: nullable(PROFILE.traits),
  first_seen: PROFILE.first_seen,
  last_seen: PROFILE.last_seen,
  event_count: PROFILE.event_count,
  identifiers: Type.Array(
    record({
      uid: UUID,
      namespace: Type.String(),
      value: Type.String(),
      shared: Type.Optional(Type.Literal(true)),
      seen_with: Type.Optional(Type.Array(Type.String())),
      facet: Type.Optional(OPAQUE),
    }),
  ),
  partial: Type.Optional(Type.Literal(true)),
});

/** Traits stand in the facets too: a line with both would be too long for an import. */
const TRAITS_BYTES_MAX = 1_500_000;

export function showProfileLine({ profileId, members, facet, isPartial }: ExportedProfile, position: string): string {
  const identifiers = members.map(showMember).join(",");
  const shown = {
    type: "profile",
    position,
    profile_id: profileId,
    traits: Buffer.byteLength(identifiers) > TRAITS_BYTES_MAX ? null : showTraits(facet),
    first_seen: facet.firstSeen === null ? null : showInstant(facet.firstSeen),
    last_seen: facet.lastSeen === null ? null : showInstant(facet.lastSeen),
    event_count: facet.eventCount,
  };
  return `${JSON.stringify(shown).slice(0, -1)},"identifiers":[${identifiers}]${isPartial ? ',"partial":true' : ""}}`;
}

function showMember({ uid, identifier: { namespace, value }, isShared, seenWith, folded }: ExportedMember): string {
  const shown = JSON.stringify({ uid, namespace, value, ...(isShared && { shared: true, seen_with: seenWith }) });
  return folded === null ? shown : `${shown.slice(0, -1)},"facet":${facetToJson(folded)}}`;
}

export const EVENT_LINE = record({
  type: Type.Literal("event"),
  ...POSITION,
  event_id: UUID,
  status: STATUS,
  schema_id: Type.String(),
  schema_version: Type.Integer({ minimum: 0 }),
  timestamp: nullable(Type.String()),
  received_at: TIME,
  profile_id_then: nullable(UUID),
  dropped: Type.Array(DROPPED_IDENTIFIER),
  reason: nullable(Type.String()),
  effective_ts: nullable(Type.String()),
  folds: Type.Boolean(),
  identifiers: Type.Array(SHOWN_IDENTIFIER),
  scoped: Type.Optional(Type.Literal(true)),
  key_id: Type.String(),
  fingerprint: nullable(Type.String()),
  facet: nullable(UUID),
  notes: Type.Optional(OPAQUE),
  payload: Type.Unknown(),
});

/** In the place of an event that nobody can read any more. */
export const DAMAGED_EVENT_LINE = record({
  type: Type.Literal("damaged_event"),
  ...POSITION,
  event_id: UUID,
  received_at: TIME,
});

/** The payload as it was sent, but on one line. */
export function showEventLine(event: StoredEvent | DamagedEvent, position: string): string | Buffer {
  if (event.status === "damaged") {
    const { eventId, receivedAt } = event;
    return JSON.stringify({ type: "damaged_event", position, event_id: eventId, received_at: showTime(receivedAt) });
  }
  const shown = {
    type: "event",
    position,
    event_id: event.eventId,
    status: event.status,
    schema_id: event.schemaId,
    schema_version: event.schemaVersion,
    timestamp: event.status === "dropped" ? null : event.timestamp,
    received_at: showTime(event.receivedAt),
    profile_id_then: event.profileIdThen,
    dropped: event.dropped,
    reason: event.reason,
    effective_ts: event.status === "dropped" ? null : event.effectiveTs,
    folds: event.folds,
    identifiers: event.identifiers,
    ...(event.scoped && { scoped: true }),
    key_id: event.keyId,
    fingerprint: event.fingerprint,
    facet: event.facet,
    ...(event.notes !== null && { notes: event.notes }),
  };
  const head = Buffer.from(`${JSON.stringify(shown).slice(0, -1)},"payload":`);
  return Buffer.concat([head, onOneLine(event.payload), Buffer.from("}")]);
}

const [LF, CR, SPACE] = [0x0a, 0x0d, 0x20];

/** In JSON a line break stands only between tokens, where a blank means the same. */
function onOneLine(json: Buffer): Buffer {
  const text = isUtf8(json) ? json : Buffer.from(json.toString("utf8"));
  if (!text.includes(LF) && !text.includes(CR)) return text;
  return Buffer.from(text.map((byte) => (byte === LF || byte === CR ? SPACE : byte)));
}

const EVIDENCE = { change_id: UUID, key_id: Type.String(), at: TIME };

const LINK = record({
  type: Type.Literal("link"),
  ...POSITION,
  profile_id: UUID,
  from: UUID,
  to: UUID,
  ...ASSERTED,
  restored_by: Type.Optional(UUID),
});
const FORBIDDEN_PAIR = record({
  type: Type.Literal("forbidden_pair"),
  ...POSITION,
  from: SHOWN_IDENTIFIER,
  to: SHOWN_IDENTIFIER,
  ...EVIDENCE,
});
const REMOVED_LINK = record({
  type: Type.Literal("removed_link"),
  ...POSITION,
  from: SHOWN_IDENTIFIER,
  to: SHOWN_IDENTIFIER,
  change_id: UUID,
  removed_by: UUID,
  at: TIME,
});
const UNLINKED = record({
  type: Type.Literal("unlinked"),
  ...POSITION,
  identifier: SHOWN_IDENTIFIER,
  change_id: UUID,
  at: TIME,
});
/** By their type. */
export const LINK_LINES = {
  link: LINK,
  forbidden_pair: FORBIDDEN_PAIR,
  removed_link: REMOVED_LINK,
  unlinked: UNLINKED,
};

export const showLinkLine = (one: LinkRecord, position: string): string =>
  JSON.stringify({ type: one.kind, position, ...membersOf(one) });

function membersOf(one: LinkRecord): object {
  switch (one.kind) {
    case "link": {
      const { profileId, from, to, changeId, evidence, restoredBy } = one.link;
      return {
        profile_id: profileId,
        from,
        to,
        ...showAsserted({ changeId, evidence }),
        ...(restoredBy !== null && { restored_by: restoredBy }),
      };
    }
    case "forbidden_pair": {
      const { from, to, changeId, keyId, at } = one.pair;
      return { from, to, change_id: changeId, key_id: keyId, at: showTime(at) };
    }
    case "removed_link": {
      const { from, to, changeId, by, at } = one.link;
      return { from, to, change_id: changeId, removed_by: by, at: showTime(at) };
    }
    case "unlinked":
      break;
  }
  const { identifier, by, at } = one.mark;
  return { identifier, change_id: by, at: showTime(at) };
}

/** `asked_at`: when the request came, where that was not `at`. */
export const CHANGE_LINE = record({
  type: Type.Literal("change"),
  ...POSITION,
  ...CHANGE.properties,
  asked_at: Type.Optional(TIME),
});
export const showChangeLine = (change: Change, position: string): string =>
  JSON.stringify({
    type: "change",
    position,
    ...showChange(change),
    ...(change.evidence.at !== change.at && { asked_at: showTime(change.evidence.at) }),
  });
