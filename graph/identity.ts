import { AppError } from "../core/errors.js";
import { identifierKey, type Identifier } from "../core/event/event.js";
import type { Identity } from "../core/identity/api.js";
import { newId, type ChangeId, type IdentifierKey, type Uid, type WorkspaceId } from "../core/ids.js";
import type { Assertion, Snapshot, ProfileRef, Rules, AssertResult } from "../core/identity/model.js";
import type { IdentityGraph } from "../core/ports/identity-graph.js";
import { createCurrentSharedIdentifiers } from "./rules/current-shared-identifiers.js";
import { createDeadline } from "./scheduling/deadline.js";
import { refOf } from "./rules/working-state.js";
import { explainSides } from "./undo/explain.js";
import { createWorkspaceQueue, type Call, type WorkspaceQueueOptions } from "./workspace-queue.js";
import type { Progress } from "./undo/read-component.js";
import { decide, NO_RULES, unchanged, type PendingAssertion } from "./rules/assert.js";
import { createLimiter } from "./scheduling/limiter.js";
import { createUndo } from "./undo/prepare.js";
import { lookupsOfSet, readSetOf, readSetWith } from "./rules/read-set.js";

export interface IdentityDeps {
  readonly graph: IdentityGraph;
  /** A call that takes longer is answered `unavailable`; what it asserted may still come to stand. */
  readonly timeoutMs: number;
  /** The same for what works on whole profiles: explain, unlink, revert. */
  readonly longTimeoutMs?: number;
  /** What the workspace demands of its profiles by now; nothing when it is left out. */
  readonly rulesOf?: (workspace: WorkspaceId) => Promise<Rules>;
  /**
   * Links that an undo takes or restores in one step; what is more goes in several, and others come in between. All in one when it is
   * left out: for a graph whose steps stop nobody else.
   */
  readonly linksPerStep?: number;
  /** Told while a large profile is read, and while it is taken apart or put together again. */
  readonly onProgress?: (progress: Progress) => void;
  readonly workspaceQueue?: Partial<WorkspaceQueueOptions>;
  /** The uid that an identifier gets if it was never seen. */
  readonly newUid?: (key: IdentifierKey) => Uid;
  readonly newChangeId?: () => ChangeId;
  readonly now?: () => number;
}

/** Each may be hundreds of megabytes; two, so that a small one does not wait for a large one. */
const WHOLE_PROFILES_AT_ONCE = 2;
const WHOLE_PROFILES_WAITING = 1_000;
/** Of a profile that is explained; beyond it the answer says so. */
const EXPLAINED_LINKS_MAX = 1_000_000;

