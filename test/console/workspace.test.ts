import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { describeConsole } from "../support/console/console.js";
import { DRAWN } from "../support/console/crawl.js";
import { press, reach, wereRefused, write } from "../support/console/hands.js";
import { textAt, until, type TestWorkspace } from "../support/service/app.js";

describeConsole("the workspace", (console) => {
  const fresh = (): Promise<TestWorkspace> => console().app.workspace("Shop");

  it("has statistics of the last hour, by key and schema", async () => {
    const workspace = await fresh();
    const { page, look, go } = await console().open(workspace, { path: "/stats", as: "viewer" });
    await page.getByText("Nothing was sent in the last hour").waitFor();
    await look("stats-empty");
    const schemaId = await workspace.schema();
    await workspace.collect(schemaId, { email: "ada@example.com" });
    await workspace.collect(schemaId, { email: 7 });
    await go("/live");
    await go("/stats");
    await page.getByRole("link", { name: schemaId }).waitFor();
    await page.getByText("validation failed").waitFor();
    await look("stats");
    await reach(page, schemaId);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: schemaId }).waitFor();
  });

  it("says in the statistics which key sends by its name, to who may read the names", async () => {
    const workspace = await fresh();
    const { body } = await workspace.send("POST", "/v1/keys", { role: "editor", name: "checkout" });
    const schemaId = await workspace.schema();
    const headers = { Authorization: `Bearer ${textAt(body, "key")}` };
    const event = { schema_id: schemaId, timestamp: new Date().toISOString(), payload: { email: "ada@example.com" } };
    assert.equal((await console().app.send("POST", "/v1/collect", { headers, body: event })).status, 202);
    const owner = await console().open(workspace, { path: "/stats" });
    await owner.page.getByRole("cell", { name: "checkout" }).waitFor();
    await owner.page.getByText("busiest minute: 1 event").waitFor();
    await owner.look("stats-names");
    const viewer = await console().open(workspace, { path: "/stats", as: "viewer" });
    await viewer.page.getByRole("cell", { name: textAt(body, "key_id") }).waitFor();
  });

  it("has keys, made, rotated and revoked by mouse; each secret is shown once", async () => {
    const workspace = await fresh();
    const { page, look } = await console().open(workspace, { path: "/keys" });
    await page.getByText("yours").waitFor();
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Name", { exact: true }).and(page.locator(":focus")).waitFor();
    await page.keyboard.type("web page");
    await page.getByLabel("What may it do?").selectOption("collect");
    await page.getByLabel("Origins").fill("https://shop.example\nhttps://www.shop.example");
    await page.getByLabel("Events per minute").fill("600");
    await look("key-new");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    const secret = (await page.getByRole("region", { name: "the key" }).textContent())!.trim();
    await look("key-made");
    await page.getByRole("button", { name: "I have saved it" }).click();
    const row = page.getByRole("row", { name: /web page/ });
    await row.getByText("600 per minute").waitFor();
    assert.equal(await page.locator(".table.stacks").count(), 0);
    // The newest, though the service gives them by their ids.
    assert.match((await page.getByRole("row").nth(1).textContent())!, /web page/);
    assert.ok(!(await page.content()).includes(secret));
    await look("keys");
    await row.getByRole("button", { name: "Rotate" }).click();
    await page.getByRole("button", { name: "Create the new key" }).click();
    await page.getByRole("button", { name: "I have saved it" }).click();
    await page.getByText("rotated", { exact: true }).waitFor();
    await page
      .getByRole("row", { name: /web page/ })
      .first()
      .getByRole("button", { name: "Revoke" })
      .click();
    await page.getByRole("button", { name: "Revoke the key" }).click();
    await page.getByText("The key “web page” is revoked.").waitFor();
    const { body } = await workspace.send("GET", "/v1/keys");
    assert.equal((body["keys"] as unknown[]).length, 2);
  });

  it("has one's own key, which is rotated: its secret stays until it is kept, and the old one is told that it was rotated", async () => {
    const workspace = await fresh();
    const opened = await console().open(workspace, { path: "/keys" });
    const { page, wrongs } = opened;
    await page.getByRole("row", { name: /yours/ }).getByRole("button", { name: "Rotate" }).click();
    await page.getByRole("button", { name: "Create the new key" }).click();
    const shown = page.getByRole("region", { name: "the key" });
    await shown.waitFor();
    await sleep(1_000);
    const secret = (await shown.textContent())!.trim();
    await page.getByRole("button", { name: "I have saved it" }).click();
    await page.getByText("This session has ended").waitFor();
    // One for each reading that the old key was refused.
    (wrongs as string[]).splice(0);
    const logIn = async (key: string): Promise<void> => {
      await page.getByLabel("API key").fill(key);
      await page.getByRole("button", { name: "Log in" }).click();
    };
    await logIn(await workspace.key("owner"));
    await page.getByText("This key was rotated").waitFor();
    wereRefused(opened, 403);
    await logIn(secret);
    await page.getByText("yours").waitFor();
  });

  it("has keys whose badges end where the other values do on a phone", async () => {
    const { page } = await console().open(await fresh(), { path: "/keys", width: 360 });
    await page.getByText("only owner key", { exact: true }).waitFor();
    const ends: readonly number[] = await page.evaluate(
      `[...document.querySelectorAll("tbody td[data-label='Name'] .row > :last-child, tbody td[data-label='Expires'] > *")].map((one) => Math.round(one.getBoundingClientRect().right))`,
    );
    assert.equal(ends.length, 2);
    assert.equal(ends[0], ends[1]);
  });

  it("has keys, made by keyboard alone", async () => {
    const workspace = await fresh();
    const { page } = await console().open(workspace, { path: "/keys" });
    await page.getByText("yours").waitFor();
    await press(page, "New key");
    await write(page, "Name", "reader");
    await press(page, "Create");
    await page.getByText("Copy it now").waitFor();
    await press(page, "I have saved it");
    await page.getByRole("cell", { name: "reader" }).waitFor();
  });

  it("has namespaces, made and changed by mouse", async () => {
    const workspace = await fresh();
    const opened = await console().open(workspace, { path: "/namespaces", as: "admin" });
    const { page, look } = opened;
    await page.getByRole("cell", { name: "user_id" }).waitFor();
    await look("namespaces");
    await page.getByRole("button", { name: "New namespace" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Loyalty Card!");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("alert").waitFor();
    wereRefused(opened, 422);
    await page.getByLabel("Name", { exact: true }).fill("loyalty_card");
    await page.getByLabel("Limit").fill("2");
    await page.getByRole("dialog").getByText("any number of values of kind device").waitFor();
    assert.equal(await page.getByLabel("Priority").getAttribute("placeholder"), "0, the lowest");
    await look("namespace-new");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("The namespace loyalty_card is saved.").waitFor();
    await page
      .getByRole("row", { name: /loyalty_card/ })
      .getByRole("button", { name: "Edit" })
      .click();
    await page.getByLabel("Blocked values").fill("0000\nunknown");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("row", { name: /loyalty_card.* 2 .*2/ }).waitFor();
    const { body } = await workspace.send("GET", "/v1/namespaces/loyalty_card");
    assert.deepEqual([body["limit"], body["priority"], body["blocked"]], [2, 0, ["0000", "unknown"]]);
  });

  it("has namespaces that keep what somebody else changed since the list was read", async () => {
    const workspace = await fresh();
    await workspace.send("PUT", "/v1/namespaces/till", { priority: 3 });
    const { page } = await console().open(workspace, { path: "/namespaces", as: "admin" });
    const row = page.getByRole("row", { name: /till/ });
    await row.waitFor();
    await workspace.send("PUT", "/v1/namespaces/till", { limit: 1, blocked: ["0000"] });
    await row.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Priority").fill("4");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The namespace till is saved.").waitFor();
    const { limit, priority, blocked } = (await workspace.send("GET", "/v1/namespaces/till")).body;
    assert.deepEqual([limit, priority, blocked], [1, 4, ["0000"]]);
  });

  it("has namespaces, of which a new one does not take the place of one that has its name", async () => {
    const workspace = await fresh();
    const { page } = await console().open(workspace, { path: "/namespaces", as: "admin" });
    await page.getByRole("cell", { name: "user_id" }).waitFor();
    // Not in the list that the page has read.
    await workspace.send("PUT", "/v1/namespaces/till", { kind: "device", limit: 1, blocked: ["0000"] });
    await press(page, "New namespace");
    await page.getByLabel("Name", { exact: true }).fill("till");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("exists already; edit it in the list").first().waitFor();
    const { kind, limit, blocked } = (await workspace.send("GET", "/v1/namespaces/till")).body;
    assert.deepEqual([kind, limit, blocked], ["device", 1, ["0000"]]);
    await page.getByLabel("Name", { exact: true }).fill("till_2");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("The namespace till_2 is saved.").waitFor();
  });

  it("has namespaces, made by keyboard alone", async () => {
    const workspace = await fresh();
    const { page } = await console().open(workspace, { path: "/namespaces", as: "admin" });
    await page.getByRole("cell", { name: "user_id" }).waitFor();
    await press(page, "New namespace");
    await write(page, "Name", "till");
    await press(page, "Create");
    await page.getByRole("cell", { name: "till" }).waitFor();
  });

  it("has settings with its id and address in full, also on a phone, and buttons that copy them", async () => {
    const workspace = await fresh();
    const { page } = await console().open(workspace, { path: "/settings", as: "admin", width: 360 });
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const workspaceId = workspace.id;
    await page.getByText(workspaceId, { exact: true }).waitFor();
    for (const [name, text] of [
      ["the workspace id", workspaceId],
      ["the address", console().app.url],
    ] as const) {
      await page.getByRole("button", { name: `Copy ${name}` }).click();
      assert.equal(await page.evaluate("navigator.clipboard.readText()"), text);
    }
    await page.getByText("two visitors with one number become one profile").waitFor();
    const cut = `[...document.querySelectorAll("main .facts *")].filter((one) => one.getBoundingClientRect().right > innerWidth - 16 || one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline").map((one) => one.outerHTML)`;
    assert.deepEqual(await page.evaluate(cut), []);
  });

  it("has keys that are copied also where a browser keeps its clipboard from pages, and nothing is called copied that is not", async () => {
    const { page } = await console().open(await fresh(), { path: "/keys" });
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.evaluate(
      `Object.defineProperty(navigator.clipboard, "writeText", { value: () => Promise.reject(new Error("no")) })`,
    );
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByRole("button", { name: "Create", exact: true }).click();
    const secret = (await page.getByRole("region", { name: "the key" }).textContent())!.trim();
    const copy = page.getByRole("button", { name: "Copy the key", exact: true });
    await copy.click();
    const copied = page.getByRole("button", { name: "Copied" });
    await copied.waitFor();
    assert.equal(await page.evaluate("navigator.clipboard.readText()"), secret);
    await copied.waitFor({ state: "detached" });
    await page.evaluate("document.execCommand = () => false");
    await copy.click();
    await copy.and(page.locator(":focus")).waitFor();
    await page.evaluate(DRAWN);
    assert.equal(await copied.count(), 0);
  });

  it("has settings, saved by mouse", async () => {
    const workspace = await fresh();
    // Devices are no people, so a limit of theirs counts nobody.
    await workspace.send("PUT", "/v1/namespaces/device_id", { limit: 20 });
    const opened = await console().open(workspace, { path: "/settings", as: "admin" });
    const { page, look } = opened;
    await page.getByLabel("Shared identifier limit").fill("0");
    await page.getByRole("button", { name: "Save" }).first().click();
    await page.locator(".field .wrong").waitFor();
    wereRefused(opened, 422);
    await page.getByLabel("Shared identifier limit").fill("5");
    await page
      .getByText("The shared identifier limit has no effect until a namespace has a limit of its own.")
      .waitFor();
    assert.equal(
      await page.locator("main").getByRole("link", { name: "Namespaces" }).getAttribute("href"),
      "#/namespaces",
    );
    await page.getByRole("button", { name: "Save" }).first().click();
    await page.getByText("The identity settings are saved.").waitFor();
    await page.getByLabel("Use the phone number as an identifier").check();
    await page.getByRole("button", { name: "Save" }).last().click();
    await page.getByText("The settings for events are saved.").waitFor();
    await look("settings");
    assert.equal((await workspace.send("GET", "/v1/identity/settings")).body["shared_identifier_limit"], 5);
    assert.equal((await workspace.send("GET", "/v1/sdk/settings")).body["phone"], true);
  });

  it("has settings that keep what somebody else changed since the page was read, and shows it once they are saved", async () => {
    const workspace = await fresh();
    const { page } = await console().open(workspace, { path: "/settings", as: "admin" });
    const adds = page.getByLabel("Sending keys may add namespaces");
    const phone = page.getByLabel("Use the phone number as an identifier");
    await phone.waitFor();
    await adds.waitFor();
    const shared = { shared_identifier_limit: null, sending_keys_add_namespaces: true };
    assert.equal((await workspace.send("PUT", "/v1/identity/settings", shared)).status, 200);
    assert.equal((await workspace.send("PUT", "/v1/sdk/settings", { phone: true })).status, 200);
    await page.getByLabel("Shared identifier limit").fill("5");
    await page.getByRole("button", { name: "Save" }).first().click();
    await page.getByText("The identity settings are saved.").waitFor();
    await page.getByLabel("Take the device id as an identifier").check();
    await page.getByRole("button", { name: "Save" }).last().click();
    await page.getByText("The settings for events are saved.").waitFor();
    const { body: identity } = await workspace.send("GET", "/v1/identity/settings");
    assert.deepEqual(identity, { ...shared, shared_identifier_limit: 5 });
    const { body: sdk } = await workspace.send("GET", "/v1/sdk/settings");
    assert.deepEqual([sdk["phone"], sdk["device_id"]], [true, true]);
    await page.locator("input:checked").nth(2).waitFor();
    assert.deepEqual([await adds.isChecked(), await phone.isChecked()], [true, true]);
  });

  it("has settings, saved by keyboard alone, and read by a viewer", async () => {
    const workspace = await fresh();
    const { page } = await console().open(workspace, { path: "/settings", as: "admin" });
    await page.getByLabel("Shared identifier limit").waitFor();
    await reach(
      page,
      "Keep refused eventsAmong the dead letters, so that a failing sender can be found and its events replayed. Refused calls of identify and alias are not kept.",
    );
    await page.keyboard.press("Space");
    await press(page, "Save");
    await page.getByText("The settings for events are saved.").waitFor();
    assert.equal((await workspace.send("GET", "/v1/sdk/settings")).body["keep_rejects"], true);
    // The form beside it stores what is its own only.
    await page.getByLabel("Take the device id as an identifier").check();
    await page.getByRole("button", { name: "Save" }).last().click();
    const { body } = await until(
      () => workspace.send("GET", "/v1/sdk/settings"),
      (answer) => answer.body["device_id"] === true,
    );
    assert.equal(body["keep_rejects"], true);
    const viewer = await console().open(workspace, { path: "/settings", as: "viewer" });
    await viewer.page.getByText("Keep refused events").waitFor();
    await viewer.look("settings-viewer");
    assert.equal(await viewer.page.locator("main button", { hasText: "Save" }).count(), 0);
  });
});
