import assert from "node:assert/strict";
import type { WorkspaceId } from "../../../core/ids.js";
import { listAt, SIGNUP_SCHEMA, textAt, until, useApp, type TestWorkspace } from "../../support/service/app.js";
import { openSdkDoor } from "../../support/service/sdk.js";

const LEVELS = `${"[".repeat(70)}${"]".repeat(70)}`;
const EXTERNAL_IDS = JSON.stringify(
  Array.from({ length: 1_001 }, (_, n) =>
    n < 1_000 ? { type: "a", id: String(n) } : { type: "user_id", id: "lovelace" },
  ),
);

/** What is wrong with an item must not hide whom it names. */
describe("What is kept of wrong items, once a person is erased", () => {
  const app = useApp();

  const cases: readonly (readonly [string, string])[] = [
    ["whose key is there twice", '"userId":"lovelace","userId":"bob"'],
    [
      "whose key is there twice further in",
      '"context":{"externalIds":[{"type":"user_id","id":"lovelace","id":"bob"}]}',
    ],
    ["whose key is there twice, behind too many levels", `"a":${LEVELS},"userId":"lovelace","userId":"bob"`],
    ["with more external ids than are read", `"context":{"externalIds":${EXTERNAL_IDS}}`],
    ["whose id is a number that no double holds", '"type":"track","userId":12345678901234567890'],
    ["of an unknown type", '"type":"nope","userId":"lovelace"'],
  ];
  for (const [name, members] of cases)
    it(`does not name them: an item ${name}`, async () => {
      const workspace = await app().workspace();
      const door = openSdkDoor(app());
      await door.sendText(workspace, `{"batch":[{"messageId":"m",${members}}]}`, "collect");
      await door.close();
      assert.doesNotMatch(await lettersBehind(workspace, 1), /lovelace|12345678901234567890/);
    });

  it("does not name them: an event that collect refused, nested too deeply and with a key twice", async () => {
    const workspace = await app().workspace();
    await workspace.send("PUT", "/v1/sdk/settings", { keep_rejects: true });
    const schema_id = await workspace.schema(SIGNUP_SCHEMA, false);
    const payload = `{"a":${LEVELS},"email":"lovelace@x.test","email":"bob@x.test"}`;
    const body = `{"schema_id":"${schema_id}","timestamp":"2026-01-01T00:00:00Z","payload":${payload}}`;
    const answer = await workspace.send("POST", "/v1/collect", body);
    assert.deepEqual([answer.status, answer.body["code"]], [422, "payload_too_large"], answer.text);
    assert.doesNotMatch(await lettersBehind(workspace, 1), /lovelace/);
  });

  it("does not name them: an event that collect refused, with a number that no double holds", async () => {
    const workspace = await app().workspace();
    await workspace.send("PUT", "/v1/sdk/settings", { keep_rejects: true });
    const properties = { user: { type: ["string", "integer"], "x-identity": { namespace: "user_id" } } };
    const schema_id = await workspace.schema({ type: "object", properties }, false);
    const body = `{"schema_id":"${schema_id}","timestamp":"2026-01-01T00:00:00Z","payload":{"user":12345678901234567890}}`;
    const answer = await workspace.send("POST", "/v1/collect", body);
    assert.deepEqual([answer.status, answer.body["code"]], [422, "validation_failed"], answer.text);
    assert.doesNotMatch(await lettersBehind(workspace, 1), /12345678901234567890/);
  });

  /** Of so many letters what is left behind an erasure. */
  async function lettersBehind(workspace: TestWorkspace, count: number): Promise<string> {
    const { events } = app().service.backends;
    const page = { limit: 10, before: null, eventId: null, reason: null };
    await until(
      () => workspace.send("GET", "/v1/dead-letters"),
      ({ body }) => listAt(body, "dead_letters").length === count,
    );
    assert.equal((await events.deadLetters(workspace.id as WorkspaceId, page)).length, count);
    const identifiers = [
      { namespace: "user_id", value: "lovelace" },
      { namespace: "user_id", value: "12345678901234567890" },
      { namespace: "email", value: "lovelace@x.test" },
    ];
    const erased = await workspace.send("POST", "/v1/erasures", { identifiers });
    assert.equal(erased.status, 202, erased.text);
    const receipt = await until(
      () => workspace.send("GET", `/v1/erasures/${textAt(erased.body, "erasure_id")}`),
      ({ body }) => body["status"] === "completed",
    );
    assert.equal(receipt.body["status"], "completed", receipt.text);
    const left = await events.deadLetters(workspace.id as WorkspaceId, page);
    return left.map(({ message }) => message.toString()).join("\n");
  }
});
