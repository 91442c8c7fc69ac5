import assert from "node:assert/strict";
import type { Identifier } from "../../../core/event/event.js";
import type { ChangeId, WorkspaceId } from "../../../core/ids.js";
import { at, listAt, textAt, type Answer } from "../service/app.js";
import type { ExpectedVerdict } from "../trust/assertions.js";
import { copyOf, identifierOfName, idOf, nameOf, type Name, type TrustState } from "../trust/model.js";
import { forbiddenPairIdOf } from "../trust/run.js";
import { allow, revert, unlinkIdentifier, unlinkPair, type Expected, type Moment } from "../trust/undo.js";
import { bind, bindAll, fromNewest, showDropped, type Bench } from "./bench.js";
import { alignChanges } from "./changes.js";
import { judge } from "./erasures.js";
import type { Pair, StepOf } from "./program.js";
import type { Done } from "./send.js";
import { admitted, assertion, trial, type Asked } from "./truth.js";

const query = (dryRun: boolean): string => (dryRun ? "?dry_run=true" : "");
/** What a step that sends no event did. */
const done = (apply: Done["apply"]): Done => ({ eventIds: [], apply });

export async function identify(bench: Bench, { who, dryRun }: StepOf<"identify">): Promise<Done> {
  const answer = await bench.send("POST", `/v1/identify${query(dryRun)}`, { identifiers: who });
  return done(() => {
    const { names, dropped } = admitted(bench.truth, who);
    const left = withoutSuppressed(bench, names);
    const isWrong = dropped.some((one) => one.endsWith(" invalid")) || left.names.length === 0 || isBeyond(bench, who);
    if (isWrong) return refused(bench, "identify", 422, answer);
    const asked: Asked = { names: left.names, source: "identify" };
    checkVerdict(bench, "identify", asked, [...dropped, ...left.dropped], dryRun, answer);
  });
}

function withoutSuppressed({ truth }: Bench, names: readonly Name[]) {
  const judged = judge(truth, names, null);
  assert.ok(judged.refusedBy === null);
  return judged;
}

/** The request alone has more of a namespace than one profile may have. */
function isBeyond({ truth }: Bench, who: readonly Identifier[]): boolean {
  const { names } = admitted(truth, who);
  return [...truth.trust.rules.limits].some(
    ([namespace, limit]) => names.filter((name) => name.startsWith(`${namespace}:`)).length > limit,
  );
}

function refused({ counts }: Bench, command: string, status: number, answer: Answer): void {
  assert.equal(answer.status, status, answer.text);
  counts.add(command, `${status} ${textAt(answer.body, "code")}`);
}

export async function alias(bench: Bench, { pair, dryRun }: StepOf<"alias">): Promise<Done> {
  const [anonymous, known] = pair;
  const answer = await bench.send("POST", `/v1/alias${query(dryRun)}`, { anonymous, known });
  return done(() => {
    const { names, dropped } = admitted(bench.truth, pair);
    if (dropped.length > 0 || withoutSuppressed(bench, names).dropped.length > 0)
      return refused(bench, "alias", 422, answer);
    checkVerdict(bench, "alias", { names: pair.map(nameOf), source: "alias" }, [], dryRun, answer);
  });
}

/** Where order does not matter, which of two came first is not known, so only what both would be told is compared. */
function checkVerdict(
  bench: Bench,
  command: string,
  asked: Asked,
  blocked: readonly string[],
  dryRun: boolean,
  answer: Answer,
): void {
  const expected = dryRun ? trial(bench.truth, asked) : assertion(bench.truth, asked);
  bench.counts.add(`${command}${dryRun ? " dry run" : ""}`, expected.outcome);
  if (expected.outcome === "refused") return checkRefusal(bench, asked, expected, answer);
  const { body } = answer;
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(showDropped(listAt(body, "dropped")), [...blocked, ...expected.dropped].toSorted());
  if (bench.mode === "together") return;
  assert.equal(body["outcome"], expected.outcome, answer.text);
  assert.equal(body["change_id"] !== null, expected.isRecorded && !dryRun, "a record is left");
  if (dryRun) return checkTrial(bench, expected, answer);
  bind(bench, expected.profileId!, textAt(body, "profile_id"));
  bindAll(bench, expected.mergedProfileIds, listAt(body, "merged_profile_ids").map(String));
}

type Refs = readonly { readonly profileId: string | null; readonly size: number }[];
const showRefs = (list: readonly unknown[]): readonly string[] =>
  list.map((one) => `${textAt(one, "profile_id")} ${textAt(one, "size")}`).toSorted();
const expectRefs = ({ realOf }: Bench, refs: Refs): readonly string[] =>
  refs.map(({ profileId, size }) => `${realOf.get(String(profileId)) ?? null} ${size}`).toSorted();

function checkTrial(bench: Bench, { before, after, profileId }: ExpectedVerdict, { body }: Answer): void {
  const isKnown = before.some((ref) => ref.profileId === profileId);
  bindAll(
    bench,
    before.map((ref) => ref.profileId),
    listAt(body, "before").map((one) => textAt(one, "profile_id")),
  );
  assert.equal(body["profile_id"], isKnown ? bench.realOf.get(String(profileId)) : null);
  const then = after.map((ref) => (isKnown || ref.profileId !== profileId ? ref : { ...ref, profileId: null }));
  assert.deepEqual(showRefs(listAt(body, "after")), expectRefs(bench, then));
}

