import assert from "node:assert/strict";
import { describeConsole, type Opened } from "../support/console/console.js";
import { SIGNUP_SCHEMA, type TestWorkspace } from "../support/service/app.js";

describeConsole("a version of a schema that somebody else registers meanwhile", (console) => {
  const text = ({ page }: Opened) => page.getByLabel("JSON Schema");
  const told = ({ page }: Opened) => page.getByText("Version 2 was registered meanwhile");

  async function openSchema() {
    const workspace = await console().app.workspace();
    const schemaId = await workspace.schema();
    const opened = await console().open(workspace, { path: `/schemas/${schemaId}`, as: "admin" });
    await opened.page.getByRole("tab", { name: "New version" }).click();
    return { workspace, opened, path: `/v1/schemas/${schemaId}` };
  }
  const registerPlan = async (workspace: TestWorkspace, path: string): Promise<void> => {
    const schema = { ...SIGNUP_SCHEMA, properties: { ...SIGNUP_SCHEMA.properties, plan: { type: "string" } } };
    assert.equal((await workspace.send("POST", `${path}/versions`, { schema })).status, 201);
  };
  /** Adds a field without a meaning. */
  const edit = async (opened: Opened): Promise<void> => {
    const schema = JSON.parse(await text(opened).inputValue()) as typeof SIGNUP_SCHEMA;
    const properties = { ...schema.properties, note: { type: "string" } };
    await text(opened).fill(JSON.stringify({ ...schema, properties }, null, 2));
  };

  it("is told of as soon as the text is tried, with what would go", async () => {
    const { workspace, opened, path } = await openSchema();
    await registerPlan(workspace, path);
    await edit(opened);
    await told(opened).waitFor({ timeout: 20_000 });
    await opened.page.locator(".diff .removed", { hasText: "plan" }).waitFor();
  });

  it("is not replaced unseen by a text that was tried before", async () => {
    const { workspace, opened, path } = await openSchema();
    const { page, look } = opened;
    await edit(opened);
    await page.getByText("this would become version 2").waitFor();
    await registerPlan(workspace, path);
    const register = page.getByRole("button", { name: "Register the version" });
    await register.click();
    await told(opened).waitFor({ timeout: 20_000 });
    await page.getByText("Nothing of yours was registered").waitFor();
    await page.locator(".diff .removed", { hasText: "plan" }).waitFor();
    await look("schema-meanwhile");
    assert.equal((await workspace.send("GET", path)).body["version"], 2);
    await register.click();
    await page.getByText("Version 3 is registered").waitFor();
    assert.equal(await told(opened).count(), 0);
  });

  it("is what a text is tried against from then on", async () => {
    const { workspace, opened, path } = await openSchema();
    const { page, wrongs } = opened;
    await edit(opened);
    await page.getByText("this would become version 2").waitFor();
    const schema = { ...SIGNUP_SCHEMA, properties: { ...SIGNUP_SCHEMA.properties, note: { type: "integer" } } };
    assert.equal((await workspace.send("POST", `${path}/versions`, { schema })).status, 201);
    await page.getByRole("button", { name: "Register the version" }).click();
    await told(opened).waitFor({ timeout: 20_000 });
    await page.getByText("this would become version 2").waitFor({ state: "detached", timeout: 20_000 });
    await page
      .getByText(/schema\.properties\.note|properties\.note/)
      .first()
      .waitFor({ timeout: 20_000 });
    (wrongs as string[]).splice(0);
  });

  it("is not told of where it is one's own, whose answer was lost", async () => {
    const { workspace, opened, path } = await openSchema();
    const { page, wrongs } = opened;
    await edit(opened);
    // How it is written is no change.
    await text(opened).fill(JSON.stringify(JSON.parse(await text(opened).inputValue())));
    let times = 0;
    await page.route("**/versions", async (route) => {
      if (route.request().method() !== "POST" || ++times > 1) return route.fallback();
      await route.fetch();
      return route.abort("connectionreset");
    });
    const register = page.getByRole("button", { name: "Register the version" });
    await register.click();
    await page.getByText("Version 2 is registered").waitFor({ timeout: 20_000 });
    await page.getByText("It did not answer this request.").waitFor({ state: "detached" });
    assert.equal(await told(opened).count(), 0);
    assert.equal(await page.getByText("Nothing of yours").count(), 0);
    assert.equal((await workspace.send("GET", path)).body["version"], 2);
    (wrongs as string[]).splice(0);
  });
});
