import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describeConsole } from "../support/console/console.js";
import { DRAWN } from "../support/console/crawl.js";
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
      await app.close();
      const banner = page.getByText("The service does not answer");
      await banner.waitFor();
      await page.getByText("Connecting").waitFor();
      // What was read stays, and a page that is opened now says why it is empty.
      await page.locator(".live-row").waitFor();
      await go("/namespaces");
      await page.locator(".bones").waitFor();
      await writing.getByRole("button", { name: "Save" }).first().click();
      await writing.getByText("The service is away").waitFor();
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
});
