import { AppError } from "../core/errors.js";
import type { Identifier } from "../core/event/event.js";
import type { ChangeId, WorkspaceId } from "../core/ids.js";
import type { Rules, AssertResult } from "../core/identity/model.js";
import type { ReadSet } from "../core/identity/snapshot.js";
import { NO_METRICS, type Metrics } from "../core/metrics.js";
import type { IdentityGraph } from "../core/ports/identity-graph.js";
import { decide, type PendingAssertion } from "./rules/assert.js";
import { lookupsOf, readSetOf, readSetOfAll, readSetWith } from "./rules/read-set.js";

export interface WorkspaceQueueOptions {
  /** A step reads at most this much, so that it blocks nobody for long; the rest waits for the next step. */
  readonly lookupsPerStep: number;
  /** Calls that may wait in one workspace; more are refused with `unavailable`. */
  readonly waitingMax: number;
}

const DEFAULTS: WorkspaceQueueOptions = { lookupsPerStep: 2_048, waitingMax: 10_000 };

/** The call that somebody waits for. Once it is expired, nobody does, and work that has not begun is skipped. */
export interface Call {
  readonly expired: boolean;
}

export interface Decided {
  readonly result: AssertResult;
  /** To be unlinked before the result is answered. */
  readonly stillLinked: readonly Identifier[];
}

/** The identity writes of each workspace, one step after the other. */
export interface WorkspaceQueue {
  /** One result for each request, in order, as if asserted one after the other. */
  assert(workspace: WorkspaceId, requests: readonly PendingAssertion[], call: Call): Promise<readonly Decided[]>;
  /** Runs work while no other step of the workspace is running in this process. */
  exclusive<T>(workspace: WorkspaceId, work: () => Promise<T>, call: Call): Promise<T>;
  /** Workspaces that have work; the others take no memory. */
  busy(): number;
}

interface Sharing {
  readonly kind: "sharing";
  /** On the monotonic clock, milliseconds. */
  readonly since: number;
  readonly want: ReadSet;
  readonly request: PendingAssertion;
  readonly call: Call;
  readonly settle: (decided: Decided) => void;
  readonly fail: (error: unknown) => void;
}

interface Exclusive {
  readonly kind: "exclusive";
  readonly since: number;
  readonly call: Call;
  /** Never rejects. */
  readonly work: () => Promise<void>;
  readonly fail: (error: unknown) => void;
}

type Waiting = Sharing | Exclusive;

export interface WorkspaceQueueDeps {
  readonly graph: Pick<IdentityGraph, "update">;
  /** As they are when the step begins. */
  readonly rulesOf: (workspace: WorkspaceId) => Promise<Rules>;
  readonly newChangeId: () => ChangeId;
  readonly metrics?: Pick<Metrics, "identityWaited">;
}

/** Calls that wait while a step of the workspace runs share the next one: one read, one decision, one commit. */
export function createWorkspaceQueue(
  deps: WorkspaceQueueDeps,
  options: Partial<WorkspaceQueueOptions> = {},
): WorkspaceQueue {
  const { lookupsPerStep, waitingMax } = { ...DEFAULTS, ...options };
  /** A workspace is in here only while it has work. */
  const queues = new Map<WorkspaceId, Waiting[]>();

  const run = async (workspace: WorkspaceId, queue: Waiting[]): Promise<void> => {
    // All that arrive in this turn share the first step, without a timer.
    await Promise.resolve();
    while (queue.length > 0) {
      const [first] = queue;
      if (first!.kind === "sharing") await runStep(deps, workspace, takeStep(queue, lookupsPerStep));
      else await runExclusive(deps, queue.shift() as Exclusive);
    }
    queues.delete(workspace);
  };
  const enter = (workspace: WorkspaceId, waiting: Waiting): void => {
    const queue = queues.get(workspace);
    if (queue !== undefined) return void queue.push(waiting);
    const started = [waiting];
    queues.set(workspace, started);
    void run(workspace, started);
  };
  const hasRoom = (workspace: WorkspaceId, calls: number): boolean => {
    const length = queues.get(workspace)?.length ?? 0;
    return length === 0 || length + calls <= waitingMax;
  };

  return {
    busy: () => queues.size,
    assert: (workspace, requests, call) => {
      if (!hasRoom(workspace, requests.length)) return Promise.reject(full());
      const since = performance.now();
      const ask = (request: PendingAssertion): Promise<Decided> =>
        new Promise((settle, fail) => {
          enter(workspace, { kind: "sharing", since, want: readSetOf(request.keys), request, call, settle, fail });
        });
      return Promise.all(requests.map(ask));
    },
    exclusive: (workspace, work, call) => {
      if (!hasRoom(workspace, 1)) return Promise.reject(full());
      return new Promise((resolve, reject) => {
        const since = performance.now();
        enter(workspace, { kind: "exclusive", since, call, work: () => work().then(resolve, reject), fail: reject });
      });
    },
  };
}

/** Nobody waits for the answer, but the caller may hold a slot of the limiter until there is one. */
const late = (): AppError => new AppError("unavailable", "The identity change was not begun in time.");
const full = (): AppError => new AppError("unavailable", "Too many identity changes of this workspace are waiting.");

/** Those at the head of the queue that fit into one step; at least one, however large. */
function takeStep(queue: Waiting[], lookupsMax: number): readonly Sharing[] {
  let lookups = 0;
  const taken: Sharing[] = [];
  for (const waiting of queue) {
    if (waiting.kind === "exclusive") break;
    lookups += lookupsOf(waiting.want);
    if (taken.length > 0 && lookups > lookupsMax) break;
    taken.push(waiting);
  }
  queue.splice(0, taken.length);
  return taken;
}

async function runExclusive(deps: WorkspaceQueueDeps, { since, call, work, fail }: Exclusive): Promise<void> {
  tellWaited(deps, [since]);
  return call.expired ? fail(late()) : work();
}

function tellWaited({ metrics = NO_METRICS }: WorkspaceQueueDeps, times: readonly number[]): void {
  const now = performance.now();
  for (const since of times) metrics.identityWaited(now - since);
}

/** Never rejects: an error goes to those in the step, and only to them. */
async function runStep(deps: WorkspaceQueueDeps, workspace: WorkspaceId, taken: readonly Sharing[]): Promise<void> {
  const { graph, rulesOf, newChangeId } = deps;
  tellWaited(
    deps,
    taken.map(({ since }) => since),
  );
  for (const { call, fail } of taken) if (call.expired) fail(late());
  const waiting = taken.filter(({ call }) => !call.expired);
  if (waiting.length === 0) return;
  try {
    const rules = await rulesOf(workspace);
    const want = readSetWith(readSetOfAll(waiting.map(({ want }) => want)), rules);
    const decided = await graph.update(workspace, want, (snapshot) => {
      const requests = waiting.map(({ request }) => ({ ...request, changeId: newChangeId() }));
      const { plan, results, stillLinked } = decide(snapshot, requests, rules);
      return { plan, result: results.map((result, i) => ({ result, stillLinked: stillLinked[i]! })) };
    });
    for (const [i, { settle }] of waiting.entries()) settle(decided[i]!);
  } catch (error) {
    for (const { fail } of waiting) fail(error);
  }
}
