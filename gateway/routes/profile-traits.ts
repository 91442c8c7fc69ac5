import { Type } from "typebox";
import { readLive } from "../../commands/read-profile.js";
import type { Services } from "../../commands/services.js";
import type { Merge } from "../../core/catalog/catalog.js";
import { showInstant } from "../../core/event/time.js";
import { valueOf, type Trait } from "../../core/profile/facet.js";
import { reply, route, type Route } from "../route.js";
import { answered } from "../shapes/examples.js";
import { idOf, nullable, record, TIME, UUID } from "../shapes/fields.js";
import { namesOf } from "../shapes/records.js";
import { TRAIT_VALUE } from "./profiles.js";

const MERGES = namesOf<Merge>({ latest: true, first: true, min: true, max: true, union: true, sum: true, count: true });

export const profileTraitRoutes = (services: Services): readonly Route[] => [
  route({
    method: "get",
    path: "/v1/profiles/:id/traits",
    operationId: "listProfileTraits",
    tag: "Read",
    summary: "The traits of a profile, and the event that each comes from",
    description:
      "With the merge `latest` or `first`, a value comes from one event. With the others it depends on several, so `event_id` and `at` are null.",
    example: { params: { id: answered("identify", "/profile_id") } },
    access: { kind: "role", role: "viewer" },
    params: { id: idOf("profile") },
    responses: {
      200: record({
        profile_id: UUID,
        traits: Type.Array(
          record({
            name: Type.String(),
            value: TRAIT_VALUE,
            merge: Type.Enum(MERGES),
            event_id: nullable(UUID),
            at: nullable(TIME),
          }),
        ),
        partial: Type.Optional(Type.Literal(true)),
      }),
    },
    handle: async ({ workspace, params: { id }, takeBytes }) => {
      const read = await readLive(services, workspace, id, takeBytes);
      const byName = [...read.facet.traits].toSorted(([a], [b]) => (a < b ? -1 : 1));
      return reply(200, {
        profile_id: read.profileId,
        traits: byName.map(([name, trait]) => showSourced(name, trait)),
        ...(read.isPartial && { partial: true }),
      });
    },
  }),
];

const showSourced = (name: string, trait: Trait) => {
  const isOfOne = trait.merge === "latest" || trait.merge === "first";
  return {
    name,
    value: valueOf(trait),
    merge: trait.merge,
    event_id: isOfOne ? trait.eventId : null,
    at: isOfOne ? showInstant(trait.ts) : null,
  };
};
