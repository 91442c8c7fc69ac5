import { AppError } from "../../../core/errors.js";
import { identifierKey } from "../../../core/event/event.js";
import type { ChangeId, IdentifierKey, ProfileId, Uid, WorkspaceId } from "../../../core/ids.js";
import { pairKey, type Change, type LinkState, type Member } from "../../../core/identity/model.js";
import type { HistoryPage } from "../../../core/identity/pages.js";
import type { ReadSet } from "../../../core/identity/snapshot.js";
import { atOnce } from "../../../core/identity/step.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { namedKeys, subjectsOf } from "../../../graph/rules/subjects.js";
import { repeatIn } from "../../../graph/rules/repeats.js";
import { readSetOf, readSetOfAll } from "../../../graph/rules/read-set.js";
import type { Backend } from "../contract.js";
import type { Movements } from "../../../core/ports/movements.js";
import { createMemoryErasures } from "./erasures.js";
import { withMovements } from "./movements.js";
import { borderOf, lookAt } from "./look.js";
import {
  applyPlan,
  createMemoryState,
  requireFits,
  type MemoryLink,
  type MemorySeat,
  type MemoryState,
} from "./state.js";

export { lookAt } from "./look.js";
export { applyPlan, createMemoryState, type MemoryState } from "./state.js";

/** Its state outlives the port, as a file does. */
export const memoryBackend: Backend<IdentityGraph> = {
  name: "memory",
  place: async () => {
    const state = createMemoryState();
    return { open: async () => createMemoryGraph(state), drop: async () => undefined };
  },
};

/** The whole state, read and changed at once: nothing comes in between. */
export function createMemoryGraph(state: MemoryState): IdentityGraph {
  let closed = false;
  const open = async <T>(work: () => T): Promise<T> => {
    if (closed) throw new AppError("unavailable", "The identity graph is closed.");
    return work();
  };
  const { find, membersOf } = createReader(state);

  const graph = {
    ready: () => open(() => undefined),
    close: async () => void (closed = true),
    read: (workspace, want) => open(() => lookAt(state, ownPart(workspace, want))),
    repeats: (workspace, sets) =>
      open(() => {
        const snapshot = lookAt(state, ownPart(workspace, readSetOfAll(sets.map(readSetOf))));
        return sets.map((keys) => repeatIn(snapshot, keys));
      }),
    update: (workspace, want, decide, turn = atOnce) =>
      turn(() =>
        open(() => {
          const snapshot = lookAt(state, ownPart(workspace, want));
          let decided = decide(snapshot, null);
          while (decided.border !== undefined)
            decided = decide(
              snapshot,
              borderOf(
                state,
                decided.border.map((keys) => keys.filter((key) => key.startsWith(`${workspace}:`))),
              ),
            );
          const { plan, result } = decided;
          if (plan !== null) {
            requireFits(state, plan, workspace);
            applyPlan(state, plan, workspace);
          }
          return result;
        }),
      ),
    resolve: (workspace, profileId) =>
      open(() => {
        const location = find(workspace, profileId);
        if (location === null) return null;
        const { profileId: live, size } = state.components.get(location.component)!;
        return { profileId: live, size };
      }),
    resolveAll: (workspace, profileIds, membersMax) =>
      open(() =>
        profileIds.map((asked) => {
          const location = find(workspace, asked);
          if (location === null) return null;
          const { profileId, size } = state.components.get(location.component)!;
          return { profileId, size, members: size > membersMax ? null : membersOf(workspace, profileId).map(memberOf) };
        }),
      ),
    walk: (workspace, { after, limit, membersMax }) =>
      open(() => {
        const own = [...state.identifiers.values()].filter((location) => location.workspace === workspace);
        const ids = [
          ...new Set(own.map(({ uid }) => state.components.get(find(workspace, uid)!.component)!.profileId)),
        ].toSorted();
        const all = ids.map((profileId) => {
          const members = membersOf(workspace, profileId).map(memberOf);
          return { profileId, size: members.length, members: members.length > membersMax ? null : members };
        });
        return pageOf(all, ({ profileId }) => profileId, after, limit);
      }),
    members: (workspace, profileId, { after, limit }) =>
      open(() => pageOf(membersOf(workspace, profileId).map(memberOf), ({ uid }) => uid, after, limit)),
    sharedIdentifiers: (workspace, { after, limit }) =>
      open(() => {
        const marked = [...state.identifiers.values()].filter(
          (location) => location.workspace === workspace && location.isShared,
        );
        return pageOf(marked.map(memberOf), ({ uid }) => uid, after, limit);
      }),
    identifiersOf: (workspace, uids) =>
      open(
        () =>
          new Map(
            uids.flatMap((uid) => {
              const location = find(workspace, uid);
              return location === null ? [] : [[uid, location.identifier] as const];
            }),
          ),
      ),
    hasIdentifiers: (workspace, namespace) =>
      open(() =>
        [...state.identifiers.values()].some(
          (location) => location.workspace === workspace && location.identifier.namespace === namespace,
        ),
      ),
    ...createMemoryErasures(state, open),
    ...createLinkReads(state, open),
    ...createRecordReads(state, open),
  } satisfies Omit<IdentityGraph, keyof Movements>;
  return withMovements(graph, state.notes);
}

