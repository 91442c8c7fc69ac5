import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { describeConsole, ownPage } from "../support/console/console.js";
import { DRAWN } from "../support/console/crawl.js";
import { wereRefused } from "../support/console/hands.js";

describeConsole("the session", (console) => {
  it("asks for a key, says what is wrong with it, and opens with a right one, by keyboard alone", async () => {
    const workspace = await console().app.workspace("Corner shop");
    const { page, look, wrongs } = await console().stranger();
    const field = page.getByLabel("API key");
    await field.waitFor();
    await look("login");
    await field.focus();
    await page.keyboard.type("onym_nothing");
    await page.keyboard.press("Enter");
    await page.getByText("This key does not exist").waitFor();
    // A browser tells of each refused request.
    assert.equal(wrongs.length, 1);
    (wrongs as string[]).splice(0);
    await field.fill("");
    await field.focus();
    await page.keyboard.type(await workspace.key("viewer"));
    await page.keyboard.press("Enter");
    await page.getByText("Corner shop").first().waitFor();
    await page.getByRole("button", { name: "Log out" }).focus();
    await page.keyboard.press("Enter");
    await field.waitFor();
    await page.reload();
    await field.waitFor();
  });

  it("leaves the focus to who moved it while a page was loading, and else gives it to the heading", async () => {
    const { page } = await console().open(await console().app.workspace(), { path: "/stats" });
    const heading = (name: string) => page.getByRole("heading", { name, exact: true, level: 1 });
    await heading("Statistics").and(page.locator(":focus")).waitFor();
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    await page.route(/\/settings-[^/]*\.js$/, async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole("link", { name: "Settings" }).click();
    await page.locator(".bones").waitFor();
    const out = page.getByRole("button", { name: "Log out" });
    await out.focus();
    letGo();
    await heading("Settings").waitFor();
    await page.evaluate(DRAWN);
    assert.equal(await out.and(page.locator(":focus")).count(), 1);
    await page.getByRole("navigation").getByRole("link", { name: "Namespaces" }).click();
    await heading("Namespaces").and(page.locator(":focus")).waitFor();
  });

  it("ends when its key is revoked, and says so", async () => {
    const workspace = await console().app.workspace();
    const { page, wrongs } = await console().open(workspace, { as: "viewer", path: "/stats" });
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
    const { body } = await workspace.send("GET", "/v1/keys");
    const viewer = (body["keys"] as { key_id: string; role: string }[]).find(({ role }) => role === "viewer")!;
    assert.equal((await workspace.send("DELETE", `/v1/keys/${viewer.key_id}`)).status, 204);
    await page.getByText("This session has ended").waitFor();
    (wrongs as string[]).splice(0);
  });

  it("ends in each tab that shows another key than the last log-in, so that no tab reads or writes in another workspace", async () => {
    const shop = await console().app.workspace("Corner shop");
    const staging = await console().app.workspace("Staging");
    await shop.send("PUT", "/v1/identity/settings", {
      shared_identifier_limit: 4,
      sending_keys_add_namespaces: true,
    });
    const stored = async (of: typeof shop) => (await of.send("GET", "/v1/identity/settings")).body;
    const before = await stored(staging);
    const { page, wrongs } = await console().open(shop, { path: "/settings" });
    await page.getByLabel("Shared identifier limit").fill("5");
    const other = await page.context().newPage();
    await other.goto(`${console().app.url}/console/#/stats`);
    await other.getByRole("button", { name: "Log out" }).click();
    await other.getByLabel("API key").fill(await staging.key("owner"));
    await other.getByRole("button", { name: "Log in" }).click();
    await other.getByText("Staging").first().waitFor();
    await page.getByRole("button", { name: "Save" }).first().click();
    const again = page.getByRole("dialog", { name: "Log in again" });
    await again.getByText("In another tab, this browser logged in with another key.").waitFor();
    assert.deepEqual(await stored(staging), before);
    assert.equal((await stored(shop))["shared_identifier_limit"], 4);
    await page.getByLabel("API key").fill(await shop.key("owner"));
    await page.getByRole("button", { name: "Log in" }).click();
    await again.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Save" }).first().click();
    await page.getByText("The identity settings are saved.").waitFor();
    assert.deepEqual(await stored(staging), before);
    assert.equal((await stored(shop))["shared_identifier_limit"], 5);
    await other.getByRole("link", { name: "Namespaces" }).click();
    await other.getByText("In another tab, this browser logged in with another key.").waitFor();
    (wrongs as string[]).splice(0);
  });

  it("goes on where a tab with another key logs out, and that tab says so", async () => {
    const shop = await console().app.workspace("Corner shop");
    const staging = await console().app.workspace("Staging");
    // A page that is not read again by itself, which would end the session first.
    const opened = await console().open(shop, { path: "/namespaces" });
    const { page } = opened;
    await page.getByRole("cell", { name: "user_id" }).waitFor();
    const headers = ownPage(console().app.url);
    const data = { key: await staging.key("owner") };
    assert.equal((await page.request.post(`${console().app.url}/console/session`, { headers, data })).status(), 204);
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByText("In another tab, this browser logged in with another key.").waitFor({ timeout: 10_000 });
    await page.getByText("When the service first started").waitFor();
    wereRefused(opened, 401);
    await page.reload();
    await page.getByText("Staging").first().waitFor();
  });

  describe("that ends while a secret is shown once", () => {
    const SECRET = /^(whsec|onym)_/;
    const textOf = async (page: Page, label: string): Promise<string> => {
      await page.evaluate(DRAWN);
      return (await page.getByRole("region", { name: label }).textContent({ timeout: 5_000 }))!.trim();
    };
    const keep = (page: Page) => page.getByRole("button", { name: "I have saved it" });

    it("leaves the secret of a webhook on the page, also after another log-in, until it is kept", async () => {
      const workspace = await console().app.workspace("Corner shop");
      const staging = await console().app.workspace("Staging");
      const { page, wrongs } = await console().open(workspace, { path: "/webhooks" });
      await page.getByRole("button", { name: "New webhook" }).first().click();
      await page.getByLabel("Address").fill("https://hooks.example.com");
      await page.getByRole("button", { name: "Create", exact: true }).click();
      await keep(page).waitFor();
      const secret = await textOf(page, "the secret");
      assert.match(secret, SECRET);
      const refused = page.waitForResponse((response) => response.status() === 401);
      const other = await page.context().newPage();
      await other.goto(`${console().app.url}/console/#/stats`);
      await other.getByRole("button", { name: "Log out" }).click();
      await other.getByLabel("API key").fill(await staging.key("owner"));
      await other.getByRole("button", { name: "Log in" }).click();
      await refused;
      await page.getByText("Copy the secret that this page shows").waitFor();
      assert.equal(await textOf(page, "the secret"), secret);
      await keep(page).click();
      await page.getByText("When the service first started").waitFor();
      (wrongs as string[]).splice(0);
    });

    it("leaves one's own new key on the page, also when the service was away and is back, until it is kept", async () => {
      const { page, wrongs } = await console().open(await console().app.workspace(), { path: "/keys" });
      await page.getByText("yours").waitFor();
      await page.route("**/console/session", (route) => route.abort());
      await page.route("**/v1/keys", (route) => route.abort());
      await page.getByRole("button", { name: "New key" }).click();
      await page.getByRole("button", { name: "Create", exact: true }).click();
      const banner = page.getByText("The service does not answer. This page").first();
      await banner.waitFor();
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.unroute("**/v1/keys");
      await page.getByRole("row", { name: /yours/ }).getByRole("button", { name: "Rotate" }).click();
      await page.getByRole("button", { name: "Create the new key" }).click();
      await keep(page).waitFor();
      const secret = await textOf(page, "the key");
      assert.match(secret, SECRET);
      const refused = page.waitForResponse((response) => response.status() === 401);
      await page.unroute("**/console/session");
      await refused;
      await page.getByText("Copy the secret that this page shows").waitFor();
      assert.equal(await textOf(page, "the key"), secret);
      await keep(page).click();
      await page.getByText("This session has ended").waitFor();
      await page.getByText("When the service first started").waitFor();
      (wrongs as string[]).splice(0);
    });

    it("leaves the key of a sender on the page until the person goes to another one", async () => {
      const { page, wrongs } = await console().open(await console().app.workspace(), { path: "/start" });
      await page.getByRole("button", { name: "Create a key" }).click();
      await page.getByText("The key is shown once").waitFor();
      const key = await textOf(page, "the key");
      assert.match(key, SECRET);
      const headers = ownPage(console().app.url);
      const ended = await page.request.delete(`${console().app.url}/console/session`, { headers });
      assert.equal(ended.status(), 204);
      await page.getByRole("button", { name: "Turn on: One login per profile" }).click();
      await page.getByText("Copy the secret that this page shows").waitFor();
      assert.equal(await textOf(page, "the key"), key);
      const pages = page.getByRole("navigation", { name: "Pages" });
      await pages.getByRole("link", { name: "Namespaces" }).click();
      await page.getByText("When the service first started").waitFor();
      (wrongs as string[]).splice(0);
    });
  });

  it("shows the whole navigation on a laptop, and the page where one is in a lower window", async () => {
    const { page, go } = await console().open(await console().app.workspace(), { path: "/settings", width: 1_440 });
    const nav = page.getByRole("navigation", { name: "Pages" });
    const current = nav.locator('[aria-current="page"]');
    const isSeen = async (): Promise<boolean> => {
      const [inner, outer] = [await current.boundingBox(), await nav.boundingBox()];
      // A browser scrolls by whole pixels.
      return inner!.y + 1 > outer!.y && inner!.y + inner!.height < outer!.y + outer!.height + 1;
    };
    await page.getByRole("heading", { name: "Settings", exact: true }).waitFor();
    const hidden = "document.querySelector('.nav').scrollHeight - document.querySelector('.nav').clientHeight";
    assert.equal(await page.evaluate(hidden), 0);
    await page.setViewportSize({ width: 1_440, height: 480 });
    await go("/start");
    await nav.locator('[href="#/start"][aria-current="page"]').waitFor();
    assert.ok(await isSeen(), "the first");
    await go("/settings");
    await nav.locator('[href="#/settings"][aria-current="page"]').waitFor();
    assert.ok(await isSeen(), "the last");
  });

  it("has a menu on a phone that a link to the page where one is closes, and Escape", async () => {
    const { page } = await console().open(await console().app.workspace(), { path: "/stats", width: 360 });
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
    const menu = page.locator(".side");
    for (const close of [
      () => menu.getByRole("link", { name: "Statistics" }).click(),
      () => page.keyboard.press("Escape"),
    ]) {
      await page.getByRole("button", { name: "Menu", exact: true }).click();
      await menu.waitFor();
      await close();
      await menu.waitFor({ state: "hidden", timeout: 10_000 });
    }
  });

  it("keeps the theme that a person chose", async () => {
    const { page } = await console().open(await console().app.workspace(), { path: "/stats" });
    const theme = () => page.evaluate("document.documentElement.dataset.theme ?? 'system'");
    await page.getByRole("button", { name: "Theme: as the system" }).click();
    await page.getByRole("button", { name: "Theme: light" }).click();
    assert.equal(await theme(), "dark");
    await page.reload();
    await page.getByRole("button", { name: "Theme: dark" }).waitFor();
    assert.equal(await theme(), "dark");
  });
});