function checkRefusal(bench: Bench, { names }: Asked, { rule }: ExpectedVerdict, answer: Answer): void {
  const { body } = answer;
  assert.deepEqual([answer.status, body["code"], body["rule"]], [409, "merge_refused", rule], answer.text);
  const { trust } = bench.truth;
  for (const [i, name] of names.entries()) {
    const real = listAt(body, "profile_ids")[i];
    if (trust.seen.has(name)) bind(bench, idOf(trust, name), String(real));
    else assert.equal(real, null);
  }
}

export const unlink = (bench: Bench, { who, dryRun }: StepOf<"unlink">): Promise<Done> =>
  undo(bench, "unlink", dryRun, `/v1/identity/unlink${query(dryRun)}`, { identifier: who }, (state, moment) =>
    unlinkIdentifier(state, who, moment),
  );

export const part = (bench: Bench, { pair: [from, to], forbid, dryRun }: StepOf<"part">): Promise<Done> =>
  undo(
    bench,
    forbid ? "forbid" : "unlink pair",
    dryRun,
    `/v1/identity/unlink${query(dryRun)}`,
    { from, to, forbid },
    (state, moment) => unlinkPair(state, from, to, forbid, moment),
  );

export async function permit(bench: Bench, { of, pair: other }: StepOf<"allow">): Promise<Done> {
  const forbidden = fromNewest([...bench.truth.trust.forbiddenPairs.values()], of);
  const pair = forbidden === undefined ? other : (forbidden.map(identifierOfName) as unknown as Pair);
  const pairId = forbiddenPairIdOf(bench.workspace.id as WorkspaceId, pair);
  const answer = await bench.send("DELETE", `/v1/identity/forbidden-pairs/${pairId}`);
  return undone(bench, "allow", false, answer, (state, moment) => allow(state, ...pair, moment));
}

/** Of the changes that stand; where order does not matter, of the undos among them. */
export async function takeBack(bench: Bench, { of, dryRun }: StepOf<"revert">): Promise<Done> {
  await alignChanges(bench);
  const { changes } = bench.truth.trust;
  const known =
    bench.mode === "in_turn" ? changes : changes.filter(({ outcome }) => ["unlinked", "reverted"].includes(outcome));
  const change = fromNewest(known, of)?.changeId ?? NO_CHANGE;
  const real = bench.realOf.get(change) ?? change;
  return undo(bench, "revert", dryRun, `/v1/changes/${real}/revert${query(dryRun)}`, undefined, (state, moment) =>
    revert(state, change, moment),
  );
}

const NO_CHANGE = "00000000-0000-7000-8000-00000000dead" as ChangeId;

type Expect = (state: TrustState, moment: Moment) => Expected;

async function undo(
  bench: Bench,
  command: string,
  dryRun: boolean,
  target: string,
  body: unknown,
  expect: Expect,
): Promise<Done> {
  return undone(bench, command, dryRun, await bench.send("POST", target, body), expect);
}

const undone = (bench: Bench, command: string, dryRun: boolean, answer: Answer, expect: Expect): Done =>
  done(() => {
    const { truth } = bench;
    const changeId = dryRun ? ("none" as ChangeId) : (`change ${(truth.changes += 1)}` as ChangeId);
    const expected = expect(dryRun ? copyOf(truth.trust) : truth.trust, { at: truth.time, changeId });
    checkUndone(bench, `${command}${dryRun ? " dry run" : ""}`, expected, answer);
    const real = at(answer.body, "change_id");
    if (typeof real === "string") bind(bench, changeId, real);
  });

function checkUndone(bench: Bench, command: string, expected: Expected, answer: Answer): void {
  const { body, text } = answer;
  bench.counts.add(command, "error" in expected ? expected.error : expected.outcome);
  if ("error" in expected) {
    assert.equal(answer.status, expected.error === "not_found" ? 404 : 409, text);
    assert.equal(body["code"], expected.error);
    if (expected.error === "still_joined")
      assert.equal(listAt(body, "still_joined_by").length, Number(expected.detail), text);
    return;
  }
  assert.equal(answer.status, 200, text);
  assert.equal(body["outcome"], expected.outcome, text);
  assert.equal(body["change_id"] !== null, expected.isRecorded && !command.endsWith("dry run"), "a record is left");
  assert.equal(
    (at(body, "still_joined_by") as readonly unknown[] | undefined)?.length ?? null,
    expected.stillJoined,
    text,
  );
  assert.deepEqual(showDropped((at(body, "dropped") as readonly unknown[] | undefined) ?? []), expected.dropped, text);
  if (bench.mode === "in_turn") bindAll(bench, expected.profileIds, listAt(body, "profile_ids").map(String));
  else assert.equal(listAt(body, "profile_ids").length, expected.profileIds.length, text);
}
