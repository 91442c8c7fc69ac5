import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { describeConsole } from "../support/console/console.js";
import { DRAWN } from "../support/console/crawl.js";
import { wereRefused } from "../support/console/hands.js";
import { textAt } from "../support/service/app.js";

/** Requests of the method wait there until what this answers is called. */
async function hold(page: Page, method: string, url: RegExp): Promise<() => void> {
  let letGo = (): void => undefined;
  const held = new Promise<void>((resolve) => (letGo = resolve));
  await page.route(url, async (route) => {
    if (route.request().method() === method) await held;
    await route.continue();
  });
  return letGo;
}

describeConsole("what is under way", (console) => {
  for (const [opener, verb] of [
    ["Rotate", "Create the new key"],
    ["New key", "Create"],
  ] as const)
    it(`keeps its dialog, so that a secret is seen which is shown once: ${opener}`, async () => {
      const { page, go } = await console().open(await console().app.workspace(), { path: "/stats" });
      await page.getByRole("heading", { name: "Statistics" }).waitFor();
      await go("/keys");
      const letGo = await hold(page, "POST", /\/v1\/keys/);
      await page.getByRole("button", { name: opener }).click();
      const dialog = page.getByRole("dialog");
      const busy = dialog.getByRole("button", { name: "One moment" });
      await dialog.getByRole("button", { name: verb }).click();
      await busy.waitFor();
      await page.keyboard.press("Escape");
      await page.evaluate(DRAWN);
      await busy.waitFor({ timeout: 1_000 });
      await page.goBack();
      await page.getByRole("button", { name: "Stay" }).click({ timeout: 10_000 });
      letGo();
      await page.getByText("Copy it now").waitFor();
    });

  it("keeps its dialog, so that a refusal is seen", async () => {
    const workspace = await console().app.workspace();
    const { body } = await workspace.send("POST", "/v1/audiences", { name: "All", rule: {} });
    const id = textAt(body, "audience_id");
    const user = await workspace.send("POST", "/v1/audiences", { name: "Too", rule: { $audience: id } });
    assert.equal(user.status, 201);
    const opened = await console().open(workspace, { path: `/audiences/${id}`, as: "editor" });
    const { page } = opened;
    const letGo = await hold(page, "DELETE", /\/v1\/audiences/);
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Delete the audience" }).click();
    await page.keyboard.press("Escape");
    letGo();
    await dialog.getByText("The rules of these audiences refer to it").waitFor({ timeout: 10_000 });
    wereRefused(opened, 409);
  });

  it("takes nobody from a page that they went to before the answer came", async () => {
    const { page } = await console().open(await console().app.workspace(), { path: "/new-schema" });
    await page.getByLabel("Schema id").fill("signup");
    const letGo = await hold(page, "POST", /\/v1\/schemas$/);
    await page.getByRole("button", { name: "Register" }).click();
    await page.getByRole("link", { name: "Audiences" }).click();
    await page.getByRole("button", { name: "Leave" }).click();
    await page.getByRole("link", { name: "New audience" }).first().click();
    const name = page.getByLabel("Name", { exact: true });
    await name.fill("Parisians");
    letGo();
    await page.getByText("The schema signup is registered.").waitFor();
    await page.evaluate(DRAWN);
    assert.equal(await name.inputValue({ timeout: 5_000 }), "Parisians");
  });
});
