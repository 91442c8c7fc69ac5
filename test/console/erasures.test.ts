import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { describeConsole } from "../support/console/console.js";
import { DRAWN } from "../support/console/crawl.js";
import { textAt, type TestWorkspace } from "../support/service/app.js";

describeConsole("erasures", (console) => {
  const people = async (...emails: readonly string[]): Promise<TestWorkspace> => {
    const workspace = await console().app.workspace("Shop");
    const schemaId = await workspace.schema();
    for (const email of emails) {
      const { body } = await workspace.collect(schemaId, { email, cookie: `c-${email}`, city: "Paris" });
      await workspace.settled(body["event_id"]);
    }
    return workspace;
  };

  it("are looked at first, done, proven and ended by mouse; no receipt shows the person", async () => {
    const workspace = await people("eve@example.com", "ada@example.com");
    const { page, look } = await console().open(workspace, { path: "/erasures", as: "admin" });
    await page.getByText("Nobody has been erased yet").waitFor();
    await look("erasures-empty");
    await page.getByRole("button", { name: "Erase a person" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Namespace").selectOption("email");
    await dialog.getByLabel("Value").fill("eve@example.com");
    await dialog.getByRole("button", { name: "See what would go" }).click();
    await dialog.getByText("1 cookie_id, 1 email").or(dialog.getByText("1 email, 1 cookie_id")).waitFor();
    await dialog.getByText("1 event", { exact: true }).waitFor();
    await dialog.getByText("New events do not bring the person back, until you readmit them.").waitFor();
    await dialog.getByLabel("Keep the person out").check();
    await look("erasure-plan");
    await dialog.getByLabel("I know that nobody can undo this").check();
    await dialog.getByRole("button", { name: "Erase forever" }).click();
    await page.getByText("The person is erased.").waitFor();
    await page.getByRole("heading", { name: "Receipt of an erasure" }).waitFor();
    await page.getByRole("link", { name: "All erasures" }).click();
    await page.getByRole("cell", { name: "kept out" }).waitFor();
    await page.getByLabel("Namespace").selectOption("email");
    await page.getByLabel("Value").fill("eve@example.com");
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByText("Nothing that comes later brings it back.").waitFor();
    await page.getByText("completed", { exact: true }).waitFor();
    await look("erasures");
    await page.getByLabel("Value").fill("ada@example.com");
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByText("It is in a profile").waitFor();
    assert.match((await page.getByRole("link", { name: "see whose" }).getAttribute("href"))!, /^#\/search\?q=/);
    await page.locator("tbody a").first().click();
    await page.getByText("What is not erased").waitFor();
    await page.getByText("Backups of the stores").waitFor();
    await page.getByText("without the person’s identifiers").waitFor();
    assert.ok(!(await page.content()).includes("eve@example.com"));
    await look("receipt");
    await page.getByRole("button", { name: "Readmit" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Readmit" }).click();
    await page.getByText("readmitted", { exact: true }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Readmit" }).count(), 0);
  });

  it("show nothing of a person whose name was changed while it was looked at them", async () => {
    const { page } = await console().open(await console().app.workspace(), { path: "/erasures", as: "admin" });
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    await page.route("**/v1/erasures?dry_run=true", async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole("button", { name: "Erase a person" }).click();
    const dialog = page.getByRole("dialog");
    const value = dialog.getByLabel("Value");
    await value.fill("ada@example.com");
    await dialog.getByRole("button", { name: "See what would go" }).click();
    await value.fill("bob@example.com");
    const look = dialog.getByRole("button", { name: "See what would go" });
    await look.waitFor();
    letGo();
    await page.evaluate(DRAWN);
    const plan = dialog.getByText("This will be deleted:");
    assert.equal(await plan.count(), 0);
    await look.click({ timeout: 10_000 });
    await plan.waitFor();
  });

  it("begin and are looked up also where the value was typed before the namespaces came", async () => {
    const { page, go } = await console().open(await console().app.workspace(), { path: "/stats", as: "admin" });
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    await page.route("**/v1/namespaces?*", async (route) => {
      await held;
      await route.continue();
    });
    await go("/erasures");
    await page.getByLabel("Value").fill("ada@example.com");
    await page.getByRole("button", { name: "Erase a person" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Value").fill("ada@example.com");
    letGo();
    await dialog.getByRole("button", { name: "See what would go" }).click({ timeout: 10_000 });
    await dialog.getByText("This will be deleted:").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Leave" }).click();
    await page.getByRole("button", { name: "Check" }).click({ timeout: 10_000 });
    await page.getByText("was not erased").waitFor();
  });

  it("are done by keyboard alone, and not if the person is another one by then", async () => {
    const workspace = await people("eve@example.com", "ada@example.com");
    const { page, wrongs } = await console().open(workspace, { path: "/erasures", as: "admin" });
    await page.getByRole("button", { name: "Erase a person" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    // It takes the focus when it opens.
    await page.locator("dialog:modal").waitFor();
    await dialog.getByLabel("Namespace").focus();
    await page.keyboard.type("email");
    await page.keyboard.press("Tab");
    await page.keyboard.type("eve@example.com");
    // It can be sent once the namespaces are read.
    await dialog.locator("button[type=submit]:enabled").waitFor();
    await page.keyboard.press("Enter");
    const erase = dialog.getByRole("button", { name: "Erase forever" });
    const sure = dialog.getByLabel("I know that nobody can undo this");
    await sure.focus();
    await page.keyboard.press("Space");
    const identifiers = ["eve@example.com", "ada@example.com"].map((value) => ({ namespace: "email", value }));
    assert.equal((await workspace.send("POST", "/v1/identify", { identifiers })).body["outcome"], "merged");
    await erase.focus();
    await page.keyboard.press("Enter");
    await dialog.getByText("The person changed since this was shown here.").waitFor();
    // A browser tells of each refused request.
    assert.equal(wrongs.length, 1);
    (wrongs as string[]).splice(0);
    assert.deepEqual((await workspace.send("GET", "/v1/erasures")).body["erasures"], []);
    await dialog.getByLabel("Value").focus();
    await page.keyboard.press("Enter");
    await dialog.getByText("2 email").waitFor();
    assert.ok(await erase.isDisabled());
    await sure.focus();
    await page.keyboard.press("Space");
    await erase.focus();
    await page.keyboard.press("Enter");
    await page.getByText("The person is erased.").waitFor();
  });

  it("are begun in the same words on the page of the profile and here", async () => {
    const workspace = await people("eve@example.com");
    const identifiers = [{ namespace: "email", value: "eve@example.com" }];
    const { body } = await workspace.send("POST", "/v1/identify", { identifiers });
    const { page, go } = await console().open(workspace, { path: `/profiles/${textAt(body, "profile_id")}` });
    const dialog = page.getByRole("dialog");
    const words = async (): Promise<string> => {
      await dialog.getByLabel("I know that nobody can undo this").waitFor();
      return dialog.innerText();
    };
    await page.getByRole("button", { name: "Erase…" }).click();
    const ofProfile = (await words()).split("\n");
    await page.keyboard.press("Escape");
    await go("/erasures");
    await page.getByRole("button", { name: "Erase a person" }).click();
    await dialog.getByLabel("Namespace").selectOption("email");
    await dialog.getByLabel("Value").fill("eve@example.com");
    await dialog.getByRole("button", { name: "See what would go" }).click();
    const here = (await words()).split("\n");
    assert.deepEqual(here.slice(here.length - ofProfile.length + 1), ofProfile.slice(1));
    assert.equal(here[0], ofProfile[0]);
  });

  it("stay when they are read again, all pages that somebody asked for, with one more that was added", async () => {
    const workspace = await console().app.workspace("Shop");
    const erase = (n: number) =>
      workspace.send("POST", "/v1/erasures", { identifiers: [{ namespace: "email", value: `${n}@example.com` }] });
    for (let n = 0; n < 51; n += 1) assert.equal((await erase(n)).status, 202);
    const { page } = await console().open(workspace, { path: "/erasures", as: "admin" });
    const isRead = () => page.waitForResponse((response) => response.url().endsWith("/v1/erasures"));
    const rows = page.locator("tbody tr");
    await page.getByRole("button", { name: "Show more" }).click();
    await rows.nth(50).waitFor();
    await isRead();
    await isRead();
    await page.evaluate(DRAWN);
    assert.equal(await rows.count(), 51);
    await erase(51);
    await rows.nth(51).waitFor();
    assert.equal(await rows.count(), 52);
  });

  it("are read again, and go on by another page, also where a page comes more slowly than they are read again", async () => {
    const workspace = await people();
    const identifiers = [{ namespace: "email", value: "eve@example.com" }];
    assert.equal((await workspace.send("POST", "/v1/erasures", { identifiers })).status, 202);
    const [receipt] = (await workspace.send("GET", "/v1/erasures")).body["erasures"] as readonly object[];
    const { page, go } = await console().open(workspace, { path: "/stats", as: "admin" });
    let [events, slowness] = [500, 0];
    await page.route(/\/v1\/erasures(\?|$)/, async (route) => {
      const cursor = Number(new URL(route.request().url()).searchParams.get("cursor") ?? 0);
      const erasures = [{ ...receipt, erasure_id: `${cursor}`, removed: { events: events + cursor } }];
      if (cursor > 0) await sleep(slowness);
      await route.fulfill({ json: { erasures, next_cursor: cursor === 2 ? null : `${cursor + 1}` } }).catch(() => {});
    });
    await go("/erasures");
    const more = page.getByRole("button", { name: "Show more" });
    const rowOf = (many: number) => page.getByRole("cell", { name: `${many}`, exact: true });
    await more.click();
    await rowOf(501).waitFor();
    [events, slowness] = [700, 6_000];
    await rowOf(701).waitFor();
    await more.click();
    await rowOf(702).waitFor();
    assert.equal(await page.locator("tbody tr").count(), 3);
  });

  it("are not for who is no admin", async () => {
    const { page } = await console().open(await people(), { path: "/erasures", as: "editor" });
    await page.getByText("This page needs a key of role admin").waitFor();
    assert.equal(await page.getByRole("link", { name: "Erasures" }).count(), 0);
  });
});
