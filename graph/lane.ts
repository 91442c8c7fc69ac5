import { AppError } from "../core/errors.js";
import type { WorkspaceId } from "../core/ids.js";
import type { Picture, Verdict, Want } from "../core/identity.js";
import type { IdentityGraph } from "../core/ports.js";
import { decide, type Request } from "./rules.js";
import { lookupsOf, wantOf, wantOfAll } from "./want.js";

export interface LaneOptions {
  /** A step looks at no more than this, so that it blocks nobody for long; what is more waits for the next one. */
  readonly lookupsPerStep: number;
  /** Calls that may wait in one workspace; those beyond are refused with `unavailable`. */
  readonly waitingMax: number;
}

const DEFAULTS: LaneOptions = { lookupsPerStep: 2_048, waitingMax: 10_000 };

/** The call that somebody waits for. Once it is expired nobody does, and what has not begun is left out. */
export interface Call {
  readonly expired: boolean;
}

/** The identity writes of each workspace, one step after the other. */
export interface Lane {
  /** One verdict for each request, in order, as if asserted one after the other. */
  assert(workspace: WorkspaceId, requests: readonly Request[], call: Call): Promise<readonly Verdict[]>;
  /** What stands there when no other step is under way. */
  look(workspace: WorkspaceId, want: Want, call: Call): Promise<Picture>;
  /** Workspaces that have work under way; the others hold no memory. */
  busy(): number;
}

interface Step {
  readonly picture: Picture;
  readonly verdicts: ReadonlyMap<Request, Verdict>;
}

interface Waiting {
  readonly want: Want;
  readonly requests: readonly Request[];
  readonly call: Call;
  readonly settle: (step: Step) => void;
  readonly fail: (error: unknown) => void;
}

/** Whoever waits while a step of the workspace is under way shares the next one: one read, one decision, one commit. */
export function createLane(graph: Pick<IdentityGraph, "update">, options: Partial<LaneOptions> = {}): Lane {
  const { lookupsPerStep, waitingMax } = { ...DEFAULTS, ...options };
  /** A workspace is in here while it has work, and no longer. */
  const queues = new Map<WorkspaceId, Waiting[]>();

  const run = async (workspace: WorkspaceId, queue: Waiting[]): Promise<void> => {
    // All that arrive in this turn share the first step, without a timer.
    await Promise.resolve();
    while (queue.length > 0) await runStep(graph, workspace, takeStep(queue, lookupsPerStep));
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
      const ask = (request: Request): Promise<Verdict> =>
        new Promise((resolve, reject) => {
          const settle = ({ verdicts }: Step): void => resolve(verdicts.get(request)!);
          enter(workspace, { want: wantOf(request.keys), requests: [request], call, settle, fail: reject });
        });
      return Promise.all(requests.map(ask));
    },
    look: (workspace, want, call) => {
      if (!hasRoom(workspace, 1)) return Promise.reject(full());
      return new Promise((resolve, reject) => {
        const settle = ({ picture }: Step): void => resolve(picture);
        enter(workspace, { want, requests: [], call, settle, fail: reject });
      });
    },
  };
}

const full = (): AppError => new AppError("unavailable", "Too many identity changes of this workspace are waiting.");

/** Those at the head of the queue that fit into one step; at least one, however much it looks at. */
function takeStep(queue: Waiting[], lookupsMax: number): readonly Waiting[] {
  let lookups = 0;
  let end = 0;
  while (end < queue.length) {
    lookups += lookupsOf(queue[end]!.want);
    if (end > 0 && lookups > lookupsMax) break;
    end += 1;
  }
  return queue.splice(0, end);
}

/** Never rejects: an error goes to those in the step, and only to them. */
async function runStep(
  graph: Pick<IdentityGraph, "update">,
  workspace: WorkspaceId,
  taken: readonly Waiting[],
): Promise<void> {
  const waiting = taken.filter(({ call }) => !call.expired);
  if (waiting.length === 0) return;
  const requests = waiting.flatMap(({ requests }) => requests);
  try {
    const want = wantOfAll(waiting.map(({ want }) => want));
    const step = await graph.update(workspace, want, (picture) => {
      const { plan, verdicts } = decide(picture, requests);
      return { plan, result: { picture, verdicts: new Map(requests.map((request, i) => [request, verdicts[i]!])) } };
    });
    for (const { settle } of waiting) settle(step);
  } catch (error) {
    for (const { fail } of waiting) fail(error);
  }
}
