import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { describeConsole, type Opened } from "../support/console/console.js";
import { id, identify } from "../support/console/people.js";
import { textAt } from "../support/service/app.js";

const AWAY = "It did not answer this request.";

/** The service does the first such request, and its answer does not come. */
async function loseFirst(page: Page, method: string, url: RegExp): Promise<void> {
  let times = 0;
  await page.route(url, async (route) => {
    if (route.request().method() !== method || ++times > 1) return route.fallback();
    await route.fetch();
    return route.abort("connectionreset");
  });
}
/** A browser tells of each request that failed. */
const forget = ({ wrongs }: Opened): void => void (wrongs as string[]).splice(0);

describeConsole("what was done, and its answer lost", (console) => {
  const change = /\/v1\/audiences\/[^/?]+$/;
  async function aChange() {
    const workspace = await console().app.workspace();
    await workspace.schema();
    const made = await workspace.send("POST", "/v1/audiences", { name: "First", rule: { "traits.city": "Paris" } });
    const path = `/audiences/${textAt(made.body, "audience_id")}`;
    const opened = await console().open(workspace, { path: `${path}/change`, as: "editor" });
    const save = opened.page.getByRole("button", { name: "Save" });
    await opened.page.getByRole("tab", { name: "JSON" }).click();
    await opened.page.getByLabel("Rule", { exact: true }).fill('{"traits.city":"Lyon","event_count":{"$gte":2}}');
    await loseFirst(opened.page, "PUT", change);
    await save.click();
    await opened.page.getByText(AWAY).waitFor();
    return { workspace, opened, save, path: `/v1${path}` };
  }

  it("is saved, where it is the change of an audience, and not somebody else's change", async () => {
    const { opened, save } = await aChange();
    await save.click();
    await opened.page.getByText("The audience First is saved.").waitFor({ timeout: 20_000 });
    forget(opened);
  });

  it("is gone on from, where the audience was changed once more before it was saved again", async () => {
    const { workspace, opened, save, path } = await aChange();
    await opened.page.getByLabel("Name", { exact: true }).fill("Second");
    await save.click();
    await opened.page.getByText("The audience Second is saved.").waitFor({ timeout: 20_000 });
    assert.equal((await workspace.send("GET", path)).body["name"], "Second");
    forget(opened);
  });

  it("does not hide that somebody else changed the audience since", async () => {
    const { workspace, opened, save, path } = await aChange();
    await workspace.send("PUT", path, { name: "Theirs", rule: { "traits.city": "Rome" } });
    await save.click();
    await opened.page.getByText("Somebody else changed this audience meanwhile").waitFor();
    assert.equal((await workspace.send("GET", path)).body["name"], "Theirs");
    forget(opened);
  });

  it("is taken back, where the rule was made what it was before it was saved again", async () => {
    const { workspace, opened, save, path } = await aChange();
    await opened.page.getByLabel("Rule", { exact: true }).fill('{"traits.city":"Paris"}');
    await save.click();
    await opened.page.getByText("The audience First is saved.").waitFor({ timeout: 20_000 });
    assert.deepEqual((await workspace.send("GET", path)).body["rule"], { "traits.city": "Paris" });
    forget(opened);
  });

  it("does not hide another rule that somebody else saved since under the same name", async () => {
    const workspace = await console().app.workspace();
    await workspace.schema();
    const made = await workspace.send("POST", "/v1/audiences", { name: "First", rule: { "traits.city": "Paris" } });
    const path = `/audiences/${textAt(made.body, "audience_id")}`;
    const opened = await console().open(workspace, { path: `${path}/change`, as: "editor" });
    const { page } = opened;
    const save = page.getByRole("button", { name: "Save" });
    await page.getByLabel("Name", { exact: true }).fill("Second");
    await loseFirst(page, "PUT", change);
    await save.click();
    await page.getByText(AWAY).waitFor();
    await workspace.send("PUT", `/v1${path}`, { name: "Second", rule: { "traits.city": "Rome" } });
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.getByLabel("Rule", { exact: true }).fill('{"traits.city":"Lyon"}');
    await save.click();
    await page.getByText("Somebody else changed this audience meanwhile").waitFor({ timeout: 20_000 });
    assert.deepEqual((await workspace.send("GET", `/v1${path}`)).body["rule"], { "traits.city": "Rome" });
    forget(opened);
  });

  it("is told as perhaps one's own, where it is an undo", async () => {
    const workspace = await console().app.workspace();
    const { changeId } = await identify(workspace, id("user_id", "ada"), id("user_id", "bob"));
    const opened = await console().open(workspace, { path: `/undo?what=change&change=${changeId}`, as: "admin" });
    const { page } = opened;
    await page.getByRole("button", { name: "Revert…" }).click();
    await loseFirst(page, "POST", /\/revert$/);
    const revert = page.getByRole("dialog").getByRole("button", { name: "Revert", exact: true });
    await revert.click();
    await page.getByRole("dialog").getByText(AWAY).waitFor();
    await revert.click();
    await page.getByText("By your first try, whose answer was lost, or by somebody else.").waitFor({ timeout: 20_000 });
    forget(opened);
  });

  it("is counted as far as anybody knows, where letters were queued again", async () => {
    const opened = await console().open(await console().app.workspace(), { path: "/stats", as: "admin" });
    const { page, go, look } = opened;
    const letter = {
      dead_letter_id: "0198a000-0000-7000-8000-000000000001",
      event_id: null,
      reason: "invalid",
      at: "2026-01-01T00:00:00.000Z",
      state: "open",
      times: 1,
      replayed: 0,
      replayed_at: null,
      outcome: null,
      schema_id: "s",
      key_id: "k",
      error: null,
    };
    let left = 1_500;
    await page.route(/\/v1\/dead-letters\?/, (route) =>
      route.fulfill({ json: { dead_letters: left > 0 ? [letter] : [], next_cursor: null } }),
    );
    await page.route(/\/v1\/dead-letters\/replay/, (route) => {
      const page = { replayed: Math.min(left, 1_000), skipped: [], next_cursor: null };
      if (route.request().url().includes("dry_run=true")) return route.fulfill({ json: page });
      left = Math.max(0, left - 1_000);
      return left > 0 ? route.fulfill({ json: { ...page, next_cursor: "further" } }) : route.abort("connectionreset");
    });
    await go("/dead-letters");
    await page.getByRole("button", { name: /Replay all/ }).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^Replay \d/ })
      .click();
    const dialog = page.getByRole("dialog", { name: "Nothing more can be queued again" });
    await dialog
      .getByText("1,000 letters queued again before it failed, and perhaps more: an answer was lost.")
      .waitFor({ timeout: 20_000 });
    assert.equal(await dialog.getByText("There are no such letters any more").count(), 0);
    await look("replay-lost");
    forget(opened);
  });
});
