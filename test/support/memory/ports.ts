import type { SchemaVersion, Workspace } from "../../../core/catalog/catalog.js";
import { identifierKey, type EventRecord, type StoredEvent } from "../../../core/event/event.js";
import type { Identity } from "../../../core/identity/api.js";
import type { Assertion, AssertResult } from "../../../core/identity/model.js";
import type { DeadLetterId, EventId, IdentifierKey, SchemaId, Uid, WorkspaceId } from "../../../core/ids.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import type { DeadLetter, EventStore } from "../../../core/ports/event-store.js";
import type { ProfileStore, StoredFacet } from "../../../core/ports/profile-store.js";

export type Step =
  "findWorkspace" | "findSchema" | "insert" | "bury" | "assertAll" | "findFacets" | "saveFacets" | "markFolded";

/**
 * PendingAssertion before each step takes effect and again after it, before the caller hears of it. To throw makes the step fail, with or
 * without its effect; a promise that never settles is the death of the process.
 */
export type Hook = (step: Step, moment: "before" | "after", workspace: WorkspaceId | null) => void | Promise<void>;

export interface MemoryPorts {
  readonly events: Pick<EventStore, "insert" | "markFolded" | "bury">;
  readonly profiles: Pick<ProfileStore, "find" | "save">;
  readonly catalog: Pick<CatalogStore, "findWorkspace" | "findSchema">;
  readonly identity: Pick<Identity, "assertAll">;
  readonly state: MemoryState;
  /** Replaceable, so that a fault can begin and end. */
  hook: Hook;
}

/** What a crash leaves: everything that these ports hold. */
export interface MemoryState {
  readonly stored: Map<string, StoredEvent>;
  readonly letters: Map<DeadLetterId, DeadLetter>;
  readonly facets: Map<Uid, StoredFacet>;
  readonly uids: Map<IdentifierKey, Uid>;
  /** Each identifier's representative, up to the root. */
  readonly parents: Map<IdentifierKey, IdentifierKey>;
  readonly assertions: Assertion[];
  readonly marks: EventId[];
}

const slot = (workspace: WorkspaceId, eventId: EventId): string => `${workspace}:${eventId}`;

export function createMemoryPorts(workspaces: readonly WorkspaceId[], schemaId: SchemaId): MemoryPorts {
  const state: MemoryState = {
    stored: new Map(),
    letters: new Map(),
    facets: new Map(),
    uids: new Map(),
    parents: new Map(),
    assertions: [],
    marks: [],
  };
  const step = async <T>(name: Step, workspace: WorkspaceId | null, effect: () => T): Promise<T> => {
    await ports.hook(name, "before", workspace);
    const answer = effect();
    await ports.hook(name, "after", workspace);
    return answer;
  };
  const ports: MemoryPorts = {
    state,
    hook: () => undefined,
    events: {
      insert: (workspace, events) =>
        step("insert", workspace, () => events.map((event) => insert(state, workspace, event))),
      markFolded: async (workspace, marks, fold) => {
        await ports.hook("markFolded", "before", workspace);
        const names = marks.map(({ eventId }) => slot(workspace, eventId));
        for (const [n, { facet, profileIdThen, dropped }] of marks.entries()) {
          const event = state.stored.get(names[n]!)!;
          if (event.facet !== null) continue;
          state.stored.set(names[n]!, { ...event, facet, profileIdThen, dropped: [...event.dropped, ...dropped] });
        }
        await fold(names.map((name) => state.stored.get(name)!.facet!));
        for (const name of names) {
          const event = state.stored.get(name)!;
          if (event.status !== "folded") state.marks.push(event.eventId);
          state.stored.set(name, { ...event, status: "folded", reason: null });
        }
        await ports.hook("markFolded", "after", workspace);
      },
      bury: (letter) => step("bury", letter.workspace, () => bury(state, letter)),
    },
    profiles: {
      find: (workspace, uids) =>
        step("findFacets", workspace, () => {
          const known = uids.filter((uid) => state.facets.has(uid));
          return new Map(known.map((uid) => [uid, state.facets.get(uid)!]));
        }),
      save: (workspace, saves) =>
        step("saveFacets", workspace, () =>
          saves.map(({ uid, facet, expectedRev }) => {
            const rev = state.facets.get(uid)?.rev ?? 0;
            if (rev === expectedRev) state.facets.set(uid, { facet, rev: rev + 1 });
            return rev === expectedRev;
          }),
        ),
    },
    catalog: {
      findWorkspace: (workspace) =>
        step("findWorkspace", workspace, () => (workspaces.includes(workspace) ? aWorkspace(workspace) : null)),
      findSchema: (workspace, id, version) =>
        step("findSchema", workspace, () => (id === schemaId ? aSchema(workspace, id, version ?? 1) : null)),
    },
    identity: {
      assertAll: (workspace, assertions) =>
        step("assertAll", workspace, () => assertions.map((assertion) => link(state, workspace, assertion))),
    },
  };
  return ports;
}

