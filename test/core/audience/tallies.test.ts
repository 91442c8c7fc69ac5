import assert from "node:assert/strict";
import { NO_AUDIENCES, type Audience, type AudienceSet } from "../../../core/audience/audience.js";
import {
  countingAudiences,
  filledTallies,
  followTallies,
  marksOf,
  TALLIES_MAX,
} from "../../../core/audience/tallies.js";
import { newId, type AudienceId, type SchemaId } from "../../../core/ids.js";
import { countingOf, rowIn } from "../../../core/rule/events.js";
import { formOf } from "../../../core/rule/form.js";
import type { PathTest, Tally, WrittenRule } from "../../../core/rule/rule.js";
import { anEvent } from "../../support/builders.js";

const TOTAL: PathTest = { path: ["total"], test: { op: "$gte", value: 50 } };
const PAID: PathTest = { path: ["paid"], test: { op: "$in", values: ["card", null, 1] } };
const ORDERS: Tally = { schemaId: "order" as SchemaId, where: [TOTAL, PAID], sum: null };

const countOf = (tally: Tally, atLeast = 1): WrittenRule => ({ kind: "count", tally, atLeast, within: null });
const anAudience = (rule: WrittenRule): Audience => ({
  audienceId: newId<AudienceId>(),
  name: "a",
  text: "{}",
  rule,
  version: 1,
  createdAt: 1,
  build: null,
});
const change = (current: AudienceSet, ...audiences: readonly Audience[]): AudienceSet => ({
  version: newId<string>(),
  ...followTallies(current, { audiences, deleted: [] }),
});
const filledUp = (set: AudienceSet): AudienceSet => ({
  ...set,
  tallies: set.tallies.map((one) => ({ ...one, filling: null })),
});

describe("The tallies of a workspace", () => {
  it("are one for each way of counting, however it is written", () => {
    const same: readonly Tally[] = [
      { ...ORDERS, where: [PAID, TOTAL] },
      { ...ORDERS, where: [TOTAL, PAID, TOTAL] },
      { ...ORDERS, where: [TOTAL, { path: ["paid"], test: { op: "$in", values: [1, "card", null, 1] } }] },
    ];
    const other: readonly Tally[] = [
      { ...ORDERS, where: [TOTAL] },
      { ...ORDERS, sum: ["total"] },
      { ...ORDERS, schemaId: null },
      { ...ORDERS, where: [{ ...TOTAL, test: { op: "$gt", value: 50 } }, PAID] },
      { ...ORDERS, where: [{ ...TOTAL, test: { op: "$gte", value: "50" } }, PAID] },
      { ...ORDERS, where: [{ ...TOTAL, path: ["total", "eur"] }, PAID] },
      { ...ORDERS, where: [TOTAL, { path: ["paid"], test: { op: "$nin", values: [1, "card", null] } }] },
    ];
    for (const tally of same) assert.equal(formOf(tally), formOf(ORDERS), JSON.stringify(tally));
    assert.equal(new Set([ORDERS, ...other].map(formOf)).size, 1 + other.length);
    const set = change(NO_AUDIENCES, ...[ORDERS, ...same].map((tally, n) => anAudience(countOf(tally, n + 1))));
    assert.equal(set.tallies.length, 1);
  });

  it("stay as long as a rule needs them, also one that refers to the rule; then they are to be forgotten", () => {
    const orders = anAudience(countOf(ORDERS));
    const referring = anAudience({ kind: "not", part: { kind: "audience", audienceId: orders.audienceId } });
    const both = filledUp(change(NO_AUDIENCES, orders, referring));
    const [{ tallyId }] = both.tallies as [AudienceSet["tallies"][number]];
    assert.deepEqual(change(both, orders).tallies, both.tallies);
    const gone = change(both, anAudience({ kind: "and", parts: [] }));
    assert.deepEqual([gone.tallies, gone.forgotten], [[], [tallyId]]);
    const again = change(gone, orders);
    assert.notEqual(again.tallies[0]?.tallyId, tallyId);
    assert.deepEqual([again.tallies[0]?.filling, again.forgotten], [{ after: null }, [tallyId]]);
  });

  it("tell which audiences are still counting", () => {
    const [orders, plain] = [anAudience(countOf(ORDERS)), anAudience({ kind: "or", parts: [] })];
    const referring = anAudience({ kind: "audience", audienceId: orders.audienceId });
    const set = change(NO_AUDIENCES, orders, plain, referring);
    assert.deepEqual(countingAudiences(set), new Set([orders.audienceId, referring.audienceId]));
    assert.equal(filledTallies(set).size, 0);
    const full = filledUp(set);
    assert.deepEqual(countingAudiences(full), new Set());
    assert.deepEqual([...filledTallies(full)], [[formOf(ORDERS), set.tallies[0]!.tallyId]]);
  });

  it(`are at most ${TALLIES_MAX}`, () => {
    const countAt = (least: number) =>
      anAudience(countOf({ ...ORDERS, where: [{ path: ["n"], test: { op: "$gte", value: least } }] }));
    const most = Array.from({ length: TALLIES_MAX }, (_, n) => countAt(n));
    const set = change(NO_AUDIENCES, ...most);
    assert.equal(set.tallies.length, TALLIES_MAX);
    assert.throws(() => change(set, ...most, countAt(TALLIES_MAX)), { code: "validation_failed" });
    assert.equal(change(set, ...most.slice(1), countAt(TALLIES_MAX)).tallies.length, TALLIES_MAX);
  });

  it("say what an event counts for, and read its payload only if they ask for it", () => {
    const any: Tally = { schemaId: null, where: [], sum: null };
    const sum: Tally = { ...ORDERS, where: [], sum: ["total"] };
    const set = change(NO_AUDIENCES, ...[any, ORDERS, sum].map((tally) => anAudience(countOf(tally))));
    const marks = (schemaId: string, payload: string) =>
      marksOf(set.tallies, anEvent({ schemaId: schemaId as SchemaId, payload: Buffer.from(payload) })).map(
        ({ tallyId, amount }) => [set.tallies.findIndex((one) => one.tallyId === tallyId), amount],
      );
    assert.deepEqual(marks("visit", "no JSON"), [[0, null]]);
    assert.deepEqual(marks("order", '{"total":50.5,"paid":"card"}'), [
      [0, null],
      [1, null],
      [2, 50.5],
    ]);
    assert.deepEqual(marks("order", '{"total":"50","paid":"cash"}'), [
      [0, null],
      [2, null],
    ]);
  });

  it("go through a list of an event once for all of them, in tests and in sums", () => {
    let reads = 0;
    const list = Array.from({ length: 1_000 }, (_, n) => ({ price: n }));
    const items = new Proxy(list, {
      get: (target, name): unknown => {
        reads += 1;
        return Reflect.get(target, name);
      },
    });
    const event = { schemaId: ORDERS.schemaId!, effectiveTs: anEvent().effectiveTs, payload: { items } };
    const path = ["items", "price"];
    const all = Array.from({ length: TALLIES_MAX }, (_, n) =>
      countingOf({ ...ORDERS, where: [{ path, test: { op: "$gte", value: n } }], sum: path }),
    );
    assert.equal(rowIn(all[0]!, event)?.amount, 499_500);
    const once = reads;
    assert.deepEqual(new Set(all.map((one) => rowIn(one, event)?.amount)), new Set([499_500]));
    assert.equal(reads, once);
    assert.equal(rowIn(all[0]!, { ...event, payload: { items: [{ price: 2 }] } })?.amount, 2, "another event");
  });
});