/** The only public face of `graph/`: repeats and look-ups from a read without a lock, all else through the workspace queue. */
export function createIdentity(deps: IdentityDeps): Identity {
  const { graph, timeoutMs, longTimeoutMs = timeoutMs, newUid = newId<Uid>, newChangeId = newId<ChangeId> } = deps;
  const {
    rulesOf = async () => NO_RULES,
    onProgress = () => undefined,
    now = Date.now,
    linksPerStep = Infinity,
  } = deps;
  const workspaceQueue = createWorkspaceQueue({ graph, rulesOf, newChangeId }, deps.workspaceQueue);
  const undo = createUndo({ graph, workspaceQueue, rulesOf, newChangeId, now, onProgress, linksPerStep });
  const within = createDeadline(timeoutMs, LATE);
  const withinLong = createDeadline(longTimeoutMs, LATE);
  const turns = createLimiter(WHOLE_PROFILES_AT_ONCE, WHOLE_PROFILES_WAITING);
  const inTurn = <T>(work: (call: Call) => Promise<T>): Promise<T> =>
    withinLong((call) => turns.take(call, () => work(call)));
  const lookUp = createLookup(deps.graph, workspaceQueue);
  const sharedIdentifiers = createCurrentSharedIdentifiers(graph, rulesOf);

  const request = (assertion: Assertion, keys: readonly IdentifierKey[]): PendingAssertion => ({
    assertion,
    keys,
    uids: keys.map((key) => newUid(key)),
  });
  const assertAll = async (workspace: WorkspaceId, assertions: readonly Assertion[], call: Call) => {
    const keys = assertions.map(({ identifiers }) => identifiers.map((one) => identifierKey(workspace, one)));
    const answered = await readRepeats(graph, workspace, keys);
    const left = assertions.slice(answered.length).map((one, i) => request(one, keys[answered.length + i]!));
    return left.length === 0 ? answered : [...answered, ...(await workspaceQueue.assert(workspace, left, call))];
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
    return { ...result, changeId: null, profileId: result.before.length === 0 ? null : result.profileId };
  };

  return {
    assert: async (workspace, assertion, { dryRun = false } = {}) =>
      dryRun
        ? within(() => tryOut(workspace, assertion))
        : (await within((call) => assertAll(workspace, [assertion], call)))[0]!,
    assertAll: (workspace, assertions) => within((call) => assertAll(workspace, assertions, call)),
    resolve: (workspace, profileId) => within(() => graph.resolve(workspace, profileId)),
    lookup: (workspace, identifiers) => within((call) => lookUp.profiles(workspace, identifiers, call)),
    members: (workspace, profileId, page) =>
      within(async () => sharedIdentifiers.marked(workspace, await graph.members(workspace, profileId, page))),
    links: (workspace, profileId, page) => within(() => graph.links(workspace, profileId, page)),
    explain: (workspace, from, to) =>
      inTurn((call) => {
        const look = () => lookUp.sides(workspace, from, to, call);
        return explainSides(graph, workspace, look, { linksMax: EXPLAINED_LINKS_MAX, onProgress, call });
      }),
    unlink: (workspace, asked, evidence, { dryRun = false } = {}) =>
      inTurn((call) => undo.unlink(workspace, asked, { evidence, dryRun, call })),
    revert: (workspace, changeId, evidence, { dryRun = false } = {}) =>
      inTurn((call) => undo.revert(workspace, changeId, { evidence, dryRun, call })),
    allow: (workspace, forbiddenPairId, evidence) =>
      within((call) => undo.allow(workspace, forbiddenPairId, { evidence, dryRun: false, call })),
    forbiddenPairs: (workspace, page) => within(() => graph.forbiddenPairs(workspace, page)),
    findChange: (workspace, changeId) => within(() => graph.findChange(workspace, changeId)),
    changes: (workspace, outcome, page) => within(() => graph.changes(workspace, outcome, page)),
    history: (workspace, profileId, page) => within(() => graph.history(workspace, profileId, page)),
    sharedIdentifiers: (workspace, page) => within(() => sharedIdentifiers.list(workspace, page)),
    hasIdentifiers: (workspace, namespace) => within(() => graph.hasIdentifiers(workspace, namespace)),
  };
}

type KeySet = readonly IdentifierKey[];

const LATE = "The identity graph did not answer in time.";

/** The results on the repeats in front of the first change: a repeat behind it must see it. */
async function readRepeats(
  graph: Pick<IdentityGraph, "repeats">,
  workspace: WorkspaceId,
  sets: readonly KeySet[],
): Promise<readonly AssertResult[]> {
  const results: AssertResult[] = [];
  while (results.length < sets.length)
    for (const profile of await graph.repeats(workspace, headOf(sets, results.length))) {
      if (profile === null) return results;
      results.push(unchanged(profile));
    }
  return results;
}

/** What identifiers stand for by now. A read without a lock may miss what a step moves just then, so only the workspace queue says "unknown". */
function createLookup(
  graph: Pick<IdentityGraph, "read">,
  workspaceQueue: Pick<ReturnType<typeof createWorkspaceQueue>, "look">,
) {
  const look = async (workspace: WorkspaceId, keys: readonly IdentifierKey[], call: Call): Promise<Snapshot> => {
    const want = { keys: [...new Set(keys)], pairs: [] };
    const seen = await graph.read(workspace, want);
    return keys.every((key) => seen.identifiers.has(key)) ? seen : workspaceQueue.look(workspace, want, call);
  };
  return {
    profiles: async (workspace: WorkspaceId, identifiers: readonly Identifier[], call: Call) => {
      const keys = identifiers.map((one) => identifierKey(workspace, one));
      return profilesOf(await look(workspace, keys, call), keys);
    },
    /** Null when the two are apart. */
    sides: async (workspace: WorkspaceId, from: Identifier, to: Identifier, call: Call) => {
      const keys = [from, to].map((one) => identifierKey(workspace, one));
      const snapshot = await look(workspace, keys, call);
      const [one, other] = keys.map((key, i) => snapshot.identifiers.get(key) ?? unknown(i === 0 ? "from" : "to"));
      if (one!.component !== other!.component) return null;
      return { profileId: snapshot.components.get(one!.component)!.profileId, from: one!.uid, to: other!.uid };
    },
  };
}

function unknown(path: string): never {
  throw new AppError("not_found", `There is no such identifier: ${path}.`, {
    errors: [{ path, message: "was never seen" }],
  });
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

const profilesOf = (snapshot: Snapshot, keys: readonly IdentifierKey[]): readonly (ProfileRef | null)[] =>
  keys.map((key) => {
    const component = snapshot.identifiers.get(key)?.component;
    const found = component === undefined ? undefined : snapshot.components.get(component);
    return found === undefined ? null : refOf(found);
  });
