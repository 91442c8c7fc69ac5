import type { TimeOf } from "../core/clock.js";
import { identifierKey, type Identifier } from "../core/event/event.js";
import type { Identity, UnlinkRequest } from "../core/identity/api.js";
import { newId, type ChangeId, type IdentifierKey, type Uid, type WorkspaceId } from "../core/ids.js";
import type { Assertion, AssertResult, Evidence, Repeat, Rules } from "../core/identity/model.js";
import type { Metrics } from "../core/metrics.js";
import type { IdentityGraph } from "../core/ports/identity-graph.js";
import { createCurrentSharedIdentifiers } from "./rules/current-shared-identifiers.js";
import { createDeadline } from "./scheduling/deadline.js";
import { createLookup } from "./lookup.js";
import { APART, explainSides } from "./undo/explain.js";
import { createOutline } from "./undo/outline-profile.js";
import { createWorkspaceQueue, type Call, type WorkspaceQueueOptions } from "./workspace-queue.js";
import type { Progress } from "./undo/read.js";
import { decide, NO_RULES, unchanged, type PendingAssertion } from "./rules/assert.js";
import { createPace } from "./scheduling/pace.js";
import { createLine } from "./scheduling/line.js";
import { createLimiter, type Limiter } from "./scheduling/limiter.js";
import { createMemory, type MemoryShare } from "./scheduling/memory.js";
import { createUndoProgress, runUndo, type UndoDeps, type UndoRequest } from "./undo/run.js";
import { namedBy } from "./undo/unlink.js";
import type { UndoCall } from "./undo/write-steps.js";
import { createTakeBack } from "./undo/take-back.js";
import { restore } from "./restore/restore.js";
import { seenWith } from "./restore/seen-with.js";
import { takenBy } from "./restore/taken.js";
import { lookupsOfSet, readSetOf, readSetWith } from "./rules/read-set.js";

export interface IdentityDeps {
  readonly graph: IdentityGraph;
  /** A call that takes longer is answered `unavailable`; its assertion may still be written. */
  readonly timeoutMs: number;
  /** The same for calls that read whole profiles: explain, unlink, revert. */
  readonly longTimeoutMs?: number;
  /** The workspace's current rules; without it there are none. */
  readonly rulesOf?: (workspace: WorkspaceId) => Promise<Rules>;
  /** Links that an undo removes or restores in one step at most; what is more goes in several, and others come in between. */
  readonly linksPerStep?: number;
  /** Memory of the process for the profiles that are read whole at one time. */
  readonly profileBytesMax?: number;
  /** Called while a large profile is read, split or joined again. */
  readonly onProgress?: (progress: Progress) => void;
  /** Told why a shared identifier was not unlinked, when nobody waited for it any more; the next assertion that names it tries again. */
  readonly onLateFault?: (error: unknown) => void;
  readonly workspaceQueue?: Partial<WorkspaceQueueOptions>;
  readonly metrics?: Pick<Metrics, "identityWaited">;
  /** The uid that an identifier gets if it was never seen. */
  readonly newUid?: (key: IdentifierKey) => Uid;
  readonly newChangeId?: () => ChangeId;
  /** Of an undo: what is asserted later has a later time. */
  readonly now?: TimeOf;
}

/** A step stops the whole process on the embedded graph for 15 ms, and others of the workspace on Neo4j for 60. */
const LINKS_PER_STEP = 250;
/** Links and records that an erasure takes away in one step, by its pace. */
const ERASED_AT_ONCE = { max: 1_000, min: 100 };
/** Work on whole profiles. A large one may take hundreds of megabytes and seconds; a small one never waits for it. */
const LARGE = { atOnceMax: 2, waitingMax: 1_000 };
const SMALL = { atOnceMax: 8, waitingMax: 1_000 };
/** Dry runs, and previews of erasures: each holds one of Neo4j's 16 connections while it waits for the lock of its workspace. */
const TRIALS = { atOnceMax: 4, waitingMax: 1_000 };
const PREVIEWS = { atOnceMax: 2, waitingMax: 1_000 };
/** A profile is small up to so many identifiers, and so many links. */
const SMALL_IDENTIFIERS_MAX = 1_000;
const SMALL_LINKS_MAX = 10_000;
/** Links read to explain a profile; if there are more, the answer says so. */
const EXPLAINED_LINKS_MAX = 1_000_000;
/** Of the time of a call, what events wait until shared identifiers are unlinked. */
const EVENTS_WAIT_SHARE = 1 / 8;
/** A profile around an identifier with some 230,000 links can still be taken apart. */
const PROFILE_BYTES_MAX = 256 * 1_024 ** 2;

