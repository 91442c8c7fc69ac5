import { Type } from "typebox";
import { lookUpProfiles } from "../../commands/search/look-up.js";
import { memberUids, readLive, requireProfile, type Profile } from "../../commands/read-profile.js";
import { PAGE_BYTES_MAX } from "../../commands/read-event.js";
import { openMemberships, type Memberships } from "../../commands/audiences/memberships.js";
import type { EventServices } from "../../commands/search/events.js";
import type { Caller, Services } from "../../commands/services.js";
import { waitUntilFolded } from "../../commands/wait-until-folded.js";
import { AppError } from "../../core/errors.js";
import type { StoredEvent } from "../../core/event/event.js";
import { showInstant } from "../../core/event/time.js";
import type { EventId, Uid } from "../../core/ids.js";
import { valueOf, type Facet, type Scalar } from "../../core/profile/facet.js";
import { reply, route, type Route } from "../route.js";
import { answered, EMAIL } from "../shapes/examples.js";
import { IDENTIFIER, idOf, nullable, record, TIME, UUID, WAIT } from "../shapes/fields.js";
import { list, NEXT_CURSOR, PAGE, pageOf } from "../shapes/page.js";
import { IDENTIFIER_BYTES, SHOWN_IDENTIFIER } from "../shapes/records.js";
import { EVENT, showEvent, showEvents } from "./events.js";

const LOOKUP_MAX = 100;

const SCALAR = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);
/** What a trait says. */
export const TRAIT_VALUE = Type.Union([SCALAR, Type.Array(SCALAR)]);
export const PROFILE = {
  profile_id: UUID,
  identifiers: Type.Array(SHOWN_IDENTIFIER),
  traits: Type.Record(Type.String(), TRAIT_VALUE),
  audiences: Type.Array(record({ audience_id: UUID, name: Type.String() })),
  first_seen: nullable(TIME),
  last_seen: nullable(TIME),
  event_count: Type.Integer({ minimum: 0 }),
  shared_identifiers: Type.Optional(Type.Array(SHOWN_IDENTIFIER)),
  partial: Type.Optional(Type.Literal(true)),
};

function nothingAsked(): AppError {
  const message = "is required, unless you send profile_ids";
  return new AppError("validation_failed", `identifiers: ${message}.`, { errors: [{ path: "identifiers", message }] });
}

