import assert from "node:assert/strict";
import { json, onym, useFolder } from "../support/cli.js";
import { identifiersOf, profileOf } from "../support/sdk/client.js";
import { at, useApp, type TestWorkspace } from "../support/service/app.js";

/** Doubles make both the same. */
const TWO = ["1234567890123456789", "1234567890123456790"];
const UNFIT = "is a number that a double cannot represent; send it as a string";

describe("Numbers that a double would change, in onym import", () => {
  const app = useApp();
  const folder = useFolder();
  let workspace: TestWorkspace;
  let key: string;
  beforeEach(async () => {
    workspace = await app().workspace();
    key = await workspace.key("admin");
  });
  const run = (...args: readonly string[]) => onym(["import", ...args], { url: app().url, key });
  const profiles = async () => (await workspace.send("GET", "/v1/profiles")).body["profiles"];
  /** Is refused as if it had been sent, by the preview and by the service. */
  const refuses = async (args: readonly string[], sent: number, reasons: readonly string[]) => {
    const trial = await run(...args, "--dry-run", "--json");
    assert.deepEqual([at(json(trial), "items"), at(json(trial), "unfit")], [sent, reasons.length], trial.err);
    const ran = await run(...args, "--yes", "--json");
    assert.deepEqual([at(json(ran), "sent"), at(json(ran), "rejected")], [sent, reasons.length], ran.err);
    for (const reason of reasons) assert.ok(ran.err.includes(reason), ran.err);
    return ran;
  };

  it("make no two users of an archive one, whether their calls have an id or not", async () => {
    const text = (id: string, more: string) => `{"type":"track","event":"A","userId":${id}${more}}\n`;
    const file = folder.file(
      "ids.jsonl",
      [...TWO.map((id) => text(id, "")), text(TWO[0]!, ',"messageId":"m"')].join(""),
    );
    await refuses(
      ["segment", file],
      3,
      [1, 2, 3].map((line) => `ids.jsonl:${line}: userId: ${UNFIT}`),
    );
    assert.deepEqual(await profiles(), []);
  });

  it("leave the rest of a call without an id as it was sent", async () => {
    const call = '{ "messageId" : null, "userId":"u\\u002d1", "type":"track","event":"A","properties":{"total":1.50} }';
    const ran = await run("segment", folder.file("call.jsonl", `${call}\n`), "--yes");
    assert.equal(ran.exit, 0, ran.err);
    const { event_count: count } = (await profileOf(workspace, ["user_id", "u-1"], 1)) ?? {};
    assert.equal(count, 1);
  });

  it("keep their digits in ids of PostHog, and are refused in its properties", async () => {
    const text = (uuid: string, id: string, properties: string) =>
      `{"uuid":"${uuid}","event":"A","distinct_id":${id},"properties":${properties}}\n`;
    const nested = JSON.stringify(`{"order":${TWO[0]!}}`);
    const lines = [text("1", TWO[0]!, "{}"), text("2", TWO[1]!, "{}")];
    const unfit = [text("3", '"u-3"', '{"list":[1e400]}'), text("4", '"u-4"', nested)];
    const file = folder.file("numbers.jsonl", [...lines, ...unfit].join(""));
    await refuses(["posthog", file], 4, [
      `numbers.jsonl:3: properties.list.0: ${UNFIT}`,
      `numbers.jsonl:4: properties.order: ${UNFIT}`,
    ]);
    for (const id of TWO)
      assert.deepEqual(identifiersOf(await profileOf(workspace, ["user_id", id], 1)), [`user_id:${id}`]);
  });

  it("stay text in a column of a CSV file, which the service refuses", async () => {
    const properties = { email: { type: "string" }, order: { type: "integer" } };
    const schemaId = await workspace.schema({ type: "object", properties }, null);
    const rows = [...TWO, "9007199254740991", "7"].map((order) => `o@example.com,${order},2025-01-31T12:00:00Z\n`);
    const file = folder.file("orders.csv", `email,order,at\n${rows.join("")}`);
    const args = ["csv", file, "--schema", schemaId, "--timestamp", "at", "--field", "email=email", "--field"];
    await refuses(
      [...args, "order=order"],
      4,
      [2, 3].map((line) => `orders.csv:${line}: order: must be integer`),
    );
  });
});
