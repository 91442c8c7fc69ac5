import assert from "node:assert/strict";
import type { Locator } from "playwright-core";
import { describeConsole } from "../support/console/console.js";
import { press, reach, wereRefused } from "../support/console/hands.js";
import { aPerson, id } from "../support/console/people.js";
import { textAt } from "../support/service/app.js";

const FOCUSED = "document.activeElement.textContent";
const areOnOneLine = async (within: Locator, ...names: readonly string[]): Promise<void> => {
  const find = (name: string) => within.getByRole("button", { name, exact: true }).last().boundingBox();
  const boxes = await Promise.all(names.map(find));
  assert.equal(new Set(boxes.map((box) => box?.y)).size, 1, JSON.stringify(boxes));
};
const NAMES = `[...document.querySelectorAll("tbody tr")].map((row) => /p\\d+/.exec(row.textContent)[0])`;

describeConsole("what was out of reach or out of sight", (console) => {
  it("says by keyboard when something was exactly", async () => {
    const workspace = await console().app.workspace();
    const { profileId } = await aPerson(workspace, "ada");
    const { page } = await console().open(workspace, { path: `/profiles/${profileId}`, as: "viewer" });
    const time = page.locator(".figure", { hasText: "First event" }).getByRole("button");
    await time.waitFor();
    const name = (await time.getAttribute("aria-label"))!;
    assert.match(name, /(just now|ago), \d+ \w+ \d{4}, \d\d:\d\d:\d\d/);
    await reach(page, name);
    assert.match(await page.evaluate(FOCUSED), /^(just now|.* ago)$/);
    await page.keyboard.press("Enter");
    assert.match(await page.evaluate(FOCUSED), /^\d+ \w+ \d{4}, \d\d:\d\d:\d\d/);
  });

  it("says by keyboard what the headings of a table mean", async () => {
    const workspace = await console().app.workspace();
    const schemaId = await workspace.schema();
    await workspace.send("POST", "/v1/datasets", { name: "Orders", schema_id: schemaId, unified_profile: true });
    const { page, go } = await console().open(workspace, { path: "/stats", as: "admin" });
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
    await go("/datasets");
    await page.getByText("Orders").waitFor();
    const meaning = page.locator(".table-terms").getByText("How long its events are kept.");
    assert.equal(await meaning.isVisible(), false);
    for (let i = 0; i < 60 && !(await meaning.isVisible()); i++) await page.keyboard.press("Tab");
    assert.equal(await meaning.isVisible(), true);
  });

  it("shows on a phone how many would be in an audience, while one builds it", async () => {
    const workspace = await console().app.workspace();
    await aPerson(workspace, "ada");
    const { page, look } = await console().open(workspace, { path: "/new-audience", as: "editor", width: 360 });
    await page.getByLabel("Field", { exact: true }).fill("traits.city");
    await page.getByLabel("Value", { exact: true }).fill("Lyon");
    const line = page.locator(".rule-count", { hasText: "1 of 1 profile would be in it" });
    await line.waitFor();
    for (const top of [0, 10_000]) {
      await page.evaluate(`scrollTo(0, ${top})`);
      const { y, height } = (await line.boundingBox())!;
      assert.ok(y >= 0 && y + height <= 900, `it is at ${y} after ${top}`);
    }
    await look("audience-count-in-sight");
  });

  it("has the buttons of a dialog on one line of a phone, and an audience's long name on two", async () => {
    const workspace = await console().app.workspace();
    await aPerson(workspace, "ada");
    await workspace.send("PUT", "/v1/sdk/settings", { keep_rejects: true });
    const rule = { "traits.city": "Lyon" };
    const audience = await workspace.send("POST", "/v1/audiences", { name: "long name ".repeat(25).trim(), rule });
    assert.equal(audience.status, 201, audience.text);
    await workspace.collect(await workspace.schema(), { email: 7 });
    const { page, go, look } = await console().open(workspace, { path: "/webhooks", as: "admin", width: 360 });
    await page.getByRole("button", { name: "New webhook" }).first().click();
    const dialog = page.getByRole("dialog");
    const name = (await dialog.locator("bdi", { hasText: "long name" }).boundingBox())!;
    assert.ok(name.height < 50, `the name is ${name.height} px high`);
    await page.getByText("Enter an address").waitFor();
    await areOnOneLine(dialog, "Cancel", "Create");
    await look("webhook-new");
    await page.keyboard.press("Escape");
    await go("/dead-letters");
    await page.getByRole("button", { name: "Details", exact: true }).click();
    await dialog.getByRole("link", { name: "Check against the schema" }).waitFor();
    await areOnOneLine(dialog.locator(".dialog-foot"), "Close", "Replay…");
    await look("dead-letter-phone");
  });

  it("lists the events of the tracking plan, and says what a plan is where there is none", async () => {
    const workspace = await console().app.workspace();
    const { page, go, look } = await console().open(workspace, { path: "/settings", as: "viewer" });
    await page.getByText("There is no tracking plan", { exact: true }).waitFor();
    const schemaId = await workspace.schema();
    const events = { "Order Completed": { schema_id: schemaId, violations: "quarantine" }, "Page Seen": {} };
    assert.equal((await workspace.send("PUT", "/v1/sdk/plan", { events })).status, 200);
    await go("/stats");
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
    await go("/settings");
    const row = page.getByRole("row", { name: /Order Completed/ });
    await row.getByText("quarantine it").waitFor();
    await row.getByRole("link", { name: schemaId }).waitFor();
    await page
      .getByRole("row", { name: /Page Seen/ })
      .getByText("none yet")
      .waitFor();
    await look("settings-plan");
  });

  it("lists the newest forbidden pairs first, also behind the first page, and finds one by a value", async () => {
    const workspace = await console().app.workspace();
    for (let i = 0; i < 102; i++) {
      const identifiers = [id("user_id", `p${i}`), id("cookie_id", `c${i}`)];
      const [from, to] = identifiers;
      await workspace.send("POST", "/v1/identify", { identifiers });
      const done = await workspace.send("POST", "/v1/identity/unlink", { from, to, forbid: true });
      assert.equal(textAt(done.body, "outcome"), "unlinked");
    }
    const { page, look } = await console().open(workspace, { path: "/forbidden-pairs", as: "viewer" });
    await page.getByText("Not all are shown yet").waitFor();
    await page.getByLabel("Identifier").fill("p10");
    await page.getByText("Newest first.").waitFor();
    assert.deepEqual(await page.evaluate(NAMES), ["p101", "p100", "p10"]);
    await look("people-forbidden-found");
    await page.getByLabel("Identifier").fill("nobody");
    await page.getByText("No pair names it").waitFor();
    await page.getByLabel("Identifier").fill("");
    await page.getByRole("cell", { name: "p50", exact: false }).first().waitFor();
    const all: readonly string[] = await page.evaluate(NAMES);
    assert.deepEqual(
      all,
      Array.from({ length: 102 }, (_, i) => `p${101 - i}`),
    );
  });

  it("keeps why something failed until somebody closes it", async () => {
    const workspace = await console().app.workspace();
    const opened = await console().open(workspace, { path: "/stats" });
    const { page, go } = opened;
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
    await workspace.send("POST", "/v1/webhooks", { url: "https://hooks.example.com/" });
    const json = { code: "rate_limited", title: "Too many tests", detail: "Try again in a minute." };
    await page.route("**/v1/webhooks/*/test", (route) => route.fulfill({ status: 429, json }));
    await go("/webhooks");
    await page.getByRole("button", { name: "Test", exact: true }).click();
    const notice = page.locator(".notice", { hasText: json.detail });
    await notice.waitFor();
    await page.waitForTimeout(7_000);
    assert.equal(await notice.count(), 1);
    await press(page, "Dismiss");
    await notice.waitFor({ state: "detached" });
    wereRefused(opened, 429);
  });
});