type Open = <T>(work: () => T) => Promise<T>;

function createReader({ identifiers }: MemoryState) {
  const find = (workspace: WorkspaceId, uid: Uid): MemorySeat | null =>
    [...identifiers.values()].find((location) => location.uid === uid && location.workspace === workspace) ?? null;
  return {
    find,
    membersOf: (workspace: WorkspaceId, profileId: ProfileId): readonly MemorySeat[] => {
      const component = find(workspace, profileId)?.component;
      return [...identifiers.values()].filter((location) => location.component === component);
    },
  };
}

function ownPart<Asked extends ReadSet>(workspace: WorkspaceId, want: Asked): Asked {
  const isOwn = (key: IdentifierKey): boolean => key.startsWith(`${workspace}:`);
  return { ...want, keys: want.keys.filter(isOwn), pairs: want.pairs.filter((pair) => pair.every(isOwn)) };
}

const memberOf = ({ uid, identifier, isShared }: MemorySeat): Member => ({ uid, identifier, isShared });

/** Those behind `after` in the order of their positions, so many. */
function pageOf<T>(all: readonly T[], positionOf: (one: T) => string, after: string | null, limit: number): T[] {
  return all
    .filter((one) => positionOf(one) > (after ?? ""))
    .toSorted((a, b) => (positionOf(a) < positionOf(b) ? -1 : 1))
    .slice(0, limit);
}

function createLinkReads(
  state: MemoryState,
  open: Open,
): Pick<IdentityGraph, "links" | "linksOfChange" | "linksRemovedBy"> {
  const { membersOf } = createReader(state);
  const position = ({ from, to }: { readonly from: Uid; readonly to: Uid }): string => `${from} ${to}`;
  const stateOf = ({ plan, by, removedAt }: MemoryLink) => ({
    pair: [plan.from, plan.to] as const,
    changeId: plan.changeId,
    by,
    isActive: removedAt === null,
  });
  const linksOfChange = (workspace: WorkspaceId, changeId: ChangeId) =>
    state.changes.get(changeId)?.workspace === workspace
      ? [...state.links.values()].filter(({ plan, by }) => plan.changeId === changeId || by === changeId).map(stateOf)
      : [];
  return {
    links: (workspace, profileId, { after, limit }) =>
      open(() => {
        const uids = new Map(
          membersOf(workspace, profileId).map(({ uid, identifier }) => [identifierKey(workspace, identifier), uid]),
        );
        const active = [...state.links.values()].filter(
          ({ plan, removedAt }) => removedAt === null && uids.has(plan.from),
        );
        const links = active.map(({ plan: { from, to, changeId, evidence }, by }) => ({
          from: uids.get(from)!,
          to: uids.get(to)!,
          changeId,
          evidence,
          restoredBy: by === changeId ? null : by,
        }));
        return pageOf(links, position, after === null ? null : position(after), limit);
      }),
    linksOfChange: (workspace, { changeId }) => open(() => linksOfChange(workspace, changeId)),
    linksRemovedBy: (workspace, { changeId }, { after, limit }) =>
      open(() => {
        const removed = linksOfChange(workspace, changeId).filter(({ isActive, by }) => !isActive && by === changeId);
        const keyOf = ({ pair }: LinkState): string => pairKey(...pair);
        const links = pageOf(removed, keyOf, after, limit);
        return { links, next: links.length < limit ? null : keyOf(links.at(-1)!) };
      }),
  };
}

