import assert from "node:assert/strict";
import { textAt } from "../../support/service/app.js";
import { describeConsole } from "../../support/console/console.js";
import { id, identify } from "../../support/console/people.js";

describeConsole("an undo at a device", (console) => {
  it("offers to keep the same two apart when it is opened again later", async () => {
    const workspace = await console().app.workspace();
    await identify(workspace, id("user_id", "ada"), id("device_id", "phone"));
    await identify(workspace, id("device_id", "phone"), id("user_id", "bob"));
    await workspace.send("POST", "/v1/identity/unlink", { from: id("user_id", "ada"), to: id("device_id", "phone") });
    const path = "/undo?what=pair&namespace=user_id&value=ada&to_namespace=device_id&to_value=phone";
    const { page } = await console().open(workspace, { as: "admin", path });
    await page.getByText("There is nothing to undo").waitFor();
    const offer = page.locator(".message", { hasText: "These are two people now" });
    await offer.locator(".sent").nth(1).waitFor();
    assert.deepEqual(await offer.locator(".sent").allTextContents(), ["ada", "bob"]);
  });

  it("offers to keep the two people apart whom a device joined, and says with whom the device is", async () => {
    const workspace = await console().app.workspace();
    await identify(workspace, id("user_id", "ada"), id("device_id", "phone"));
    await identify(workspace, id("device_id", "phone"), id("user_id", "bob"));
    const path = "/undo?what=pair&namespace=user_id&value=ada&to_namespace=device_id&to_value=phone";
    const { page, look } = await console().open(workspace, { as: "admin", path });
    await page.getByRole("button", { name: "Unlink…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unlink", exact: true }).click();
    await page.getByText("Done: unlinked").waitFor();
    const offer = page.locator(".message", { hasText: "These are two people now" });
    await offer.locator(".sent").nth(1).waitFor();
    assert.deepEqual(await offer.locator(".sent").allTextContents(), ["ada", "bob"]);
    await page.getByText("The device is still with one of them").waitFor();
    await look("people-undo-device");
    await offer.getByRole("link", { name: "Preview: also keep them apart" }).click();
    await page.getByText("They are two people already. Once the pair is forbidden, they stay two.").waitFor();
    assert.equal(await page.getByRole("figure").count(), 0);
    await page.getByRole("button", { name: "Forbid…" }).click();
    const dialog = page.getByRole("dialog", { name: "Forbid?" });
    await dialog.getByText("These two may not come into one profile from now on").waitFor();
    await dialog.getByRole("button", { name: "Forbid", exact: true }).click();
    await page.getByText("Done: forbidden").waitFor();
    const { body } = await workspace.send("GET", "/v1/identity/forbidden-pairs");
    assert.equal(textAt(body, "forbidden_pairs.length"), "1");
  });
});
