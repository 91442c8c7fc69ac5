import assert from "node:assert/strict";
import { describeConsole } from "../../support/console/console.js";
import { aPerson, id, identify } from "../../support/console/people.js";
import { textAt } from "../../support/service/app.js";

describeConsole("search", (console) => {
  it("says what to do where nobody is known yet", async () => {
    const { page, look } = await console().open(await console().app.workspace(), { path: "/search" });
    await page.getByText("Nobody is known yet").waitFor();
    await look("people-search-empty");
  });

  it("finds a person by a value, in whatever namespace it stands, by keyboard alone", async () => {
    const workspace = await console().app.workspace();
    const ada = await aPerson(workspace, "ada");
    await identify(workspace, id("device_id", "ada"));
    const { page, look } = await console().open(workspace, { as: "viewer", path: "/search" });
    await page.getByText("oldest first").waitFor();
    await page.getByLabel("Value or id").focus();
    await page.keyboard.type("ada");
    await page.keyboard.press("Enter");
    await page.getByText("2 profiles found").waitFor();
    await look("people-search-found");
    await page.getByLabel("Value or id").fill("ada@example.com");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByText("1 profile found").waitFor();
    await page.getByRole("link", { name: `Open the profile ${ada.profileId}` }).waitFor();
    // The name is the way there, and the id beside it is to be copied.
    const row = page.getByRole("region", { name: "Profiles" }).getByRole("row").nth(1);
    assert.equal(await row.locator(".id a").count(), 0);
    await row.getByRole("button", { name: "Copy the profile id" }).waitFor();
    await page.setViewportSize({ width: 360, height: 780 });
    for (const name of await page.locator("main .name-of").all()) {
      const [chip, value] = await Promise.all([
        name.locator(".name-space").boundingBox(),
        name.locator(".sent").boundingBox(),
      ]);
      assert.ok(value!.x >= chip!.x + chip!.width && value!.y < chip!.y + chip!.height, "the value is beside its chip");
    }
    await row.getByRole("link", { name: "ada@example.com" }).click();
    await page.getByRole("heading", { name: "Profile", exact: true }).waitFor();
  });

  it("looks into each of more namespaces than one look-up takes", async () => {
    const workspace = await console().app.workspace();
    for (let i = 0; i < 100; i += 1) await workspace.send("PUT", `/v1/namespaces/own_${i}`, { priority: 1_000 });
    await workspace.send("PUT", "/v1/namespaces/zz_last", { priority: 0 });
    const { profileId } = await identify(workspace, id("zz_last", "found"));
    const { page } = await console().open(workspace, { path: "/search?q=found" });
    await page.getByRole("link", { name: `Open the profile ${profileId}` }).click();
    await page.getByRole("heading", { name: "Profile", exact: true }).waitFor();
  });

  it("finds a profile, an event and a change by their ids", async () => {
    const workspace = await console().app.workspace();
    const { profileId, eventId, changeId, schemaId } = await aPerson(workspace, "bob");
    const { page, go, wrongs } = await console().open(workspace, { path: `/search?q=${profileId}` });
    await page.getByText("1 profile found").waitFor();
    await go(`/search?q=${changeId}`);
    await page.getByRole("heading", { name: "A change" }).waitFor();
    await go(`/search?q=${eventId}`);
    await page.getByRole("link", { name: "Open the event" }).click();
    await page.getByRole("heading", { name: `Event: ${schemaId}`, exact: true }).waitFor();
    await page.getByText(eventId, { exact: true }).waitFor();
    await page.getByText("folded").waitFor();
    // A browser tells of each id that is not of the kind that was tried.
    (wrongs as string[]).splice(0);
  });

  it("says that nobody is known by a value", async () => {
    const { page, look } = await console().open(await console().app.workspace(), { path: "/search?q=nobody" });
    await page.getByText("Nobody is known by this").waitFor();
    await page.getByText("Events that were refused, or whose").waitFor();
    assert.equal(await page.getByRole("link", { name: "Open statistics" }).getAttribute("href"), "#/stats");
    await look("people-search-nobody");
  });

  it("looks again where the same is searched for once more, without a step back that leads nowhere", async () => {
    const workspace = await console().app.workspace();
    const { page, go } = await console().open(workspace, { path: "/changes" });
    await go("/search");
    const field = page.getByLabel("Value or id");
    await field.fill("ada");
    const search = page.getByRole("button", { name: "Search" });
    await search.click();
    await page.getByText("Nobody is known by this").waitFor();
    await identify(workspace, id("user_id", "ada"), id("device_id", "phone"));
    await search.click();
    await page.getByText("1 profile found").waitFor({ timeout: 10_000 });
    await page.goBack();
    await page.getByText("oldest first").waitFor({ timeout: 10_000 });
  });

  it("says what is missing where an event is in no profile, and where to add it", async () => {
    const workspace = await console().app.workspace();
    await workspace.send("POST", "/v1/schemas", { schema_id: "visit", schema: { type: "object" } });
    const sent = await workspace.collect("visit", { email: "eve@example.com" });
    const eventId = textAt((await workspace.settled(sent.body["event_id"])).body, "event_id");
    const { page, look } = await console().open(workspace, { path: `/events/${eventId}` });
    await page.getByText("Its schema has no dataset that is folded into profiles").waitFor();
    await look("people-event-stored");
    await page.locator("main").getByRole("link", { name: "Datasets" }).click();
    await page.getByRole("heading", { name: "Datasets" }).waitFor();
  });

  it("shows an event and what became of it", async () => {
    const workspace = await console().app.workspace();
    const { eventId, profileId } = await aPerson(workspace, "eve");
    const { page, look } = await console().open(workspace, { path: `/events/${eventId}` });
    await page.getByText("folded").waitFor();
    await page.getByText("its data was added to the profile").waitFor();
    await look("people-event");
    await page.getByRole("link", { name: "Its profile" }).waitFor();
    await page.getByRole("link", { name: "Events of the profile" }).click();
    await page.getByRole("tab", { name: "Events", selected: true }).waitFor();
    // Nothing of the person, where others look on.
    assert.equal(await page.title(), `Profile ${profileId.slice(0, 8)}…${profileId.slice(-6)} · Onym`);
  });
});
