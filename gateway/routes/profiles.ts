import { Type } from "typebox";
import { AppError } from "../../core/errors.js";
import { identifierKey, type Identifier, type StoredEvent } from "../../core/event/event.js";
import type { Facet, Scalar, Trait } from "../../core/profile/facet.js";
import { emptyFacet, joinFacets } from "../../core/profile/fold.js";
import type { Identity } from "../../core/identity/api.js";
import type { Member } from "../../core/identity/model.js";
import {
  isUuid,
  type EventId,
  type IdentifierKey,
  type ProfileId,
  type Uid,
  type WorkspaceId,
} from "../../core/ids.js";
import { admit } from "../../core/identity/namespaces.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import type { EventStore } from "../../core/ports/event-store.js";
import type { ProfileStore } from "../../core/ports/profile-store.js";
import { showInstant } from "../../core/event/time.js";
import { IDENTIFIER, requireReadable, withoutBlocked } from "../shapes/admission.js";
import { pageOf, readLimit, type Cursors } from "../shapes/cursor.js";
import { showEvent } from "./events.js";
import { reply, type Context, type Reply, type Route } from "../route.js";
import { shape } from "../shapes/shape.js";

export interface ProfilesDeps {
  readonly catalog: Pick<CatalogStore, "namespaces">;
  readonly identity: Pick<Identity, "resolve" | "lookup" | "members">;
  readonly profiles: Pick<ProfileStore, "find">;
  readonly events: Pick<EventStore, "timeline" | "count">;
  readonly cursors: Cursors;
  readonly identifiersMax: number;
}

const LOOKUP_MAX = 100;

export function profileRoutes(deps: ProfilesDeps): readonly Route[] {
  const lookupBody = shape(
    Type.Object(
      { identifiers: Type.Array(IDENTIFIER, { minItems: 1, maxItems: LOOKUP_MAX }) },
      { additionalProperties: false },
    ),
  );
  const access = { kind: "role", role: "viewer" } as const;
  return [
    {
      method: "post",
      path: "/v1/profiles/lookup",
      access,
      body: "json",
      query: [],
      handle: (context) => lookup(deps, context, lookupBody(context.body).value.identifiers),
    },
    {
      method: "get",
      path: "/v1/profiles/:id",
      access,
      body: "none",
      query: [],
      handle: async ({ workspace, params }) => {
        const profileId = await requireProfile(deps, workspace, params["id"]);
        const profile = await readProfile(deps, workspace, profileId);
        return reply(200, profileId === params["id"] ? profile : { ...profile, resolved_from: params["id"] });
      },
    },
    {
      method: "get",
      path: "/v1/profiles/:id/events",
      access,
      body: "none",
      query: PAGE,
      handle: (context) => events(deps, context),
    },
    {
      method: "get",
      path: "/v1/profiles/:id/identifiers",
      access,
      body: "none",
      query: PAGE,
      handle: (context) => identifiers(deps, context),
    },
  ];
}
const PAGE = ["limit", "cursor"] as const;

/** The live id that any id, current or retired, names. An unknown and a foreign one look the same. */
export async function requireProfile(
  { identity }: { readonly identity: Pick<Identity, "resolve"> },
  workspace: WorkspaceId,
  id: string | undefined,
): Promise<ProfileId> {
  const found = id !== undefined && isUuid(id) ? await identity.resolve(workspace, id as ProfileId) : null;
  if (found === null) throw new AppError("not_found", "There is no such profile.");
  return found.profileId;
}

interface Membership {
  readonly members: readonly Member[];
  readonly keys: readonly IdentifierKey[];
  readonly isPartial: boolean;
}

async function membership(deps: ProfilesDeps, workspace: WorkspaceId, profileId: ProfileId): Promise<Membership> {
  const found = await deps.identity.members(workspace, profileId, { limit: deps.identifiersMax + 1, after: null });
  const members = found.slice(0, deps.identifiersMax);
  return {
    members,
    keys: members.map(({ identifier }) => identifierKey(workspace, identifier)),
    isPartial: found.length > members.length,
  };
}

/**
 * Members of the component, join of their facets: always current, because nothing is copied when profiles merge. Of a large profile
 * a part is joined, in which the identifiers that were asked for are never missing.
 */
async function readProfile(
  deps: ProfilesDeps,
  workspace: WorkspaceId,
  profileId: ProfileId,
  asked: readonly Identifier[] = [],
) {
  const { members, keys: first, isPartial } = await membership(deps, workspace, profileId);
  const keys = isPartial ? [...new Set([...first, ...asked.map((one) => identifierKey(workspace, one))])] : first;
  const [facets, eventCount] = await Promise.all([
    deps.profiles.find(workspace, keys),
    deps.events.count(workspace, keys),
  ]);
  let joined: Facet = emptyFacet;
  for (const { facet } of facets.values()) joined = joinFacets(joined, facet);
  const sharedIdentifiers = members.filter(({ isShared }) => isShared);
  return {
    profile_id: profileId,
    identifiers: members.map(({ identifier }) => identifier),
    traits: showTraits(joined),
    audiences: [],
    first_seen: joined.firstSeen === null ? null : showInstant(joined.firstSeen),
    last_seen: joined.lastSeen === null ? null : showInstant(joined.lastSeen),
    event_count: eventCount,
    ...(sharedIdentifiers.length > 0 && { shared_identifiers: sharedIdentifiers.map(({ identifier }) => identifier) }),
    ...(isPartial && { partial: true }),
  };
}

