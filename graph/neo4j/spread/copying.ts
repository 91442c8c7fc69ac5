import { AppError } from "../../../core/errors.js";
import type { GraphCopying, GraphRows, Place } from "../../../core/ports/copying.js";
import { HOME, type Directory } from "./directory.js";

/** One graph after the other; what is loaded goes to the graph of its workspace. */
export function createSpreadCopying(copyings: ReadonlyMap<string, GraphCopying>, directory: Directory): GraphCopying {
  const all = [...copyings.values()];
  const load = async <K extends keyof GraphRows>(kind: K, rows: readonly GraphRows[K][]): Promise<void> => {
    const byGraph = new Map<string, GraphRows[K][]>();
    for (const row of rows) {
      const graph = await directory.graphOf(row.workspace);
      byGraph.set(graph, [...(byGraph.get(graph) ?? []), row]);
    }
    for (const [graph, own] of byGraph) await copyings.get(graph)!.load(kind, own);
  };
  return {
    kinds: copyings.get(HOME)!.kinds,
    dump: async (kind, { limit, after }) => {
      const place = after === null ? { index: 0, within: null } : readPlace(after);
      const { rows, next } = await all[place.index]!.dump(kind, { limit, after: place.within });
      if (next !== null) return { rows, next: placeText(place.index, next) };
      return { rows, next: place.index + 1 < all.length ? placeText(place.index + 1, null) : null };
    },
    load,
    mend: async (row) => copyings.get(await directory.graphOf(row.workspace))!.mend(row),
  };
}

const placeText = (index: number, within: string | null): string => JSON.stringify([index, within]);

function readPlace(text: string): { readonly index: number; readonly within: string | null } {
  const [index, within] = JSON.parse(text) as [number, string | null];
  if (!Number.isSafeInteger(index)) throw new AppError("conflict", "This page was begun on another number of graphs.");
  return { index, within };
}

/** A mark stands in each, so that no process starts on one of them alone. */
export const createSpreadPlace = (places: readonly Place[]): Place => ({
  name: places.map(({ name }) => name).join(" + "),
  mark: async () => {
    for (const place of places) {
      const mark = await place.mark();
      if (mark !== null) return mark;
    }
    return null;
  },
  setMark: async (mark) => {
    for (const place of places) await place.setMark(mark);
  },
  stands: async () => {
    const sums = new Map<string, number>();
    for (const place of places)
      for (const [kind, count] of await place.stands()) sums.set(kind, (sums.get(kind) ?? 0) + count);
    return sums;
  },
});
