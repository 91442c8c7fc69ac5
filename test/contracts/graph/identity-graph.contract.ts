import assert from "node:assert/strict";
import { isUnavailable } from "../../../core/errors.js";
import { identifierKey } from "../../../core/event/event.js";
import { newId, type ChangeId, type ForbiddenPairId, type Uid } from "../../../core/ids.js";
import type { Plan } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { decide, NO_RULES } from "../../../graph/rules/assert.js";
import { readSetOf, readSetWith } from "../../../graph/rules/read-set.js";
import type { Contract } from "../../support/contract.js";
import { aRequest, aWorkspace, anAssertion, anIdentifier, step, stepOf } from "../../support/identity/fixtures.js";
import { aChange } from "../../support/identity/plans.js";
import { closureOf, readPartition } from "../../support/identity/model.js";
import {
  ALL,
  ann,
  bob,
  cat,
  dan,
  hostileValues,
  idOf,
  NEWEST,
  NOTHING,
  standing,
  wanting,
  wantingRules,
} from "../../support/identity/snapshots.js";
import { identityGraphBorder } from "./identity-graph-border.contract.js";
import { identityGraphChanges } from "./identity-graph-changes.contract.js";
import { identityGraphErasureRecords } from "./identity-graph-erasure-records.contract.js";
import { identityGraphErasedAgain } from "./identity-graph-erasures-again.contract.js";
import { identityGraphErase } from "./identity-graph-erasures.contract.js";
import { identityGraphLinks, identityGraphLinksOfChange } from "./identity-graph-links.contract.js";
import { identityGraphLongHistory } from "./identity-graph-long-history.contract.js";
import {
  identityGraphForbiddenPairs,
  identityGraphMarks,
  identityGraphSharedIdentifiers,
} from "./identity-graph-marks.contract.js";
import { identityGraphMovements } from "./identity-graph-movements.contract.js";
import { identityGraphProfiles, identityGraphReads } from "./identity-graph-reads.contract.js";
import { identityGraphRepeats } from "./identity-graph-repeats.contract.js";
import { identityGraphRevs } from "./identity-graph-revs.contract.js";
import { identityGraphRules } from "./identity-graph-rules.contract.js";
import { identityGraphUndo } from "./identity-graph-undo.contract.js";
import { identityGraphWhole } from "./identity-graph-whole.contract.js";
import { identityGraphJoinedPairs } from "./undo/joined-pairs.contract.js";
import { identityGraphUnlinkMarks } from "./undo/unlink-marks.contract.js";

/** The port as a whole. */
const whole: Contract<IdentityGraph> = {
  "ready resolves when the backend answers": async ({ port }) => {
    await port.ready();
  },

  "what resolved survives close and reopen": async ({ port, reopen }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob), anAssertion(cat, dan));
    await step(port, workspace, anAssertion(dan, ann));
    const before = await standing(port, workspace, ann, bob, cat, dan);
    const again = await reopen();
    assert.deepEqual(await standing(again, workspace, ann, bob, cat, dan), before);
    const [result] = await step(again, workspace, anAssertion(ann, bob));
    assert.equal(result!.outcome, "unchanged");
  },

  "close lets the steps under way end": async ({ port, reopen }) => {
    const workspace = aWorkspace();
    const under = step(port, workspace, anAssertion(ann, bob));
    await port.close();
    const [result] = await under;
    assert.deepEqual(await (await reopen()).resolve(workspace, result!.profileId!), {
      profileId: result!.profileId,
      size: 2,
    });
  },

  "after close every method rejects with unavailable, and closing twice is allowed": async ({ port }) => {
    const workspace = aWorkspace();
    const profileId = await idOf(port, workspace, ann);
    await port.close();
    await port.close();
    await assert.rejects(port.ready(), isUnavailable);
    await assert.rejects(port.read(workspace, wanting(workspace, ann)), isUnavailable);
    await assert.rejects(step(port, workspace, anAssertion(ann)), isUnavailable);
    await assert.rejects(port.resolve(workspace, profileId), isUnavailable);
    await assert.rejects(port.members(workspace, profileId, ALL), isUnavailable);
    await assert.rejects(port.links(workspace, profileId, ALL), isUnavailable);
    const change = aChange({ identifiers: [ann, bob] });
    await assert.rejects(port.linksOfChange(workspace, change), isUnavailable);
    await assert.rejects(port.linksRemovedBy(workspace, change, ALL), isUnavailable);
    const [key, changeId] = [identifierKey(workspace, ann), newId<ChangeId>()];
    await assert.rejects(port.markedAt(workspace, key, changeId), isUnavailable);
    await assert.rejects(port.findForbiddenPairs(workspace, [newId<ForbiddenPairId>()]), isUnavailable);
    await assert.rejects(port.forbiddenPairs(workspace, ALL), isUnavailable);
    await assert.rejects(port.findChange(workspace, changeId), isUnavailable);
    for (const outcome of [null, "created" as const])
      await assert.rejects(port.changes(workspace, outcome, NEWEST), isUnavailable);
    await assert.rejects(port.history(workspace, profileId, NEWEST), isUnavailable);
    await assert.rejects(port.sharedIdentifiers(workspace, ALL), isUnavailable);
    await assert.rejects(port.hasIdentifiers(workspace, "user_id"), isUnavailable);
  },
};

