import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describeConsole } from "../support/console/console.js";
import { wereRefused } from "../support/console/hands.js";
import { DRAWN } from "../support/console/crawl.js";
import { id, identify } from "../support/console/people.js";
import { eventually } from "../support/eventually.js";
import { startApp, workspaceOf, type App } from "../support/service/app.js";

describeConsole("a service that goes away", (console) => {
  let folder = "";
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "onym-away-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("is told of, keeps what was read, and is gone on with when it is back", async () => {
    let app: App = await startApp({ DATA_DIR: folder });
    try {
      const port = new URL(app.url).port;
      const workspace = await app.workspace("Shop");
      const owner = await workspace.key("owner");
      const schemaId = await workspace.schema();
      const opened = await console().open(workspace, { app, path: "/live" });
      const { page, go, wrongs } = opened;
      await page.getByText("Watching").waitFor();
      await workspace.collect(schemaId, { email: "ada@example.com" });
      await page.locator(".live-row").waitFor();
      const writing = await page.context().newPage();
      await writing.goto(`${app.url}/console/#/settings`);
      await writing.getByLabel("Shared identifier limit").fill("7");
      const height = await page.evaluate("document.documentElement.scrollHeight");
      const top = await page.locator("h1").boundingBox();
      await app.close();
      const banner = page.getByText("The service does not answer");
      await banner.waitFor();
      assert.equal(await page.evaluate("document.documentElement.scrollHeight"), height, "the page is higher");
      assert.deepEqual(await page.locator("h1").boundingBox(), top, "the page moves");
      await page.getByText("Connecting").waitFor();
      // What was read stays, and a page that is opened now says why it is empty.
      await page.locator(".live-row").waitFor();
      await go("/namespaces");
      await page.locator(".bones").waitFor();
      await writing.getByRole("button", { name: "Save" }).first().click();
      await writing.getByText("The service is away").waitFor();
      assert.equal(
        await writing.getByText("This page continues by itself").count(),
        1,
        "what the banner says stands nowhere else",
      );
      const again = writing.waitForResponse((response) => response.url().endsWith("/v1/identity/settings"));
      app = await startApp({ DATA_DIR: folder, PORT: port });
      await banner.waitFor({ state: "detached" });
      await page.getByRole("cell", { name: "user_id" }).waitFor();
      // What could not be stored is not overwritten by what is read again.
      await again;
      await writing.evaluate(DRAWN);
      assert.equal(await writing.getByLabel("Shared identifier limit").inputValue(), "7");
      await go("/live");
      await page.getByText("Watching").waitFor();
      await workspaceOf(app.url, workspace.id, owner).collect(schemaId, { email: "grace@example.com" });
      await page.locator(".live-row", { hasText: "grace@example.com" }).waitFor();
      await opened.close();
      // A browser tells of each request that failed.
      (wrongs as string[]).splice(0);
    } finally {
      await app.close();
    }
  });

  it("is asked again when it is back, whatever it was asked", async () => {
    const workspace = await console().app.workspace();
    await identify(workspace, id("user_id", "ada"), id("device_id", "phone"));
    const { page, go, wrongs } = await console().open(workspace, { path: "/stats", as: "admin" });
    const ada = "namespace=user_id&value=ada";
    const pages = [
      ["/dead-letters", "No dead letters"],
      ["/search?q=nobody", "Nobody is known by this"],
      ["/why?from_namespace=user_id&from_value=ada&to_namespace=device_id&to_value=phone", "One person, by 1 link"],
      [`/undo?what=identifier&${ada}`, "Preview: nothing is written yet"],
      ["/new-schema", "Valid: this would become version 1."],
    ] as const;
    const away = page.getByText("The service is away");
    for (const [path, text] of pages) {
      // Its code comes while there is a service.
      await go(path);
      await page.getByText(text).waitFor();
      await go("/stats");
      await page.getByRole("heading", { name: "Statistics" }).waitFor();
      await page.route(OURS, (route) => route.abort());
      await go(path);
      await away.first().waitFor();
      await page.unroute(OURS);
      await page.getByText(text).waitFor({ timeout: 15_000 });
      await page.evaluate(DRAWN);
      assert.equal(await away.count(), 0, path);
    }
    // A browser tells of each request that failed.
    (wrongs as string[]).splice(0);
  });

  it("is told of where it takes no notice, and is back where a proxy keeps its probes to itself", async () => {
    const { page, go, wrongs } = await console().open(await console().app.workspace(), { path: "/namespaces" });
    await page.getByRole("cell", { name: "user_id" }).waitFor();
    await page.route("**/healthz", (route) => route.fulfill({ status: 404 }));
    let isStopped = true;
    await page.route("**/v1/stats", (route) => (isStopped ? undefined : route.continue()));
    await page.clock.install();
    const asked = page.waitForRequest("**/v1/stats");
    await go("/stats");
    await asked;
    await page.clock.runFor(31_000);
    const banner = page.getByText("The service does not answer").first();
    await banner.waitFor({ timeout: 10_000 });
    isStopped = false;
    await page.clock.resume();
    await page.getByRole("heading", { name: "The last hour", exact: true }).waitFor({ timeout: 15_000 });
    await banner.waitFor({ state: "detached" });
    // The probes that were refused.
    (wrongs as string[]).splice(0);
  });

  it("is told of where the connection is lost within an answer, and that is read again", async () => {
    const { page, go, wrongs } = await console().open(await console().app.workspace(), { path: "/stats" });
    await page.getByRole("heading", { name: "The last hour", exact: true }).waitFor();
    // As a connection does that ends within an answer.
    await page.evaluate(`{
      const ask = fetch;
      let times = 0;
      window.fetch = async (url, init) => {
        const answer = await ask(url, init);
        if (!String(url).includes("/v1/namespaces") || ++times > 1) return answer;
        return new Response(new ReadableStream({ start: (part) => part.error(new TypeError("network error")) }), answer);
      };
    }`);
    await go("/namespaces");
    await page.getByText("The service does not answer").first().waitFor({ timeout: 10_000 });
    await page.getByRole("cell", { name: "user_id" }).waitFor({ timeout: 15_000 });
    (wrongs as string[]).splice(0);
  });

  for (const path of ["/console/session", "/v1/me"])
    it(`says so at the start, and tries again by itself: ${path}`, async () => {
      const opened = await console().open(await console().app.workspace("Corner shop"), { path: "/stats" });
      const { page, look, wrongs } = opened;
      await page.getByText("Corner shop").first().waitFor();
      let isAway = true;
      let asked = 0;
      await page.route(`**${path}`, (route) => {
        asked += 1;
        return isAway ? route.fulfill(UNAVAILABLE) : route.continue();
      });
      await page.reload();
      const told = page.getByText("A part of the service is unavailable");
      await told.waitFor();
      await look("away-start");
      await page.getByRole("button", { name: "Try again" }).click();
      const before = asked;
      await eventually("it is asked by itself", () => asked > before + 1);
      isAway = false;
      await page.getByText("Corner shop").first().waitFor();
      assert.equal(await told.count(), 0);
      wereRefused(opened, ...wrongs.map(() => 503));
    });
});

/** All that a page asks the service. */
const OURS = /\/(v1\/|console\/session$)/;

/** What the service says while its stores are away. */
const UNAVAILABLE = {
  status: 503,
  contentType: "application/problem+json",
  body: JSON.stringify({
    code: "unavailable",
    title: "A part of the service is unavailable",
    detail: "Try again.",
    status: 503,
  }),
};
