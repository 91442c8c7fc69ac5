import { randomBytes } from "node:crypto";
import { createTombOf } from "../../../core/identity/tombstone.js";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import { newId, type KeyId, type WorkspaceId } from "../../../core/ids.js";
import type { Identity } from "../../../core/identity/api.js";
import type { Assertion } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { openNeo4jGraph } from "../../../graph/neo4j/graph.js";
import { median, tableOf, verdict, whole } from "../report.js";
import { keepInFlight } from "../children/serve.js";
import { openNeo4j, type Neo4j, type Neo4jAccess } from "../neo4j.js";
import { createBareCreates, type BareCreates } from "./graph-bare.js";

interface GraphBenchOptions extends Neo4jAccess {
  /** Length of a measured window. */
  readonly seconds: number;
  /** Medians over so many count. */
  readonly rounds: number;
}

interface ServerBenchRow {
  readonly name: string;
  readonly measured: string;
  readonly ratio?: number;
  readonly goal?: string;
  readonly isMissed?: boolean;
}

interface Bench {
  readonly options: GraphBenchOptions;
  readonly neo4j: Neo4j;
  readonly graph: IdentityGraph;
  readonly identity: Identity;
  readonly workspace: WorkspaceId;
  readonly bare: BareCreates;
  /** New pairs in each step of the workspace queue since the last call. */
  readonly pairsPerStep: () => number;
}

const SMALL_PAIRS = 1_500;
const LARGE_PAIRS = 150_000;
const REPEATS = [
  { inFlight: 64, goal: 6 },
  { inFlight: 256, goal: 10 },
] as const;
const NEW_PAIRS = [
  { inFlight: 1, goal: 0.5 },
  { inFlight: 64, goal: 0.6 },
] as const;
const WARM_UP_WINDOWS = 4;
const GROWTH_GOAL = 1.3;
const GROWTH_IN_FLIGHT = 16;
/** Small and large are minutes apart, so each needs a figure that stands by itself. */
const GROWTH_ROUNDS = 2;

/**
 * Identify at the graph port against what the driver alone does, each ratio within one run. Needs a graph that is nearly empty.
 * True when every goal is met.
 */
export async function benchGraph(options: GraphBenchOptions, tell: (line: string) => void): Promise<boolean> {
  const bench = await open(options);
  try {
    await requireSmall(bench.neo4j);
    await bench.bare.fill(SMALL_PAIRS);
    await warmUp(bench);
    const rows: ServerBenchRow[] = [];
    for (const { inFlight, goal } of REPEATS) rows.push(...(await benchRepeats(bench, inFlight, goal)));
    for (const { inFlight, goal } of NEW_PAIRS) rows.push(...(await benchNewPairs(bench, inFlight, goal)));
    // Before and after: a machine that becomes faster or slower meanwhile does so for both sizes.
    const before = await costs(bench);
    await bench.bare.fill(LARGE_PAIRS);
    const large = await costs(bench);
    await bench.bare.drop();
    const small = meanOf(before, await costs(bench));
    rows.push(...OPERATION_NAMES.map((name) => growth(name, small, large)));
    tell(`\n${graphTable(rows)}\n`);
    return !rows.some(({ isMissed }) => isMissed);
  } finally {
    await bench.bare.drop();
    await bench.graph.close();
    await bench.neo4j.close();
  }
}

const graphTable = (rows: readonly ServerBenchRow[]): string =>
  tableOf(
    ["at the graph's port", "measured", "ratio", "goal"],
    rows.map(({ name, measured, ratio, goal }) => [name, measured, ratio?.toFixed(2) ?? "", goal ?? ""]),
  );

