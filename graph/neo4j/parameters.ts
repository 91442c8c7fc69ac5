import type { IdentifierKey, Uid, WorkspaceId } from "../../core/ids.js";
import {
  pairKey,
  type Component,
  type ComponentPlan,
  type CreatePlan,
  type LinkPlan,
  type Plan,
  type Summary,
} from "../../core/identity/model.js";
import type { Snapshot } from "../../core/identity/snapshot.js";
import { movementsOf } from "../rules/movements.js";
import { EMPTY_SNAPSHOT } from "../rules/working-state.js";
import type { Move } from "./staging.js";
import { changeParameters, sourceOf } from "./changes.js";
import { whole, type Parameters } from "./client.js";
import { movedParameters } from "./movements/movements.js";
import { linkKey } from "./snapshot.js";

/** The parameter `$q` of the writing statement. */
export function writeParameters(ws: WorkspaceId, plan: Plan, snapshot: Snapshot, moves: readonly Move[]) {
  const { components } = plan;
  const members = membersOf(plan);
  const placed = components.map((component, position) => ({ ...component, members: members[position]! }));
  const uidOf = uidsOf(plan, snapshot);
  return {
    ws,
    fresh: placed
      .filter(({ into }) => into === null)
      .map((component) => Object.assign({ members: component.members.map(memberOf) }, profileOf(component))),
    moves,
    grown: [
      ...components.filter(({ into }) => into !== null).map((component) => grownOf(component, snapshot)),
      ...linkedWithin(plan, snapshot),
    ],
    joins: placed
      .filter(({ into }) => into !== null)
      .flatMap(({ profileId, members }) => members.map((one) => ({ profile: profileId, ...memberOf(one) }))),
    links: plan.links.map(linkOf),
    changes: plan.changes.map((change) => changeParameters(ws, change, uidOf)),
    moved: movedParameters(movementsOf(plan, snapshot)),
  };
}

/** The identifiers that are created in each component. */
function membersOf({ components, creates }: Plan): readonly (readonly CreatePlan[])[] {
  const members = components.map((): CreatePlan[] => []);
  for (const create of creates) members[create.component]?.push(create);
  return members;
}

/**
 * The same for a plan whose names are all created by it: links and changes name them by their positions among those that are created,
 * so that nothing has to be looked for. Null when a change is about anything else.
 */
export function newParameters(ws: WorkspaceId, plan: Plan): Parameters | null {
  const parameters = writeParameters(ws, plan, EMPTY_SNAPSHOT, []);
  const created = membersOf(plan).flat();
  const byKey = new Map(created.map(({ key }, n) => [key, whole(n)]));
  const byUid = new Map<string, unknown>(created.map(({ uid }, n) => [uid, whole(n)]));
  const links = parameters.links.map((link) => ({ ...link, from: byKey.get(link.from), to: byKey.get(link.to) }));
  const changes = parameters.changes.map((change) => ({ ...change, about: change.about.map((uid) => byUid.get(uid)) }));
  const isKnown = changes.every(({ about }) => !about.includes(undefined));
  return isKnown ? { ...parameters, links, changes } : null;
}

const memberOf = ({ key, uid, identifier }: CreatePlan) => ({
  key,
  uid,
  ns: identifier.namespace,
  value: identifier.value,
});

/** An empty list is not written at all: most profiles have none. */
export const profileOf = ({ profileId, size, ...summary }: Summary & Pick<ComponentPlan, "profileId" | "size">) => ({
  id: profileId,
  size: whole(size),
  counts: JSON.stringify(Object.fromEntries(summary.counts)),
  forbidden: summary.forbidden.length === 0 ? null : summary.forbidden,
});

/** Null leaves what stands there: an empty list is written where there was none before only if it takes something away. */
function grownOf(component: ComponentPlan, { components }: Snapshot) {
  const { into, absorbed, forbidden } = component;
  const had = [into!, ...absorbed].some((one) => components.get(one)!.forbidden.length > 0);
  return { was: into, ...profileOf(component), forbidden: had || forbidden.length > 0 ? forbidden : null };
}

/** Components that only get links between their present members. */
function linkedWithin({ components, links }: Plan, { identifiers, components: seen }: Snapshot) {
  const changed = new Set<Component>(components.flatMap(({ into, absorbed }) => [into ?? "", ...absorbed]));
  const within = new Set<Component>();
  for (const { from, to } of links)
    for (const key of [from, to]) {
      const component = identifiers.get(key)?.component;
      if (component !== undefined && !changed.has(component)) within.add(component);
    }
  return [...within].map((was) => ({ was, id: was, size: whole(seen.get(was)!.size), counts: null, forbidden: null }));
}

const uidsOf = ({ creates }: Plan, { identifiers }: Snapshot) => {
  const created = new Map<IdentifierKey, Uid>(creates.map(({ key, uid }) => [key, uid]));
  return (key: IdentifierKey): Uid | undefined => identifiers.get(key)?.uid ?? created.get(key);
};

const linkOf = ({ from, to, changeId, evidence }: LinkPlan) => ({
  from,
  to,
  key: linkKey(pairKey(from, to)),
  change: changeId,
  ...sourceOf(evidence),
  key_id: evidence.keyId,
  at: whole(evidence.at),
});

/** A plan that names something the snapshot does not have is a bug: nothing of it is written. */
export function requireKnown({ components, creates, links, splits }: Plan, snapshot: Snapshot): void {
  const known = new Set(creates.map(({ key }) => key));
  for (const { into, absorbed } of components)
    for (const component of into === null ? absorbed : [into, ...absorbed])
      if (!snapshot.components.has(component)) throw unknown("component");
  for (const { component } of splits) if (!snapshot.components.has(component)) throw unknown("component");
  for (const { component } of creates) if (components[component] === undefined) throw unknown("component");
  for (const { from, to } of links)
    for (const key of [from, to]) if (!snapshot.identifiers.has(key) && !known.has(key)) throw unknown("identifier");
}

export const unknown = (what: string): Error => new Error(`The plan names a ${what} that does not exist.`);