/** The only public face of `graph/`: repeats and look-ups from a read without a lock, all else through the workspace queue. */
export function createIdentity(deps: IdentityDeps): Identity {
  const { graph, timeoutMs, longTimeoutMs = timeoutMs, newUid = newId<Uid>, newChangeId = newId<ChangeId> } = deps;
  const {
    rulesOf = async () => NO_RULES,
    onProgress = () => undefined,
    onLateFault = () => undefined,
    now = Date.now,
    linksPerStep = LINKS_PER_STEP,
  } = deps;
  const workspaceQueue = createWorkspaceQueue(
    { graph, rulesOf, newChangeId, ...(deps.metrics && { metrics: deps.metrics }) },
    deps.workspaceQueue,
  );
  const pace = createPace(ERASED_AT_ONCE);
  const line = createLine();
  const undo: UndoDeps = { graph, workspaceQueue, line, rulesOf, newChangeId, now, onProgress, linksPerStep };
  const within = createDeadline(timeoutMs, LATE);
  const withinLong = createDeadline(longTimeoutMs, LATE);
  const lookUp = createLookup(graph);
  const [small, large] = [createLimiter(SMALL), createLimiter(LARGE)];
  const [trials, previews] = [createLimiter(TRIALS), createLimiter(PREVIEWS)];
  const memory = createMemory(deps.profileBytesMax ?? PROFILE_BYTES_MAX);
  const holding = <T>(limiter: Limiter, workspace: WorkspaceId, call: Call, work: (share: MemoryShare) => Promise<T>) =>
    limiter.take(workspace, call, () => memory(call, work));
  const undoInTurn = (
    workspace: WorkspaceId,
    size: () => Promise<number>,
    request: UndoRequest,
    asked: Pick<UndoCall, "evidence" | "dryRun">,
  ) =>
    withinLong(async (call) => {
      const limiter = (await size()) <= SMALL_IDENTIFIERS_MAX ? small : large;
      const progress = createUndoProgress();
      return holding(limiter, workspace, call, (share) =>
        runUndo(undo, workspace, request, { ...asked, call, memory: share }, progress),
      );
    });
  const explain = async (workspace: WorkspaceId, from: Identifier, to: Identifier, call: Call) => {
    const look = () => lookUp.sides(workspace, from, to);
    const explainUpTo = (limiter: Limiter, linksMax: number) =>
      holding(limiter, workspace, call, (share) =>
        explainSides(graph, workspace, look, { linksMax, onProgress, memory: share }),
      );
    const sides = await look();
    if (sides === null) return APART;
    if (sides.size <= SMALL_IDENTIFIERS_MAX) {
      const found = await explainUpTo(small, SMALL_LINKS_MAX);
      if (found.path !== null) return found;
    }
    return explainUpTo(large, EXPLAINED_LINKS_MAX);
  };
  const sharedIdentifiers = createCurrentSharedIdentifiers(graph, rulesOf);
  const outline = createOutline({ graph, lookUp, sharedIdentifiers, linksMax: EXPLAINED_LINKS_MAX, onProgress });
  const unlink = (workspace: WorkspaceId, asked: UnlinkRequest, evidence: Evidence, dryRun: boolean) =>
    undoInTurn(
      workspace,
      () => lookUp.sizeOf(workspace, namedBy(asked)),
      { kind: "unlink", request: asked },
      { evidence, dryRun },
    );
  const takeBack = createTakeBack({
    graph,
    rulesOf,
    now,
    unlink,
    eventsWaitMs: timeoutMs * EVENTS_WAIT_SHARE,
    onLateFault,
  });

  const request = (assertion: Assertion, keys: readonly IdentifierKey[]): PendingAssertion => ({
    assertion,
    keys,
    uids: keys.map((key) => newUid(key)),
  });
  /** A shared identifier that links still hold: nobody unlinked it to the end, or somebody reverted that. */
  const isToTakeBack = async (workspace: WorkspaceId, { isShared, size }: Repeat, keys: KeySet): Promise<boolean> => {
    if (!isShared || size === 1 || keys.some(takeBack.isUnderWay)) return false;
    const { sharedIdentifierLimit, limits } = await rulesOf(workspace);
    return sharedIdentifierLimit !== null && limits.size > 0;
  };
  const assertAll = async (
    workspace: WorkspaceId,
    assertions: readonly Assertion[],
    call: Call,
    unlinkShared: typeof takeBack.all,
  ) => {
    const keys = assertions.map(({ identifiers }) => identifiers.map((one) => identifierKey(workspace, one)));
    const answered = await readRepeats(graph, workspace, keys, isToTakeBack);
    const left = assertions.slice(answered.length).map((one, i) => request(one, keys[answered.length + i]!));
    if (left.length === 0) return answered;
    const decided = await workspaceQueue.assert(workspace, left, call);
    const results = [...answered, ...decided.map(({ result }) => result)];
    const shared = decided.flatMap(({ stillLinked }, i) =>
      stillLinked.map((identifier) => ({ identifier, keyId: left[i]!.assertion.evidence.keyId })),
    );
    if (shared.length === 0) return results;
    await unlinkShared(workspace, shared);
    return profilesAfter(graph, workspace, results);
  };
  const tryOut = async (workspace: WorkspaceId, assertion: Assertion): Promise<AssertResult> => {
    const asked = request(
      assertion,
      assertion.identifiers.map((one) => identifierKey(workspace, one)),
    );
    const rules = await rulesOf(workspace);
    const result = await graph.update(workspace, readSetWith(readSetOf(asked.keys), rules), (snapshot) => ({
      plan: null,
      result: decide(snapshot, [{ ...asked, changeId: newChangeId() }], rules).results[0]!,
    }));
    return { ...result, changeId: null, facet: null, profileId: result.before.length === 0 ? null : result.profileId };
  };

  return {
    assert: async (workspace, assertion, { dryRun = false } = {}) =>
      dryRun
        ? within((call) => trials.take(workspace, call, () => tryOut(workspace, assertion)))
        : (await within((call) => assertAll(workspace, [assertion], call, takeBack.all)))[0]!,
    assertAll: (workspace, assertions) => within((call) => assertAll(workspace, assertions, call, takeBack.forEvents)),
    resolve: (workspace, profileId) => within(() => graph.resolve(workspace, profileId)),
    resolveAll: (...asked) => within(() => graph.resolveAll(...asked)),
    lookup: (workspace, identifiers) => within(() => lookUp.profiles(workspace, identifiers)),
    named: (workspace, event) => within(async () => lookUp.named(workspace, event, await rulesOf(workspace))),
    members: (workspace, profileId, page) =>
      within(async (call) =>
        sharedIdentifiers.marked(workspace, await graph.members(workspace, profileId, page), call),
      ),
    walk: (workspace, page) => within(() => graph.walk(workspace, page)),
    links: (workspace, profileId, page) => within(() => graph.links(workspace, profileId, page)),
    outline: (workspace, profileId, kept) =>
      withinLong(async (call) => {
        const profile = await graph.resolve(workspace, profileId);
        if (profile === null) return null;
        const limiter = profile.size <= SMALL_IDENTIFIERS_MAX ? small : large;
        return holding(limiter, workspace, call, (memory) => outline(workspace, profile, kept, { call, memory }));
      }),
    explain: (workspace, from, to) => withinLong((call) => explain(workspace, from, to, call)),
    unlink: (workspace, asked, evidence, { dryRun = false } = {}) => unlink(workspace, asked, evidence, dryRun),
    revert: (workspace, changeId, evidence, { dryRun = false } = {}) =>
      undoInTurn(
        workspace,
        () => lookUp.sizeOfChange(workspace, changeId),
        { kind: "revert", changeId },
        { evidence, dryRun },
      ),
    allow: (workspace, forbiddenPairId, evidence) =>
      within((call) =>
        memory(call, (share) =>
          runUndo(
            undo,
            workspace,
            { kind: "allow", forbiddenPairId },
            { evidence, dryRun: false, call, memory: share },
            createUndoProgress(),
          ),
        ),
      ),
    previewErasure: (workspace, target) =>
      within((call) => previews.take(workspace, call, () => graph.previewErasure(workspace, target))),
    erase: (workspace, request) =>
      within((call) =>
        workspaceQueue.exclusive(
          workspace,
          () => graph.erase(workspace, { ...request, now: () => now(workspace) }),
          call,
        ),
      ),
    continueErasure: (workspace, erasureId) =>
      within((call) =>
        workspaceQueue.exclusive(
          workspace,
          () => pace.timed(() => graph.continueErasure(workspace, erasureId, pace.size())),
          call,
        ),
      ),
    forbiddenPairs: (workspace, page) => within(() => graph.forbiddenPairs(workspace, page)),
    findChange: (workspace, changeId) => within(() => graph.findChange(workspace, changeId)),
    findChanges: (workspace, changeIds) => within(() => graph.findChanges(workspace, changeIds)),
    changes: (workspace, outcome, page) => within(() => graph.changes(workspace, outcome, page)),
    history: (workspace, profileId, page) =>
      within((call) => graph.history(workspace, profileId, { ...page, isOver: () => call.expired })),
    historyIds: (workspace, profileId, page) =>
      within((call) => graph.historyIds(workspace, profileId, { ...page, isOver: () => call.expired })),
    sharedIdentifiers: (workspace, page) => within((call) => sharedIdentifiers.list(workspace, page, call)),
    identifiersOf: (workspace, uids) => within(() => graph.identifiersOf(workspace, uids)),
    seenWith: (workspace, identifiers) =>
      within(async () => seenWith(graph, await rulesOf(workspace), workspace, identifiers)),
    takenBy: (workspace, change, after) => withinLong(() => takenBy(graph, workspace, change, after)),
    restore: (workspace, records) => within((call) => restore({ graph, workspaceQueue, call }, workspace, records)),
    hasIdentifiers: (workspace, namespace) => within(() => graph.hasIdentifiers(workspace, namespace)),
  };
}

