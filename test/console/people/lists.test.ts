import assert from "node:assert/strict";
import { textAt } from "../../support/service/app.js";
import { describeConsole } from "../../support/console/console.js";
import { eventually } from "../../support/eventually.js";
import { aPerson, id, identify } from "../../support/console/people.js";

describeConsole("changes, shared identifiers and forbidden pairs", (console) => {
  it("say what to do where there are none", async () => {
    const { page, go, look } = await console().open(await console().app.workspace(), { path: "/changes" });
    await page.getByText("Nobody is linked yet").waitFor();
    await look("people-changes-empty");
    await go("/shared-identifiers");
    await page.getByRole("heading", { name: "The shared identifier limit is off" }).waitFor();
    await look("people-shared-empty");
    await go("/forbidden-pairs");
    await page.getByText("No pair is forbidden").waitFor();
    await look("people-forbidden-empty");
    await page.locator("main").getByRole("link", { name: "Forbid a pair" }).click();
    assert.ok(await page.getByLabel("Forbid the pair").isChecked());
    assert.equal(await page.getByLabel("What to undo").count(), 0);
  });

  it("lists changes by their outcome, and opens one, by mouse and by keyboard", async () => {
    const workspace = await console().app.workspace();
    const { profileId, changeId } = await aPerson(workspace, "ada");
    await aPerson(workspace, "bob");
    await identify(workspace, id("user_id", "ada"), id("user_id", "bob"));
    const { page, look } = await console().open(workspace, { as: "viewer", path: "/changes" });
    await page.getByRole("region", { name: "Changes" }).getByText("merged").waitFor();
    for (const time of await page.locator("main time").all())
      assert.match((await time.getAttribute("title")) ?? "", /\d{1,2} \w{3} \d{4}, \d\d:\d\d:\d\d \S+ \(.+Z\)$/);
    await look("people-changes");
    await page.getByLabel("Outcome").selectOption("created");
    await page.getByRole("region", { name: "Changes" }).getByText("merged").waitFor({ state: "detached" });
    await page.getByRole("row").nth(2).waitFor();
    assert.equal(await page.getByRole("row").count(), 3);
    await page.getByRole("link", { name: `Open the change ${changeId}` }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Change: created", exact: true }).waitFor();
    await page.getByText(changeId, { exact: true }).waitFor();
    await page
      .getByRole("link", { name: profileId.slice(0, 8) })
      .first()
      .waitFor();
    assert.equal(await page.getByText("Undo…").count(), 0);
    await look("people-change");
    await page.getByRole("link", { name: "All changes" }).click();
    await page.getByRole("heading", { name: "Changes", level: 1 }).waitFor();
  });

  it("show a long identifier whole, in several lines where one is too short", async () => {
    const workspace = await console().app.workspace();
    const long = `${"somebody-with-a-long-name.".repeat(3)}at@example.com`;
    await identify(workspace, id("user_id", "ada"), id("email", long));
    const { page } = await console().open(workspace, { as: "viewer", path: "/changes", width: 1_440 });
    const shown = page.locator("td .sent", { hasText: long });
    await shown.waitFor();
    const isCut = "one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight";
    assert.equal(await page.evaluate(`[...document.querySelectorAll("td .sent")].some((one) => ${isCut})`), false);
  });

  it("are as many, and where one was, after a step back from one of them", async () => {
    const workspace = await console().app.workspace();
    for (let i = 0; i < 60; i += 1) await identify(workspace, id("user_id", `u${i}`), id("device_id", `d${i}`));
    const { page } = await console().open(workspace, { as: "viewer", path: "/changes" });
    await page.locator("tbody tr").nth(49).waitFor();
    await page.getByRole("button", { name: "Show more" }).click();
    await page.locator("tbody tr").nth(59).waitFor();
    await page.locator("tbody tr").nth(57).getByRole("link", { name: "Open" }).click();
    await page.getByRole("heading", { name: "Change: created" }).waitFor();
    assert.equal(await page.evaluate("scrollY"), 0);
    await page.goBack();
    await page.locator("tbody tr").nth(59).waitFor({ timeout: 10_000 });
    await eventually("it is scrolled to where one was", async () => Number(await page.evaluate("scrollY")) > 1_000);
  });

  it("say which change undid one, and which one that was", async () => {
    const workspace = await console().app.workspace();
    const { changeId } = await identify(workspace, id("user_id", "ada"), id("device_id", "tablet"));
    const { body } = await workspace.send("POST", `/v1/changes/${changeId}/revert`);
    const revert = textAt(body, "change_id");
    const { page, go } = await console().open(workspace, { as: "admin", path: `/changes/${changeId}` });
    const facts = page.locator(".facts");
    await facts.getByText("Undone by").waitFor({ timeout: 10_000 });
    await facts.locator(`a[href="#/changes/${revert}"]`).click();
    await facts.getByText("Undoes").waitFor();
    await facts.locator(`a[href="#/changes/${changeId}"]`).click();
    await page.getByRole("heading", { name: "Change: created" }).waitFor();
    // A later unlink may have parted the same two: it is not said that nothing did.
    await go(`/changes/${revert}`);
    await facts.getByText("not undone, or only in part").waitFor({ timeout: 10_000 });
    await go(`/undo?what=change&change=${changeId}`);
    await page.getByText("There is nothing to undo").waitFor();
    await page.locator(`main a[href="#/changes/${revert}"]`).waitFor({ timeout: 10_000 });
  });

  it("asks why two are linked after a change that linked them, and not after one that parted them", async () => {
    const workspace = await console().app.workspace();
    const { changeId } = await aPerson(workspace, "ada");
    await identify(workspace, id("user_id", "ada"), id("device_id", "tablet"));
    const pair = { from: id("user_id", "ada"), to: id("device_id", "tablet") };
    const { body } = await workspace.send("POST", "/v1/identity/unlink", pair);
    const { page, go } = await console().open(workspace, { as: "admin", path: `/changes/${changeId}` });
    await page.locator("main").getByRole("link", { name: "Why one person?" }).waitFor();
    await go(`/changes/${textAt(body, "change_id")}`);
    await page.getByText("Links were removed.").waitFor();
    await page.getByRole("link", { name: "Undo…" }).waitFor();
    assert.equal(await page.locator("main").getByRole("link", { name: "Why one person?" }).count(), 0);
  });

  it("lists identifiers that too many people share", async () => {
    const workspace = await console().app.workspace();
    await workspace.send("PUT", "/v1/namespaces/user_id", { limit: 1 });
    await workspace.send("PUT", "/v1/identity/settings", { shared_identifier_limit: 1 });
    for (const name of ["a", "b", "c"]) await identify(workspace, id("user_id", name), id("device_id", "kiosk"));
    const { page, look } = await console().open(workspace, { as: "viewer", path: "/shared-identifiers" });
    await page.getByText("kiosk", { exact: true }).waitFor();
    await page.getByText("more than 1 person").waitFor();
    await look("people-shared");
    await page.getByRole("region", { name: "Shared identifiers" }).getByRole("link").click();
    await page.getByText("too many people use it").waitFor();
  });

  it("lists forbidden pairs, and allows one again; two tabs that do the same get a clear message", async () => {
    const workspace = await console().app.workspace();
    await identify(workspace, id("user_id", "ada"), id("device_id", "tablet"));
    const pair = { from: id("user_id", "ada"), to: id("device_id", "tablet"), forbid: true };
    assert.equal(textAt((await workspace.send("POST", "/v1/identity/unlink", pair)).body, "outcome"), "unlinked");
    const viewer = await console().open(workspace, { as: "viewer", path: "/forbidden-pairs" });
    await viewer.page.getByText("tablet").waitFor();
    assert.equal(await viewer.page.getByText(/Allow|Forbid a pair/).count(), 0);
    const [one, other] = [
      await console().open(workspace, { as: "admin", path: "/forbidden-pairs" }),
      await console().open(workspace, { as: "admin", path: "/forbidden-pairs" }),
    ];
    for (const { page } of [one, other]) await page.getByRole("button", { name: "Allow…" }).click();
    await one.look("people-forbidden-allow");
    const dialogs = [one, other].map(({ page }) => page.getByRole("dialog"));
    await dialogs[0]!.getByRole("button", { name: "Allow the pair" }).focus();
    await one.page.keyboard.press("Enter");
    await one.page.getByText("The pair is allowed.").waitFor();
    await one.page.getByText("No pair is forbidden").waitFor();
    await dialogs[1]!.getByRole("button", { name: "Allow the pair" }).click();
    await other.page.getByText("allowed already").waitFor();
    // A browser tells of the refused one.
    (other.wrongs as string[]).splice(0);
  });
});