async function open(options: GraphBenchOptions): Promise<Bench> {
  const { url, user, password } = options;
  const onError = (message: string, error: unknown): void => {
    throw new Error(message, { cause: error });
  };
  const graph = await openNeo4jGraph({ tombOf: createTombOf(randomBytes(32)), url, user, password, onError });
  const neo4j = openNeo4j(options);
  let [steps, pairs] = [0, 0];
  const counted: IdentityGraph = {
    ...graph,
    update: (workspace, want, decide) =>
      graph.update(workspace, want, (...seen) => {
        const decision = decide(...seen);
        steps += 1;
        pairs += decision.plan?.changes.length ?? 0;
        return decision;
      }),
  };
  const pairsPerStep = (): number => {
    const mean = pairs / steps;
    [steps, pairs] = [0, 0];
    return Math.max(1, Math.round(mean));
  };
  const workspace = newId<WorkspaceId>();
  const identity = createIdentity({ graph: counted, timeoutMs: 8_000 });
  return { options, neo4j, graph, identity, workspace, pairsPerStep, bare: createBareCreates(neo4j, workspace) };
}

/** What the small side is measured on must be small. */
async function requireSmall({ run }: Neo4j): Promise<void> {
  const identifiers = Number((await run("MATCH (i:Identifier) RETURN count(i)"))[0]![0]);
  if (identifiers > LARGE_PAIRS / 5)
    throw new Error(`the graph holds ${identifiers} identifiers already: take a new server`);
}

/** What is measured is a service that runs, not one whose programs are still being compiled on both sides. */
async function warmUp(bench: Bench): Promise<void> {
  const { bare, options } = bench;
  const operations = [
    () => repeat(bench),
    () => readOne(bench),
    () => newPair(bench),
    () => bare.create(1),
    () => bench.graph.ready(),
  ];
  for (const inFlight of [GROWTH_IN_FLIGHT, 1])
    for (const operation of operations) await rateOf(inFlight, WARM_UP_WINDOWS * options.seconds, operation);
}

const asserting = (...identifiers: readonly Identifier[]): Assertion => ({
  identifiers,
  evidence: { source: "identify", keyId: "bench00001" as KeyId, at: Date.now() },
});

/** Operations per second with so many under way, each starting when one ends. */
async function rateOf(
  inFlight: number,
  seconds: number,
  operation: () => Promise<unknown>,
  operationsMax = Infinity,
): Promise<number> {
  const done = await keepInFlight({ inFlight, seconds, operationsMax }, operation);
  return done.operations / done.seconds;
}

/** Both in turn, so that what disturbs one disturbs the other; the first round warms up and counts for nothing. */
async function compare(
  rounds: number,
  ours: () => Promise<number>,
  yardstick: () => Promise<number>,
): Promise<Compared> {
  const results: Pick<Compared, "ours" | "yardstick">[] = [];
  for (let round = 0; round <= rounds; round++) results.push({ ours: await ours(), yardstick: await yardstick() });
  const counting = results.slice(1);
  return {
    ours: median(counting.map(({ ours }) => ours)),
    yardstick: median(counting.map(({ yardstick }) => yardstick)),
    ratio: median(counting.map(({ ours, yardstick }) => ours / yardstick)),
  };
}

interface Compared {
  readonly ours: number;
  readonly yardstick: number;
  readonly ratio: number;
}

/** The yardstick, and below it what is compared with it. */
function compared(yardstick: string, name: string, found: Compared, goal: number): readonly ServerBenchRow[] {
  const isMissed = found.ratio < goal;
  const { ratio } = found;
  return [
    { name: yardstick, measured: `${whole(found.yardstick)} /s` },
    { name, measured: `${whole(found.ours)} /s`, ratio, goal: verdict(isMissed, ">=", goal), isMissed },
  ];
}

async function benchRepeats(bench: Bench, inFlight: number, goal: number): Promise<readonly ServerBenchRow[]> {
  const { seconds, rounds } = bench.options;
  const found = await compare(
    rounds,
    () => rateOf(inFlight, seconds, () => repeat(bench)),
    () => rateOf(inFlight, seconds, () => readOne(bench)),
  );
  const yardstick = `one indexed read per request, ${inFlight} in flight`;
  return compared(yardstick, `identify repeat, ${inFlight} in flight`, found, goal);
}

