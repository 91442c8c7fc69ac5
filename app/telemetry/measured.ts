import type { Config } from "../../core/config.js";
import type { Identity } from "../../core/identity/api.js";
import type { Metrics, TimedStore } from "../../core/metrics.js";
import type { Backends } from "../backends.js";

type Method = (...args: never[]) => Promise<unknown>;
type Tell = (ms: number) => void;

/** The same object; of these methods it is told how long each took. A failure is not told: it is no write. */
function telling<T extends object>(one: T, methods: readonly (keyof T)[], tell: Tell): T {
  const told = methods.map((name) => {
    const method = one[name] as Method;
    const measured = (...args: never[]): Promise<unknown> => {
      const begunAt = performance.now();
      return method(...args).then((answer) => {
        tell(performance.now() - begunAt);
        return answer;
      });
    };
    return [name, measured];
  });
  return { ...one, ...(Object.fromEntries(told) as Partial<T>) };
}

type Commit = (commit: () => void) => void;

/** Times the commits of the embedded store. */
export const timedCommit =
  (metrics: Metrics, given: Commit = (commit) => commit()): Commit =>
  (commit) => {
    const begunAt = performance.now();
    given(commit);
    metrics.committed("sqlite", performance.now() - begunAt);
  };

/** Times the writes of each port that stands on a server; those of the embedded store meet in one commit, which is timed there. */
export function measureBackends(
  backends: Backends,
  { RABBITMQ_URL, MONGODB_URL, NEO4J_URL }: Config,
  metrics: Metrics,
): Backends {
  const committed =
    (store: TimedStore): Tell =>
    (ms) =>
      metrics.committed(store, ms);
  const { events } = backends;
  const bury: Backends["events"]["bury"] = async (letter) => {
    const isKept = await events.bury(letter);
    // Not with each try of a message whose letter stands already: while a dependency is away there are hundreds.
    if (isKept) metrics.deadLetter(letter.reason);
    return isKept;
  };
  const drop: Backends["events"]["drop"] = async (workspace, eventIds, reason) => {
    const dropped = await events.drop(workspace, eventIds, reason);
    metrics.dropped(reason, dropped);
    return dropped;
  };
  return {
    ...backends,
    ...(RABBITMQ_URL !== "" && { queue: telling(backends.queue, ["publish", "publishAll"], committed("rabbitmq")) }),
    ...(MONGODB_URL !== "" && { profiles: telling(backends.profiles, ["save"], committed("mongodb")) }),
    ...(NEO4J_URL !== "" && { graph: telling(backends.graph, ["update"], committed("neo4j")) }),
    events: { ...(MONGODB_URL === "" ? events : telling(events, ["insert"], committed("mongodb"))), bury, drop },
  };
}

/** Counts what came of each assertion and each undo; a dry run is none. */
export function measureIdentity(identity: Identity, metrics: Metrics): Identity {
  const counted = <T extends { readonly outcome: string }>(result: T): T => {
    metrics.identityChanged(result.outcome);
    return result;
  };
  return {
    ...identity,
    assert: async (workspace, assertion, options) => {
      const result = await identity.assert(workspace, assertion, options);
      return options?.dryRun === true ? result : counted(result);
    },
    assertAll: async (workspace, assertions) => {
      const results = await identity.assertAll(workspace, assertions);
      for (const result of results) counted(result);
      return results;
    },
    unlink: async (workspace, request, evidence, options) => {
      const result = await identity.unlink(workspace, request, evidence, options);
      return options?.dryRun === true ? result : counted(result);
    },
    revert: async (workspace, changeId, evidence, options) => {
      const result = await identity.revert(workspace, changeId, evidence, options);
      return options?.dryRun === true ? result : counted(result);
    },
    allow: async (workspace, forbiddenPairId, evidence) =>
      counted(await identity.allow(workspace, forbiddenPairId, evidence)),
  };
}
