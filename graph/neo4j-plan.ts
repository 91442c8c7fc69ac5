import neo4j, { type Integer } from "neo4j-driver";
import type { Identifier } from "../core/event.js";
import type { WorkspaceId } from "../core/ids.js";
import {
  pairKey,
  type Change,
  type CreatePlan,
  type Evidence,
  type LinkPlan,
  type Picture,
  type Plan,
} from "../core/identity.js";
import type { Parameters } from "./neo4j-client.js";
import { linkKey } from "./neo4j-look.js";

/** JavaScript's numbers travel as floats otherwise, and a time must be whole. */
const whole = (value: number): Integer => neo4j.int(value);

/** What the writing statement takes as `$q`. */
export function writeParameters(ws: WorkspaceId, plan: Plan): Parameters {
  const { components, creates } = plan;
  const members = components.map((): CreatePlan[] => []);
  for (const create of creates) members[create.component]?.push(create);
  const placed = components.map((component, position) => ({ ...component, members: members[position]! }));
  return {
    ws,
    fresh: placed
      .filter(({ into }) => into === null)
      .map(({ profileId, size, members }) => ({ id: profileId, size: whole(size), members: members.map(memberOf) })),
    moves: components.flatMap(({ into, absorbed }) => absorbed.map((gone) => ({ into, gone }))),
    grown: components
      .filter(({ into }) => into !== null)
      .map(({ into, profileId, size }) => ({ was: into, id: profileId, size: whole(size) })),
    joins: placed
      .filter(({ into }) => into !== null)
      .flatMap(({ profileId, members }) => members.map((one) => ({ profile: profileId, ...memberOf(one) }))),
    links: plan.links.map(linkOf),
    changes: plan.changes.map(changeOf),
  };
}

const memberOf = ({ key, uid, identifier }: CreatePlan) => ({
  key,
  uid,
  ns: identifier.namespace,
  value: identifier.value,
});

/** An event's id stands beside it: as the caption of a link it could not be read. */
const sourceOf = ({ source }: Evidence) =>
  source === "identify" || source === "alias" ? { source, event: null } : { source: "event", event: source };

const linkOf = ({ from, to, changeId, evidence }: LinkPlan) => ({
  from,
  to,
  key: linkKey(pairKey(from, to)),
  change: changeId,
  ...sourceOf(evidence),
  key_id: evidence.keyId,
  at: whole(evidence.at),
});

const changeOf = ({ changeId, at, evidence, identifiers, outcome, before, after }: Change) => ({
  id: changeId,
  at: whole(at),
  outcome,
  ...sourceOf(evidence),
  key_id: evidence.keyId,
  identifiers: identifiers.map(named),
  before,
  after,
});

/** As a person reads it; injective, since no namespace holds a colon. */
const named = ({ namespace, value }: Identifier): string => `${namespace}:${value}`;

/** A plan that names what the picture does not show is a fault of its maker: nothing of it is written. */
export function requireKnown({ components, creates, links }: Plan, picture: Picture): void {
  const known = new Set(creates.map(({ key }) => key));
  for (const { into, absorbed } of components)
    for (const component of into === null ? absorbed : [into, ...absorbed])
      if (!picture.components.has(component)) throw unknown("component");
  for (const { component } of creates) if (components[component] === undefined) throw unknown("component");
  for (const { from, to } of links)
    for (const key of [from, to]) if (!picture.identifiers.has(key) && !known.has(key)) throw unknown("identifier");
}

const unknown = (what: string): Error => new Error(`The plan names a ${what} that does not exist.`);