export function profileRoutes(services: Services): readonly Route[] {
  const { identity, events } = services;
  const access = { kind: "role", role: "viewer" } as const;
  const params = { id: idOf("profile") };
  return [
    route({
      method: "post",
      path: "/v1/profiles/lookup",
      operationId: "lookUpProfiles",
      tag: "Read",
      summary: "Find profiles by identifiers or profile ids",
      description: "Waits up to `wait` seconds until all of them are known and their events are folded.",
      example: { after: ["collect"], query: { wait: 5 }, body: { identifiers: [EMAIL] } },
      access,
      query: { wait: WAIT },
      body: record({
        identifiers: Type.Optional(Type.Array(IDENTIFIER, { minItems: 1, maxItems: LOOKUP_MAX })),
        profile_ids: Type.Optional(Type.Array(UUID, { minItems: 1, maxItems: LOOKUP_MAX })),
      }),
      isRead: true,
      responses: {
        200: record({
          profiles: Type.Array(
            record({ ...PROFILE, matched: Type.Array(SHOWN_IDENTIFIER), matched_ids: Type.Optional(Type.Array(UUID)) }),
          ),
          unknown: Type.Array(SHOWN_IDENTIFIER),
          unknown_ids: Type.Optional(Type.Array(UUID)),
        }),
      },
      handle: async ({ workspace, now, body, query, takeBytes, lookWithBytes }) => {
        const { identifiers = [], profile_ids: ids } = body;
        if (identifiers.length === 0 && ids === undefined) throw nothingAsked();
        await waitUntilFolded(services, workspace, identifiers, query.wait, lookWithBytes);
        // An id is the uid of an identifier, and names the profile that it is in now.
        const named = await identity.identifiersOf(workspace, [...new Set(ids)] as Uid[]);
        const idOf = new Map([...named].map(([uid, identifier]) => [identifier, uid as string]));
        const asked = [...idOf.keys()];
        const { profiles, unknown } = await lookUpProfiles(services, workspace, identifiers, takeBytes, asked);
        const shown = await showProfiles(services, { workspace, now }, profiles);
        const known = new Set(profiles.flatMap(({ matched }) => matched.map((one) => idOf.get(one))));
        return reply(200, {
          profiles: shown.map((profile, i) => {
            const { matched } = profiles[i]!;
            return Object.assign(profile, {
              matched: matched.filter((one) => !idOf.has(one)),
              ...(ids !== undefined && { matched_ids: matched.flatMap((one) => idOf.get(one) ?? []) }),
            });
          }),
          unknown,
          ...(ids !== undefined && { unknown_ids: [...new Set(ids)].filter((one) => !known.has(one)) }),
        });
      },
    }),
    route({
      method: "get",
      path: "/v1/profiles/:id",
      operationId: "getProfile",
      tag: "Read",
      summary: "One profile, by its current or a retired id",
      example: { params: { id: answered("identify", "/profile_id") } },
      access,
      params,
      responses: { 200: record({ ...PROFILE, resolved_from: Type.Optional(UUID) }) },
      handle: async ({ workspace, now, params: { id }, takeBytes }) => {
        const read = await readLive(services, workspace, id, takeBytes);
        const [profile] = await showProfiles(services, { workspace, now }, [read]);
        return reply(200, read.profileId === id ? profile : { ...profile, resolved_from: id });
      },
    }),
    route({
      method: "get",
      path: "/v1/profiles/:id/events",
      operationId: "listProfileEvents",
      tag: "Read",
      summary: "The events of a profile, newest first",
      example: { params: { id: answered("identify", "/profile_id") } },
      access,
      params,
      query: PAGE,
      responses: {
        200: record({
          events: Type.Array(EVENT),
          next_cursor: NEXT_CURSOR,
          partial: Type.Optional(Type.Literal(true)),
        }),
      },
      handle: async ({ workspace, params: { id }, page: { limit, after, cursorOf }, takeBytes }) => {
        // With the event that does not fit any more.
        await takeBytes(PAGE_BYTES_MAX + services.limits.payloadBytesMax);
        const profileId = await requireProfile(services, workspace, id);
        const before = after === null ? null : { effectiveTs: after[0]!, eventId: after[1] as EventId };
        const { uids, isPartial } = await memberUids(services, workspace, profileId);
        const rows = await events.timeline(workspace, uids, { limit: limit + 1, bytesMax: PAGE_BYTES_MAX, before });
        const { items, next_cursor } = pageOf(rows, Math.min(limit, countFitting(rows)), ({ effectiveTs, eventId }) =>
          cursorOf([effectiveTs, eventId]),
        );
        const shown = items.map((event) => showEvent(event, profileId));
        return { status: 200, json: showEvents(shown, { next_cursor, ...(isPartial && { partial: true }) }) };
      },
    }),
    list({
      path: "/v1/profiles/:id/identifiers",
      operationId: "listProfileIdentifiers",
      tag: "Read",
      summary: "The identifiers of a profile, oldest first",
      example: { params: { id: answered("identify", "/profile_id") } },
      access,
      params,
      name: "identifiers",
      item: SHOWN_IDENTIFIER,
      itemBytes: IDENTIFIER_BYTES,
      read: async ({ workspace, params: { id } }, { limit, after }) => {
        const profileId = await requireProfile(services, workspace, id);
        return identity.members(workspace, profileId, { limit, after: (after?.[0] ?? null) as Uid | null });
      },
      position: ({ uid }) => [uid],
      show: ({ identifier }) => identifier,
    }),
  ];
}

/** Profiles as answers show them, each with the audiences that it is in by what was read of it. */
export async function showProfiles(
  services: EventServices,
  { workspace, now }: Pick<Caller, "workspace" | "now">,
  profiles: readonly Profile[],
) {
  const membershipsOf = await openMemberships(services, workspace, now);
  const shown: ReturnType<typeof showProfile>[] = [];
  for (const profile of profiles) shown.push(showProfile(profile, await membershipsOf(profile)));
  return shown;
}

const showProfile = (
  { profileId, identifiers, sharedIdentifiers, facet, isPartial }: Profile,
  memberships: Memberships,
) => ({
  profile_id: profileId,
  identifiers,
  traits: showTraits(facet),
  audiences: memberships.audiences.map(({ audienceId, name }) => ({ audience_id: audienceId, name })),
  first_seen: facet.firstSeen === null ? null : showInstant(facet.firstSeen),
  last_seen: facet.lastSeen === null ? null : showInstant(facet.lastSeen),
  event_count: facet.eventCount,
  ...(sharedIdentifiers.length > 0 && { shared_identifiers: sharedIdentifiers }),
  ...((isPartial || memberships.isPartial) && { partial: true }),
});

export function showTraits({ traits }: Facet): Readonly<Record<string, Scalar | readonly Scalar[]>> {
  // Without a prototype, so that a trait of any name is just data.
  const shown = Object.create(null) as Record<string, Scalar | readonly Scalar[]>;
  for (const name of [...traits.keys()].toSorted()) shown[name] = valueOf(traits.get(name)!);
  return shown;
}

/** How many of the rows one page takes; at least one. */
function countFitting(rows: readonly StoredEvent[]): number {
  let bytes = 0;
  const end = rows.findIndex(({ payload }) => (bytes += payload.length) > PAGE_BYTES_MAX);
  return end < 0 ? rows.length : Math.max(end, 1);
}
