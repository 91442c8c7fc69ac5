import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { createNeo4jGraph, openNeo4jGraph } from "../../../graph/neo4j/graph.js";
import { openClient } from "../../../graph/neo4j/open.js";
import { findingsOf, type Entry } from "../../support/identity/history-checker.js";
import { readHistory, runClients, type ClientsPlan } from "../../support/identity/history-clients.js";
import { aWorkspace } from "../../support/identity/fixtures.js";
import { neo4jUnderTest, throwError } from "../../support/servers/neo4j-backend.js";
import { SEED, tell } from "../../support/random/random.js";
import { tombOf } from "../../support/builders.js";

const PROCESSES = 2;
const CLIENTS = 16;
const OPERATIONS = Number(process.env["OPERATIONS"] ?? 4_000);
/** So often at most is a run without locks tried before it is believed that nothing goes wrong. */
const ROUNDS = 5;

const planOf = (workspace: ClientsPlan["workspace"], part: number, unlinks = false): ClientsPlan => ({
  workspace,
  seed: SEED + part,
  clients: CLIENTS / PROCESSES,
  operations: OPERATIONS / PROCESSES,
  unlinks,
});

/** Both begin together. */
async function inProcesses(plans: readonly ClientsPlan[]): Promise<readonly Entry[]> {
  const script = fileURLToPath(new URL("../../support/identity/history-child.js", import.meta.url));
  const children = plans.map((plan) => fork(script, [JSON.stringify(plan)], { serialization: "advanced" }));
  const ended = children.map((child) => once(child, "exit"));
  const next = () =>
    Promise.all(
      children.map((child, i) =>
        Promise.race([
          once(child, "message").then(([message]) => message as unknown),
          ended[i]!.then(([code]) => assert.fail(`a process ended with ${String(code)}`)),
        ]),
      ),
    );
  try {
    await next();
    const told = next();
    for (const child of children) child.send("go");
    const entries = (await told) as readonly (readonly Entry[])[];
    await Promise.all(ended);
    return entries.flat();
  } finally {
    for (const child of children) child.kill("SIGKILL");
  }
}

describe(`What ${CLIENTS} clients in two processes do and are told on Neo4j (seed ${SEED})`, () => {
  const opened: IdentityGraph[] = [];
  const keep = (graph: IdentityGraph): IdentityGraph => {
    opened.push(graph);
    return graph;
  };
  const open = async () => keep(await openNeo4jGraph({ tombOf, ...neo4jUnderTest(), onError: throwError }));
  const openUnlocked = async () =>
    keep(createNeo4jGraph(await openClient({ ...neo4jUnderTest(), onError: throwError }), { tombOf, locks: false }));
  after(async () => {
    for (const graph of opened) await graph.close();
  });

  const findings = async (workspace: ClientsPlan["workspace"], entries: readonly Entry[]) => {
    const identity = createIdentity({ graph: await open(), timeoutMs: 60_000 });
    return findingsOf(await readHistory(identity, workspace, entries));
  };

  for (const unlinks of [false, true])
    it(`may have happened in some order${unlinks ? ", with unlinks and forbidden pairs too" : ""}`, async function () {
      this.timeout(180_000);
      const workspace = aWorkspace();
      const entries = await inProcesses([0, 1].map((part) => planOf(workspace, part, unlinks)));
      assert.equal(entries.length, OPERATIONS);
      showEndings(entries);
      assert.deepEqual(await findings(workspace, entries), []);
    });

  it("is found out when no lock keeps the two apart", async function () {
    this.timeout(180_000);
    const identities = await Promise.all(
      [0, 1].map(async () => createIdentity({ graph: await openUnlocked(), timeoutMs: 8_000 })),
    );
    for (let round = 0; round < ROUNDS; round++) {
      const workspace = aWorkspace();
      const runs = identities.map((identity, part) =>
        runClients(identity, { ...planOf(workspace, 2 * round + part), isBroken: true }),
      );
      const found = await findings(workspace, (await Promise.all(runs)).flat());
      if (found.length === 0) continue;
      tell(`${found.length} findings in round ${round + 1}, the first: ${found[0]}`);
      return;
    }
    assert.fail(`nothing was found in ${ROUNDS} rounds`);
  });
});

function showEndings(entries: readonly Entry[]): void {
  const count = (kind: Entry["kind"], ending: Entry["ending"]): number =>
    entries.filter((entry) => entry.kind === kind && entry.ending === ending).length;
  const kinds = ["assert", "look", "unlink"] as const;
  const endings = ["ok", "fail", "info"] as const;
  tell(
    kinds.map((kind) => `${kind} ${endings.map((ending) => `${count(kind, ending)} ${ending}`).join(" ")}`).join("; "),
  );
}
