import assert from "node:assert/strict";
import type { Change } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import type { Contract } from "../../support/contract.js";
import { anAssertion, anIdentifier, aWorkspace, step } from "../../support/identity/fixtures.js";
import { aChange, record } from "../../support/identity/plans.js";
import { ann, bob, idOf, inPages } from "../../support/identity/snapshots.js";

const idsOf = (changes: readonly Change[]) => changes.map(({ changeId }) => changeId);

/** What `history` promises of very many records. */
export const identityGraphLongHistory: Contract<IdentityGraph> = {
  "history tells the newest records of one identifier with more than 10,000, if the workspace has none much newer":
    async ({ port }) => {
      const workspace = aWorkspace();
      await step(port, workspace, anAssertion(ann), anAssertion(bob));
      const isAnn = (n: number): boolean => n < 10_000 || n % 900 === 0;
      const made = Array.from({ length: 19_900 }, (_, n) => aChange({ identifiers: [isAnn(n) ? ann : bob] }));
      for (let n = 0; n < made.length; n += 1_000) await record(port, workspace, ...made.slice(n, n + 1_000));
      const uid = await idOf(port, workspace, ann);
      const told = await port.history(workspace, uid, { limit: 10, before: null, isOwn: true });
      const own = made.filter((_, n) => isAnn(n));
      assert.deepEqual(idsOf(told), idsOf(own).toReversed().slice(0, 10));
    },

  "history comes newest first, in pages, each once, however much there is": async ({ port }) => {
    const workspace = aWorkspace();
    const people = Array.from({ length: 30 }, (_, i) => anIdentifier(`p${i}`));
    await step(port, workspace, ...people.slice(1).map((one, i) => anAssertion(people[i]!, one)), anAssertion(ann));
    const id = await idOf(port, workspace, people[0]!);
    const made = Array.from({ length: 1_300 }, (_, i) =>
      aChange({ identifiers: [people[(i * 11) % 29]!, people[(i * 11 + 1) % 29]!, ann].slice(i % 2, 3), after: [id] }),
    );
    await record(port, workspace, ...made.slice(600));
    await record(port, workspace, ...made.slice(0, 600));
    const whole = await port.history(workspace, id, { limit: 5_000, before: null });
    assert.deepEqual(idsOf(whole).slice(0, made.length), idsOf(made).toReversed());
    assert.equal(whole.length, made.length + 29);
    for (const size of [100, 1_001]) {
      const found = await inPages(size, whole.length, (last: Change | undefined) =>
        port.history(workspace, id, { limit: size, before: last?.changeId ?? null }),
      );
      assert.deepEqual(idsOf(found), idsOf(whole), `pages of ${size}`);
    }
  },
};