const transactions: Contract<IdentityGraph> = {
  ...identityGraphReads,
  ...identityGraphRepeats,
  ...identityGraphRules,
  ...identityGraphUndo,
  ...identityGraphBorder,
  ...identityGraphWhole,
  ...identityGraphJoinedPairs,
  ...identityGraphRevs,

  "update shows decide what is already there": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob), anAssertion(cat));
    const want = wantingRules(wanting(workspace, ann, bob, cat, dan));
    const shown = await port.update(workspace, want, (snapshot) => ({ plan: null, result: snapshot }));
    assert.deepEqual(shown, await port.read(workspace, want));
    assert.equal(shown.identifiers.size, 3);
    assert.equal(shown.linked.size, 1);
  },

  "update asks decide even when nothing is known, and when nothing is wanted": async ({ port }) => {
    const workspace = aWorkspace();
    for (const want of [wanting(workspace, ann), { keys: [], pairs: [] }].map((one) => wantingRules(one))) {
      let asked = 0;
      const answer = await port.update(workspace, want, ({ identifiers }) => {
        asked += 1;
        return { plan: null, result: identifiers.size };
      });
      assert.equal(answer, 0);
      assert.equal(asked, 1, "once for each try, and nobody is in the way");
    }
  },

  "update answers what decide answers, once its plan stands": async ({ port }) => {
    const workspace = aWorkspace();
    const results = await step(port, workspace, anAssertion(ann, bob), anAssertion(bob, ann));
    assert.deepEqual(
      results.map(({ outcome }) => outcome),
      ["created", "unchanged"],
    );
    const { profiles } = await standing(port, workspace, ann, bob);
    const { profileId, size } = profiles[0]![2];
    assert.deepEqual({ profileId, size }, { profileId: results[0]!.profileId, size: 2 });
  },

  "update changes nothing if decide throws, and rejects with what it threw": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob));
    const before = await standing(port, workspace, ann, bob, cat);
    const thrown = new Error("refused");
    const refused = port.update(workspace, wantingRules(wanting(workspace, ann, cat)), () => {
      throw thrown;
    });
    await assert.rejects(refused, (error) => error === thrown);
    assert.deepEqual(await standing(port, workspace, ann, bob, cat), before);
  },

  "update leaves its neighbours alone if decide throws": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    const refused = port.update(one, wantingRules(wanting(one, ann)), () => {
      throw new Error("refused");
    });
    const [first, second] = [step(port, one, anAssertion(ann, bob)), step(port, other, anAssertion(ann, bob))];
    await assert.rejects(refused);
    assert.equal((await first)[0]!.outcome, "created");
    assert.equal((await second)[0]!.outcome, "created");
    assert.equal((await port.resolve(other, (await second)[0]!.profileId!))!.size, 2);
  },

  "update changes nothing if the plan is null": async ({ port }) => {
    const workspace = aWorkspace();
    await port.update(workspace, wantingRules(wanting(workspace, ann)), () => ({ plan: null, result: null }));
    assert.deepEqual(await standing(port, workspace, ann), NOTHING);
  },

  "update writes all of a plan or nothing": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob), anAssertion(cat));
    const before = await standing(port, workspace, ann, bob, cat, dan);
    const request = aRequest(workspace, anAssertion(dan, ann, cat));
    const other = aWorkspace();
    await step(port, other, anAssertion(ann, bob));
    const [foreign] = (await port.read(other, wanting(other, ann))).components.keys();
    const damage: Readonly<Record<string, (plan: Plan) => Plan>> = {
      "a component of another workspace to grow": (plan) => ({
        ...plan,
        components: plan.components.map((component) => ({ ...component, into: foreign! })),
      }),
      "a component of another workspace to absorb": (plan) => ({
        ...plan,
        components: plan.components.map((component) => ({ ...component, absorbed: [foreign!] })),
      }),
      "an identifier that exists": (plan) => {
        const again = { ...plan.creates[0]!, key: identifierKey(workspace, ann), uid: newId<Uid>() };
        return { ...plan, creates: [...plan.creates, again] };
      },
      "a uid that exists": (plan) => ({
        ...plan,
        creates: plan.creates.map((create) => ({ ...create, uid: before.profiles[0]![1].uid })),
      }),
      "a link of an identifier that does not exist": (plan) => {
        const nowhere = { ...plan.links[0]!, to: identifierKey(workspace, anIdentifier("nobody")) };
        return { ...plan, links: [...plan.links, nowhere] };
      },
      "a change id that stands twice": (plan) => ({ ...plan, changes: [...plan.changes, ...plan.changes] }),
    };
    for (const [what, broken] of Object.entries(damage)) {
      const refused = port.update(workspace, readSetWith(readSetOf(request.keys), NO_RULES), (snapshot) => ({
        plan: broken(decide(snapshot, [request], NO_RULES).plan!),
        result: null,
      }));
      await assert.rejects(refused, what);
      assert.deepEqual(await standing(port, workspace, ann, bob, cat, dan), before, what);
    }
    assert.equal((await stepOf(port, workspace, [request]))[0]!.outcome, "merged", "unbroken, it goes through");
  },

  "update keeps one change of an id for ever": async ({ port }) => {
    const workspace = aWorkspace();
    const request = aRequest(workspace, anAssertion(ann));
    await stepOf(port, workspace, [request]);
    const again = { ...aRequest(workspace, anAssertion(bob)), changeId: request.changeId };
    await assert.rejects(stepOf(port, workspace, [again]));
    assert.deepEqual((await standing(port, workspace, bob)).profiles, []);
    await stepOf(port, workspace, [{ ...again, changeId: newId<ChangeId>() }]);
  },

  "update keeps workspaces apart": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    for (const [mine, theirs] of [
      [one, other],
      [other, one],
    ] as const) {
      const values = hostileValues(theirs).map((value) => anIdentifier(value));
      const ids = [await idOf(port, mine, ann), await idOf(port, mine, bob)];
      for (const value of values) await step(port, mine, anAssertion(ann, value));
      assert.equal((await port.resolve(mine, ids[0]!))!.size, 1 + values.length);
      assert.equal((await port.resolve(mine, ids[1]!))!.size, 1);
    }
    const merged = await idOf(port, one, ann, bob);
    assert.equal((await standing(port, one, ann, bob)).linked.length, 1);
    assert.equal((await standing(port, other, ann, bob)).linked.length, 0);
    assert.notEqual(await idOf(port, other, ann), merged);
    assert.notEqual(await idOf(port, other, ann), await idOf(port, other, bob));
  },

  "update merges any number of profiles into one, and every identifier goes along": async ({ port }) => {
    const workspace = aWorkspace();
    const groups = [["a"], ["b", "c", "d"], ["e", "f"], ["g", "h"]];
    for (const group of groups) await step(port, workspace, anAssertion(...group));
    await step(port, workspace, anAssertion("h", "e", "a", "c"));
    assert.deepEqual(await readPartition(port, workspace), [["a", "b", "c", "d", "e", "f", "g", "h"]]);
  },

  "update is one atomic step: those at the same time end in the closure of them all": async ({ port }) => {
    const workspace = aWorkspace();
    const letters = ["a", "b", "c", "d", "e", "f", "g", "h"];
    // Two interleaved chains, and singles that race with the pairs that name them.
    const assertions = letters.slice(2).flatMap((letter, i) => [anAssertion(letters[i]!, letter), anAssertion(letter)]);
    await Promise.all(assertions.map((assertion) => step(port, workspace, assertion)));
    assert.deepEqual(await readPartition(port, workspace), closureOf(assertions));
  },
};

const profileReads: Contract<IdentityGraph> = {
  ...identityGraphProfiles,
  ...identityGraphLinks,
  ...identityGraphSharedIdentifiers,
};

const changeLog: Contract<IdentityGraph> = {
  ...identityGraphChanges,
  ...identityGraphLongHistory,
  ...identityGraphLinksOfChange,
  ...identityGraphMarks,
  ...identityGraphUnlinkMarks,
};

/** The port and its parts. A part is tested on the whole port, as what one part writes another reads. */
export const identityGraphContracts = {
  IdentityGraph: whole,
  GraphTransactions: transactions,
  ProfileReads: profileReads,
  ChangeLog: changeLog,
  ForbiddenPairs: identityGraphForbiddenPairs,
  Movements: identityGraphMovements,
  Erasures: { ...identityGraphErase, ...identityGraphErasedAgain, ...identityGraphErasureRecords },
} as const;