type RecordReads = Pick<
  IdentityGraph,
  | "markedAt"
  | "findForbiddenPairs"
  | "forbiddenPairs"
  | "findChange"
  | "findChanges"
  | "changes"
  | "history"
  | "historyIds"
>;

function createRecordReads(state: MemoryState, open: Open): RecordReads {
  const { membersOf } = createReader(state);
  const forbiddenPairsOf = (workspace: WorkspaceId) =>
    [...state.forbiddenPairs.values()].filter((one) => one.workspace === workspace).map(({ forbidden }) => forbidden);
  const newest = (
    workspace: WorkspaceId,
    isWanted: (change: Change) => boolean,
    { before, limit }: { readonly before: ChangeId | null; readonly limit: number },
  ): readonly Change[] =>
    [...state.changes.values()]
      .filter((one) => one.workspace === workspace && isWanted(one.change))
      .map(({ change }) => change)
      .filter(({ changeId }) => before === null || changeId < before)
      .toSorted((a, b) => (a.changeId > b.changeId ? -1 : 1))
      .slice(0, limit);

  const findChange = (workspace: WorkspaceId, changeId: ChangeId): Change | null => {
    const found = state.changes.get(changeId);
    return found?.workspace === workspace ? found.change : null;
  };
  const history = (workspace: WorkspaceId, profileId: ProfileId, page: HistoryPage): readonly Change[] => {
    const all = membersOf(workspace, profileId);
    const members = page.isOwn === true ? all.filter(({ uid }) => uid === profileId) : all;
    const uids = new Set(members.map(({ uid }) => uid));
    const keys = new Set(members.map(({ identifier }) => identifierKey(workspace, identifier)));
    const isAbout = (change: Change): boolean =>
      namedKeys(workspace, change).some((key) => keys.has(key)) || subjectsOf(change).some((uid) => uids.has(uid));
    return newest(workspace, isAbout, page);
  };

  return {
    markedAt: (workspace, key, changeId) =>
      open(() => {
        const seat = state.identifiers.get(key);
        const marks = seat?.workspace === workspace ? seat.unlinkMarks : [];
        return marks.find(({ by }) => by === changeId)?.at ?? null;
      }),
    findForbiddenPairs: (workspace, forbiddenPairIds) =>
      open(() =>
        forbiddenPairsOf(workspace).filter(({ forbiddenPairId }) => forbiddenPairIds.includes(forbiddenPairId)),
      ),
    forbiddenPairs: (workspace, { after, limit }) =>
      open(() => pageOf(forbiddenPairsOf(workspace), ({ forbiddenPairId }) => forbiddenPairId, after, limit)),
    findChange: (...asked) => open(() => findChange(...asked)),
    findChanges: (workspace, changeIds) =>
      open(() => changeIds.flatMap((changeId) => findChange(workspace, changeId) ?? [])),
    changes: (workspace, outcome, page) =>
      open(() => newest(workspace, (change) => outcome === null || change.outcome === outcome, page)),
    history: (...asked) => open(() => history(...asked)),
    historyIds: (...asked) => open(() => history(...asked).map(({ changeId }) => changeId)),
  };
}
