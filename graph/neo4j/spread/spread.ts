import { isUnavailable } from "../../../core/errors.js";
import type { Uid, WorkspaceId } from "../../../core/ids.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createGate } from "../../scheduling/gate.js";
import type { Directory } from "./directory.js";

/** Of one workspace; the others are of all. */
type OfOne = Exclude<keyof IdentityGraph, "ready" | "close" | "openErasures" | "foreignUids">;

const METHODS = {
  read: true,
  repeats: true,
  update: true,
  resolve: true,
  resolveAll: true,
  walk: true,
  members: true,
  links: true,
  sharedIdentifiers: true,
  identifiersOf: true,
  hasIdentifiers: true,
  findChange: true,
  findChanges: true,
  changes: true,
  history: true,
  historyIds: true,
  linksOfChange: true,
  linksRemovedBy: true,
  markedAt: true,
  findForbiddenPairs: true,
  forbiddenPairs: true,
  previewErasure: true,
  erase: true,
  continueErasure: true,
  findErasure: true,
  findErasures: true,
  erasures: true,
  advanceErasure: true,
  countLate: true,
  readmit: true,
  hasErasures: true,
  lastErasedAt: true,
  tombstones: true,
  livingUids: true,
  buried: true,
  restoreErasure: true,
  watch: true,
  moved: true,
  clearMoved: true,
} as const satisfies Record<OfOne, true>;

type Call = (workspace: WorkspaceId, ...rest: readonly unknown[]) => Promise<unknown>;

/** Workspaces spread over several graphs: no link leaves its workspace, so each call has one of them. */
export function createSpreadGraph(graphs: ReadonlyMap<string, IdentityGraph>, directory: Directory): IdentityGraph {
  const all = [...graphs.values()];
  const { whileOpen, close } = createGate(async () => void (await Promise.all(all.map((graph) => graph.close()))));
  const toOne =
    (method: string): Call =>
    (workspace, ...rest) =>
      whileOpen(async () => {
        const graph = graphs.get(await directory.graphOf(workspace))! as unknown as Readonly<Record<string, Call>>;
        return graph[method]!(workspace, ...rest);
      });
  const routed = Object.fromEntries(Object.keys(METHODS).map((method) => [method, toOne(method)]));
  return {
    ...(routed as unknown as Pick<IdentityGraph, OfOne>),
    openErasures: async (page) => {
      const asked = await Promise.allSettled(all.map((graph) => graph.openErasures(page)));
      const failed = asked.filter((one) => one.status === "rejected");
      const failure = failed.find(({ reason }) => !isUnavailable(reason)) ?? failed[0];
      const isEnough = failed.length < all.length && page.isWhole !== true;
      if (failure !== undefined && !(isEnough && isUnavailable(failure.reason))) throw failure.reason;
      return asked
        .flatMap((one) => (one.status === "fulfilled" ? one.value : []))
        .toSorted((a, b) => (a.erasureId < b.erasureId ? -1 : 1))
        .slice(0, page.limit);
    },
    // The other graphs have other workspaces alone.
    foreignUids: async (...asked) => {
      const found = new Set<Uid>();
      const each = await Promise.all(all.map((graph) => graph.foreignUids(...asked)));
      for (const uids of each) for (const uid of uids) found.add(uid);
      return found;
    },
    ready: async () => void (await Promise.all(all.map((graph) => graph.ready()))),
    close,
  };
}
