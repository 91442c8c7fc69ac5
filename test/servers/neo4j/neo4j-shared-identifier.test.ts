import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Identity } from "../../../core/identity/api.js";
import type { KeyId, WorkspaceId } from "../../../core/ids.js";
import type { Source } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { createNeo4jGraph } from "../../../graph/neo4j/graph.js";
import { openClient } from "../../../graph/neo4j/open.js";
import { aWorkspace, anIdentifier } from "../../support/identity/fixtures.js";
import { makeLargeProfile } from "../../support/service/profiles/large-profile.js";
import { neo4jUnderTest, throwError, withFaults, type Faults } from "../../support/servers/neo4j-backend.js";
import { SEED, tell } from "../../support/random/random.js";
import { tombOf } from "../../support/builders.js";

const LINKS = 10_000;
const BUSY_LINKS = 3_000;
const ARRIVALS_A_SECOND = 14;
/** On a quiet machine 100 ms are enough for a step; a busy one gets more. */
const HOLD_MS_MAX = 2_000;
/** On a quiet machine 5 s are enough. */
const BUSY_MS_MAX = 20_000;

const evidence = (source: Source) => ({ source, keyId: "key0000001" as KeyId, at: Date.now() });

describe(`A shared identifier with thousands of links in Neo4j, seed ${SEED}`, function () {
  this.timeout(180_000);
  const opened: IdentityGraph[] = [];
  /** Each over connections of its own, as another process has them. */
  const open = async (faults: Faults = {}): Promise<{ graph: IdentityGraph; identity: Identity }> => {
    const client = await openClient({ ...neo4jUnderTest(), onError: throwError });
    const graph = createNeo4jGraph(withFaults(client, faults), { tombOf });
    opened.push(graph);
    return { graph, identity: createIdentity({ graph, timeoutMs: 8_000, longTimeoutMs: 120_000 }) };
  };
  after(async () => {
    for (const graph of opened) await graph.close();
  });
  const aHub = (graph: IdentityGraph, workspace: WorkspaceId, size: number) =>
    makeLargeProfile(graph, workspace, { name: "hub", size: size + 1, chain: 1, seed: SEED, isStar: true });

  /** The longest time that a writing transaction took, from its first answer to the end of its commit. */
  function holds(): { readonly faults: Faults; readonly longest: () => number; readonly count: () => number } {
    let [longest, count] = [0, 0];
    let latest: { begun: number | null } = { begun: null };
    // For each transaction first `run` is asked for, then `commit`.
    const faults: Faults = {
      run: (go) => {
        const own = (latest = { begun: null as number | null });
        return async (statement, q) => {
          const rows = await go(statement, q);
          own.begun ??= performance.now();
          return rows;
        };
      },
      commit: (go) => {
        const own = latest;
        return async () => {
          await go();
          longest = Math.max(longest, performance.now() - own.begun!);
          count += 1;
        };
      },
    };
    return { faults, longest: () => longest, count: () => count };
  }

  for (const what of ["one by one", "as a part of its own"] as const)
    it(`is unlinked in steps between which others of the workspace write: its neighbours leave ${what}`, async () => {
      const workspace = aWorkspace();
      const { faults, longest, count } = holds();
      const [one, other] = [await open(faults), await open()];
      const hub = await aHub(other.graph, workspace, LINKS);
      // With an older and larger neighbour, all that hangs on the hub leaves at once.
      const asked =
        what === "one by one" ? { identifier: hub.identifierAt(0) } : await linkToLarger(other, workspace, hub);
      const over = new AbortController();
      const waits: number[] = [];
      const others = async (): Promise<void> => {
        for (let n = 0; !over.signal.aborted; n++) {
          const began = performance.now();
          const identifiers = [anIdentifier(`a${n}`), anIdentifier(`b${n}`, "device_id")];
          await other.identity.assert(workspace, { identifiers, evidence: evidence("identify") });
          waits.push(performance.now() - began);
          await sleep(10);
        }
      };
      const writing = others();
      const began = performance.now();
      const undone = await one.identity.unlink(workspace, asked, evidence("unlink")).finally(() => over.abort());
      const whole = performance.now() - began;
      await writing;
      tell(
        `unlinked in ${whole.toFixed(0)} ms and ${count()} transactions, the longest ${longest().toFixed(0)} ms; ` +
          `${waits.length} others waited at most ${Math.max(...waits).toFixed(0)} ms`,
      );
      assert.equal(undone.outcome, "unlinked");
      assert.ok(longest() < Math.min(whole / 3, HOLD_MS_MAX), `${longest()} of ${whole} ms`);
    });

  async function linkToLarger(
    { graph, identity }: { readonly graph: IdentityGraph; readonly identity: Identity },
    workspace: WorkspaceId,
    hub: { readonly identifierAt: (member: number) => ReturnType<typeof anIdentifier> },
  ) {
    const larger = await makeLargeProfile(graph, workspace, { name: "larger", size: LINKS + 2, chain: 1, seed: SEED });
    const [from, to] = [hub.identifierAt(0), larger.identifierAt(0)];
    await identity.assert(workspace, { identifiers: [from, to], evidence: evidence("alias") });
    return { from, to, forbid: false };
  }

  it(`is unlinked and restored though another process adds ${ARRIVALS_A_SECOND} links a second`, async () => {
    const workspace = aWorkspace();
    const [one, other] = [await open(), await open()];
    const hub = await aHub(other.graph, workspace, BUSY_LINKS);
    const shared = hub.identifierAt(0);
    const over = new AbortController();
    const arrivals: Promise<unknown>[] = [];
    const arriving = (async (): Promise<void> => {
      for (let n = 0; !over.signal.aborted; n++) {
        const identifiers = [shared, anIdentifier(`new-${n}`)];
        arrivals.push(other.identity.assert(workspace, { identifiers, evidence: evidence("identify") }));
        await sleep(1_000 / ARRIVALS_A_SECOND);
      }
    })();
    const timed = async <T>(name: string, work: Promise<T>): Promise<T> => {
      const [began, before] = [performance.now(), arrivals.length];
      const result = await work;
      const took = performance.now() - began;
      tell(`${name} in ${took.toFixed(0)} ms, ${arrivals.length - before} links arrived meanwhile`);
      assert.ok(took < BUSY_MS_MAX, `${name} took ${took} ms`);
      return result;
    };
    try {
      const undone = await timed(
        "unlinked",
        one.identity.unlink(workspace, { identifier: shared }, evidence("unlink")),
      );
      assert.equal(undone.outcome, "unlinked");
      const back = await timed("restored", one.identity.revert(workspace, undone.changeId!, evidence("revert")));
      assert.deepEqual([back.outcome, back.dropped], ["reverted", []]);
    } finally {
      over.abort();
      await arriving;
      await Promise.all(arrivals);
    }
    const last = hub.identifierAt(BUSY_LINKS);
    const { connected } = await one.identity.explain(workspace, shared, last);
    assert.equal(connected, true);
  });
});
