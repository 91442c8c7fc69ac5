import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import type { Moved } from "../../../core/ports/movements.js";
import type { WorkspaceId } from "../../../core/ids.js";
import { movementsOf } from "../../../graph/rules/movements.js";

/** Adds the notes to a graph that is in memory. */
export function withMovements(
  graph: Omit<IdentityGraph, "watch" | "moved" | "clearMoved">,
  notes: MemoryNotes,
): IdentityGraph {
  const note = (workspace: WorkspaceId, moved: readonly Moved[]): void => {
    const standing = notes.get(workspace);
    if (standing !== undefined) notes.set(workspace, [...standing, ...moved]);
  };
  return {
    ...graph,
    update: (workspace, want, decide, turn) =>
      graph.update(
        workspace,
        want,
        (snapshot, border) => {
          const decided = decide(snapshot, border);
          if (decided.plan !== null && decided.border === undefined)
            note(workspace, movementsOf(decided.plan, snapshot));
          return decided;
        },
        turn,
      ),
    watch: async (workspace) => {
      await graph.ready();
      if (!notes.has(workspace)) notes.set(workspace, []);
    },
    moved: async (workspace, limit) => {
      await graph.ready();
      return (notes.get(workspace) ?? []).slice(0, limit);
    },
    clearMoved: async (workspace, movedIds) => {
      await graph.ready();
      const left = (notes.get(workspace) ?? []).filter(({ movedId }) => !movedIds.includes(movedId));
      if (notes.has(workspace)) notes.set(workspace, left);
    },
  };
}

/** Of each workspace that is watched. */
export type MemoryNotes = Map<WorkspaceId, readonly Moved[]>;
