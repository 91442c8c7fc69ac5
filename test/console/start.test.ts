import assert from "node:assert/strict";
import { describeConsole } from "../support/console/console.js";
import { DRAWN } from "../support/console/crawl.js";
import { press, write } from "../support/console/hands.js";
import { submission, textAt, type TestWorkspace } from "../support/service/app.js";

describeConsole("set up", (console) => {
  const fresh = (): Promise<TestWorkspace> => console().app.workspace("Shop");

  it("leads by mouse from a key to the first profile, and to the two settings", async () => {
    const workspace = await fresh();
    const schemaId = await workspace.schema();
    // Devices are no people, so a limit of theirs counts nobody.
    await workspace.send("PUT", "/v1/namespaces/device_id", { limit: 20 });
    const { page, look } = await console().open(workspace, { path: "/start" });
    await page.getByText("Waiting for the first event").waitFor();
    await look("start-empty");
    await page.getByRole("button", { name: "A back end with the API" }).click();
    await page.getByRole("button", { name: "Create a key" }).click();
    const key = (await page.getByRole("region", { name: "the key" }).textContent())!.trim();
    assert.ok((await page.getByRole("region", { name: /the snippet/ }).textContent())!.includes(key));
    const body = submission(schemaId, { email: "ada@example.com" });
    assert.equal((await console().app.send("POST", "/v1/collect", { key, body })).status, 202);
    await page.getByRole("link", { name: "See the profile" }).waitFor();
    const idle = page.getByText(
      "Has no effect until a namespace has a limit of its own: turn on “One login per profile”",
    );
    await idle.waitFor();
    await page
      .getByRole("button", { name: "Turn on: Shared identifier limit: a shared device is not a person" })
      .click();
    await page.getByText("on: more than 5 people").waitFor();
    assert.equal(await idle.getByRole("link", { name: "Namespaces" }).getAttribute("href"), "#/namespaces");
    await page.getByRole("button", { name: "Turn on: One login per profile" }).click();
    await page.getByText("on: at most 1").waitFor();
    await idle.waitFor({ state: "detached" });
    await look("start-done");
    assert.equal((await workspace.send("GET", "/v1/namespaces/user_id")).body["limit"], 1);
  });

  it("shows what is done already where events came before, and the next one as it comes", async () => {
    const workspace = await fresh();
    const schemaId = await workspace.schema();
    const { body } = await workspace.collect(schemaId, { email: "ada@example.com" });
    await workspace.settled(body["event_id"]);
    const { page, look } = await console().open(workspace, { path: "/start" });
    await page.getByText("Events have arrived already.").waitFor();
    assert.equal(await page.getByText("Waiting for the first event").count(), 0);
    for (const name of ["Who sends?", "Put it into the sender", "See the first event"])
      await page.getByRole("heading", { name: `${name} (done)` }).waitFor();
    assert.equal(
      await page.getByRole("link", { name: "See the event" }).getAttribute("href"),
      `#/events/${textAt(body, "event_id")}`,
    );
    await look("start-before");
    await workspace.collect(schemaId, { email: "alan@example.com" });
    await page.getByText(`It has arrived: an event of ${schemaId}.`).waitFor();
  });

  it("stays with the first event that was taken, and asks for it once, however many follow", async () => {
    const workspace = await fresh();
    const schemaId = await workspace.schema();
    const { page } = await console().open(workspace, { path: "/start" });
    await page.getByText("Waiting for the first event").waitFor();
    const asked: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("?wait=5")) asked.push(request.url());
    });
    await workspace.collect(schemaId, { email: "ada@example.com" });
    await page.getByRole("link", { name: "See the profile" }).waitFor();
    const live = await console().open(workspace, { path: "/live" });
    for (const name of ["grace", "alan"]) await workspace.collect(schemaId, { email: `${name}@example.com` });
    // The same stream has told of them.
    await live.page.locator(".live-row", { hasText: "alan" }).waitFor();
    await page.evaluate(DRAWN);
    await page.waitForTimeout(500);
    assert.equal(asked.length, 1);
    await page.getByRole("link", { name: "See the profile" }).waitFor({ timeout: 1_000 });
  });

  it("is not done by an event that was refused", async () => {
    const workspace = await fresh();
    const schemaId = await workspace.schema();
    const { page } = await console().open(workspace, { path: "/start" });
    await page.getByText("Waiting for the first event").waitFor();
    await workspace.collect(schemaId, { email: 7 });
    await page.getByText("An event came, and was refused.").waitFor();
    await page.getByRole("heading", { name: "Put it into the sender (done)" }).waitFor();
    assert.equal(await page.getByRole("heading", { name: "See the first event (done)" }).count(), 0);
  });

  it("tells of the shared identifier limit that is set", async () => {
    const workspace = await fresh();
    await workspace.send("PUT", "/v1/identity/settings", { shared_identifier_limit: 9 });
    await workspace.send("PUT", "/v1/namespaces/loyalty_card", { limit: 2 });
    const { page } = await console().open(workspace, { path: "/start", as: "admin" });
    await page.getByText("An identifier that is seen with more than 9 people").waitFor();
    await page.getByText("on: more than 9 people").waitFor();
  });

  it("turns on the shared identifier limit, and keeps what somebody else changed since the page was read", async () => {
    const workspace = await fresh();
    const { page } = await console().open(workspace, { path: "/start", as: "admin" });
    const turn = page.getByRole("button", { name: "Turn on: Shared identifier limit" });
    await turn.waitFor();
    const changed = { shared_identifier_limit: null, sending_keys_add_namespaces: true };
    assert.equal((await workspace.send("PUT", "/v1/identity/settings", changed)).status, 200);
    await turn.click();
    await page.getByText("on: more than 5 people").waitFor();
    const { body } = await workspace.send("GET", "/v1/identity/settings");
    assert.deepEqual(body, { ...changed, shared_identifier_limit: 5 });
  });

  it("leads there by keyboard alone", async () => {
    const workspace = await fresh();
    const { page } = await console().open(workspace, { path: "/start" });
    await page.getByText("Waiting for the first event").waitFor();
    await write(page, "Name of the key", "till");
    await page.keyboard.press("Enter");
    await page.getByText("The key is shown once").waitFor();
    const { body } = await workspace.send("GET", "/v1/keys");
    assert.ok((body["keys"] as { name: string | null }[]).some(({ name }) => name === "till"));
    await press(page, "Turn on: One login per profile");
    await page.getByText("on: at most 1").waitFor();
  });

  it("makes one key at a time, and shows each at its sender", async () => {
    const workspace = await fresh();
    const { page } = await console().open(workspace, { path: "/start" });
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    await page.route("**/v1/keys", async (route) => {
      if (route.request().method() === "POST") await held;
      await route.continue();
    });
    await page.getByRole("button", { name: "Create a key" }).click();
    const [browser, backEnd] = ["A web page or an app", "A back end with the API"].map((name) =>
      page.getByRole("button", { name }),
    );
    await backEnd!.click();
    await page.getByRole("button", { name: "One moment…" }).waitFor({ timeout: 10_000 });
    await browser!.click();
    await page.getByRole("button", { name: "One moment…" }).click();
    await backEnd!.click();
    letGo();
    await page.getByRole("button", { name: "Create a key" }).click();
    const shown = page.getByText("The key is shown once");
    await shown.waitFor();
    await browser!.click();
    await shown.waitFor({ timeout: 10_000 });
    const { body } = await workspace.send("GET", "/v1/keys");
    const sending = (body["keys"] as { readonly send: string | null }[]).filter(({ send }) => send !== null);
    assert.deepEqual(
      sending.map(({ send }) => send!).toSorted((a, b) => (a < b ? -1 : 1)),
      ["all", "collect"],
    );
  });

  it("names the keys that stand already and fit the sender, and says that their secrets are not shown again", async () => {
    const workspace = await fresh();
    for (const [send, name] of [
      ["collect", "web page"],
      ["all", "back end"],
    ])
      await workspace.send("POST", "/v1/keys", { role: "editor", send, name });
    const { page, look } = await console().open(workspace, { path: "/start" });
    const told = page.getByText("The secret of a key is shown only once");
    await told.filter({ hasText: "There is a key for events and SDKs already: “web page”." }).waitFor();
    await page.getByText("Put the secret of the key in the place of YOUR_KEY.").waitFor();
    assert.equal(await page.getByLabel("Name of the key").inputValue(), "web page 2");
    await look("start-with-keys");
    await page.getByRole("button", { name: "A back end with the API" }).click();
    await told.filter({ hasText: "There is a key for events, identify and alias already: “back end”." }).waitFor();
    await page.getByRole("button", { name: "Create another key" }).click();
    await page.getByText("The key is shown once").waitFor();
    assert.equal(await page.getByText("YOUR_KEY").count(), 0);
  });

  it("has the number of a step beside its heading on a phone, and the dot beside what it waits for", async () => {
    const { page } = await console().open(await fresh(), { path: "/start", width: 360 });
    await page.getByText("Waiting for the first event").waitFor();
    const middle = async (selector: string): Promise<number> => {
      const box = (await page.locator(selector).first().boundingBox())!;
      return box.y + box.height / 2;
    };
    assert.ok(Math.abs((await middle(".step-number")) - (await middle(".step h2"))) < 4);
    const [dot, text] = await Promise.all(
      [".pulse", ".waiting [role=status]"].map((one) => page.locator(one).boundingBox()),
    );
    assert.ok(dot!.x + dot!.width <= text!.x && dot!.y > text!.y && dot!.y < text!.y + text!.height);
  });
});