async function repeat({ identity, workspace, bare }: Bench): Promise<void> {
  const { outcome } = await identity.assert(workspace, asserting(...bare.anyPair()));
  if (outcome !== "unchanged") throw new Error(`a repeat was ${outcome}`);
}

/** On a nearly empty graph the server may plan a scan otherwise, and keep to it. */
const READ_ONE =
  "MATCH (i:Identifier {key: $q.key}) USING INDEX SEEK i:Identifier(key) MATCH (i)-[:OF]->(p) RETURN p.id";

async function readOne({ neo4j, workspace, bare }: Bench): Promise<void> {
  const key = identifierKey(workspace, bare.anyPair()[0]);
  const rows = await neo4j.run(READ_ONE, { key }, "READ");
  if (rows.length !== 1) throw new Error("the identifier was not found");
}

async function benchNewPairs(bench: Bench, inFlight: number, goal: number): Promise<readonly ServerBenchRow[]> {
  const { options, bare, pairsPerStep } = bench;
  const { seconds, rounds } = options;
  let batch = 1;
  const ours = async (): Promise<number> => {
    pairsPerStep();
    const rate = await rateOf(inFlight, seconds, () => newPair(bench));
    batch = pairsPerStep();
    return rate;
  };
  // As many in one statement as the workspace queue had in one step.
  const yardstick = async (): Promise<number> => batch * (await rateOf(1, seconds, () => bare.create(batch)));
  const found = await compare(rounds, ours, yardstick);
  return compared(`bare creates, ${batch} a statement`, `identify new pairs, ${inFlight} in flight`, found, goal);
}

async function newPair({ identity, workspace, bare }: Bench): Promise<void> {
  const { outcome } = await identity.assert(workspace, asserting(...bare.newPair()));
  if (outcome !== "created") throw new Error(`a new pair was ${outcome}`);
}

async function mergePairs({ identity, workspace, bare }: Bench): Promise<void> {
  const [one, other] = [bare.takePair(), bare.takePair()];
  const { outcome } = await identity.assert(workspace, asserting(one[0], other[0]));
  if (outcome !== "merged") throw new Error(`a merge was ${outcome}`);
}

const OPERATIONS = { repeat, "new pair": newPair, merge: mergePairs } as const;
type Operation = keyof typeof OPERATIONS;
type Costs = Readonly<Record<Operation, number>>;
const OPERATION_NAMES = Object.keys(OPERATIONS) as readonly Operation[];

const meanOf = (one: Costs, other: Costs): Costs =>
  Object.fromEntries(OPERATION_NAMES.map((name) => [name, (one[name] + other[name]) / 2])) as Costs;

/** What each operation costs, in round trips of a statement that touches nothing: the machine's own pace falls out. */
async function costs(bench: Bench): Promise<Costs> {
  const { seconds } = bench.options;
  const rounds = GROWTH_ROUNDS * bench.options.rounds;
  const found: [string, number][] = [];
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    const ours = async (): Promise<number> => {
      // A merge uses two pairs up.
      await bench.bare.fill(SMALL_PAIRS);
      // What writes must not make the small graph a large one; what only reads has the whole window.
      const operationsMax = operation === repeat ? Infinity : SMALL_PAIRS / 2 - GROWTH_IN_FLIGHT;
      return rateOf(GROWTH_IN_FLIGHT, seconds, () => operation(bench), operationsMax);
    };
    const pings = () => rateOf(GROWTH_IN_FLIGHT, seconds / 2, () => bench.graph.ready());
    const { ratio } = await compare(rounds, ours, pings);
    found.push([name, 1 / ratio]);
  }
  return Object.fromEntries(found) as Costs;
}

function growth(operation: Operation, small: Costs, large: Costs): ServerBenchRow {
  const ratio = large[operation] / small[operation];
  const isMissed = ratio > GROWTH_GOAL;
  return {
    name: `${operation}: cost at ${2 * LARGE_PAIRS} identifiers over that at ${2 * SMALL_PAIRS}`,
    measured: `${whole(large[operation])} pings`,
    ratio,
    goal: verdict(isMissed, "<=", GROWTH_GOAL),
    isMissed,
  };
}
