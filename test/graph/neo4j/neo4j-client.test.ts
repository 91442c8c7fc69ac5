import assert from "node:assert/strict";
import type { Driver } from "neo4j-driver";
import { createClient, readOnce, writeOnce } from "../../../graph/neo4j/client.js";

const LIMIT = 7;

/** A driver that notes how much of the stack would be noted while it is asked, and does with the statement as it is told. */
function aDriver(seen: number[], answer: () => Promise<unknown>): Driver {
  const run = () => {
    seen.push(Error.stackTraceLimit);
    return answer();
  };
  const transaction = { run, commit: async () => undefined, rollback: async () => undefined };
  const session = { run, beginTransaction: async () => transaction, close: async () => undefined };
  return { session: () => session } as unknown as Driver;
}

describe("A statement to Neo4j", () => {
  const before = Error.stackTraceLimit;
  beforeEach(() => (Error.stackTraceLimit = LIMIT));
  afterEach(() => (Error.stackTraceLimit = before));

  const inStep = async (driver: Driver) => {
    const options = { url: "bolt://127.0.0.1", user: "neo4j", password: "", onError: () => undefined };
    const step = await createClient(options, driver, () => undefined).begin();
    await step.run("RETURN 1", {});
  };
  const asks: Readonly<Record<string, (driver: Driver) => Promise<unknown>>> = {
    read: (driver) => readOnce(driver, "RETURN 1", {}),
    written: (driver) => writeOnce(driver, "RETURN 1", {}),
    "run in a step": inStep,
  };
  for (const [name, ask] of Object.entries(asks)) {
    it(`that is ${name} notes no stack, and leaves all others theirs`, async () => {
      const seen: number[] = [];
      const asked = ask(aDriver(seen, async () => ({ records: [] })));
      assert.equal(Error.stackTraceLimit, LIMIT, "while it is under way");
      await asked;
      assert.deepEqual([seen, Error.stackTraceLimit], [[0], LIMIT]);
    });

    it(`that cannot be ${name} leaves the others theirs too`, async () => {
      const fails = (): never => {
        throw new Error("refused");
      };
      await assert.rejects(ask(aDriver([], fails)));
      assert.equal(Error.stackTraceLimit, LIMIT);
    });
  }
});
