import assert from "node:assert/strict";
import type { ChangeId, IdentifierKey, Uid } from "../../../core/ids.js";
import { pairKey, type Component, type Plan } from "../../../core/identity/model.js";
import type { Snapshot } from "../../../core/identity/snapshot.js";
import { repeatIn } from "../../../graph/rules/repeats.js";
import { decide, NO_RULES, unchanged, type Decision, type Request } from "../../../graph/rules/assert.js";
import { anAssertion, lettersOf } from "../../support/identity/fixtures.js";

/** Identifiers are single letters; `uid` and key follow from the letter. */
const uid = (letter: string): Uid => `uid-${letter}` as Uid;
const key = (letter: string): IdentifierKey => `ws:user_id:${letter}` as IdentifierKey;
const pair = (letters: string) => pairKey(key(letters[0]!), key(letters[1]!));

let changes = 0;
const asking = (letters: string, uids: readonly Uid[] = lettersOf(letters).map(uid)): Request => ({
  assertion: anAssertion(...lettersOf(letters)),
  keys: lettersOf(letters).map(key),
  uids,
  changeId: `change-${(changes += 1)}` as ChangeId,
});

/** `{ab: 1, c: 2}`: a and b form component 1, c is component 2; ids are the smallest letter's, sizes count the letters. */
const seeing = (components: Readonly<Record<string, Component>>, ...links: readonly string[]): Snapshot => ({
  identifiers: new Map(
    Object.entries(components).flatMap(([letters, component]) =>
      lettersOf(letters).map((letter) => [key(letter), location(letter, component)] as const),
    ),
  ),
  components: new Map(
    Object.entries(components).map(([letters, component]) => [
      component,
      { ...refOf(letters), counts: countsOf(letters.length), forbidden: [], rev: 1 },
    ]),
  ),
  linked: new Set(links.map(pair)),
  removed: new Map(),
  tombstones: new Map(),
});
const location = (letter: string, component: Component) => ({
  uid: uid(letter),
  component,
  unlinkedAt: null,
  seenWith: [],
  isShared: false,
});
const refOf = (letters: string) => ({ profileId: uid(lettersOf(letters).toSorted()[0]!), size: letters.length });
const countsOf = (size: number) => new Map([["user_id", size]]);
/** A component as a plan has it after the step. */
const planFor = (letters: string, into: Component | null, absorbed: readonly Component[] = []) => ({
  into,
  absorbed,
  ...refOf(letters),
  counts: countsOf(letters.length),
  forbidden: [],
});

const one = (snapshot: Snapshot, letters: string) => {
  const decision = decide(snapshot, [asking(letters)], NO_RULES);
  return { ...decision, result: decision.results[0]! };
};
const planned = ({ plan }: Decision): Plan => {
  assert.ok(plan !== null, "something is to be written");
  return plan;
};
const linksOf = (plan: Plan): readonly string[] => plan.links.map(({ from, to }) => `${from.at(-1)}${to.at(-1)}`);

const isRepeat = (snapshot: Snapshot, letters: string): boolean =>
  repeatIn(snapshot, lettersOf(letters).map(key)) !== null;

