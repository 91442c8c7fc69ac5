import assert from "node:assert/strict";
import { schemas } from "../../cli/commands/schemas.js";
import type { Context } from "../../cli/command.js";
import { CliError } from "../../cli/fail.js";
import { useFolder } from "../support/cli.js";

describe("onym schemas", () => {
  const folder = useFolder();

  it("refuses a file that JSON.parse reads as something else, as the service does with the same bytes", async () => {
    const sent: unknown[] = [];
    const http = () => async (call: { readonly method: string; readonly body?: unknown }) => {
      if (call.method !== "GET") sent.push(call.body);
      return { schemas: [], next_cursor: null, version: 1 };
    };
    const run = (action: string, file: string) => {
      const context = { positionals: [action, file], values: {}, http, print: async () => {} };
      return schemas.run(context as unknown as Context);
    };
    for (const [text, problem] of [
      [
        '{"properties":{"email":{"x-identity":"email"},"email":{"type":"string"}}}',
        "properties.email: is a duplicate key",
      ],
      ['{"properties":{"n":{"maximum":9007199254740993}}}', "properties.n.maximum: is a number"],
      // Of the whole file, such as one that is not UTF-8.
      ["9007199254740993", "is a number"],
      ["# Signup\n\nsecret", "is not valid JSON$"],
    ] as const) {
      const file = folder.file("signup.json", text);
      for (const action of ["push", "diff"])
        await assert.rejects(run(action, file), (error) => {
          assert.ok(error instanceof CliError, String(error));
          assert.match(error.message, new RegExp(`signup.json: ${problem}`));
          return true;
        });
    }
    assert.deepEqual(sent, []);
    const schema = { properties: { n: { maximum: 1 } } };
    await run("push", folder.file("signup.json", JSON.stringify(schema)));
    assert.deepEqual(sent, [{ schema_id: "signup", schema }]);
  });
});
