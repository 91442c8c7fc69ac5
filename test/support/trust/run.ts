import assert from "node:assert/strict";
import { AppError } from "../../../core/errors.js";
import { identifierKey, identifierOf, type Identifier } from "../../../core/event/event.js";
import type { Identity, PathLink, UndoResult } from "../../../core/identity/api.js";
import { forbiddenPairIdFor, newId, type ChangeId, type KeyId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import {
  pairKey,
  type Assertion,
  type Evidence,
  type Source,
  type AssertResult,
} from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { NO_RULES } from "../../../graph/rules/assert.js";
import { afterwards, claim, takeBack, type Claim, type ExpectedVerdict } from "./assertions.js";
import { checkAll } from "./checks.js";
import { copyOf, createTrustState, distance, isLinked, nameOf, pairName, type Name, type TrustState } from "./model.js";
import { IDENTIFIERS, type IdentifierPair, type Operation, type Program } from "./program.js";
import { allow, revert, unlinkIdentifier, unlinkPair, type Expected, type Moment } from "./undo.js";
import { shuffled, type Random } from "../random/random.js";

const KEY = "key0000001" as KeyId;

/** The graph under test and the model beside it, in a workspace of their own. */
interface Bench {
  readonly graph: IdentityGraph;
  readonly workspace: WorkspaceId;
  readonly identity: Identity;
  readonly state: TrustState;
  readonly clock: { now: number };
  /** The changes that came to stand, each with the number of its operation. */
  readonly made: { readonly number: number; readonly changeId: ChangeId }[];
}

/** Uids stay what they are when the program shrinks, and no other program has them. */
function uidsOf(random: Random): (name: Name) => Uid {
  const base = newId<Uid>().slice(0, -2);
  const ranks = shuffled(IDENTIFIERS.map(nameOf), random);
  return (name) => `${base}${ranks.indexOf(name).toString(16).padStart(2, "0")}` as Uid;
}

function createBench(graph: IdentityGraph, random: Random, linksPerStep: readonly number[]): Bench {
  const workspace = newId<WorkspaceId>();
  const state = createTrustState(uidsOf(random), NO_RULES);
  const clock = { now: 0 };
  // Small steps, so that a few assertions take several.
  const workspaceQueue = random.below(2) === 0 ? { lookupsPerStep: 6 } : {};
  const identity = createIdentity({
    graph,
    timeoutMs: 60_000,
    rulesOf: async () => state.rules,
    newUid: (key) => state.uidOf(nameOf(identifierOf(key))),
    now: () => clock.now,
    workspaceQueue,
    linksPerStep: random.pick(linksPerStep),
  });
  return { graph, workspace, identity, state, clock, made: [] };
}

/** Runs the program on the graph and on the model, and compares each answer and at last all that stands. Throws where they differ. */
export async function runProgram(
  graph: IdentityGraph,
  program: Program,
  random: Random,
  linksPerStep: readonly number[],
): Promise<void> {
  const bench = createBench(graph, random, linksPerStep);
  for (const operation of program) {
    bench.clock.now = operation.time;
    try {
      await runOperation(bench, operation);
    } catch (error) {
      throw new Error(`operation ${operation.number}: ${String(error)}`, { cause: error });
    }
  }
  await checkAll(bench.identity, bench.workspace, bench.state);
}

async function runOperation(bench: Bench, operation: Operation): Promise<void> {
  const { number } = operation;
  if (operation.kind === "claim") return runClaim(bench, number, operation.claim, operation.dryRun);
  if (operation.kind === "claims") return runClaims(bench, number, operation.claims);
  if (operation.kind === "explain") return explain(bench, operation.pair);
  if (operation.kind !== "rules") return undo(bench, operation);
  bench.state.rules = operation.rules;
}

const evidenceOf = (source: Source, at: number): Evidence => ({ source, keyId: KEY, at });
const assertionOf = ({ identifiers, source, at, scoped = false }: Claim): Assertion => ({
  scoped,
  identifiers,
  evidence: evidenceOf(source, at),
});

async function runClaim(bench: Bench, number: number, asked: Claim, dryRun: boolean): Promise<void> {
  if (!dryRun) return runClaims(bench, number, [asked]);
  const { identity, workspace } = bench;
  const result = await identity.assert(workspace, assertionOf(asked), { dryRun });
  compareVerdict(bench, number, result, claim(copyOf(bench.state), asked, result.changeId ?? UNTOLD), dryRun);
}

/** What they came upon as shared is unlinked before they are answered. */
async function runClaims(bench: Bench, number: number, asked: readonly Claim[]): Promise<void> {
  const { identity, workspace, state, clock, made } = bench;
  const results =
    asked.length === 1
      ? [await identity.assert(workspace, assertionOf(asked[0]!))]
      : await identity.assertAll(workspace, asked.map(assertionOf));
  const expected = results.map((result, i) => claim(state, asked[i]!, result.changeId ?? UNTOLD));
  const own = state.judged.size === 0 ? [] : await newTakeBacks(bench);
  const noted = new Map<Name, readonly Name[]>();
  for (const name of state.judged.keys()) noted.set(name, await notedOf(bench, name));
  const taken = takeBack(state, {
    changeIdOf: (n) => own[n] ?? UNTOLD,
    notedOf: (name) => noted.get(name)!,
    at: clock.now,
  });
  for (const [i, result] of results.entries())
    compareVerdict(bench, number, result, taken.length === 0 ? expected[i]! : afterwards(state, expected[i]!), false);
  for (const changeId of taken) made.push({ number, changeId });
}

/** Oldest first. */
async function newTakeBacks({ identity, workspace, state }: Bench): Promise<readonly ChangeId[]> {
  const newest = await identity.changes(workspace, "unlinked", { limit: IDENTIFIERS.length, before: null });
  return newest
    .filter(({ evidence, changeId }) => evidence.source === "shared_identifier" && !isKnown(state, changeId))
    .map(({ changeId }) => changeId)
    .toReversed();
}

/** Of an identifier without links. */
async function notedOf({ graph, workspace }: Bench, name: Name): Promise<readonly Name[]> {
  const key = identifierKey(
    workspace,
    IDENTIFIERS.find((one) => nameOf(one) === name)!,
  );
  const limited = [...new Set(IDENTIFIERS.map(({ namespace }) => namespace))];
  // Of those that are not asked for it would show no names.
  const keys = IDENTIFIERS.map((one) => identifierKey(workspace, one));
  const want = { keys, pairs: [], rules: { limited, seenWithMax: IDENTIFIERS.length } };
  const { identifiers } = await graph.read(workspace, want);
  return identifiers.get(key)!.seenWith.map((one) => nameOf(identifierOf(one as typeof key)));
}

const isKnown = ({ changes }: TrustState, id: ChangeId): boolean => changes.some(({ changeId }) => changeId === id);

const UNTOLD = "not told" as ChangeId;

function compareVerdict(
  { made, state }: Bench,
  number: number,
  result: AssertResult,
  { isRecorded, kept, ...expected }: ExpectedVerdict,
  dryRun: boolean,
): void {
  const { changeId, dropped, facet, refusedBy, ...rest } = result;
  assert.equal(refusedBy, null, "nobody is erased in a program");
  const named = dropped.map(({ identifier, rule }) => `${nameOf(identifier)} ${rule}`).toSorted();
  const profileId = dryRun && expected.before.length === 0 ? null : expected.profileId;
  assert.deepEqual({ ...rest, dropped: named }, { ...expected, profileId });
  assert.equal(facet, dryRun || kept.length === 0 ? null : state.uidOf(kept[0]!), "the facet");
  assert.equal(changeId !== null, isRecorded && !dryRun, "a record is left");
  if (changeId !== null) made.push({ number, changeId });
}

type Undoing = Extract<Operation, { readonly kind: "unlink" | "part" | "allow" | "revert" }>;

async function undo(bench: Bench, operation: Undoing): Promise<void> {
  const dryRun = "dryRun" in operation && operation.dryRun;
  const change = operation.kind === "revert" ? lastChange(bench, operation.of) : NO_CHANGE;
  const got = await attempt(() => callUndo(bench, operation, change, dryRun));
  const moment = { at: bench.clock.now, changeId: ("changeId" in got && got.changeId) || UNTOLD };
  const state = dryRun ? copyOf(bench.state) : bench.state;
  const expected = expectUndo(state, operation, change, moment);
  assert.deepEqual(showGot(got), showExpected(expected, dryRun));
  if ("changeId" in got && got.changeId !== null) bench.made.push({ number: operation.number, changeId: got.changeId });
}

const NO_CHANGE = "00000000-0000-7000-8000-00000000dead" as ChangeId;
const lastChange = ({ made }: Bench, of: number): ChangeId =>
  made.findLast(({ number }) => number <= of)?.changeId ?? NO_CHANGE;

/** An error that a caller may expect is an answer too. */
const attempt = (call: () => Promise<UndoResult>): Promise<UndoResult | AppError> =>
  call().catch((error: unknown) => {
    if (error instanceof AppError && ["not_found", "still_joined"].includes(error.code)) return error;
    throw error;
  });

function callUndo(bench: Bench, operation: Undoing, change: ChangeId, dryRun: boolean): Promise<UndoResult> {
  const { identity, workspace, clock } = bench;
  const evidence = (source: Source) => evidenceOf(source, clock.now - (operation.number % 2));
  const options = { dryRun };
  if (operation.kind === "revert") return identity.revert(workspace, change, evidence("revert"), options);
  if (operation.kind === "allow")
    return identity.allow(workspace, forbiddenPairIdOf(workspace, operation.pair), evidence("allow"));
  if (operation.kind === "unlink")
    return identity.unlink(workspace, { identifier: operation.identifier }, evidence("unlink"), options);
  const [from, to] = operation.pair;
  return identity.unlink(workspace, { from, to, forbid: operation.forbid }, evidence("unlink"), options);
}

function expectUndo(state: TrustState, operation: Undoing, change: ChangeId, moment: Moment): Expected {
  if (operation.kind === "revert") return revert(state, change, moment);
  if (operation.kind === "allow") return allow(state, ...operation.pair, moment);
  if (operation.kind === "unlink") return unlinkIdentifier(state, operation.identifier, moment);
  return unlinkPair(state, ...operation.pair, operation.forbid, moment);
}

export const forbiddenPairIdOf = (workspace: WorkspaceId, pair: readonly Identifier[]) => {
  const [one, other] = pair.map((identifier) => identifierKey(workspace, identifier));
  return forbiddenPairIdFor(workspace, pairKey(one!, other!));
};

function showGot(got: UndoResult | AppError) {
  if (got instanceof AppError) {
    const path = got.members?.["stillJoinedBy"] as readonly PathLink[] | undefined;
    return { error: got.code, detail: path === undefined ? (got.errors?.[0]?.path ?? "") : String(path.length) };
  }
  const { changeId, stillJoinedBy, isPartial: _, dropped, ...rest } = got;
  return {
    ...rest,
    isRecorded: changeId !== null,
    stillJoined: stillJoinedBy?.length ?? null,
    dropped: dropped.map(({ from, to, rule }) => `${pairName([nameOf(from), nameOf(to)])} ${rule}`).toSorted(),
  };
}

const showExpected = (expected: Expected, dryRun: boolean) =>
  "error" in expected ? expected : { ...expected, isRecorded: expected.isRecorded && !dryRun };

async function explain({ identity, workspace, state }: Bench, pair: IdentifierPair): Promise<void> {
  const [from, to] = pair.map(nameOf) as [Name, Name];
  const unseen = ["from", "to"][[from, to].findIndex((name) => !state.seen.has(name))];
  const asked = identity.explain(workspace, ...pair);
  if (unseen !== undefined)
    return assert.rejects(asked, (error: unknown) => error instanceof AppError && error.errors?.[0]?.path === unseen);
  const { connected, path, bridges } = await asked;
  const way = distance(state, from, to);
  assert.deepEqual([connected, path?.length], [way !== null, way ?? 0]);
  const namesOf = (links: readonly PathLink[]): readonly string[] =>
    links.map((link) => pairName([nameOf(link.from), nameOf(link.to)])).toSorted();
  for (const [i, link] of path!.entries()) {
    assert.ok(isLinked(state, [nameOf(link.from), nameOf(link.to)]));
    assert.equal(link.changeId, state.links.get(namesOf([link])[0]!)!.change, `link ${i}`);
  }
  assert.deepEqual(namesOf(bridges!), bridgesOf(state, from, to));
}

/** The links without which the two would be apart. */
function bridgesOf(state: TrustState, from: Name, to: Name): readonly string[] {
  if (distance(state, from, to) === null) return [];
  const active = [...state.links.keys()].filter((pair) => state.links.get(pair)!.isActive);
  const parts = (pair: string): boolean => {
    const links = new Map(state.links);
    links.delete(pair);
    return distance({ ...state, links }, from, to) === null;
  };
  return active.filter(parts).toSorted();
}
