import { AppError } from "../../core/errors.js";
import type { Explanation } from "../../core/identity/api.js";
import type { Uid, WorkspaceId } from "../../core/ids.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import type { Sides } from "../lookup.js";
import { readWeb, type ReadWebOptions } from "./read-component.js";
import { explained } from "./split.js";
import { bridgesOf, shortestPath, type Web } from "./component-graph.js";

export const APART: Explanation = { connected: false, profileId: null, path: [], bridges: [] };

/** A merge or a split that goes on while the profile is read may hide a way for a moment. */
const TRIES = 3;

/** `look` finds the two, or null when they are apart. Throws `unavailable` when their profile changes all the time. */
export async function explainSides(
  graph: Pick<IdentityGraph, "members" | "links">,
  workspace: WorkspaceId,
  look: () => Promise<Sides | null>,
  options: ReadWebOptions,
): Promise<Explanation> {
  for (let tries = 0; tries < TRIES; tries++) {
    const sides = await look();
    if (sides === null) return APART;
    const { profileId, from, to } = sides;
    const web = await readWeb(graph, workspace, profileId, options);
    if (web === null) return { connected: true, profileId, path: null, bridges: null };
    const found = explainIn(web, from, to);
    if (found !== null) return { connected: true, profileId, ...found };
  }
  throw new AppError("unavailable", "The profile changed while it was being explained.");
}

function explainIn(web: Web, from: Uid, to: Uid): Pick<Explanation, "path" | "bridges"> | null {
  const [start, end] = [web.positionOf.get(from), web.positionOf.get(to)];
  if (start === undefined || end === undefined) return null;
  const path = shortestPath(web, start, end);
  if (path === null) return null;
  const show = (links: readonly number[]) => links.map((link) => explained(web, web.links[link]!));
  return { path: show(path), bridges: show(bridgesOf(web, start, path)) };
}
