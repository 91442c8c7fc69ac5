import assert from "node:assert/strict";
import { newId, type ProfileId } from "../../../core/ids.js";
import type { Client, Row } from "../../../graph/neo4j/client.js";
import { LOCATION } from "../../../graph/neo4j/cypher/reads.js";
import { createProfileReads } from "../../../graph/neo4j/pages/pages.js";
import { aWorkspace } from "../../support/identity/fixtures.js";

/** More than are surely read before anybody writes. */
const SIZE = 200;

describe("A page of a profile in Neo4j that is erased while it is read", () => {
  for (const what of ["members", "links", "historyIds"] as const)
    it(`has no ${what}`, async () => {
      const asked: string[] = [];
      const read: Client["read"] = async (statement) => {
        asked.push(statement);
        const whole: Row = [SIZE, 1, null, ["hub"], null, SIZE, []];
        return asked.length === 1 ? [whole] : [];
      };
      const reads = createProfileReads({ read } as Client);
      const page = { limit: 10, after: null, before: null };
      assert.deepEqual(await reads[what](aWorkspace(), newId<ProfileId>(), page), []);
      assert.equal(asked[1], LOCATION);
    });
});
