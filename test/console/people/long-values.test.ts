import assert from "node:assert/strict";
import { describeConsole } from "../../support/console/console.js";

const LONG = `begin ${"long value with spaces ".repeat(40)}end`;

describeConsole("a long trait", (console) => {
  it("is seen to go on, and can be read whole and copied, also on a phone", async () => {
    const workspace = await console().app.workspace();
    const schemaId = await workspace.schema({
      type: "object",
      properties: {
        user: { type: "string", "x-identity": { namespace: "user_id" } },
        note: { type: "string", "x-trait": { name: "note" } },
      },
    });
    const sent = await workspace.collect(schemaId, { user: "ada", note: LONG });
    await workspace.settled(sent.body["event_id"]);
    const found = await workspace.send("POST", "/v1/profiles/lookup", {
      identifiers: [{ namespace: "user_id", value: "ada" }],
    });
    const [{ profile_id: profileId }] = found.body["profiles"] as [{ profile_id: string }];
    const { page, go } = await console().open(workspace, { path: "/search" });
    await page.setViewportSize({ width: 360, height: 780 });
    await go(`/profiles/${profileId}`);
    const row = page.getByRole("row", { name: /note/ });
    await row.getByText(/^begin .*…$/).waitFor();
    await row.getByRole("button", { name: "Copy the value" }).waitFor();
    await row.getByRole("button", { name: "Show all" }).click();
    const shown = row.getByText(LONG);
    await shown.waitFor();
    const { height } = (await shown.boundingBox())!;
    assert.ok(height > 300, `${height} px are shown`);
    await row.getByRole("button", { name: "Show less" }).click();
    await row.getByText(/^begin .*…$/).waitFor();
  });
});
