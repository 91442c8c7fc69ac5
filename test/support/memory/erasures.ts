import { AppError } from "../../../core/errors.js";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import { newId, type ErasureId, type IdentifierKey, type Tomb, type Uid, type WorkspaceId } from "../../../core/ids.js";
import { saidAt, type Erasure, type ErasureTarget, type Renewal } from "../../../core/identity/erasure.js";
import { withoutErased } from "../../../core/identity/names.js";
import type { Tombstone } from "../../../core/identity/tombstone.js";
import type { Erasures } from "../../../core/ports/identity-graph.js";
import { tombOf } from "../builders.js";
import type { MemorySeat, MemoryState } from "./state.js";

type Open = <T>(work: () => T) => Promise<T>;

/** What is left of an identifier by one erasure. */
export interface MemoryTombstone {
  readonly tomb: Tomb;
  readonly erasureId: ErasureId;
  readonly uid: Uid | null;
}

/** As the others do. */
const AT_ONCE = 500;

/** All at once and by looking at everything: what the others do step by step must look the same. */
export function createMemoryErasures(state: MemoryState, open: Open): Erasures {
  const seatsOf = (workspace: WorkspaceId, target: ErasureTarget): readonly MemorySeat[] => {
    const all = [...state.identifiers.values()].filter((seat) => seat.workspace === workspace);
    if ("profileId" in target) return all.filter(({ uid }) => uid === target.profileId);
    const keys = target.identifiers.map((one) => identifierKey(workspace, one));
    return keys.flatMap((key) => state.identifiers.get(key) ?? []);
  };
  const strangersOf = (workspace: WorkspaceId, target: ErasureTarget): readonly Identifier[] =>
    "profileId" in target
      ? []
      : target.identifiers.filter((one) => !state.identifiers.has(identifierKey(workspace, one)));
  const deadOf = (workspace: WorkspaceId, target: ErasureTarget): readonly Erasure[] => {
    if ("profileId" in target) {
      const found = state.tombstones.find(({ uid }) => uid === target.profileId);
      return found === undefined ? [] : [own(workspace, found.erasureId) ?? []].flat();
    }
    const ids = target.identifiers.map((one) => tombstoneOf(state, identifierKey(workspace, one))?.erasureId);
    const known = [...new Set(ids.filter((id) => id !== undefined))].toSorted();
    return ids.includes(undefined) ? [] : known.flatMap((id) => own(workspace, id) ?? []);
  };
  /** The later time and the suppression count; whoever is covered anew is worked at again. */
  const renew = (erasure: Erasure, { erasedAt, suppress, readmittedAt }: Renewal): readonly Erasure[] => {
    const after: Erasure = {
      ...erasure,
      erasedAt: Math.max(erasedAt, erasure.erasedAt),
      ...(suppress && { suppress, readmittedAt }),
    };
    const covers = (one: Erasure) => one.suppress && one.readmittedAt === null;
    const isWider = after.erasedAt > erasure.erasedAt || (covers(after) && !covers(erasure));
    const isSame = after.suppress === erasure.suppress && after.readmittedAt === erasure.readmittedAt;
    if (!isWider && isSame) return [];
    return [put({ ...after, completedAt: isWider ? null : after.completedAt, rev: erasure.rev + 1 })];
  };
  const own = (workspace: WorkspaceId, erasureId: ErasureId): Erasure | null => {
    const erasure = state.erasures.get(erasureId);
    return erasure?.workspace === workspace ? erasure : null;
  };
  const put = (erasure: Erasure): Erasure => {
    state.erasures.set(erasure.erasureId, erasure);
    return erasure;
  };
  const find = (workspace: WorkspaceId, target: ErasureTarget) => {
    const seats = seatsOf(workspace, target);
    const components = [...new Set(seats.map(({ component }) => component))];
    const strangers = strangersOf(workspace, target);
    const dead = components.length === 0 ? deadOf(workspace, target) : [];
    return { components, strangers, dead, isUnknown: components.length === 0 && "profileId" in target };
  };
  const membersOf = (component: number) => [...state.identifiers].filter(([, seat]) => seat.component === component);
  const countsOf = (component: number | undefined, strangers: readonly Identifier[]) => {
    const members = component === undefined ? [] : membersOf(component).map(([, { identifier }]) => identifier);
    const counts = new Map<string, number>();
    for (const { namespace } of [...members, ...strangers]) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
    return counts;
  };
  const revisionOf = (component: number | undefined): string => {
    const profile = component === undefined ? undefined : state.components.get(component);
    return profile === undefined ? "nobody" : `${profile.profileId} ${profile.rev}`;
  };

  /** All is gone at once, but it tells so bit by bit. */
  const laterOf = (erasure: Erasure, max: number): Erasure => {
    const all = state.linksTaken.get(erasure.erasureId) ?? erasure.links;
    state.linksTaken.set(erasure.erasureId, all);
    const isFirst = !state.erasures.has(erasure.erasureId);
    const links = Math.min(all, (isFirst ? 0 : erasure.links) + max);
    return { ...erasure, links, isGone: links === all };
  };

  return {
    previewErasure: (workspace, target) =>
      open(() => {
        const { components, strangers, dead, isUnknown } = find(workspace, target);
        if (components.length > 1) throw new AppError("conflict", "several profiles");
        const erasure = dead.at(-1);
        if (erasure !== undefined)
          return {
            profileId: erasure.profileId,
            identifiers: erasure.identifiers,
            revision: erasure.erasureId,
            erasure,
          };
        if (isUnknown) return null;
        const [component] = components;
        return {
          profileId: component === undefined ? null : state.components.get(component)!.profileId,
          identifiers: countsOf(component, strangers),
          revision: revisionOf(component),
          erasure: null,
        };
      }),
    erase: (workspace, { target, keyId, now, suppress, revision }) =>
      open(() => {
        const { components, strangers, dead, isUnknown } = find(workspace, target);
        if (components.length > 1) {
          const profileIds = components.map((one) => state.components.get(one)!.profileId).toSorted();
          return { kind: "several", profileIds };
        }
        const last = dead.at(-1)?.erasureId;
        if (last !== undefined) {
          const at = now();
          const changed = dead.flatMap((one) => {
            const begins = suppress && !(one.suppress && one.readmittedAt === null);
            const erasedAt = "profileId" in target && !begins ? 0 : at;
            return renew(one, { erasedAt, suppress, readmittedAt: null });
          });
          return { kind: "repeated", erasure: state.erasures.get(last)!, changed };
        }
        if (isUnknown) return { kind: "unknown" };
        const [component] = components;
        if (revision !== null && revision !== revisionOf(component)) return { kind: "changed" };
        const erasureId = newId<ErasureId>();
        const taken = component === undefined ? [] : membersOf(component);
        const record: Erasure = {
          workspace,
          erasureId,
          erasedAt: now(),
          keyId,
          profileId: component === undefined ? null : state.components.get(component)!.profileId,
          identifiers: countsOf(component, strangers),
          suppress,
          readmittedAt: null,
          isGone: true,
          rev: 1,
          removed: {},
          cursor: null,
          late: { events: 0, lastAt: null },
          completedAt: null,
          ...remove(state, taken, strangers, workspace),
        };
        for (const [key, { uid }] of taken) state.tombstones.push({ tomb: tombOf(key), erasureId, uid });
        for (const one of strangers)
          state.tombstones.push({ tomb: tombOf(identifierKey(workspace, one)), erasureId, uid: null });
        return { kind: "erased", erasure: put(laterOf(record, AT_ONCE)) };
      }),
    continueErasure: (workspace, erasureId, max) =>
      open(() => {
        const erasure = own(workspace, erasureId);
        return erasure === null || erasure.isGone ? erasure : put(laterOf(erasure, max));
      }),
    findErasure: (workspace, erasureId) => open(() => own(workspace, erasureId)),
    findErasures: (workspace, erasureIds) =>
      open(() => erasureIds.map((one) => own(workspace, one)).filter((one) => one !== null)),
    erasures: (workspace, { limit, before }) =>
      open(() =>
        [...state.erasures.values()]
          .filter((one) => one.workspace === workspace && (before === null || one.erasureId < before))
          .toSorted((a, b) => (a.erasureId > b.erasureId ? -1 : 1))
          .slice(0, limit),
      ),
    openErasures: ({ limit, after }) =>
      open(() =>
        [...state.erasures.values()]
          .filter((one) => one.completedAt === null && one.erasureId > (after ?? ""))
          .toSorted((a, b) => (a.erasureId < b.erasureId ? -1 : 1))
          .slice(0, limit),
      ),
    advanceErasure: (workspace, erasureId, rev, advance) =>
      open(() => {
        const erasure = own(workspace, erasureId);
        return erasure === null || erasure.rev !== rev ? null : put({ ...erasure, ...advance, rev: rev + 1 });
      }),
    countLate: (workspace, erasureId, events, at) =>
      open(() => {
        const erasure = own(workspace, erasureId);
        if (erasure === null) return;
        const { late } = erasure;
        put({ ...erasure, late: { events: late.events + events, lastAt: Math.max(late.lastAt ?? 0, at) } });
      }),
    readmit: (workspace, erasureId, at) =>
      open(() => {
        const erasure = own(workspace, erasureId);
        if (erasure === null || !erasure.suppress) return erasure;
        return put({ ...erasure, readmittedAt: erasure.readmittedAt ?? at });
      }),
    hasErasures: (workspace) => open(() => [...state.erasures.values()].some((one) => one.workspace === workspace)),
    lastErasedAt: (workspace) =>
      open(() => {
        const own = [...state.erasures.values()].filter((one) => one.workspace === workspace);
        return Math.max(0, ...own.map(({ erasedAt }) => erasedAt));
      }),
    tombstones: (workspace, keys) =>
      open(
        () =>
          new Map(
            keys
              .filter((key) => key.startsWith(`${workspace}:`))
              .flatMap((key) => {
                const tombstone = tombstoneOf(state, key);
                return tombstone === null ? [] : [[key, tombstone] as const];
              }),
          ),
      ),
    livingUids: (workspace, uids) =>
      open(() => {
        const living = [...state.identifiers.values()].filter((seat) => seat.workspace === workspace);
        return new Set(living.map(({ uid }) => uid).filter((uid) => uids.includes(uid)));
      }),
    foreignUids: (workspace, uids) =>
      open(() => {
        const seats = [...state.identifiers.values()].filter((seat) => seat.workspace !== workspace);
        const dead = state.tombstones.filter((one) => state.erasures.get(one.erasureId)!.workspace !== workspace);
        const foreign = new Set([...seats, ...dead].map(({ uid }) => uid));
        return new Set(uids.filter((uid) => foreign.has(uid)));
      }),
    buried: (workspace, erasureId, { limit, after }) =>
      open(() =>
        own(workspace, erasureId) === null
          ? []
          : state.tombstones
              .filter((one) => one.erasureId === erasureId)
              .map(({ tomb, uid }) => ({ tomb, uid }))
              .filter(({ tomb }) => tomb > (after ?? ""))
              .toSorted((a, b) => (a.tomb < b.tomb ? -1 : 1))
              .slice(0, limit),
      ),
    restoreErasure: (workspace, erasure, buried) =>
      open(() => {
        if (!state.erasures.has(erasure.erasureId)) put({ ...erasure, workspace, isGone: true });
        const standing = own(workspace, erasure.erasureId);
        if (standing === null) throw new AppError("conflict", "It is an erasure of another workspace.");
        if (saidAt(erasure) >= saidAt(standing)) renew(standing, erasure);
        const { erasureId } = erasure;
        const isBuried = (tomb: Tomb) =>
          state.tombstones.some((one) => one.erasureId === erasureId && one.tomb === tomb);
        const once = new Map(buried.map((one) => [one.tomb, one]));
        const added = [...once.values()].filter(({ tomb }) => !isBuried(tomb));
        for (const { tomb, uid } of added) state.tombstones.push({ tomb, erasureId, uid });
        const tombs = new Set(added.map(({ tomb }) => tomb));
        const changes = redact(state, workspace, (key) => !state.identifiers.has(key) && tombs.has(tombOf(key)));
        const now = own(workspace, erasureId)!;
        if (changes > 0) put({ ...now, changes: now.changes + changes, completedAt: null, rev: now.rev + 1 });
      }),
  };
}

