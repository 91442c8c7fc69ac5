import assert from "node:assert/strict";
import { describeConsole } from "../support/console/console.js";
import { id, identify } from "../support/console/people.js";
import { textAt } from "../support/service/app.js";

/** What its pages show comes from the API; here, that the servers answer it as they wait for it. `test/console/` goes through all of them. */
describeConsole("on RabbitMQ, MongoDB and Neo4j", (console) => {
  it("opens with a key, and shows what comes in", async () => {
    const workspace = await console().app.workspace("Shop");
    const schemaId = await workspace.schema();
    const { page, go } = await console().stranger();
    await page.getByLabel("API key").fill(await workspace.key("viewer"));
    await page.keyboard.press("Enter");
    await page.getByText("Shop").first().waitFor();
    await go("/live");
    await page.getByText("Watching").waitFor();
    await workspace.collect(schemaId, { email: "ada@example.com" });
    await page.locator(".live-row", { hasText: "ada@example.com" }).waitFor();
  });

  it("draws a profile with its graph, and takes a link back after a preview", async () => {
    const workspace = await console().app.workspace();
    await identify(workspace, id("user_id", "ada"), id("device_id", "phone"));
    await identify(workspace, id("user_id", "bob"), id("device_id", "tablet"));
    const { profileId } = await identify(workspace, id("user_id", "ada"), id("user_id", "bob"));
    const { page } = await console().open(workspace, { path: `/profiles/${profileId}?tab=graph` });
    const graph = page.getByRole("group", { name: /Identity graph/ });
    await graph.getByRole("button", { name: /^Link between user_id ada and user_id bob.*a bridge$/ }).waitFor();
    await page.getByRole("region", { name: "Links" }).getByRole("button", { name: "Show" }).first().click();
    await page.locator(".graph-chosen").getByRole("link", { name: "Unlink these two…" }).click();
    await page.getByRole("heading", { name: "Preview: nothing is written yet" }).waitFor();
    await page.getByRole("figure", { name: "Afterwards" }).getByText("2 profiles").waitFor();
    await page.getByRole("button", { name: "Unlink…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unlink" }).click();
    await page
      .getByRole("heading", { name: /unlinked/i })
      .first()
      .waitFor();
    const { body } = await workspace.send("GET", `/v1/profiles/${profileId}`);
    assert.equal(textAt(body, "identifiers.length"), "2");
  });

  it("builds an audience, and shows who is in it by name", async () => {
    const workspace = await console().app.workspace();
    const schemaId = await workspace.schema();
    const sent = await workspace.collect(schemaId, { email: "grace@example.com", city: "Paris" });
    await workspace.settled(sent.body["event_id"]);
    const { page } = await console().open(workspace, { path: "/new-audience", as: "editor" });
    await page.getByLabel("Name", { exact: true }).fill("Parisians");
    await page.getByLabel("Field", { exact: true }).fill("traits.city");
    await page.getByLabel("Value", { exact: true }).fill("Paris");
    await page.locator(".preview-count", { hasText: /^1$/ }).waitFor();
    await page.getByRole("button", { name: "Create the audience" }).click();
    await page.getByRole("heading", { name: "Parisians" }).waitFor();
    await page.getByRole("table").getByRole("link", { name: "grace@example.com" }).waitFor();
  });
});
