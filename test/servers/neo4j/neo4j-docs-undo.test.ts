import assert from "node:assert/strict";
import type { KeyId } from "../../../core/ids.js";
import type { Identity } from "../../../core/identity/api.js";
import type { Evidence, Rules } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { openNeo4jGraph } from "../../../graph/neo4j/graph.js";
import { blocksOf, pageOf } from "../../support/house/docs-page.js";
import { aWorkspace, anIdentifier } from "../../support/identity/fixtures.js";
import { neo4jUnderTest, openCypher } from "../../support/servers/neo4j-backend.js";
import { tombOf } from "../../support/builders.js";

const queries = blocksOf(await pageOf("neo4j-browser.md")).filter(({ language }) => language === "cypher");
const evidence: Evidence = { source: "identify", keyId: "docskey001" as KeyId, at: 1_700_000_000_000 };
/** Whoever touches two logins stops linking. */
const rules: Rules = {
  limits: new Map([["user_id", 1]]),
  sharedIdentifierLimit: 1,
  priorityOf: () => 0,
  isPerson: () => true,
};

describe("the page on Neo4j Browser, on what was taken back", () => {
  const workspace = aWorkspace();
  const { rows, close } = openCypher(neo4jUnderTest());
  const [cookie, device] = [anIdentifier("c-1", "cookie_id"), anIdentifier("d-2", "device_id")];
  let graph: IdentityGraph;
  let identity: Identity;
  let made: unknown;
  let grown: unknown;
  let taken: unknown;
  before(async () => {
    graph = await openNeo4jGraph({ tombOf, ...neo4jUnderTest(), onError: () => undefined });
    identity = createIdentity({ graph, timeoutMs: 20_000, rulesOf: async () => rules });
    const say = (...identifiers: readonly ReturnType<typeof anIdentifier>[]) =>
      identity.assert(workspace, { identifiers, evidence });
    made = (await say(cookie, device)).changeId;
    grown = (await say(device, anIdentifier("x@example.com", "email"))).changeId;
    const asked = { from: cookie, to: device, forbid: true };
    taken = (await identity.unlink(workspace, asked, { ...evidence, source: "unlink" })).changeId;
    for (const login of ["ann", "bob"]) await say(device, anIdentifier(login));
  });
  after(() => Promise.all([graph?.close(), close()]));

  const ask = (name: string) => {
    const query = queries.find((one) => one.name === name);
    assert.ok(query !== undefined, `the page has no query "${name}"`);
    const parameters = { namespace: "cookie_id", value: "c-1", to_namespace: "device_id", to_value: "d-2" };
    return rows(query.text, { workspace, ...parameters, change: taken });
  };
  const columns = async (name: string, ...positions: readonly number[]) =>
    (await ask(name)).map((row) => positions.map((position) => row[position]));

  it("tells the links that were taken back, by which change, and shows them nowhere else", async () => {
    assert.deepEqual(await columns("The removed links of one identifier", 0, 2, 4), [["device_id d-2", made, taken]]);
    assert.deepEqual(await ask("The links of one identifier"), []);
    assert.deepEqual(await ask("Why are these two the same person?"), []);
  });

  it("tells what happened to a person, also under the id that is one of its identifiers'", async () => {
    const told = await columns("What happened to a person, newest first", 1, 8);
    assert.deepEqual(told, [
      ["unlinked", taken],
      ["linked", grown],
      ["created", made],
    ]);
  });

  it("shows the links that one change took back", async () => {
    const links = (await ask("What one change did")).flatMap(([, , found]) => found as readonly unknown[]);
    assert.equal(links.length, 1);
  });

  it("lists forbidden pairs and shared identifiers", async () => {
    assert.deepEqual(await columns("Forbidden pairs", 0, 1, 4), [["cookie_id c-1", "device_id d-2", taken]]);
    assert.deepEqual(await columns("Shared identifiers", 0, 1), [["device_id", "d-2"]]);
  });

  it("finds all of it consistent", async () => {
    assert.deepEqual(await ask("Consistency"), []);
  });
});