function showTraits({ traits }: Facet): Readonly<Record<string, Scalar | readonly Scalar[]>> {
  // Without a prototype, so that a trait of any name is just data.
  const shown = Object.create(null) as Record<string, Scalar | readonly Scalar[]>;
  for (const name of [...traits.keys()].toSorted()) shown[name] = showTrait(traits.get(name)!);
  return shown;
}
const showTrait = (trait: Trait): Scalar | readonly Scalar[] => (trait.merge === "union" ? trait.values : trait.value);

/** Never creates. The answer repeats identifiers as they were asked, so that the caller can match them. */
async function lookup(deps: ProfilesDeps, { workspace }: Context, asked: readonly Identifier[]): Promise<Reply> {
  const table = withoutBlocked(await deps.catalog.namespaces(workspace));
  const admissions = asked.map((identifier, i) => admit([{ path: `identifiers.${i}`, ...identifier }], table));
  // What is no e-mail was never stored, so it is unknown as any other.
  requireReadable(admissions.map(({ errors }) => ({ errors, invalid: [] })));
  const known = admissions.flatMap(({ identifiers: [identifier] }, i) => (identifier ? [{ identifier, i }] : []));
  const refs = await deps.identity.lookup(
    workspace,
    known.map(({ identifier }) => identifier),
  );
  const matched = new Map<ProfileId, { readonly asked: Identifier[]; readonly stored: Identifier[] }>();
  const found = new Set<number>();
  known.forEach(({ identifier, i }, position) => {
    const ref = refs[position] ?? null;
    if (ref === null) return;
    found.add(i);
    const its = matched.get(ref.profileId) ?? { asked: [], stored: [] };
    its.asked.push(asked[i]!);
    its.stored.push(identifier);
    matched.set(ref.profileId, its);
  });
  const profiles: unknown[] = [];
  for (const [profileId, its] of matched)
    profiles.push({ ...(await readProfile(deps, workspace, profileId, its.stored)), matched: its.asked });
  return reply(200, { profiles, unknown: asked.filter((_, i) => !found.has(i)) });
}

async function identifiers(deps: ProfilesDeps, { workspace, params, query }: Context): Promise<Reply> {
  const profileId = await requireProfile(deps, workspace, params["id"]);
  // The list is bound to the id as asked: the position is a uid and stays good when the profile merges.
  const list = `identifiers:${params["id"]}`;
  const after = (deps.cursors.read(workspace, list, query)?.[0] ?? null) as Uid | null;
  const limit = readLimit(query);
  const rows = await deps.identity.members(workspace, profileId, { limit: limit + 1, after });
  const { items, next_cursor } = pageOf(rows, limit, ({ uid }) => deps.cursors.write(workspace, list, [uid]));
  return reply(200, { identifiers: items.map(({ identifier }) => identifier), next_cursor });
}

async function events(deps: ProfilesDeps, { workspace, params, query }: Context): Promise<Reply> {
  const profileId = await requireProfile(deps, workspace, params["id"]);
  const list = `events:${params["id"]}`;
  const position = deps.cursors.read(workspace, list, query);
  const before = position === null ? null : { effectiveTs: position[0]!, eventId: position[1] as EventId };
  const limit = readLimit(query);
  const { keys, isPartial } = await membership(deps, workspace, profileId);
  const rows = await deps.events.timeline(workspace, keys, { limit: limit + 1, before });
  const fitting = Math.min(limit, countFitting(rows));
  const { items, next_cursor } = pageOf(rows, fitting, ({ effectiveTs, eventId }: StoredEvent) =>
    deps.cursors.write(workspace, list, [effectiveTs, eventId]),
  );
  const shown = items.map((event) => showEvent(event, profileId));
  const tail = JSON.stringify({ next_cursor, ...(isPartial && { partial: true }) }).slice(1);
  return { status: 200, json: `{"events":[${shown.join(",")}],${tail}` };
}

/** A page of large events ends early: one answer of many megabytes would hold up everybody else's. */
const PAGE_BYTES_MAX = 2 * 1_048_576;

/** How many of the rows one page takes; at least one. */
function countFitting(rows: readonly StoredEvent[]): number {
  let bytes = 0;
  const end = rows.findIndex(({ payload }) => (bytes += payload.length) > PAGE_BYTES_MAX);
  return end < 0 ? rows.length : Math.max(end, 1);
}
