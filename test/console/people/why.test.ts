import assert from "node:assert/strict";
import { describeConsole } from "../../support/console/console.js";
import { eventually } from "../../support/eventually.js";
import { aKiosk, aPerson, id, identify } from "../../support/console/people.js";

describeConsole("why two are one person", (console) => {
  it("shows the path with its evidence and marks the bridges, by keyboard alone", async () => {
    const workspace = await console().app.workspace();
    const { email } = await aPerson(workspace, "ada");
    await identify(workspace, id("email", email), id("device_id", "tablet"));
    const { page, look } = await console().open(workspace, { as: "viewer", path: "/why" });
    await page.getByRole("heading", { name: "Why one person?" }).waitFor();
    await page.getByText("user_id").first().waitFor({ state: "attached" });
    await page.getByRole("heading", { name: "Enter two identifiers" }).waitFor();
    const ask = page.getByRole("button", { name: "Ask why" });
    assert.ok(await ask.isDisabled());
    assert.ok(await page.getByRole("button", { name: "Clear" }).isDisabled());
    await page.getByText("Enter both values").waitFor();
    for (const group of ["From", "To"]) await page.getByRole("heading", { name: group, exact: true }).waitFor();
    await look("people-why-empty");
    const [from, to] = [page.getByRole("group", { name: "From" }), page.getByRole("group", { name: "To" })];
    await from.getByLabel("Namespace").selectOption("user_id");
    await from.getByLabel("Value").focus();
    await page.keyboard.type("ada");
    await page.getByText("Enter the other value too").waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.type("device");
    await page.keyboard.press("Tab");
    await page.keyboard.type("tablet");
    assert.equal(await to.getByLabel("Namespace").inputValue(), "device_id");
    assert.ok(await ask.isEnabled());
    assert.ok(await page.getByRole("button", { name: "Clear" }).isEnabled());
    assert.equal(await page.locator(".needs").count(), 0);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "One person, by 2 links" }).waitFor();
    const path = page.getByRole("list", { name: "The path" });
    assert.deepEqual(await path.locator(".name-of .sent").allTextContents(), ["ada", email, "tablet"]);
    assert.equal(await path.getByText("bridge").count(), 2);
    assert.equal(await path.getByText("Unlink…").count(), 0);
    await look("people-why-path");
    assert.equal(await page.getByText("Each of the bridges parts the two.").count(), 0, "a viewer may not unlink");
  });

  it("says how to choose among bridges, and the preview of one tells of the two who were asked about", async () => {
    const workspace = await console().app.workspace();
    const { email } = await aPerson(workspace, "ada");
    await identify(workspace, id("email", email), id("device_id", "tablet"));
    const path = "/why?from_namespace=user_id&from_value=ada&to_namespace=device_id&to_value=tablet";
    const { page, look } = await console().open(workspace, { as: "admin", path });
    await page.getByText("Each of the bridges parts the two.").waitFor();
    await look("people-why-bridges");
    await page.getByRole("link", { name: "Unlink step 1" }).click();
    const told = page.locator(".message", { hasText: "These two would be two people" });
    await told.waitFor();
    assert.deepEqual(await told.locator(".name-of .sent").allTextContents(), ["ada", "tablet"]);
  });

  it("asks again where the same is asked once more, and has the fields of the answer after a step back", async () => {
    const workspace = await console().app.workspace();
    await identify(workspace, id("user_id", "ada"), id("device_id", "phone"));
    const path = "/why?from_namespace=user_id&from_value=ada&to_namespace=device_id&to_value=phone";
    const { page } = await console().open(workspace, { path });
    await page.getByRole("heading", { name: "One person, by 1 link" }).waitFor();
    const pair = { from: id("user_id", "ada"), to: id("device_id", "phone") };
    assert.equal((await workspace.send("POST", "/v1/identity/unlink", pair)).status, 200);
    const ask = page.getByRole("button", { name: "Ask why" });
    await ask.click();
    await page.getByRole("heading", { name: "They are two people" }).waitFor({ timeout: 10_000 });
    const value = page.getByRole("group", { name: "To" }).getByLabel("Value");
    await value.fill("tablet");
    await ask.click();
    await page.getByText("Nobody is known by one of them").waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "They are two people" }).waitFor();
    await eventually("the fields say so too", async () => (await value.inputValue()) === "phone");
    await page.getByRole("navigation").getByRole("link", { name: "Why one person?" }).click();
    await page.getByText("Enter two identifiers").waitFor();
    await eventually("the fields are empty", async () => (await value.inputValue()) === "");
  });

  it("says that no link is a bridge, and offers who may undo to take out an identifier in between", async () => {
    const workspace = await console().app.workspace();
    await aKiosk(workspace);
    const path = "/why?from_namespace=user_id&from_value=ada&to_namespace=user_id&to_value=bob";
    const viewer = await console().open(workspace, { as: "viewer", path });
    await viewer.page.getByText("No link of this path is a bridge").waitFor();
    assert.equal(await viewer.page.getByText("out of this profile").count(), 0);
    const { page, look } = await console().open(workspace, { as: "admin", path });
    await page.getByText("No link of this path is a bridge").waitFor();
    await page.getByRole("link", { name: "Take device_id kiosk-7 out of this profile…" }).waitFor();
    await look("people-why-no-bridge");
  });

  it("says so where only the beginning of a long path is shown", async () => {
    const workspace = await console().app.workspace();
    const chain = [
      id("user_id", "ada"),
      ...[...Array(12).keys()].map((n) => id("cookie_id", `${n}${"😀".repeat(1_020)}`)),
      id("user_id", "bob"),
    ];
    for (const [n, one] of chain.slice(1).entries()) await identify(workspace, chain[n]!, one);
    const path = "/why?from_namespace=user_id&from_value=ada&to_namespace=user_id&to_value=bob";
    const { page, go, look } = await console().open(workspace, { as: "admin", path });
    await page.getByRole("heading", { name: "One person, by more than 8 links" }).waitFor();
    await page.getByText("only its beginning is shown").waitFor();
    await look("people-why-partial");
    await identify(workspace, id("user_id", "ada"), id("user_id", "bob"));
    await go("/undo?what=pair&namespace=user_id&value=ada&to_namespace=user_id&to_value=bob");
    await page.getByText("only its beginning is shown").waitFor();
  });

  it("says that two are two people, and that nobody is known by one of them", async () => {
    const workspace = await console().app.workspace();
    await aPerson(workspace, "ada");
    await aPerson(workspace, "bob");
    const of = (value: string) => `/why?from_namespace=user_id&from_value=ada&to_namespace=user_id&to_value=${value}`;
    const { page, go, look } = await console().open(workspace, { path: of("bob") });
    await page.getByRole("heading", { name: "They are two people" }).waitFor();
    await look("people-why-two");
    await go(of("nobody"));
    await page.getByText("Nobody is known by one of them").waitFor();
    await look("people-why-nobody");
    await go(of("ada"));
    await page.getByText("This is the same identifier twice.").waitFor();
  });
});
