import assert from "node:assert/strict";
import type { Route } from "playwright-core";
import { describeConsole } from "../support/console/console.js";
import { press, reach, wereRefused, write } from "../support/console/hands.js";
import { SIGNUP_SCHEMA, textAt, until, type TestWorkspace } from "../support/service/app.js";

describeConsole("what arrives", (console) => {
  const fresh = (): Promise<TestWorkspace> => console().app.workspace("Shop");

  describe("live events", () => {
    it("show each event with what became of it, filtered, paused and opened by mouse and by keyboard", async () => {
      const workspace = await fresh();
      const schemaId = await workspace.schema();
      const { page, look } = await console().open(workspace, { path: "/live", as: "viewer" });
      await page.getByText("Watching").waitFor();
      await page.getByText("while somebody watches it, and keeps it for 5 minutes").waitFor();
      // Where refused events are is said above.
      await page.getByText("Events that were quarantined are among the dead letters.").waitFor({ timeout: 5_000 });
      await page.getByText("A key with the role admin or owner can turn on").waitFor();
      assert.equal(await page.getByRole("button", { name: "Keep refused events" }).count(), 0);
      await look("live-empty");
      await workspace.collect(schemaId, { email: "ada@example.com", city: "Paris" });
      await workspace.inline(schemaId, { email: "never stored" });
      await workspace.collect(schemaId, { email: 7 });
      await page.locator(".live-row", { hasText: "accepted" }).waitFor();
      await page.locator(".live-row", { hasText: "refused" }).click();
      await page.getByText("Refused: validation failed").waitFor();
      await look("live");
      await page.getByLabel("Show").selectOption("accepted");
      assert.equal(await page.locator(".live-row").count(), 1);
      await page.getByLabel("Show").selectOption("");
      await page.getByRole("heading", { name: "Live events" }).focus();
      await press(page, "Pause");
      await workspace.collect(schemaId, { email: "grace@example.com" });
      await page.getByRole("button", { name: "Resume (1 new event)" }).waitFor();
      assert.equal(await page.locator(".live-row").count(), 2);
      await page.keyboard.press("Enter");
      await page.locator(".live-row").nth(2).waitFor();
      await write(page, "Filter", "grace@");
      await page.locator(".live-row").nth(1).waitFor({ state: "detached" });
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.getByRole("region", { name: "payload" }).waitFor();
      await write(page, "Filter", "nothing like it").catch(() => page.getByLabel("Filter").fill("nothing like it"));
      await page.getByText("None of these events matches").waitFor();
    });

    it("show what has another sign for the end of a line, and all bytes of what is not ASCII", async () => {
      const workspace = await fresh();
      const schemaId = await workspace.schema();
      const { page } = await console().open(workspace, { path: "/live", as: "viewer" });
      await page.getByText("Watching").waitFor();
      await workspace.collect(schemaId, { email: "ada@example.com", city: "Zürich" });
      await workspace.collect(schemaId, { email: "ada@example.com", city: "one\u2028two\u2029three" });
      const cut = page.getByText("The first 4 KiB");
      for (const text of ["Zürich", "three"]) {
        const row = page.locator(".live-row", { hasText: text });
        await row.click();
        await page.getByRole("region", { name: "payload" }).getByText(text).waitFor();
        assert.equal(await cut.count(), 0, text);
        await row.click();
      }
      await workspace.collect(schemaId, { email: "ada@example.com", note: "ü".repeat(2_100) });
      await page.locator(".live-row", { hasText: "üü" }).click();
      await cut.waitFor();
    });
  });

  describe("schemas", () => {
    it("are tried out while they are written, registered, checked and changed by mouse", async () => {
      const workspace = await fresh();
      const opened = await console().open(workspace, { path: "/schemas", as: "admin" });
      const { page, look } = opened;
      await page.getByText("There is no schema yet").waitFor();
      await look("schemas-empty");
      await page.getByRole("link", { name: "New schema" }).first().click();
      await page.getByText("This is an example").waitFor();
      assert.ok(await page.getByRole("button", { name: "Register" }).isDisabled());
      await page.getByText("Enter a schema id, or change the example").waitFor();
      await page.getByLabel("Schema id").fill("order");
      assert.ok(await page.getByRole("button", { name: "Register" }).isEnabled());
      await page.getByLabel("JSON Schema").fill("{");
      await page.locator(".field .wrong").waitFor();
      await page.getByLabel("JSON Schema").fill(JSON.stringify({ ...SIGNUP_SCHEMA, required: 5 }));
      await page.getByRole("alert").waitFor();
      wereRefused(opened, 422);
      await page.getByLabel("JSON Schema").fill(JSON.stringify(SIGNUP_SCHEMA, null, 2));
      await page.getByText("Valid: this would become version 1.").waitFor();
      await look("schema-new");
      await page.getByRole("button", { name: "Register" }).click();
      await page.getByText("version 1", { exact: true }).waitFor();
      await page.getByRole("tab", { name: "Check an event" }).click();
      await page.getByLabel("Payload").fill('{"email": 7}');
      await page.getByText("No: it would be refused.").waitFor();
      await look("schema-check");
      await page.getByLabel("Payload").fill('{"email": "ada@example.com"}');
      await page.getByText("Yes: it matches.").waitFor();
      // This check is never answered.
      await page.route("**/v1/collect?syncValidation=true", () => undefined);
      await page.getByLabel("Payload").fill('{"email": "grace@example.com"}');
      await page.getByText("Yes: it matches.").waitFor({ state: "detached" });
      await page.getByRole("tab", { name: "New version" }).click();
      const wider = { ...SIGNUP_SCHEMA, properties: { ...SIGNUP_SCHEMA.properties, plan: { type: "string" } } };
      await page.getByLabel("JSON Schema").fill(JSON.stringify(wider, null, 2));
      await page.getByText("Valid: this would become version 2.").waitFor();
      await page.getByRole("button", { name: "Register the version" }).click();
      await page.getByText("version 2", { exact: true }).waitFor();
      await page.getByRole("tab", { name: "Versions" }).click();
      await page.locator(".diff .added", { hasText: "plan" }).waitFor();
      await page
        .locator(".diff .folded", { hasText: /^⋯ \d+ lines are the same/ })
        .first()
        .waitFor();
      await look("schema-versions");
      const datasets = await workspace.send("GET", "/v1/datasets");
      assert.equal((datasets.body["datasets"] as unknown[]).length, 1);
    });

    it("are not registered once more where their dataset failed: the next try makes it", async () => {
      const workspace = await fresh();
      const opened = await console().open(workspace, { path: "/new-schema", as: "admin" });
      const { page } = opened;
      const json = { code: "unavailable", title: "A part of the service is unavailable", detail: "Try again." };
      await page.route("**/v1/datasets", (route) => route.fulfill({ status: 503, json }), { times: 1 });
      await page.getByLabel("Schema id").fill("visit");
      const register = page.getByRole("button", { name: "Register", exact: true });
      await register.click();
      await page.getByText(json.title).waitFor();
      wereRefused(opened, 503);
      await register.click();
      await page.getByText("is registered.").waitFor();
      for (const name of ["schemas", "datasets"])
        assert.equal(((await workspace.send("GET", `/v1/${name}`)).body[name] as unknown[]).length, 1, name);
    });

    it("have one dataset where the answer to making it was lost", async () => {
      const workspace = await fresh();
      const { page, wrongs } = await console().open(workspace, { path: "/new-schema", as: "admin" });
      const lose = async (route: Route): Promise<void> => {
        await route.fetch();
        await route.abort();
      };
      await page.route("**/v1/datasets", lose, { times: 1 });
      await page.getByLabel("Schema id").fill("visit");
      const register = page.getByRole("button", { name: "Register", exact: true });
      await register.click();
      await page.getByText("The service is away").waitFor();
      await register.click();
      await page.getByText("is registered.").waitFor();
      const { body } = await workspace.send("GET", "/v1/datasets");
      assert.equal((body["datasets"] as unknown[]).length, 1);
      // The lost answer.
      (wrongs as string[]).splice(0);
    });

    it("are registered by keyboard alone", async () => {
      const workspace = await fresh();
      const { page } = await console().open(workspace, { path: "/schemas", as: "admin" });
      await press(page, "New schema");
      await page.getByRole("heading", { name: "New schema" }).waitFor();
      await write(page, "Schema id", "visit");
      await press(page, "Register");
      await page.getByRole("heading", { name: "visit" }).waitFor();
      await reach(page, "Schema");
      await page.keyboard.press("ArrowRight");
      await page.getByText("Would version 1 take this event?").waitFor();
      assert.equal((await workspace.send("GET", "/v1/schemas/visit")).status, 200);
    });
  });

  describe("datasets", () => {
    it("are made, changed and filled by mouse", async () => {
      const workspace = await fresh();
      const schemaId = await workspace.schema(SIGNUP_SCHEMA, null);
      const { body } = await workspace.collect(schemaId, { email: "ada@example.com" });
      await workspace.settled(body["event_id"], "stored");
      const { page, look } = await console().open(workspace, { path: "/datasets", as: "admin" });
      await page.getByText("There is no dataset yet").waitFor();
      await look("datasets-empty");
      await page.getByRole("button", { name: "New dataset" }).first().click();
      await page.getByLabel("Name").fill("Signups");
      await page.getByLabel("Schema").selectOption(schemaId);
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByText("The dataset Signups is saved.").waitFor();
      await page.getByRole("button", { name: "Backfill" }).click();
      await page.getByText("1 event of this schema is stored and not folded").waitFor();
      await page.getByRole("button", { name: "Fold them" }).click();
      await page.getByText("done", { exact: true }).waitFor();
      await look("datasets");
      await page.getByRole("button", { name: "Backfill" }).click();
      await page.getByText("there is nothing to do").waitFor();
      assert.equal(await page.getByRole("button", { name: "Fold them" }).count(), 0);
      await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).last().click();
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByLabel("Keep events for (days)").fill("90");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("90 days").waitFor();
    });

    it("are not changed by a number that is none", async () => {
      const workspace = await fresh();
      const orders = { name: "Orders", schema_id: await workspace.schema(SIGNUP_SCHEMA, null), retention_days: 30 };
      const { body } = await workspace.send("POST", "/v1/datasets", orders);
      const { page } = await console().open(workspace, { path: "/datasets", as: "admin" });
      await page.getByRole("button", { name: "Edit" }).click();
      const days = page.getByLabel("Keep events for (days)");
      await days.press("End");
      await days.pressSequentially("e");
      await page.getByLabel("Name").focus();
      await page.getByRole("button", { name: "Save" }).click();
      await days.and(page.locator(":focus")).waitFor({ timeout: 5_000 });
      const stored = await workspace.send("GET", `/v1/datasets/${textAt(body, "dataset_id")}`);
      assert.equal(stored.body["retention_days"], 30);
      await days.press("Backspace");
      await days.pressSequentially("0");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("300 days").waitFor();
    });

    it("keep what somebody else changed since the list was read", async () => {
      const workspace = await fresh();
      const schemaId = await workspace.schema(SIGNUP_SCHEMA, null);
      const orders = { name: "Orders", schema_id: schemaId, unified_profile: true, retention_days: 30 };
      const made = await workspace.send("POST", "/v1/datasets", orders);
      const path = `/v1/datasets/${textAt(made.body, "dataset_id")}`;
      const { page } = await console().open(workspace, { path: "/datasets", as: "admin" });
      await page.getByText("30 days").waitFor();
      const changed = { unified_profile: false, retention_days: 365 };
      assert.equal((await workspace.send("PATCH", path, changed)).status, 200);
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByLabel("Name").fill("All orders");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("The dataset All orders is saved.").waitFor();
      const { body } = await workspace.send("GET", "/v1/datasets");
      const { name, unified_profile, retention_days } = (body["datasets"] as Record<string, unknown>[])[0]!;
      assert.deepEqual({ name, unified_profile, retention_days }, { name: "All orders", ...changed });
      await page.getByText("365 days").waitFor();
    });

    it("are made by keyboard alone, and say where a schema is missing", async () => {
      const workspace = await fresh();
      const first = await console().open(workspace, { path: "/datasets", as: "admin" });
      await press(first.page, "New dataset");
      await first.page.getByText("It needs a schema first").waitFor();
      await first.page.keyboard.press("Escape");
      const schemaId = await workspace.schema(SIGNUP_SCHEMA, null);
      await first.page.getByRole("heading", { name: "Datasets" }).focus();
      await press(first.page, "New dataset");
      await write(first.page, "Name", "Signups");
      // A key pressed before the list is there chooses nothing.
      await first.page.locator("option", { hasText: schemaId }).waitFor({ state: "attached" });
      await reach(first.page, "Schema");
      await first.page.keyboard.type(schemaId);
      await first.page.keyboard.press("Tab");
      await press(first.page, "Create");
      await first.page.getByText("The dataset Signups is saved.").waitFor();
    });
  });

  describe("dead letters", () => {
    /** A quarantined event, kept as a letter. */
    async function quarantined(properties = "{}"): Promise<TestWorkspace> {
      const workspace = await fresh();
      const settings = { unplanned: "quarantine", violations: "mark", keep_rejects: true };
      assert.equal((await workspace.send("PUT", "/v1/sdk/settings", settings)).status, 200);
      const key = await workspace.key("collect");
      const event = `{"type":"track","event":"Surprise","userId":"u-1","messageId":"m-1","properties":${properties}}`;
      const headers = { Authorization: `Basic ${Buffer.from(`${key}:`).toString("base64")}` };
      const sent = await console().app.send("POST", "/v1/track", { body: event, headers });
      assert.equal(sent.status, 200, sent.text);
      const { body } = await until(
        () => workspace.send("GET", "/v1/dead-letters"),
        (answer) => (answer.body["dead_letters"] as unknown[]).length === 1,
      );
      assert.equal(textAt(body, "dead_letters.0.reason"), "quarantined");
      return workspace;
    }
    const accept = (workspace: TestWorkspace) =>
      workspace.send("PUT", "/v1/sdk/settings", { unplanned: "accept", violations: "mark", keep_rejects: true });

    it("are opened and replayed by mouse, after a look at what would go", async () => {
      const workspace = await quarantined();
      const { page, look, go } = await console().open(workspace, { path: "/dead-letters", as: "admin" });
      await page.getByRole("button", { name: "Details", exact: true }).click();
      await page.getByRole("region", { name: "the payload" }).waitFor();
      await look("dead-letter");
      await page.keyboard.press("Escape");
      await look("dead-letters");
      await accept(workspace);
      await page.getByRole("button", { name: "Replay…", exact: true }).click();
      await page.getByRole("button", { name: "Replay 1 letter" }).click();
      await page.getByText("1 letter queued again.").waitFor();
      await page.getByText("No dead letters").waitFor();
      await look("dead-letters-empty");
      await go("/dead-letters?state=all");
      await page.getByText("replayed", { exact: true }).first().waitFor();
    });

    it("show the number for which they were quarantined, and not what a program makes of it", async () => {
      const workspace = await quarantined('{"order":9007199254740993}');
      const { page } = await console().open(workspace, { path: "/dead-letters", as: "admin" });
      await page.getByRole("button", { name: "Details", exact: true }).click();
      const shown = await page.getByRole("region", { name: "the payload" }).textContent();
      assert.match(shown!, /"order": 9007199254740993\n/);
    });

    it("are replayed by keyboard alone", async () => {
      const workspace = await quarantined();
      await accept(workspace);
      const { page } = await console().open(workspace, { path: "/dead-letters", as: "admin" });
      await page.getByRole("button", { name: "Replay all" }).waitFor();
      await press(page, "Replay all…");
      await page.getByText("goes back into the queue").waitFor();
      await press(page, "Replay 1 letter");
      await page.getByText("No dead letters").waitFor();
    });
  });
});
