import assert from "node:assert/strict";
import { at, listAt, textAt, type Answer } from "../../service/app.js";
import { fromNewest, type Bench } from "../bench.js";
import type { StepOf } from "../program.js";
import type { Done } from "../send.js";
import { isTooDeep, leadsTo, looksTooFar, referrersOf, referring, type TrueAudience } from "./model.js";

const DONE: Done = { eventIds: [], apply: () => undefined };
const STANDING_MAX = 6;
/** More than drawn rules have. */
const NOBODY = "00000000-0000-7000-8000-00000000dead";

/** One after the other, whatever comes beside them: what a rule may refer to hangs on which audiences stand. True at once, for all reads. */
async function inTurn(bench: Bench, work: () => Promise<void>): Promise<Done> {
  const { turn } = bench;
  const before = turn.last;
  const afterwards = async (): Promise<void> => {
    await before;
    turn.begun += 1;
    await work();
    turn.ended += 1;
  };
  const own = afterwards();
  // One that fails is told once.
  turn.last = own.catch(() => undefined);
  await own;
  return DONE;
}

export const create = (bench: Bench, step: StepOf<"audience">): Promise<Done> =>
  inTurn(bench, async () => {
    const { truth, counts } = bench;
    if (truth.audiences.length >= STANDING_MAX) return counts.add("audience", "enough stand");
    const rule = referring(bench.ruleHere(step.rule), truth.audiences);
    const name = `a${step.number}`;
    const answer = await bench.send("POST", "/v1/audiences", { name, rule });
    if (isTooDeep(truth.audiences, rule)) return refused(bench, "audience", "validation_failed", answer);
    if (looksTooFar(rule, truth.kept)) return refused(bench, "audience", "window_exceeds_retention", answer);
    assert.equal(answer.status, 201, answer.text);
    const audience = { audienceId: textAt(answer.body, "audience_id"), name, rule, version: 1 };
    checkRecord(audience, answer);
    assert.equal(answer.body["size"], 0);
    truth.audiences.push(audience);
    counts.add("audience", "created");
  });

export const reword = (bench: Bench, { of, rule: drawn, match }: StepOf<"reword">): Promise<Done> =>
  inTurn(bench, async () => {
    const { truth, counts } = bench;
    const standing = fromNewest(truth.audiences, of);
    const rule = drawn === null ? null : referring(bench.ruleHere(drawn), truth.audiences);
    const target = `/v1/audiences/${standing?.audienceId ?? NOBODY}`;
    const etag = match === "right" ? ((await bench.send("GET", target)).headers.etag ?? '"none"') : '"old"';
    const body = { ...(rule !== null && { rule }), ...(drawn === null && { name: "renamed" }) };
    const answer = await bench.send("PUT", target, body, match === "none" ? {} : { "If-Match": etag });
    if (standing === undefined) return refused(bench, "reword", "not_found", answer);
    if (match === "wrong") return refused(bench, "reword", "precondition_failed", answer);
    const isWrong = (given: object): boolean =>
      leadsTo(truth.audiences, given, standing.audienceId) || isTooDeep(truth.audiences, given);
    if (rule !== null && isWrong(rule)) return refused(bench, "reword", "validation_failed", answer);
    if (rule !== null && looksTooFar(rule, truth.kept))
      return refused(bench, "reword", "window_exceeds_retention", answer);
    const next = truth.audiences.map((one) => (one === standing && rule !== null ? { ...one, rule } : one));
    // One that refers to it may have become too deep with it.
    if (next.some((one) => isTooDeep(next, one.rule))) return refused(bench, "reword", "validation_failed", answer);
    assert.equal(answer.status, 200, answer.text);
    const changed = { ...standing, ...body };
    const isSame = JSON.stringify(changed) === JSON.stringify(standing);
    const shown = isSame ? standing : { ...changed, version: standing.version + 1 };
    checkRecord(shown, answer);
    truth.audiences[truth.audiences.indexOf(standing)] = shown;
    counts.add("reword", isSame ? "the same once more" : rule === null ? "another name" : "another rule");
  });

export const disband = (bench: Bench, { of }: StepOf<"disband">): Promise<Done> =>
  inTurn(bench, async () => {
    const { truth, counts } = bench;
    const standing = fromNewest(truth.audiences, of);
    const answer = await bench.send("DELETE", `/v1/audiences/${standing?.audienceId ?? NOBODY}`);
    if (standing === undefined) return refused(bench, "disband", "not_found", answer);
    const referrers = referrersOf(truth.audiences, standing.audienceId);
    if (referrers.length > 0) {
      assert.deepEqual(listAt(answer.body, "audience_ids"), referrers, answer.text);
      return refused(bench, "disband", "in_use", answer);
    }
    assert.equal(answer.status, 204, answer.text);
    truth.audiences.splice(truth.audiences.indexOf(standing), 1);
    truth.disbanded.push(standing.audienceId);
    counts.add("disband", "deleted");
  });

function refused({ counts }: Bench, command: string, code: string, answer: Answer): void {
  assert.equal(at(answer.body, "code"), code, answer.text);
  counts.add(command, code);
}

function checkRecord({ audienceId, name, rule, version }: TrueAudience, { body }: Answer): void {
  const { audience_id, name: shown, rule: sent, version: nth } = body;
  assert.deepEqual(
    { audience_id, shown, sent, nth },
    { audience_id: audienceId, shown: name, sent: rule, nth: version },
  );
}
