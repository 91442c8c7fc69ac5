import type { WorkspaceId } from "../../../core/ids.js";
import type { LoggedErasure } from "../../../core/identity/logged-erasure.js";
import { aWorkspace } from "../builders.js";
import { createMemoryGraph, createMemoryState } from "./graph.js";

/** A graph and a log of erasures. */
export function inMemory() {
  const lines: LoggedErasure[] = [];
  const erasureLog = {
    append: async (one: LoggedErasure) => void lines.push(one),
    entries: async function* () {
      yield* lines;
    },
  };
  return { erasures: createMemoryGraph(createMemoryState()), erasureLog, lines };
}

/** A catalog with every workspace but these. */
export const catalogWithout = (...missing: readonly WorkspaceId[]) => ({
  findWorkspace: async (workspaceId: WorkspaceId) =>
    missing.includes(workspaceId) ? null : aWorkspace({ workspaceId }),
});
