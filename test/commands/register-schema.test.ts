import assert from "node:assert/strict";
import { addSchemaVersion } from "../../commands/register-schema.js";
import type { Services } from "../../commands/services.js";
import { AppError } from "../../core/errors.js";
import type { SchemaId } from "../../core/ids.js";
import { aSchema, refusal } from "../support/schemas.js";

const FIRST = aSchema({ type: "object", properties: { a: { type: "string" } } });
const NEXT = { type: "object", properties: { a: {} } };

describe("A version that is added to a schema", () => {
  /** What the thread is asked to compare, and what it answers. */
  const add = async (answer: () => Promise<readonly never[]>) => {
    const compared: unknown[] = [];
    const compare = (...asked: unknown[]) => {
      compared.push(asked);
      return answer();
    };
    const examine = async () => ({ kind: "fine", linear: true, traits: [], warnings: [] });
    const catalog = {
      findSchema: async () => FIRST,
      schemaVersions: async () => [],
      putSchema: async () => ({ kind: "created" }),
    };
    const services = { catalog, validator: { thread: { examine, compare } } } as unknown as Services;
    const given = { schema: NEXT, text: Buffer.from(JSON.stringify(NEXT)), dryRun: false };
    const caller = { workspace: FIRST.workspace, now: 1 };
    const run = () => addSchemaVersion(services, caller, "order" as SchemaId, given);
    return { compared, run };
  };

  it("is compared with the one before in the thread, in the turn of its workspace", async () => {
    const { compared, run } = await add(async () => []);
    assert.equal((await run()).version.version, 2);
    assert.deepEqual(compared, [[FIRST.schema, JSON.stringify(NEXT), FIRST.workspace]]);
  });

  it("is refused as incompatible when that takes too long", async () => {
    const { run } = await add(() => Promise.reject(new AppError("schema_too_expensive", "too long")));
    assert.deepEqual(await refusal("incompatible_schema", run), [
      { path: "schema", message: "is too complex to compare with the version before" },
    ]);
  });

  it("is refused with the same code as before when the thread has no time for it", async () => {
    const { run } = await add(() => Promise.reject(new AppError("unavailable", "busy")));
    await refusal("unavailable", run);
  });
});
