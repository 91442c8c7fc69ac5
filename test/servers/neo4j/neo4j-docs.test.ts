import assert from "node:assert/strict";
import neo4j, { type Driver, type QueryResult } from "neo4j-driver";
import { isUnavailable } from "../../../core/errors.js";
import { newId, type ChangeId, type EventId, type KeyId, type ProfileId, type WorkspaceId } from "../../../core/ids.js";
import type { Identity } from "../../../core/identity/api.js";
import type { Evidence, AssertResult } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { openNeo4jGraph } from "../../../graph/neo4j/graph.js";
import { DAMAGES } from "../../support/identity/graph-damages.js";
import { aWorkspace } from "../../support/identity/fixtures.js";
import { blocksOf, pageOf, parametersOf, styleRulesOf } from "../../support/house/docs-page.js";
import { neo4jUnderTest, stepsOf } from "../../support/servers/neo4j-backend.js";
import { tombOf } from "../../support/builders.js";

const page = await pageOf("neo4j-browser.md");
const blocks = blocksOf(page);
const queries = blocks.filter(({ language }) => language === "cypher");

/** All that Browser's `:param` line on the page sets. */
const setOnPage = (): ReadonlySet<string> => {
  const line = blocks.find(({ text }) => text.startsWith(":param {"))?.text ?? "";
  return new Set([...line.matchAll(/(\w+): /g)].map(([, name]) => name!));
};

/** Two people and what makes them one by mistake; every number below is counted by hand. */
const STORY = {
  ann: ["cookie_id:c-1", "user_id:ann", "email:ann@example.com"],
  bob: ["user_id:bob", "device_id:d-2"],
  shared: "email:office@example.com",
} as const;
const KEY = "docskey001" as KeyId;

const identifierOf = (name: string) => {
  const colon = name.indexOf(":");
  return { namespace: name.slice(0, colon), value: name.slice(colon + 1) };
};

async function tell(
  identity: Identity,
  workspace: WorkspaceId,
  source: Evidence["source"],
  names: readonly string[],
): Promise<AssertResult> {
  const evidence = { source, keyId: KEY, at: Date.now() };
  const assertion = { identifiers: names.map(identifierOf), evidence };
  for (let tries = 1; ; tries++)
    try {
      return await identity.assert(workspace, assertion);
    } catch (error) {
      // A server that has just started may take longer to plan its first write than a caller waits.
      if (!isUnavailable(error) || tries === 5) throw error;
    }
}

