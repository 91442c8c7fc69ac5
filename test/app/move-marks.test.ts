import assert from "node:assert/strict";
import neo4j from "neo4j-driver";
import { markAll } from "../../app/move/side.js";
import { AppError } from "../../core/errors.js";
import type { Client } from "../../graph/neo4j/client.js";
import { createNeo4jPlace } from "../../graph/neo4j/copy/place.js";
import { UNMARK } from "../../graph/neo4j/cypher/copy.js";
import type { MoveMark, Place } from "../../core/ports/copying.js";

const MARK: MoveMark = { moveId: "m1", state: "arriving", other: "there" };

/** A place in memory; `fail` throws where its store would. */
function aPlace(name: string, fail: () => void = () => undefined): Place {
  let mark: MoveMark | null = null;
  return {
    name,
    mark: async () => mark,
    setMark: async (given) => {
      fail();
      mark = given;
    },
    stands: async () => new Map(),
  };
}

/** Works so many times, then throws each of the errors once. */
function failing(works: number, ...errors: readonly Error[]): () => void {
  let times = 0;
  return () => {
    times += 1;
    const error = errors[times - works - 1];
    if (error !== undefined) throw error;
  };
}

describe("The marks of a move", () => {
  it("are set at the catalog first and taken away there last, wherever it breaks", async () => {
    const broken = new Error("broken");
    const halfSet = [aPlace("catalog"), aPlace("graph", failing(0, broken))];
    await assert.rejects(markAll(halfSet, MARK), broken);
    assert.deepEqual(await Promise.all(halfSet.map((place) => place.mark())), [MARK, null]);
    for (const halfTaken of [
      [aPlace("catalog"), aPlace("graph", failing(1, broken))],
      [aPlace("catalog", failing(1, broken)), aPlace("graph")],
    ]) {
      await markAll(halfTaken, MARK);
      await assert.rejects(markAll(halfTaken, null), broken);
      assert.deepEqual(await halfTaken[0]!.mark(), MARK);
    }
  });

  it("are taken away from a store that was away for a moment", async () => {
    const places = [aPlace("catalog"), aPlace("graph", failing(1, new AppError("unavailable", "away")))];
    await markAll(places, MARK);
    await markAll(places, null);
    assert.deepEqual(await Promise.all(places.map((place) => place.mark())), [null, null]);
  });

  it("are taken away from Neo4j too when its connection broke", async () => {
    const broken = new neo4j.Neo4jError("broken", "ServiceUnavailable", "", "");
    const [written, fail] = [[] as string[], failing(0, broken, broken, broken)];
    const write = async (statement: string) => {
      fail();
      written.push(statement);
      return [];
    };
    await markAll([createNeo4jPlace({ write } as unknown as Client, "Neo4j")], null);
    assert.deepEqual(written, [UNMARK]);
  });
});