/** The profiles after shared identifiers were unlinked. An id that was merged may name a profile of its own again. */
const profilesAfter = (
  graph: Pick<IdentityGraph, "resolve">,
  workspace: WorkspaceId,
  results: readonly AssertResult[],
): Promise<readonly AssertResult[]> => {
  const idOf = async (uid: Uid) => (await graph.resolve(workspace, uid))?.profileId ?? null;
  return Promise.all(
    results.map(async (result) => {
      if (result.facet === null) return result;
      const [profileId, ...heirs] = await Promise.all([result.facet, ...result.mergedProfileIds].map(idOf));
      // Erased meanwhile: what was asserted stands in the answer, and whoever looks finds nothing.
      if (profileId === null || profileId === undefined) return result;
      const isMerged = (id: Uid, i: number) => id !== profileId && heirs[i] === profileId;
      return { ...result, profileId, mergedProfileIds: result.mergedProfileIds.filter(isMerged) };
    }),
  );
};

type KeySet = readonly IdentifierKey[];

const LATE = "The identity graph did not answer in time.";

/** The results of the repeats before the first change; a repeat after it must see the change. */
async function readRepeats(
  graph: Pick<IdentityGraph, "repeats">,
  workspace: WorkspaceId,
  sets: readonly KeySet[],
  isToTakeBack: (workspace: WorkspaceId, repeat: Repeat, keys: KeySet) => Promise<boolean>,
): Promise<readonly AssertResult[]> {
  const results: AssertResult[] = [];
  while (results.length < sets.length)
    for (const repeat of await graph.repeats(workspace, headOf(sets, results.length), { untilNone: true })) {
      if (repeat === null || (await isToTakeBack(workspace, repeat, sets[results.length]!))) return results;
      results.push(unchanged(repeat));
    }
  return results;
}

/** A read looks at no more than this, so that it blocks nobody for long. */
const LOOKUPS_PER_READ = 2_048;

/** The sets from a position on that one read may cover; at least one. */
function headOf(sets: readonly KeySet[], from: number): readonly KeySet[] {
  let end = from + 1;
  for (let lookups = lookupsOfSet(sets[from]!); end < sets.length; end++) {
    lookups += lookupsOfSet(sets[end]!);
    if (lookups > LOOKUPS_PER_READ) break;
  }
  return sets.slice(from, end);
}
