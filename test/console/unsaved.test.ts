import assert from "node:assert/strict";
import { describeConsole, ownPage, type Opened } from "../support/console/console.js";
import { DRAWN } from "../support/console/crawl.js";
import { press, wereRefused } from "../support/console/hands.js";
import { SIGNUP_SCHEMA, textAt, type TestWorkspace } from "../support/service/app.js";

describeConsole("work that is not stored", (console) => {
  const question = ({ page }: Opened) => page.getByRole("dialog", { name: "Leave without saving?" });
  const answer = async (opened: Opened, name: "Stay" | "Leave"): Promise<void> => {
    await question(opened).getByRole("button", { name, exact: true }).click();
    await question(opened).waitFor({ state: "detached" });
  };
  const closes = async ({ page }: Opened): Promise<string> => {
    const [asked] = await Promise.all([page.waitForEvent("dialog"), page.close({ runBeforeUnload: true })]);
    const type = asked.type();
    await asked.dismiss();
    return type;
  };

  it("of an audience is asked about by a link, by the way back and by closing the tab, and not once it is stored", async () => {
    const workspace = await console().app.workspace();
    await workspace.schema();
    const rule = { "traits.city": "Paris" };
    const made = await workspace.send("POST", "/v1/audiences", { name: "Parisians", rule });
    const path = `/audiences/${textAt(made.body, "audience_id")}/change`;
    const opened = await console().open(workspace, { path: "/stats", as: "editor" });
    const { page, go, look } = opened;
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
    await go(path);
    const name = page.getByLabel("Name", { exact: true });
    const value = page.getByLabel("Value", { exact: true });
    await value.waitFor();
    // Neither a look at the rule as text nor what was taken back is work.
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.getByRole("tab", { name: "Builder" }).click();
    await value.fill("Lyon");
    await value.fill("Paris");
    await page.getByRole("link", { name: "Statistics" }).click();
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
    await page.goBack();
    await value.fill("Lyon");
    await page.getByRole("link", { name: "Statistics" }).click();
    await question(opened).waitFor();
    await look("leave");
    await answer(opened, "Stay");
    await page.goBack();
    await question(opened).waitFor();
    assert.ok(page.url().endsWith(path), page.url());
    await answer(opened, "Stay");
    assert.equal(await value.inputValue(), "Lyon");
    assert.equal(await closes(opened), "beforeunload");
    await page.getByRole("link", { name: "Statistics" }).click();
    await answer(opened, "Leave");
    await page.getByRole("heading", { name: "Statistics" }).and(page.locator(":focus")).waitFor();
    await go(path);
    await name.fill("People of Paris");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "People of Paris" }).waitFor();
    await page.getByRole("link", { name: "Statistics" }).click();
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
  });

  it("is not in the way of the next step back, once it is left by one", async () => {
    const opened = await console().open(await console().app.workspace(), { path: "/stats", as: "editor" });
    const { page, go } = opened;
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
    await go("/audiences");
    await page.getByRole("link", { name: "New audience" }).first().click();
    await page.getByLabel("Name", { exact: true }).fill("Parisians");
    await page.goBack();
    await answer(opened, "Leave");
    await page.getByRole("heading", { name: "Audiences", exact: true, level: 1 }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Statistics" }).waitFor({ timeout: 10_000 });
  });

  it("of a schema is asked about by its other tabs and by logging out, with the keyboard alone", async () => {
    const workspace = await console().app.workspace();
    const schemaId = await workspace.schema();
    const opened = await console().open(workspace, { path: `/schemas/${schemaId}` });
    const { page } = opened;
    await page.getByRole("tab", { name: "New version" }).click();
    const text = page.getByLabel("JSON Schema");
    const before = await text.inputValue();
    await text.fill(`${before} `);
    await page.getByRole("tab", { name: "New version" }).focus();
    await page.keyboard.press("ArrowRight");
    await question(opened).waitFor();
    await page.keyboard.press("Escape");
    await question(opened).waitFor({ state: "detached" });
    assert.equal(await text.inputValue(), `${before} `);
    await press(page, "Log out");
    await question(opened).waitFor();
    await press(page, "Leave");
    await page.getByLabel("API key").waitFor();
  });

  describe("when the session ends", () => {
    const logInWith = async ({ page }: Opened, key: string): Promise<void> => {
      await page.getByLabel("API key").fill(key);
      await page.getByRole("button", { name: "Log in" }).click();
    };
    const dialog = ({ page }: Opened) => page.getByRole("dialog", { name: "Log in again" });
    const text = ({ page }: Opened) => page.getByLabel("JSON Schema");
    const end = async ({ page }: Opened): Promise<void> => {
      const headers = ownPage(console().app.url);
      const ended = await page.request.delete(`${console().app.url}/console/session`, { headers });
      assert.equal(ended.status(), 204);
    };
    /** Types a schema and ends the session. What is tried out then is refused. Answers what was typed. */
    const typeAndEnd = async (opened: Opened): Promise<string> => {
      await opened.page.getByRole("tab", { name: "New version" }).click();
      const typed = (await text(opened).inputValue()).replace('"city"', '"town"');
      await end(opened);
      await text(opened).fill(typed);
      await dialog(opened).getByText("This session has ended").waitFor();
      // A browser tells of each refused request.
      wereRefused(opened, 401);
      return typed;
    };
    const openSchema = async (workspace: TestWorkspace): Promise<Opened> =>
      console().open(workspace, { path: `/schemas/${await workspace.schema()}`, as: "admin" });

    it("stays below a log-in, for the same key or one that may as much to go on with", async () => {
      const workspace = await console().app.workspace("Corner shop");
      const opened = await openSchema(workspace);
      const { page, look } = opened;
      const typed = await typeAndEnd(opened);
      await page.getByLabel("API key").and(page.locator(":focus")).waitFor();
      await look("log-in-again");
      await page.keyboard.press("Escape");
      await answer(opened, "Stay");
      await logInWith(opened, "onym_nothing");
      await dialog(opened).getByText("This key does not exist").waitFor();
      wereRefused(opened, 401);
      // The one that it was begun with may be revoked.
      await dialog(opened).getByText("log in with a key of Corner shop whose role is admin or higher").waitFor();
      await logInWith(opened, await workspace.key("owner"));
      await dialog(opened).waitFor({ state: "detached" });
      assert.equal(await text(opened).inputValue(), typed);
      await text(opened).fill(`${typed} `);
      await page.getByText("This session has ended").waitFor({ state: "detached" });
    });

    it("stays below a log-in that Escape does not take away, however often it is pressed", async () => {
      const workspace = await console().app.workspace("Corner shop");
      const opened = await openSchema(workspace);
      const { page } = opened;
      const typed = await typeAndEnd(opened);
      for (let n = 0; n < 10; n += 1) {
        await page.keyboard.press("Escape");
        await page.evaluate(DRAWN);
      }
      if ((await question(opened).count()) > 0) await answer(opened, "Stay");
      await page.keyboard.press("Escape");
      await answer(opened, "Stay");
      assert.ok(await dialog(opened).isVisible());
      await logInWith(opened, await workspace.key("admin"));
      await dialog(opened).waitFor({ state: "detached" });
      assert.equal(await text(opened).inputValue(), typed);
    });

    it("stays, and says so, where somebody registered a version meanwhile", async () => {
      const workspace = await console().app.workspace("Corner shop");
      const opened = await openSchema(workspace);
      const { page } = opened;
      const typed = await typeAndEnd(opened);
      const versions = `/v1/schemas/${page.url().split("/").at(-1)!}/versions`;
      const wider = { ...SIGNUP_SCHEMA, properties: { ...SIGNUP_SCHEMA.properties, plan: { type: "string" } } };
      assert.equal((await workspace.send("POST", versions, { schema: wider })).status, 201);
      await logInWith(opened, await workspace.key("admin"));
      await page.getByText("version 2", { exact: true }).waitFor();
      assert.equal(await text(opened).inputValue(), typed);
      await page.getByText("Version 2 was registered meanwhile").waitFor();
      await page.locator(".diff .removed", { hasText: "plan" }).waitFor();
      await page.getByRole("button", { name: "Discard the changes" }).click();
      assert.match(await text(opened).inputValue(), /"plan"/);
      await text(opened).fill((await text(opened).inputValue()).replace('"plan"', '"tier"'));
      assert.equal(await page.getByText("was registered meanwhile").count(), 0);
    });

    it("is given up with another key, or once the person says so", async () => {
      const workspace = await console().app.workspace("Corner shop");
      const opened = await openSchema(workspace);
      const { page } = opened;
      await typeAndEnd(opened);
      await page.keyboard.press("Escape");
      await answer(opened, "Leave");
      await page.getByText("When the service first started").waitFor();
      await logInWith(opened, await workspace.key("admin"));
      await typeAndEnd(opened);
      await logInWith(opened, await workspace.key("viewer"));
      await page.getByText("viewer", { exact: true }).waitFor();
      assert.deepEqual([await dialog(opened).count(), await text(opened).count()], [0, 0]);
    });

    it("is the person to be erased, too, whom the list below the dialog does not take away", async () => {
      const workspace = await console().app.workspace("Corner shop");
      const opened = await console().open(workspace, { path: "/erasures", as: "admin" });
      const { page } = opened;
      await page.getByRole("button", { name: "Erase a person" }).click();
      const erasing = page.getByRole("dialog", { name: "Erase a person" });
      await erasing.getByLabel("Value").fill("eve@example.com");
      await end(opened);
      await dialog(opened).getByText("This session has ended").waitFor();
      await logInWith(opened, await workspace.key("admin"));
      await dialog(opened).waitFor({ state: "detached" });
      assert.equal(await erasing.getByLabel("Value").inputValue(), "eve@example.com");
      await erasing.getByRole("button", { name: "Cancel" }).click();
      await answer(opened, "Leave");
      await erasing.waitFor({ state: "detached" });
      wereRefused(opened, 401);
    });

    it("is not asked about once more by a refusal that comes after the log-in", async () => {
      const workspace = await console().app.workspace("Corner shop");
      const opened = await openSchema(workspace);
      const { page } = opened;
      let letGo = (): void => undefined;
      const held = new Promise<void>((resolve) => (letGo = resolve));
      await page.route("**/versions", async (route) => {
        await held;
        await route.fulfill({ status: 401, json: { code: "unauthenticated", detail: "This comes late." } });
      });
      await page.getByRole("tab", { name: "New version" }).click();
      await text(opened).fill(`${await text(opened).inputValue()} `);
      await page.getByRole("button", { name: "Register the version" }).click();
      await typeAndEnd(opened);
      await logInWith(opened, await workspace.key("admin"));
      await dialog(opened).waitFor({ state: "detached" });
      letGo();
      await page.getByText("This comes late.").waitFor();
      await page.evaluate(DRAWN);
      assert.equal(await dialog(opened).count(), 0);
      wereRefused(opened, 401);
    });
  });

  it("of a new webhook and of a new schema is asked about before it is gone", async () => {
    const opened = await console().open(await console().app.workspace(), { path: "/webhooks" });
    const { page, go } = opened;
    await page.getByRole("button", { name: "New webhook" }).first().click();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "New webhook" }).first().click();
    await page.getByLabel("Address").fill("https://hooks.example.com");
    await page.keyboard.press("Escape");
    await answer(opened, "Stay");
    assert.equal(await page.getByLabel("Address").inputValue(), "https://hooks.example.com");
    await page.getByRole("button", { name: "Cancel" }).click();
    await answer(opened, "Leave");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await go("/new-audience");
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.getByRole("tab", { name: "Builder" }).click();
    await go("/new-schema");
    await page.getByLabel("Schema id").fill("signup");
    await page.getByRole("link", { name: "Cancel" }).click();
    await question(opened).waitFor();
    assert.equal(await closes(opened), "beforeunload");
  });

  it("of a dataset, a key and a namespace is asked about, whether it is new or changed", async () => {
    const workspace = await console().app.workspace();
    const schemaId = await workspace.schema();
    await workspace.send("POST", "/v1/datasets", { name: "Orders", schema_id: schemaId });
    const opened = await console().open(workspace, { path: "/stats" });
    const { page, go } = opened;
    const dialog = page.getByRole("dialog");
    for (const [path, opens, label, text] of [
      ["/datasets", "New dataset", "Name", "Visits"],
      ["/datasets", "Edit", "Keep events for (days)", "30"],
      ["/keys", "New key", "Name", "web page"],
      ["/namespaces", "New namespace", "Name", "till"],
      ["/namespaces", "Edit", "Blocked values", "unknown"],
    ] as const) {
      await go(path);
      await page.getByRole("button", { name: opens }).first().click();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      await page.getByRole("button", { name: opens }).first().click();
      const field = page.getByLabel(label, { exact: true });
      await field.fill(text);
      await page.keyboard.press("Escape");
      await answer(opened, "Stay");
      assert.equal(await field.inputValue(), text, `${path}, ${opens}`);
      await page.getByRole("button", { name: "Cancel" }).click();
      await answer(opened, "Leave");
      await dialog.waitFor({ state: "detached" });
    }
  });

  it("of the settings is asked about until it is stored, and stays when they are read again", async () => {
    const opened = await console().open(await console().app.workspace(), { path: "/settings" });
    const { page, go } = opened;
    const limit = page.getByLabel("Shared identifier limit");
    const phone = page.getByLabel("Use the phone number as an identifier");
    await limit.fill("7");
    await phone.check();
    // The other form is stored, and read again.
    await page.getByRole("button", { name: "Save" }).first().click();
    await page.getByText("The identity settings are saved.").waitFor();
    await page.getByRole("link", { name: "Statistics" }).click();
    await answer(opened, "Stay");
    assert.deepEqual([await limit.inputValue(), await phone.isChecked()], ["7", true]);
    await page.getByRole("button", { name: "Save" }).last().click();
    await page.getByText("The settings for events are saved.").waitFor();
    await page.getByRole("link", { name: "Statistics" }).click();
    await page.getByRole("heading", { name: "Statistics" }).waitFor();
    await go("/settings");
    await limit.waitFor();
    assert.deepEqual([await limit.inputValue(), await phone.isChecked()], ["7", true]);
  });
});
