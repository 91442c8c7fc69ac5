import assert from "node:assert/strict";
import { newId, type ProfileId } from "../../../core/ids.js";
import type { Client, Row } from "../../../graph/neo4j/client.js";
import { createNeo4jCopying } from "../../../graph/neo4j/copy/copy.js";
import { aWorkspace } from "../../support/identity/fixtures.js";

const page = { limit: 10, after: null };

/** The answers in turn; the last one again and again. */
const answering = (...answers: readonly (readonly Row[])[]) => {
  let asked = 0;
  const read: Client["read"] = async () => answers[Math.min(asked++, answers.length - 1)]!;
  return { copying: createNeo4jCopying({ read } as Client), asked: () => asked };
};

describe("A dump of rows in Neo4j that others delete while it reads them", () => {
  const workspace = aWorkspace();
  const [first, second] = [newId<ProfileId>(), newId<ProfileId>()];
  const whole: Row = [first, workspace, 1, 1, '{"email":1}', null];

  it("has the profiles that stay, also where one goes between two of its columns", async () => {
    const gone: Row = [second, null, null, null, null, null];
    const going: Row = [second, workspace, 1, 1, null, null];
    const { copying, asked } = answering([whole, gone], [whole, going], [whole]);
    const { rows, next } = await copying.dump("profiles", page);
    assert.deepEqual(
      rows.map(({ profileId }) => profileId),
      [first],
    );
    assert.deepEqual([next, asked()], [null, 3]);
  });

  it("names no identifier that goes, of those a change is about", async () => {
    const { copying } = answering([["change", workspace, ["one", null]]], [["change", workspace, ["one"]]]);
    const { rows } = await copying.dump("subjects", page);
    assert.deepEqual(rows, [{ workspace, changeId: "change", uid: "one" }]);
  });

  it("does not keep a damaged profile to itself", async () => {
    const { copying } = answering([[first, workspace, 1, 1, null, null]]);
    await assert.rejects(copying.dump("profiles", page), TypeError);
  });
});
