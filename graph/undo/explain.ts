import { AppError } from "../../core/errors.js";
import type { Explanation } from "../../core/identity/api.js";
import type { Uid, WorkspaceId } from "../../core/ids.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import type { Sides } from "../lookup.js";
import { readComponent, type ReadComponentOptions } from "./read.js";
import { explainedLinks } from "./split.js";
import { bridgesOf, shortestPath, type ComponentGraph } from "./component-graph.js";

export const APART: Explanation = { connected: false, profileId: null, path: [], bridges: [], isPartial: false };

/** A merge or a split that runs while the profile is read may hide a path for a moment. */
const TRIES = 3;

/** `look` finds the two, or null when they are apart. Throws `unavailable` when their profile changes all the time. */
export async function explainSides(
  graph: Pick<IdentityGraph, "members" | "links">,
  workspace: WorkspaceId,
  look: () => Promise<Sides | null>,
  options: ReadComponentOptions,
): Promise<Explanation> {
  for (let tries = 0; tries < TRIES; tries++) {
    const sides = await look();
    if (sides === null) return APART;
    const { profileId, from, to } = sides;
    options.memory.restart();
    const component = await readComponent(graph, workspace, sides, options);
    if (component === null) return { connected: true, profileId, path: null, bridges: null, isPartial: true };
    const found = explainIn(component, from, to);
    if (found !== null) return { connected: true, profileId, ...found };
  }
  throw new AppError("unavailable", "The profile changed while it was being explained.");
}

function explainIn(
  component: ComponentGraph,
  from: Uid,
  to: Uid,
): Pick<Explanation, "path" | "bridges" | "isPartial"> | null {
  const [start, end] = [component.positionOf(from), component.positionOf(to)];
  if (start === undefined || end === undefined) return null;
  const path = shortestPath(component, start, end);
  if (path === null) return null;
  const [shown, bridges] = [path, bridgesOf(component, start, path)].map((links) => explainedLinks(component, links));
  return { path: shown!.links, bridges: bridges!.links, isPartial: shown!.isPartial || bridges!.isPartial };
}