describe("the page on Neo4j Browser", () => {
  const access = neo4jUnderTest();
  const workspace = aWorkspace();
  const eventId = newId<EventId>();
  let driver: Driver;
  let graph: IdentityGraph;
  let merge: { readonly changeId: ChangeId; readonly profileId: ProfileId; readonly retired: ProfileId };

  before(async () => {
    driver = neo4j.driver(access.url, neo4j.auth.basic(access.user, access.password), {
      disableLosslessIntegers: true,
    });
    graph = await openNeo4jGraph({ tombOf, ...access, onError: () => undefined });
    const identity = createIdentity({ graph, timeoutMs: 20_000 });
    const [cookie, login, email] = STORY.ann;
    await tell(identity, workspace, "identify", [cookie, login]);
    await tell(identity, workspace, eventId, [login, email]);
    const { profileId: retired } = await tell(identity, workspace, "identify", STORY.bob);
    await tell(identity, workspace, "identify", [STORY.bob[0], STORY.shared]);
    const { changeId, profileId } = await tell(identity, workspace, "alias", [STORY.shared, login]);
    merge = { changeId: changeId!, profileId: profileId!, retired: retired! };
    // Somebody else, who must show up nowhere but in the lists.
    await tell(identity, workspace, "identify", ["user_id:eve", "cookie_id:c-9"]);
    await tell(identity, aWorkspace(), "identify", ["user_id:ann", "user_id:other", STORY.shared]);
  });
  after(async () => {
    await graph?.close();
    await driver?.close();
  });

  const parameters = (changed: object = {}) => ({
    workspace,
    namespace: "cookie_id",
    value: "c-1",
    to_namespace: "device_id",
    to_value: "d-2",
    profile: merge.retired,
    change: merge.changeId,
    of: "user_id",
    hours: neo4j.int(24),
    ...changed,
  });
  /** In the mode in which the server refuses to write. */
  async function ask(text: string, changed?: object): Promise<QueryResult> {
    const session = driver.session({ database: "neo4j", defaultAccessMode: neo4j.session.READ });
    try {
      return await session.run(text, parameters(changed));
    } finally {
      await session.close();
    }
  }
  const textOf = (name: string): string => {
    const query = queries.find((one) => one.name === name);
    assert.ok(query !== undefined, `the page has no query "${name}"`);
    return query.text;
  };
  const rowsOf = async (name: string, changed?: object): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    (await ask(textOf(name), changed)).records.map((record) => record.toObject());
  /** What a snapshot shows: `namespace value` of its identifiers, and how many links. */
  async function snapshotOf(name: string, changed?: object) {
    const shown = new Set<string>();
    const links = new Set<string>();
    const look = (value: unknown): void => {
      if (Array.isArray(value)) value.forEach(look);
      else if (neo4j.isPath(value)) {
        look([value.start, value.end]);
        for (const { start, relationship, end } of value.segments) look([start, relationship, end]);
      } else if (neo4j.isNode(value) && value.labels.includes("Identifier"))
        shown.add(`${value.properties["ns"]}:${value.properties["value"]}`);
      else if (neo4j.isRelationship(value) && value.type === "LINKED") links.add(value.elementId);
    };
    for (const row of await rowsOf(name, changed)) look(Object.values(row));
    return { shown: [...shown].toSorted(), links: links.size };
  }
  const all = [...STORY.ann, ...STORY.bob, STORY.shared].toSorted();

  it("sets every parameter that a query takes, and the test tries them all", () => {
    const taken = new Set(queries.flatMap(({ text }) => parametersOf(text)));
    assert.deepEqual([...taken].toSorted(), [...setOnPage()].toSorted());
    assert.deepEqual([...taken].toSorted(), Object.keys(parameters()).toSorted());
  });

  it("shows a person by any identifier, and by a retired profile id", async () => {
    for (const name of ["By any identifier", "By profile id, current or retired"]) {
      assert.deepEqual(await snapshotOf(name), { shown: all, links: 5 }, name);
      assert.equal((await rowsOf(name)).length, 6, name);
    }
    assert.deepEqual(await snapshotOf("By profile id, current or retired", { profile: merge.profileId }), {
      shown: all,
      links: 5,
    });
    assert.deepEqual(await rowsOf("By any identifier", { value: "c-unknown" }), []);
  });

  it("tells the evidence of every link of a person", async () => {
    const rows = await rowsOf("The evidence as a table, newest first");
    assert.equal(rows.length, 5);
    assert.deepEqual(rows.map(({ one, other, source, key }) => [one, other, source, key]).at(0), [
      "email office@example.com",
      "user_id ann",
      "alias",
      KEY,
    ]);
    assert.equal(rows[0]!["change"], merge.changeId);
    assert.ok(rows.some(({ source, event }) => source === "event" && event === eventId));
    assert.ok(rows.every(({ at }) => Math.abs(Date.parse(String(at)) - Date.now()) < 600_000));
    const times = rows.map(({ at }) => Date.parse(String(at)));
    assert.deepEqual(
      times,
      times.toSorted((one, other) => other - one),
    );
  });

  it("shows the links of one identifier", async () => {
    assert.deepEqual(await snapshotOf("The links of one identifier"), {
      shown: ["cookie_id:c-1", "user_id:ann"],
      links: 1,
    });
  });

  it("finds the path between two identifiers, and its evidence in order", async () => {
    const shown = ["cookie_id:c-1", "device_id:d-2", STORY.shared, "user_id:ann", "user_id:bob"];
    assert.deepEqual(await snapshotOf("Why are these two the same person?"), { shown, links: 4 });
    const rows = await rowsOf("Why are these two the same person? 2");
    assert.deepEqual(
      rows.map(({ step, one, other, source }) => [step, one, other, source]),
      [
        [1, "cookie_id c-1", "user_id ann", "identify"],
        [2, "user_id ann", "email office@example.com", "alias"],
        [3, "email office@example.com", "user_id bob", "identify"],
        [4, "user_id bob", "device_id d-2", "identify"],
      ],
    );
    for (const changed of [
      { to_namespace: "user_id", to_value: "eve" },
      { to_namespace: "cookie_id", to_value: "c-1" },
    ])
      assert.deepEqual(await rowsOf("Why are these two the same person?", changed), []);
  });

  it("lists the latest changes of the workspace, with the ids before and after", async () => {
    const rows = await rowsOf("Latest changes");
    assert.deepEqual(
      rows.map(({ outcome }) => outcome),
      ["created", "merged", "linked", "created", "linked", "created"],
    );
    const { before, after, identifiers, source, key, change } = rows[1]!;
    assert.deepEqual(before, [merge.profileId, merge.retired]);
    assert.deepEqual(identifiers, [STORY.shared, "user_id:ann"]);
    assert.deepEqual(
      { after, source, key, change },
      { after: [merge.profileId], source: "alias", key: KEY, change: merge.changeId },
    );
  });

  it("lists the merges of the last hours, and not those before", async () => {
    const name = "Merges of the last hours, and who asserted them";
    const rows = await rowsOf(name);
    assert.deepEqual(
      rows.map(({ change, key, source }) => [change, key, source]),
      [[merge.changeId, KEY, "alias"]],
    );
    assert.deepEqual(
      (await rowsOf(`${name} 2`)).map(({ key, source, merges }) => ({ key, source, merges })),
      [{ key: KEY, source: "alias", merges: 1 }],
    );
    for (const query of [name, `${name} 2`]) assert.deepEqual(await rowsOf(query, { hours: neo4j.int(-1) }), []);
  });

  it("tells what one change did, and who was on each side of a merge", async () => {
    assert.deepEqual(await snapshotOf("What one change did"), { shown: [STORY.shared, "user_id:ann"], links: 1 });
    const sides = await rowsOf("What one change did 2");
    assert.deepEqual(
      new Map(sides.map(({ profile_before, identifiers }) => [profile_before, identifiers])),
      new Map([
        [merge.profileId, 3],
        [merge.retired, 3],
      ]),
    );
    assert.equal(sides.length, 2);
  });

  it("lists what looks wrong: large profiles, several logins in one, what many people share", async () => {
    const profiles = await rowsOf("The biggest profiles");
    assert.deepEqual(profiles.map(({ profile, identifiers }) => [profile, identifiers])[0], [merge.profileId, 6]);
    assert.equal(profiles.length, 2);
    const several = await rowsOf("Profiles with several values of one namespace");
    assert.deepEqual(
      several.map(({ profile, values, identifiers }) => [profile, values, identifiers]),
      [[merge.profileId, 2, 6]],
    );
    assert.deepEqual(await rowsOf("Identifiers that many people share"), [
      { namespace: "email", value: "office@example.com", linked_with: 2 },
    ]);
    const [most] = await rowsOf("Identifiers with the most links");
    assert.deepEqual([most!["namespace"], most!["value"], most!["links"]], ["user_id", "ann", 3]);
    assert.ok((await rowsOf("Workspaces")).some((row) => row["workspace"] === workspace));
  });

  it("finds nothing to complain of in a graph that the service made, and each thing that is broken", async () => {
    assert.deepEqual(await rowsOf("Consistency"), []);
    for (const [problem, damage] of DAMAGES) {
      const session = driver.session({ database: "neo4j" });
      const transaction = await session.beginTransaction();
      try {
        await transaction.run(damage, { workspace });
        const { records } = await transaction.run(textOf("Consistency"), { workspace });
        const problems = records.map((record) => record.get("problem") as string);
        assert.ok(problems.includes(problem), `${problem}: ${problems.join(", ")}`);
      } finally {
        await transaction.rollback();
        await session.close();
      }
    }
  });

  it("scans in no query that it says goes by an index, and uses the index that it names", async () => {
    let byIndex = 0;
    for (const { name, text, said } of queries) {
      const named = [...said.matchAll(/`(\w+)\.(\w+)`/g)].map(([, label, property]) => `${label}(${property})`);
      if (!/\bIndex(es)?: |\bsame index\b/.test(said)) {
        assert.match(said, /\bReads (all|every) /, `${name}: the page says nothing of its cost`);
        continue;
      }
      byIndex += 1;
      const { summary } = await ask(`EXPLAIN ${text}`);
      const steps = stepsOf(summary.plan || assert.fail("no plan"));
      for (const { operator } of steps) assert.doesNotMatch(operator, /Scan/, `${name}: ${operator}`);
      const used = steps.map(({ details }) => details).join("\n");
      for (const index of named) assert.ok(used.includes(index), `${name}: uses no index on ${index}: ${used}`);
    }
    assert.ok(byIndex >= 14, String(byIndex));
  });

  it("styles labels, types and properties that exist", async () => {
    const rules = styleRulesOf(await pageOf("neo4j-browser.grass"));
    const styled = rules.map(({ name }) => name).toSorted();
    assert.equal(styled.join(" "), "Change Identifier LINKED OF Profile Workspace");
    for (const { kind, name, shown } of rules) {
      const pattern = kind === "node" ? `(x:${name})` : `()-[x:${name}]->()`;
      const { records } = await ask(`MATCH ${pattern} RETURN keys(x) AS keys LIMIT 1`);
      const known = records[0]!.get("keys") as readonly string[];
      assert.deepEqual([name, ...shown.filter((property) => !known.includes(property))], [name]);
    }
  });
});
