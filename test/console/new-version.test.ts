import assert from "node:assert/strict";
import { describeConsole } from "../support/console/console.js";
import { DRAWN } from "../support/console/crawl.js";

describeConsole("a new version of a schema", (console) => {
  it("is no work any more, nor its compatibility, once the changes are undone", async () => {
    const workspace = await console().app.workspace();
    const { page } = await console().open(workspace, { path: `/schemas/${await workspace.schema()}` });
    await page.getByRole("tab", { name: "New version" }).click();
    await page.getByLabel("Compatibility").selectOption("none");
    await page.getByRole("button", { name: "Discard the changes" }).click({ timeout: 10_000 });
    assert.equal(await page.getByLabel("Compatibility").inputValue(), "backward");
    await page.getByRole("tab", { name: "Versions" }).click();
    await page.getByText("There is one version").waitFor();
    assert.equal(await page.getByRole("dialog").count(), 0);
  });

  it("is not offered of a built-in schema, which was never registered either", async () => {
    const { page, look } = await console().open(await console().app.workspace(), { path: "/schemas/sdk.track" });
    await page.getByText("built in: the shape of what SDKs send").waitFor();
    assert.deepEqual(await page.getByRole("tab").allTextContents(), ["Schema", "Check an event"]);
    assert.equal(await page.getByText("registered").count(), 0);
    await look("schema-built-in");
  });

  it("keeps what was typed while the one before was registered, and that one is nobody else's", async () => {
    const workspace = await console().app.workspace();
    const { page } = await console().open(workspace, { path: `/schemas/${await workspace.schema()}` });
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    await page.route("**/versions", async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole("tab", { name: "New version" }).click();
    const text = page.getByLabel("JSON Schema");
    const sent = (await text.inputValue()).replace('"properties": {', '"properties": { "plan": { "type": "string" },');
    await text.fill(sent);
    await page.getByRole("button", { name: "Register the version" }).click();
    const typed = sent.replace('"plan"', '"tier": {}, "plan"');
    await text.fill(typed);
    letGo();
    await page.getByText("version 2", { exact: true }).waitFor();
    await page.evaluate(DRAWN);
    assert.equal(await text.inputValue(), typed);
    assert.equal(await page.getByText("was registered meanwhile").count(), 0);
    await page.locator(".diff .added", { hasText: "tier" }).waitFor();
    await page.getByRole("button", { name: "Register the version" }).click();
    await page.getByText("version 3", { exact: true }).waitFor();
    await page.getByRole("tab", { name: "Versions" }).click();
    await page.getByLabel("From", { exact: true }).waitFor();
  });
});
