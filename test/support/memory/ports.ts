import type { SchemaVersion, Workspace } from "../../../core/catalog/catalog.js";
import { foldByPending, type FoldSteps } from "../../../store/fold-by-pending.js";
import { identifierKey, type EventRecord, type StoredEvent } from "../../../core/event/event.js";
import type { Identity } from "../../../core/identity/api.js";
import type { Assertion, AssertResult } from "../../../core/identity/model.js";
import type { DeadLetterId, EventId, IdentifierKey, SchemaId, Uid, WorkspaceId } from "../../../core/ids.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import type { DeadLetter, EventStore } from "../../../core/ports/event-store.js";
import type { StoredFacet } from "../../../core/ports/profile-store.js";

export type Step =
  | "findWorkspace"
  | "findSchema"
  | "insert"
  | "bury"
  | "assertAll"
  | "pin"
  | "findFacets"
  | "readMarks"
  | "saveFacets"
  | "mark";

/**
 * PendingAssertion before each step takes effect and again after it, before the caller hears of it. To throw makes the step fail, with or
 * without its effect; a promise that never settles is the death of the process.
 */
export type Hook = (step: Step, moment: "before" | "after", workspace: WorkspaceId | null) => void | Promise<void>;

export interface MemoryPorts {
  readonly events: Pick<EventStore, "insert" | "fold" | "find" | "bury">;
  readonly catalog: Pick<CatalogStore, "findWorkspace" | "findSchema" | "backfillsOf" | "findDataset">;
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

/** Folds in steps, as on servers, so that every crash between them can be tried. */
function createFold(state: MemoryState, step: StepOf): Pick<EventStore, "fold"> {
  const change = (workspace: WorkspaceId, eventId: EventId, to: (event: StoredEvent) => StoredEvent): void => {
    const event = state.stored.get(slot(workspace, eventId))!;
    state.stored.set(slot(workspace, eventId), to(event));
  };
  const steps: FoldSteps = {
    pin: (workspace, folds) =>
      step("pin", workspace, () =>
        folds.map(({ eventId, facet, profileIdThen, dropped }) => {
          change(workspace, eventId, (event) =>
            event.facet === null ? { ...event, facet, profileIdThen, dropped: [...event.dropped, ...dropped] } : event,
          );
          return state.stored.get(slot(workspace, eventId))!.facet;
        }),
      ),
    read: (workspace, uids) =>
      step("findFacets", workspace, () => {
        const known = uids.filter((uid) => state.facets.has(uid));
        return { found: new Map(known.map((uid) => [uid, state.facets.get(uid)!])), looked: uids.length };
      }),
    marked: (workspace, eventIds) =>
      step(
        "readMarks",
        workspace,
        () => new Set(eventIds.filter((id) => state.stored.get(slot(workspace, id))?.status === "folded")),
      ),
    save: (workspace, saves) =>
      step("saveFacets", workspace, () =>
        saves.map(({ uid, expectedRev, ...folded }) => {
          const rev = state.facets.get(uid)?.rev ?? 0;
          if (rev === expectedRev) state.facets.set(uid, { ...folded, rev: rev + 1 });
          return rev === expectedRev;
        }),
      ),
    mark: (workspace, eventIds) =>
      step("mark", workspace, () => {
        for (const eventId of eventIds)
          change(workspace, eventId, (event) => {
            if (event.status !== "folded") state.marks.push(eventId);
            return { ...event, status: "folded", reason: null };
          });
      }),
  };
  return { fold: (workspace, folds) => foldByPending(steps, workspace, folds) };
}

type StepOf = <T>(name: Step, workspace: WorkspaceId | null, effect: () => T) => Promise<T>;

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
  const step: StepOf = async (name, workspace, effect) => {
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
      ...createFold(state, step),
      find: async (workspace, eventId) => state.stored.get(slot(workspace, eventId)) ?? null,
      bury: (letter) => step("bury", letter.workspace, () => bury(state, letter)),
    },
    catalog: {
      backfillsOf: async () => [],
      findDataset: async () => null,
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

function bury(state: MemoryState, letter: DeadLetter): boolean {
  const isKept = (state.letters.get(letter.deadLetterId)?.times ?? 0) < letter.times;
  if (isKept) state.letters.set(letter.deadLetterId, letter);
  if (letter.workspace === null || letter.eventId === null || !letter.killsEvent) return isKept;
  const event = state.stored.get(slot(letter.workspace, letter.eventId));
  if (event !== undefined && event.status !== "folded")
    state.stored.set(slot(letter.workspace, letter.eventId), { ...event, status: "dead", reason: letter.reason });
  return isKept;
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
