import assert from "node:assert/strict";
import { identifierKey } from "../../../core/event/event.js";
import type { WorkspaceId } from "../../../core/ids.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { createNeo4jGraph } from "../../../graph/neo4j/graph.js";
import type { Parameters } from "../../../graph/neo4j/client.js";
import { openClient } from "../../../graph/neo4j/open.js";
import { aWorkspace, anAssertion, step } from "../../support/identity/fixtures.js";
import { neo4jUnderTest, throwError, withFaults } from "../../support/servers/neo4j-backend.js";
import { tombOf } from "../../support/builders.js";

const RUN = 16;

describe("Requests to Neo4j whose identifiers are new", () => {
  const opened: IdentityGraph[] = [];
  const counts = { read: 0, write: 0, run: 0 };
  const own = new Set<unknown>();
  const newWorkspace = (): WorkspaceId => {
    const workspace = aWorkspace();
    own.add(workspace);
    return workspace;
  };
  /** A graph also brings over what other tests left behind, in their workspaces. */
  const isOwn = ({ ws }: Parameters): boolean => ws === undefined || own.has(ws);
  const counting =
    (name: keyof typeof counts) =>
    <Go extends (statement: string, q: Parameters) => unknown>(go: Go): Go =>
      ((statement, q) => {
        if (isOwn(q)) counts[name] += 1;
        return go(statement, q);
      }) as Go;
  let graph: IdentityGraph;
  let other: IdentityGraph;
  /** What the work took. */
  const tripsOf = async (work: () => Promise<unknown>): Promise<typeof counts> => {
    Object.assign(counts, { read: 0, write: 0, run: 0 });
    await work();
    return { ...counts };
  };
  const open = async (isCounted: boolean): Promise<IdentityGraph> => {
    const client = await openClient({ ...neo4jUnderTest(), onError: throwError });
    const faults = { read: counting("read"), write: counting("write"), run: counting("run") };
    const port = createNeo4jGraph(isCounted ? withFaults(client, faults) : client, { tombOf });
    opened.push(port);
    return port;
  };
  before(async () => {
    graph = await open(true);
    other = await open(false);
  });
  after(async () => {
    for (const port of opened) await port.close();
  });

  it("are written in one round trip after one that saw nothing of them, and any others behind the lock", async () => {
    const identity = createIdentity({ graph, timeoutMs: 8_000 });
    const workspace = newWorkspace();
    const say = (...names: readonly string[]) => identity.assert(workspace, anAssertion(...names));
    assert.deepEqual(await tripsOf(() => say("ann", "bob")), { read: 1, write: 1, run: 0 });
    assert.deepEqual(await tripsOf(() => say("bob", "ann")), { read: 1, write: 0, run: 0 });
    assert.deepEqual(await tripsOf(() => say("cat")), { read: 1, write: 1, run: 0 });
    assert.deepEqual(await tripsOf(() => say("dan", "eve", "fay")), { read: 1, write: 1, run: 0 });
    assert.deepEqual(await tripsOf(() => say("ann", "gus")), { read: 1, write: 0, run: 2 }, "one end stands");
    assert.deepEqual(await tripsOf(() => say("ann", "cat")), { read: 1, write: 0, run: 2 }, "both stand");
  });

  it("are what somebody else made meanwhile: the lock has the word", async () => {
    const workspace = newWorkspace();
    const request = anAssertion("ann");
    const keys = request.identifiers.map((one) => identifierKey(workspace, one));
    assert.deepEqual(await graph.repeats(workspace, [keys]), [null]);
    const [theirs] = await step(other, workspace, request);
    const trips = await tripsOf(async () => {
      const [ours] = await step(graph, workspace, request);
      assert.deepEqual([ours!.outcome, ours!.profileId], ["unchanged", theirs!.profileId]);
    });
    assert.deepEqual(trips, { read: 0, write: 1, run: 1 });
  });

  it("are not looked for once all were new for a while, until one was not", async () => {
    const identity = createIdentity({ graph, timeoutMs: 8_000 });
    const workspace = newWorkspace();
    const say = (name: string, of: WorkspaceId = workspace) => identity.assert(of, anAssertion(name, `${name} too`));
    for (let n = 0; n < RUN; n++) await say(`first ${n}`);
    assert.deepEqual(await tripsOf(() => say("next")), { read: 0, write: 1, run: 0 });
    assert.deepEqual(await tripsOf(() => say("elsewhere", newWorkspace())), { read: 1, write: 1, run: 0 });
    const repeat = async () => assert.equal((await say("next")).outcome, "unchanged");
    assert.deepEqual(await tripsOf(repeat), { read: 0, write: 1, run: 1 }, "the guess was wrong");
    assert.deepEqual(await tripsOf(repeat), { read: 1, write: 0, run: 0 });
    assert.deepEqual(await tripsOf(() => say("last")), { read: 1, write: 1, run: 0 });
  });
});