describe("The identity rules", () => {
  describe("for one assertion", () => {
    it("create a profile when nothing is known, under the smallest uid", () => {
      const decision = one(seeing({}), "ba");
      assert.deepEqual(decision.result, {
        profileId: uid("a"),
        outcome: "created",
        mergedProfileIds: [],
        dropped: [],
        facet: uid("b"),
        changeId: planned(decision).changes[0]!.changeId,
        rule: null,
        refusedBy: null,
        before: [],
        after: [refOf("ab")],
      });
      assert.deepEqual(planned(decision).components, [planFor("ab", null)]);
      assert.deepEqual(
        planned(decision).creates.map(({ uid, component }) => [uid, component]),
        [
          [uid("b"), 0],
          [uid("a"), 0],
        ],
      );
    });

    it("create a profile of a single identifier without any link", () => {
      const decision = one(seeing({}), "a");
      assert.equal(decision.result.outcome, "created");
      assert.deepEqual(planned(decision).links, []);
    });

    it("link a new identifier to the profile of a known one", () => {
      const decision = one(seeing({ a: 1 }), "ab");
      assert.equal(decision.result.outcome, "linked");
      assert.deepEqual(planned(decision).components, [planFor("ab", 1)]);
      assert.deepEqual(linksOf(planned(decision)), ["ab"]);
    });

    it("link two identifiers of one profile that were never sent together, and move nobody", () => {
      const decision = one(seeing({ abc: 1 }, "ab", "bc"), "ac");
      assert.equal(decision.result.outcome, "linked");
      assert.deepEqual(planned(decision).components, [planFor("abc", 1)]);
      assert.deepEqual(linksOf(planned(decision)), ["ac"]);
    });

    it("merge profiles into the largest, under the smallest id of them all", () => {
      const decision = one(seeing({ a: 1, bcd: 2, ef: 3 }), "abe");
      assert.equal(decision.result.outcome, "merged");
      assert.equal(decision.result.profileId, uid("a"));
      assert.deepEqual(decision.result.mergedProfileIds, [uid("b"), uid("e")]);
      assert.deepEqual(planned(decision).components, [planFor("abcdef", 2, [3, 1])]);
      assert.deepEqual(decision.result.before, [refOf("a"), refOf("bcd"), refOf("ef")]);
      assert.deepEqual(decision.result.after, [refOf("abcdef")]);
    });

    it("leave a repeat alone: no plan, no change", () => {
      const decision = one(seeing({ abc: 1 }, "ab", "bc", "ac"), "cab");
      assert.equal(decision.plan, null);
      assert.deepEqual(decision.result, {
        profileId: uid("a"),
        outcome: "unchanged",
        mergedProfileIds: [],
        dropped: [],
        facet: uid("c"),
        changeId: null,
        rule: null,
        refusedBy: null,
        before: [refOf("abc")],
        after: [refOf("abc")],
      });
    });

    it("leave a single known identifier alone", () => {
      assert.equal(one(seeing({ ab: 1 }), "b").plan, null);
    });

    it("retire an id also when a newly minted uid is smaller", () => {
      const decision = decide(seeing({ b: 1 }), [asking("ba")], NO_RULES);
      assert.equal(decision.results[0]!.outcome, "linked");
      assert.equal(decision.results[0]!.profileId, uid("a"));
      assert.deepEqual(decision.results[0]!.mergedProfileIds, [uid("b")]);
    });

    it("list retired ids sorted", () => {
      const decision = one(seeing({ d: 1, c: 2, b: 3, a: 4 }), "dcba");
      assert.deepEqual(decision.result.mergedProfileIds, [uid("b"), uid("c"), uid("d")]);
    });

    it("link every pair, from the one named first to the one named later", () => {
      assert.deepEqual(linksOf(planned(one(seeing({}), "cab"))), ["ca", "cb", "ab"]);
    });

    it("give each link its evidence and its change", () => {
      const request = asking("ab");
      const plan = planned(decide(seeing({}), [request], NO_RULES));
      const { evidence, identifiers } = request.assertion;
      const { changeId } = request;
      assert.deepEqual(plan.links, [{ from: key("a"), to: key("b"), changeId, evidence, revives: false }]);
      assert.deepEqual(plan.changes, [
        {
          changeId,
          at: evidence.at,
          evidence,
          identifiers,
          outcome: "created",
          before: [],
          after: [uid("a")],
          dropped: [],
          rule: null,
          reverts: null,
          isForbidding: false,
        },
      ]);
    });

    it("record the ids before a merge sorted, and the one after", () => {
      const change = planned(one(seeing({ d: 1, c: 2 }), "dc")).changes[0]!;
      assert.deepEqual([change.before, change.after, change.outcome], [[uid("c"), uid("d")], [uid("c")], "merged"]);
    });
  });

  describe("for several assertions in one step", () => {
    it("let each see what those before it did", () => {
      const { results } = decide(seeing({}), [asking("ab"), asking("cd"), asking("bc"), asking("ab")], NO_RULES);
      assert.deepEqual(
        results.map(({ outcome }) => outcome),
        ["created", "created", "merged", "unchanged"],
      );
      assert.deepEqual(results[2]!.mergedProfileIds, [uid("c")]);
    });

    it("write only the net effect: one component, each identifier and each pair once", () => {
      const requests = ["ax", "xb", "ax", "bx"].map((letters) => asking(letters));
      const plan = planned(decide(seeing({ a: 7, bc: 8 }), requests, NO_RULES));
      assert.deepEqual(plan.components, [planFor("abcx", 8, [7])]);
      assert.deepEqual(
        plan.creates.map(({ uid }) => uid),
        [uid("x")],
      );
      assert.deepEqual(linksOf(plan), ["ax", "xb"]);
      assert.equal(plan.changes.length, 2, "one change for each assertion that changed something");
    });

    it("name the right component for each identifier that is created", () => {
      const plan = planned(decide(seeing({ a: 7 }), [asking("x"), asking("ay"), asking("z"), asking("xz")], NO_RULES));
      const sizes = plan.creates.map(({ uid, component }) => [uid, plan.components[component]!.size]);
      assert.deepEqual(sizes, [
        [uid("x"), 2],
        [uid("y"), 2],
        [uid("z"), 2],
      ]);
      assert.equal(plan.components.length, 2);
    });

    it("keep the uid that came first when two assertions bring the same new identifier", () => {
      const plan = planned(decide(seeing({}), [asking("x", [uid("1")]), asking("x", [uid("0")])], NO_RULES));
      assert.deepEqual(
        plan.creates.map(({ uid }) => uid),
        [uid("1")],
      );
    });

    it("answer no plan for repeats alone, and for no assertion at all", () => {
      assert.equal(decide(seeing({ ab: 1 }, "ab"), [asking("ab"), asking("ba")], NO_RULES).plan, null);
      assert.deepEqual(decide(seeing({}), [], NO_RULES), { plan: null, results: [], stillLinked: [] });
    });

    it("join a long chain in one step", () => {
      const letters = Array.from({ length: 5_001 }, (_, i) => `n${String(i).padStart(4, "0")}`);
      const requests = letters.slice(1).map((to, i): Request => {
        const both = [to, letters[i]!];
        const { assertion, changeId } = { assertion: anAssertion(...both), changeId: `chain-${i}` as ChangeId };
        return { assertion, keys: both.map(key), uids: both.map(uid), changeId };
      });
      const plan = planned(decide(seeing({}), requests, NO_RULES));
      assert.deepEqual(plan.components, [
        { into: null, absorbed: [], size: 5_001, profileId: uid("n0000"), counts: countsOf(5_001), forbidden: [] },
      ]);
    });
  });

  describe("on a repeat seen without a lock", () => {
    it("answer when one profile holds all and every pair is linked", () => {
      const snapshot = seeing({ abc: 1 }, "ab", "bc", "ac");
      const profile = repeatIn(snapshot, lettersOf("bca").map(key));
      assert.deepEqual(unchanged(profile!), one(snapshot, "bca").result);
      assert.ok(isRepeat(seeing({ a: 1 }), "a"));
    });

    it("doubt a snapshot where anything is missing or two profiles are seen", () => {
      assert.ok(!isRepeat(seeing({}), "a"));
      assert.ok(!isRepeat(seeing({ a: 1 }), "ab"));
      assert.ok(!isRepeat(seeing({ b: 1 }), "ab"));
      assert.ok(!isRepeat(seeing({ abc: 1 }, "ab", "bc"), "abc"));
      assert.ok(!isRepeat(seeing({ a: 1, b: 2 }, "ab"), "ab"));
      assert.ok(!isRepeat({ ...seeing({ a: 1 }), components: new Map() }, "a"));
    });
  });
});
