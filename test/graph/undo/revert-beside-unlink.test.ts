import assert from "node:assert/strict";
import type { KeyId } from "../../../core/ids.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { useEmbeddedGraph } from "../../support/identity/use-graph.js";
import { anIdentifier } from "../../support/identity/fixtures.js";
import {
  anUndoBench,
  checkRight,
  deliver,
  EVERYBODY,
  hub,
  identify,
  unlinkHub,
} from "../../support/identity/undo-bench.js";

describe("A revert of an unlink", () => {
  const graphOf = useEmbeddedGraph();

  it("leaves the mark of a newer unlink that comes between its reading and its first step", async () => {
    const bench = await anUndoBench(graphOf());
    const { graph, identity, workspace, now } = bench;
    const undone = await unlinkHub(bench);
    const [near, late] = [anIdentifier("near"), anIdentifier("late")];
    const sent = (now.at += 10);
    let isUnlinkedAnew = false;
    const markedAt: IdentityGraph["markedAt"] = async (...asked) => {
      const answer = await graph.markedAt(...asked);
      if (isUnlinkedAnew) return answer;
      isUnlinkedAnew = true;
      now.at += 10;
      await identify(bench, hub, near);
      await unlinkHub(bench);
      return answer;
    };
    const other = createIdentity({ graph: { ...graph, markedAt }, timeoutMs: 60_000, now: () => now.at });
    const evidence = { source: "revert", keyId: "key0000001" as KeyId, at: now.at } as const;
    const { outcome } = await other.revert(workspace, undone.changeId!, evidence);
    assert.deepEqual([outcome, isUnlinkedAnew], ["reverted", true]);
    assert.equal((await deliver(bench, sent, hub, late)).dropped[0]?.rule, "unlinked");
    assert.equal((await identity.lookup(workspace, [hub]))[0]!.size, 8, "its own links are back");
    await checkRight(bench, [...EVERYBODY, near]);
  });
});
