import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describeConsole } from "../../support/console/console.js";
import { aPerson } from "../../support/console/people.js";
import { now, textAt } from "../../support/service/app.js";

describeConsole("what was sent of a person", (console) => {
  it("shows and saves an event digit by digit as it was sent", async () => {
    const workspace = await console().app.workspace();
    const { profileId, email, schemaId } = await aPerson(workspace, "digits");
    const sent = `{"email":"${email}","note":"a, \\"b\\": [1]","10":1E2,"2":[1.50,{}],"payload":null}`;
    const { body } = await workspace.send(
      "POST",
      "/v1/collect",
      `{"schema_id":"${schemaId}","timestamp":"${now()}","payload":${sent}}`,
    );
    const eventId = textAt((await workspace.settled(body["event_id"])).body, "event_id");
    const { page, go } = await console().open(workspace, { as: "viewer", path: `/profiles/${profileId}?tab=timeline` });
    const plain = (text: string): string => text.replaceAll(/\s/g, "");
    const payload = page.getByRole("region", { name: "the payload" });
    const row = page.getByRole("row", { name: eventId.slice(-6) });
    await row.getByRole("button", { name: "Payload" }).click();
    assert.equal(plain((await payload.textContent())!), plain(sent));
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save as a file" }).click(),
    ]);
    const saved = await readFile(await download.path(), "utf8");
    JSON.parse(saved);
    assert.ok(plain(saved).includes(plain(sent)), saved);
    await go(`/events/${eventId}`);
    await page.getByRole("heading", { name: "Payload" }).waitFor();
    assert.equal(plain((await payload.textContent())!), plain(sent));
  });
});
