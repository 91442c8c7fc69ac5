import assert from "node:assert/strict";
import * as fc from "fast-check";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import { aUidOf } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";
import { SCALE, SEED } from "../../support/random/random.js";
import { type TallyPlace, newTally, eventsOf, countedAs, fold, START } from "./tally-place.js";

/** Many questions at once. */
export const tallyAsksContract: Contract<TallyPlace> = {
  "answers several questions about several tallies, each by its own": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const [first, second] = [newTally(), newTally()];
    const all = eventsOf(workspace, 3);
    await fold(port, workspace, all, [first]);
    await fold(port, workspace, eventsOf(workspace, 1, "eve"), [second]);
    const [ada, eve] = [aUidOf(workspace, "ada"), aUidOf(workspace, "eve")];
    const rows = all.map(({ effectiveTs }) => ({ effectiveTs, amount: null })).toReversed();
    const ask = { limit: 9, since: null, hasAmounts: false };
    const asks = [
      { ...ask, tallyId: first, uids: [ada, eve, ada] },
      { ...ask, tallyId: second, uids: [ada] },
      { ...ask, tallyId: first, uids: [] },
      { ...ask, tallyId: first, uids: [ada], limit: 2 },
      { ...ask, tallyId: first, uids: [ada], since: rows[1]!.effectiveTs },
      { ...ask, tallyId: second, uids: [eve, ada] },
      { ...ask, tallyId: first, uids: [ada], hasAmounts: true },
    ];
    const answers = [rows, [], [], rows.slice(0, 2), rows.slice(0, 1), rows.slice(2), rows];
    assert.deepEqual(await port.tallies.newestOfEach(workspace, asks), answers);
    assert.deepEqual(await port.tallies.newestOfEach(workspace, []), []);
  },

  "answers the newest of many facets, however many more they have": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const tallyId = newTally();
    const users = Array.from({ length: 20 }, (_, n) => `user ${n}`);
    // Theirs by turns.
    const all = users.flatMap((user, n) => eventsOf(workspace, 8, user, START + ((n * 7) % 20)));
    await fold(port, workspace, all, [tallyId]);
    const newest = all
      .map(({ effectiveTs }) => effectiveTs)
      .toSorted()
      .toReversed();
    const ask = { tallyId, uids: users.map((user) => aUidOf(workspace, user)), since: null, hasAmounts: false };
    const limits = [1, 2, 3, 50, 900, 1_000];
    const found = await port.tallies.newestOfEach(
      workspace,
      limits.map((limit) => ({ ...ask, limit })),
    );
    for (const [n, limit] of limits.entries())
      assert.deepEqual(
        found[n]!.map(({ effectiveTs }) => effectiveTs),
        newest.slice(0, limit),
        `${limit}`,
      );
  },

  "answers each amount as it was counted": async ({ port }) => {
    const number = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      fc.constantFrom(0, 0.1, 1e21),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(number, { minLength: 1, maxLength: 40 }), async (given) => {
        const [workspace, tallyId] = [newId<WorkspaceId>(), newTally()];
        // No JSON tells it from 0.
        const amounts = given.map((amount) => (amount === 0 ? 0 : amount));
        const all = eventsOf(workspace, amounts.length);
        await fold(port, workspace, all);
        await port.tallies.count(
          workspace,
          all.map((event, n) => countedAs(event, tallyId, amounts[n])),
        );
        const ask = { tallyId, uids: [aUidOf(workspace, "ada")], limit: 100, since: null, hasAmounts: true };
        const [rows] = await port.tallies.newestOfEach(workspace, [ask]);
        assert.deepEqual(rows!.map(({ amount }) => amount).toReversed(), amounts);
      }),
      { seed: SEED, numRuns: 10 * SCALE },
    );
  },
};