const aWorkspace = (workspaceId: WorkspaceId): Workspace => ({ workspaceId, name: "w", createdAt: 0 });
const aSchema = (workspace: WorkspaceId, schemaId: SchemaId, version: number): SchemaVersion => ({
  workspace,
  schemaId,
  version,
  schema: "{}",
  compatibility: "none",
  linear: true,
  traits: {},
  createdAt: 0,
});

function insert(state: MemoryState, workspace: WorkspaceId, event: EventRecord): StoredEvent {
  const before = state.stored.get(slot(workspace, event.eventId));
  if (before !== undefined) return before;
  const stored: StoredEvent = { ...event, status: "stored", facet: null, profileIdThen: null, reason: null };
  state.stored.set(slot(workspace, event.eventId), stored);
  return stored;
}

function bury(state: MemoryState, letter: DeadLetter): void {
  if (!state.letters.has(letter.deadLetterId)) state.letters.set(letter.deadLetterId, letter);
  if (letter.workspace === null || letter.eventId === null || !letter.killsEvent) return;
  const event = state.stored.get(slot(letter.workspace, letter.eventId));
  if (event !== undefined && event.status !== "folded")
    state.stored.set(slot(letter.workspace, letter.eventId), { ...event, status: "dead", reason: letter.reason });
}

function link(state: MemoryState, workspace: WorkspaceId, assertion: Assertion): AssertResult {
  state.assertions.push(assertion);
  const keys = assertion.identifiers.map((identifier) => identifierKey(workspace, identifier));
  for (const key of keys)
    if (!state.uids.has(key)) {
      state.uids.set(key, String(state.uids.size).padStart(6, "0") as Uid);
      state.parents.set(key, key);
    }
  for (const key of keys.slice(1)) unite(state, keys[0]!, key);
  const profileId = state.uids.get(rootOf(state, keys[0]!))!;
  const refs = [{ profileId, size: 1 }];
  const rest = {
    mergedProfileIds: [],
    dropped: [],
    facet: state.uids.get(keys[0]!)!,
    changeId: null,
    rule: null,
    refusedBy: null,
    before: refs,
    after: refs,
  };
  return { profileId, outcome: "linked", ...rest };
}

/** The older identifier stays the root, so the root's uid is the smallest of its component. */
function unite(state: MemoryState, a: IdentifierKey, b: IdentifierKey): void {
  const [rootA, rootB] = [rootOf(state, a), rootOf(state, b)];
  if (state.uids.get(rootA)! < state.uids.get(rootB)!) state.parents.set(rootB, rootA);
  else state.parents.set(rootA, rootB);
}

function rootOf(state: MemoryState, key: IdentifierKey): IdentifierKey {
  let at = key;
  while (state.parents.get(at) !== at) at = state.parents.get(at)!;
  return at;
}

/** The partition of all identifiers, as sorted text. */
export function partitionOf(state: MemoryState): readonly string[] {
  const parts = new Map<IdentifierKey, IdentifierKey[]>();
  for (const key of [...state.parents.keys()].toSorted()) {
    const root = rootOf(state, key);
    parts.set(root, [...(parts.get(root) ?? []), key]);
  }
  return [...parts.values()].map((part) => part.join(" ")).toSorted();
}
