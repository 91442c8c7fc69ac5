import assert from "node:assert/strict";
import type { Page, Route } from "playwright-core";
import { describeConsole } from "../support/console/console.js";
import { DRAWN } from "../support/console/crawl.js";

/** The whole list stands behind a first page which has another item only. */
const putBehind = (page: Page, name: string, other: object): Promise<unknown> =>
  page.route(`**/v1/${name}?*`, async (route) => {
    const url = new URL(route.request().url());
    if (!url.searchParams.has("cursor")) return route.fulfill({ json: { [name]: [other], next_cursor: "further" } });
    url.searchParams.delete("cursor");
    return route.fulfill({ response: await route.fetch({ url: url.href }) });
  });

describeConsole("lists of more than a hundred", (console) => {
  it("of namespaces: one behind them has a limit", async () => {
    const workspace = await console().app.workspace();
    assert.equal((await workspace.send("PUT", "/v1/namespaces/user_id", { limit: 1 })).status, 200);
    const { page, go } = await console().open(workspace, { path: "/stats" });
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
    await putBehind(page, "namespaces", { name: "a", limit: null });
    const read = page.waitForResponse((response) => response.url().includes("cursor=further"), { timeout: 10_000 });
    await go("/settings");
    await page.getByLabel("Shared identifier limit").fill("5");
    await read;
    await page.evaluate(DRAWN);
    assert.equal(await page.getByText("has no effect until a namespace has a limit").count(), 0);
  });

  it("of schemas: a dataset is made of one behind them, and a rule asks for its events", async () => {
    const workspace = await console().app.workspace();
    const schemaId = await workspace.schema();
    const { page, go } = await console().open(workspace, { path: "/stats" });
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
    await putBehind(page, "schemas", { schema_id: "a", schema: {} });
    await go("/datasets");
    await page.getByRole("button", { name: "New dataset" }).first().click();
    await page.getByLabel("Schema").selectOption(schemaId, { timeout: 10_000 });
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Leave" }).click();
    await page.locator("dialog").first().waitFor({ state: "detached" });
    await go("/new-audience");
    await page.getByRole("button", { name: "Event", exact: true }).click();
    await page.locator("option", { hasText: schemaId }).first().waitFor({ state: "attached", timeout: 10_000 });
  });

  it("of versions of a schema: the newest two are compared, by the day where the reader is", async () => {
    const workspace = await console().app.workspace();
    const { page, go } = await console().open(workspace, { path: "/stats" });
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
    const version = (number: number) => ({
      schema_id: "signup",
      version: number,
      compatibility: "backward",
      created_at: "2026-11-27T12:00:00.000Z",
      schema: { type: "object", title: `The ${number}th` },
    });
    await page.route("**/v1/schemas/signup", (route) => route.fulfill({ json: version(4) }));
    await page.route("**/v1/schemas/signup/versions?*", (route) => {
      const isFirst = !new URL(route.request().url()).searchParams.has("cursor");
      const schemas = isFirst ? [version(1), version(2)] : [version(3), version(4)];
      return route.fulfill({ json: { schemas, next_cursor: isFirst ? "further" : null } });
    });
    await go("/schemas/signup");
    await page.getByRole("tab", { name: "Versions" }).click();
    await page.locator(".diff .added", { hasText: "The 4th" }).waitFor({ timeout: 10_000 });
    const of = page.getByLabel("To").locator("option");
    assert.deepEqual(
      (await of.allTextContents()).map((one) => one.replace(/, \d\d:00 \S+$/, "")),
      [4, 3, 2, 1].map((one) => `Version ${one}, 27 Nov 2026`),
    );
  });

  it("of datasets: one behind them is not made again where the answer to making it was lost", async () => {
    const { page, wrongs } = await console().open(await console().app.workspace(), { path: "/new-schema" });
    const lose = async (route: Route): Promise<void> => {
      await route.fetch();
      await route.abort();
    };
    await putBehind(page, "datasets", { schema_id: "a" });
    await page.route("**/v1/datasets", lose, { times: 1 });
    let made = 0;
    page.on("request", (request) => {
      if (request.method() === "POST" && request.url().endsWith("/v1/datasets")) made += 1;
    });
    await page.getByLabel("Schema id").fill("visit");
    const register = page.getByRole("button", { name: "Register", exact: true });
    await register.click();
    await page.getByText("The service is away").waitFor();
    await register.click();
    await page.getByText("is registered.").waitFor();
    assert.equal(made, 1);
    // The lost answer.
    (wrongs as string[]).splice(0);
  });
});
