import type { IdentifierKey, WorkspaceId } from "../../core/ids.js";
import type { KeyPair } from "../../core/identity/model.js";
import type { PlainSnapshot, ReadSet, RulesReadSet, Snapshot, SnapshotOf } from "../../core/identity/snapshot.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { type Client, type Step, inLock } from "./client.js";
import {
  type Lookups,
  type FoundRows,
  type Names,
  lookParameters,
  lookupsOfWant,
  seeWithRules,
  foundRowsOf,
  snapshotOf,
} from "./snapshot.js";
import { READS, createBatcher } from "./batcher.js";
import { LOOK, RULES } from "./cypher/writes.js";
import { withOneRetry } from "./failure.js";
import { hasRules, lookupsOf } from "../rules/read-set.js";
import { createLimiter } from "../scheduling/limiter.js";

/** Looks without a lock, and once more behind it where that leaves a doubt. */
export function createRead(client: Client, look: IdentityGraph["read"], names: Names): IdentityGraph["read"] {
  const lookLocked = createLockedLook(client, names);
  return async (workspace, want) => {
    const seen = await look(workspace, want);
    return isInDoubt(workspace, want, seen) ? lookLocked(workspace, want) : seen;
  };
}

/** A step that moves members shows bit by bit: one may be missed, and the two of a pair be seen apart before and after a merge. */
function isInDoubt(workspace: WorkspaceId, { keys, pairs }: ReadSet, { identifiers }: PlainSnapshot): boolean {
  const own = `${workspace}:`;
  const isMissed = (key: IdentifierKey): boolean => key.startsWith(own) && !identifiers.has(key);
  const areApart = ([a, b]: KeyPair): boolean => identifiers.get(a)?.component !== identifiers.get(b)?.component;
  return keys.some(isMissed) || pairs.some(areApart);
}

/** One look at a time in a workspace: whoever comes meanwhile shares the next one. */
function createLockedLook(client: Client, names: Names): IdentityGraph["read"] {
  interface Line {
    readonly share: (want: ReadSet) => Promise<PlainSnapshot>;
    waiting: number;
  }
  const lines = new Map<WorkspaceId, Line>();
  const lineOf = (workspace: WorkspaceId): Line => ({
    waiting: 0,
    share: createBatcher<ReadSet, PlainSnapshot>({
      ...READS,
      atOnceMax: 1,
      weightOf: lookupsOf,
      ask: (wants) =>
        inLock(client, workspace, (step) => Promise.all(wants.map((want) => seeInStep(step, workspace, want, names)))),
    }),
  });
  return async <Asked extends ReadSet>(workspace: WorkspaceId, want: Asked) => {
    const line = lines.get(workspace) ?? lineOf(workspace);
    lines.set(workspace, line);
    line.waiting += 1;
    try {
      return (await line.share(want)) as SnapshotOf<Asked>;
    } finally {
      line.waiting -= 1;
      if (line.waiting === 0) lines.delete(workspace);
    }
  };
}

/** What a read without a lock shows; whoever asks meanwhile shares the next round trip. */
export function createLook(client: Client, names: Names): IdentityGraph["read"] {
  const share = createBatcher<Lookups, FoundRows>({
    ...READS,
    weightOf: ({ keys, pairs }) => keys.length + pairs.length,
    ask: async (asks) => {
      const keys = asks.flatMap(({ keys }) => keys);
      const pairs = asks.flatMap(({ pairs }) => pairs);
      const all = foundRowsOf(await withOneRetry(() => client.read(LOOK, lookParameters({ keys, pairs }))));
      return split(asks, all);
    },
  });
  const withRules = createRulesRead(client, names);
  return async <Asked extends ReadSet>(workspace: WorkspaceId, want: Asked) => {
    const lookups = lookupsOfWant(workspace, want);
    const seen = hasRules(want) ? withRules(workspace, want) : snapshotOf(lookups, await share(lookups));
    return (await seen) as SnapshotOf<Asked>;
  };
}

/** Two at once, and one place more that a workspace alone leaves free: lists of shared identifiers ask hundreds of times, and the others wait. */
const RULES_READS = { atOnceMax: READS.atOnceMax + 1, waitingMax: READS.waitingMax };

/** Each goes alone: only who asks what would be needs this much. */
function createRulesRead(client: Client, names: Names) {
  const ask = (statement: string, q: object) => withOneRetry(() => client.read(statement, { ...q }));
  const inTurn = createLimiter(RULES_READS);
  return (workspace: WorkspaceId, want: RulesReadSet): Promise<Snapshot> =>
    inTurn.take(
      workspace,
      { expired: false },
      async () => (await seeWithRules(ask, RULES, workspace, want, names)).snapshot,
    );
}

/** To each its own part of what all saw together, by the positions in its own lookups. Rows come in their order. */
function split(asks: readonly Lookups[], { found, linked }: FoundRows): readonly FoundRows[] {
  let [keysBefore, pairsBefore, nextFound, nextLinked] = [0, 0, 0, 0];
  return asks.map(({ keys, pairs }) => {
    const own = { found: [] as FoundRows["found"][number][], linked: [] as number[] };
    for (; nextFound < found.length && found[nextFound]![0] < keysBefore + keys.length; nextFound++) {
      const [position, ...rest] = found[nextFound]!;
      own.found.push([position - keysBefore, ...rest]);
    }
    for (; nextLinked < linked.length && linked[nextLinked]! < pairsBefore + pairs.length; nextLinked++)
      own.linked.push(linked[nextLinked]! - pairsBefore);
    keysBefore += keys.length;
    pairsBefore += pairs.length;
    return own;
  });
}

async function seeInStep(step: Step, ws: WorkspaceId, want: ReadSet, names: Names): Promise<PlainSnapshot> {
  if (hasRules(want)) return (await seeWithRules(step.run, RULES, ws, want, names)).snapshot;
  const lookups = lookupsOfWant(ws, want);
  return snapshotOf(lookups, foundRowsOf(await step.run(LOOK, lookParameters(lookups))));
}