/** Of the latest erasure of the key. */
export function tombstoneOf(state: MemoryState, key: IdentifierKey): Tombstone | null {
  const tomb = state.tombstones.length === 0 ? null : tombOf(key);
  const found = state.tombstones.filter((one) => one.tomb === tomb);
  const erasures = found.map(({ erasureId }) => state.erasures.get(erasureId)!);
  const last = erasures.toSorted((a, b) => (a.erasureId < b.erasureId ? -1 : 1)).at(-1);
  if (last === undefined) return null;
  return {
    erasureId: last.erasureId,
    erasedAt: Math.max(...erasures.map(({ erasedAt }) => erasedAt)),
    isSuppressed: erasures.some(({ suppress, readmittedAt }) => suppress && readmittedAt === null),
    uids: found.flatMap(({ uid }) => uid ?? []).toSorted(),
  };
}

function remove(
  state: MemoryState,
  taken: readonly (readonly [IdentifierKey, MemorySeat])[],
  strangers: readonly Identifier[],
  workspace: WorkspaceId,
): Pick<Erasure, "links" | "changes"> {
  const keys = new Set(taken.map(([key]) => key));
  const names = new Set([...keys, ...strangers.map((one) => identifierKey(workspace, one))]);
  let links = 0;
  for (const [pair, { plan }] of state.links)
    if (keys.has(plan.from) || keys.has(plan.to)) {
      state.links.delete(pair);
      links += 1;
    }
  for (const [id, { forbidden }] of state.forbiddenPairs)
    if ([forbidden.from, forbidden.to].some((one) => keys.has(identifierKey(workspace, one)))) {
      state.forbiddenPairs.delete(id);
      for (const [component, seen] of state.components)
        if (seen.forbidden.includes(id))
          state.components.set(component, {
            ...seen,
            forbidden: seen.forbidden.filter((one) => one !== id),
            rev: seen.rev + 1,
          });
    }
  for (const [key, { component }] of taken) {
    state.identifiers.delete(key);
    state.components.delete(component);
  }
  return { links, changes: redact(state, workspace, (key) => names.has(key)) };
}

/** Answers in how many records it replaced names. */
function redact(state: MemoryState, workspace: WorkspaceId, isGone: (key: IdentifierKey) => boolean): number {
  let changes = 0;
  for (const [id, { change, workspace: owner }] of state.changes) {
    if (owner !== workspace) continue;
    const hidden = withoutErased(change, (one) => isGone(identifierKey(workspace, one)));
    if (hidden === change) continue;
    state.changes.set(id, { workspace, change: hidden });
    changes += 1;
  }
  return changes;
}
