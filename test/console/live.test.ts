import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { describeConsole, ownPage } from "../support/console/console.js";
import { wereRefused } from "../support/console/hands.js";
import { now, submission, textAt } from "../support/service/app.js";

/** To be evaluated: from then on `cut()` ends the stream as a lost connection does. */
const CUTTABLE = `{
  const [lost, ask] = [new AbortController(), fetch];
  window.cut = () => lost.abort();
  window.fetch = (url, init) =>
    ask(url, String(url).includes("/v1/live") && !lost.signal.aborted ? { ...init, signal: AbortSignal.any([init.signal, lost.signal]) } : init);
}`;

describeConsole("live events", (console) => {
  it("end with the session: a tab that only watches asks for a key, too", async () => {
    const workspace = await console().app.workspace("Corner shop");
    const staging = await console().app.workspace("Staging");
    const opened = await console().open(workspace, { path: "/live", as: "viewer" });
    const { page } = opened;
    await page.getByText("Watching").waitFor();
    const other = await page.context().newPage();
    await other.goto(`${console().app.url}/console/#/stats`);
    await other.getByRole("button", { name: "Log out" }).click();
    await other.getByLabel("API key").fill(await staging.key("owner"));
    await other.getByRole("button", { name: "Log in" }).click();
    await page.getByText("In another tab, this browser logged in with another key.").waitFor();
    assert.equal(await page.getByText("Watching").count(), 0);
    wereRefused(opened, 401);
    await page.getByLabel("API key").fill(await workspace.key("viewer"));
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("Watching").waitFor();
    // Where nobody looks at the tab, it asks as well.
    await page.evaluate('Object.defineProperty(document, "hidden", { get: () => true })');
    const headers = ownPage(console().app.url);
    await page.request.delete(`${console().app.url}/console/session`, { headers });
    await page.getByText("This session has ended").waitFor();
    wereRefused(opened, 401);
  });

  it("that are paused show nobody who was erased", async () => {
    const workspace = await console().app.workspace("Corner shop");
    const schemaId = await workspace.schema();
    const { page } = await console().open(workspace, { path: "/live" });
    await page.getByText("Watching").waitFor();
    const { body } = await workspace.collect(schemaId, { email: "ada@example.com" });
    await workspace.settled(body["event_id"]);
    const row = page.locator(".live-row");
    await row.waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    const identifiers = [{ namespace: "email", value: "ada@example.com" }];
    assert.equal((await workspace.send("POST", "/v1/erasures", { identifiers })).status, 202);
    await row.waitFor({ state: "detached", timeout: 10_000 });
    await workspace.collect(schemaId, { email: "grace@example.com" });
    await page.getByRole("button", { name: "Resume (1 new event)" }).waitFor();
  });

  it("that are paused show nobody who was erased while the connection was lost", async () => {
    const workspace = await console().app.workspace("Corner shop");
    const { page, go } = await console().open(workspace, { path: "/stats" });
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
    await page.evaluate(CUTTABLE);
    await go("/live");
    await page.getByText("Watching").waitFor();
    const { body } = await workspace.collect(await workspace.schema(), { email: "ada@example.com" });
    await workspace.settled(body["event_id"]);
    const row = page.locator(".live-row");
    await row.waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    await page.route("**/v1/live?*", async (route) => {
      await held;
      await route.continue();
    });
    const again = page.waitForRequest("**/v1/live?*");
    await page.evaluate("cut()");
    await again;
    const identifiers = [{ namespace: "email", value: "ada@example.com" }];
    assert.equal((await workspace.send("POST", "/v1/erasures", { identifiers })).status, 202);
    // Streams that are open within two seconds may be told a second time.
    await sleep(3_000);
    letGo();
    await row.waitFor({ state: "detached", timeout: 10_000 });
  });

  it("that are paused stay where the connection is lost, and count as new only what is new", async () => {
    const workspace = await console().app.workspace("Corner shop");
    const schemaId = await workspace.schema();
    const { page, go } = await console().open(workspace, { path: "/stats" });
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
    await page.evaluate(CUTTABLE);
    await go("/live");
    await page.getByText("Watching").waitFor();
    await workspace.collect(schemaId, { email: "ada@example.com" });
    await page.locator(".live-row").click();
    await page.getByRole("button", { name: "Pause" }).click();
    const again = page.waitForResponse("**/v1/live?*");
    await page.evaluate("cut()");
    await again;
    await workspace.collect(schemaId, { email: "grace@example.com" });
    await page.getByRole("button", { name: "Resume (1 new event)", exact: true }).waitFor({ timeout: 10_000 });
    assert.match((await page.getByRole("region", { name: "payload" }).textContent())!, /ada@example.com/);
    await page.getByRole("button", { name: "Resume" }).click();
    await page.locator(".live-row").nth(1).waitFor();
  });

  it("are found by the name of their key, and show by its number what turns text around", async () => {
    const workspace = await console().app.workspace("Corner shop");
    const schemaId = await workspace.schema();
    const { page } = await console().open(workspace, { path: "/live" });
    await page.getByText("Watching").waitFor();
    const { body } = await workspace.send("POST", "/v1/keys", { role: "editor", send: "all", name: "The till" });
    for (const [key, email] of [
      [textAt(body, "key"), "ada@example.com"],
      [await workspace.key("all"), "grace@example.com"],
    ] as const)
      await console().app.send("POST", "/v1/collect", {
        key,
        body: submission(schemaId, { email, note: "\u202emoc.live@ada" }),
      });
    const rows = page.locator(".live-row");
    await rows.nth(1).waitFor();
    await page.getByLabel("Filter").fill("the till");
    await rows.nth(1).waitFor({ state: "detached", timeout: 10_000 });
    await rows.filter({ hasText: "ada@example.com" }).click();
    const text = (await page.locator("main").textContent())!;
    assert.doesNotMatch(text, /\u202e/);
    assert.equal(text.split("\\u202emoc").length, 3, "in the row and in the payload");
  });

  it("that are refused say why, and are asked for when it is said that they may be", async () => {
    const opened = await console().open(await console().app.workspace(), { path: "/stats" });
    const { page, go } = opened;
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
    const json = { code: "rate_limited", title: "Too many watch already", detail: "Close another tab." };
    const headers = { "Retry-After": "1" };
    await page.route("**/v1/live?*", (route) => route.fulfill({ status: 429, json, headers }));
    await go("/live");
    await page.getByText(json.title).waitFor({ timeout: 10_000 });
    await page.getByText("Trying again").waitFor();
    assert.equal(await page.getByText("Waiting for new events").count(), 0);
    await page.unroute("**/v1/live?*");
    await page.getByText("Watching").waitFor({ timeout: 10_000 });
    assert.equal(await page.getByText(json.title).count(), 0);
    // A browser tells of each that was refused.
    (opened.wrongs as string[]).splice(0);
  });

  it("that were refused show what was sent, also where a program reads it otherwise", async () => {
    const workspace = await console().app.workspace("Corner shop");
    const schemaId = await workspace.schema();
    const { page } = await console().open(workspace, { path: "/live" });
    await page.getByText("Watching").waitFor();
    for (const [index, sent] of [
      '{ "email": "b@example.com", "n": [9007199254740993, 1.50, {}] }',
      '{"email":"a","email":"b"}',
    ].entries()) {
      await workspace.send(
        "POST",
        "/v1/collect",
        `{"schema_id":"${schemaId}","timestamp":"${now()}","payload":${sent}}`,
      );
      await page.locator(".live-row").nth(index).waitFor();
      const row = page.locator(".live-row").first();
      await row.click();
      const shown = await page.getByRole("region", { name: "payload" }).textContent();
      assert.equal(shown!.replaceAll(/\s/g, ""), sent.replaceAll(" ", ""));
      assert.ok(shown!.trim().includes("\n"), "on several lines");
      await row.click();
    }
  });
});
