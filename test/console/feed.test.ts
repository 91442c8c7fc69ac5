import assert from "node:assert/strict";
import { CUT_OFF, describeConsole } from "../support/console/console.js";
import { wereRefused } from "../support/console/hands.js";
import { eventually, soon } from "../support/eventually.js";
import { startReceiver, type Receiver } from "../support/service/receiver.js";
import { textAt, until, type TestWorkspace } from "../support/service/app.js";

describeConsole(
  "the feed and webhooks",
  (console) => {
    const enter = async (workspace: TestWorkspace, schemaId: string, email: string): Promise<void> => {
      const { body } = await workspace.collect(schemaId, { email, city: "Paris" });
      await workspace.settled(body["event_id"]);
    };
    const head = async (workspace: TestWorkspace, wanted: number): Promise<void> => {
      const answer = await until(
        () => workspace.send("GET", "/v1/feed"),
        ({ body }) => Number(body["head"]) >= wanted,
      );
      assert.equal(answer.body["head"], wanted);
    };
    async function parisians(): Promise<{ workspace: TestWorkspace; schemaId: string; id: string }> {
      const workspace = await console().app.workspace("Shop");
      const schemaId = await workspace.schema();
      const rule = { "traits.city": "Paris" };
      const made = await workspace.send("POST", "/v1/audiences", { name: "Parisians", rule });
      return { workspace, schemaId, id: textAt(made.body, "audience_id") };
    }

    it("have tables in which nothing stands over the next column or beyond the edge, and so have the dead letters", async () => {
      const { workspace, schemaId } = await parisians();
      await workspace.send("PUT", "/v1/sdk/settings", { keep_rejects: true });
      await workspace.collect(schemaId, { email: 5 });
      const name = "Members with a name that is longer than the column in which it has to find its place";
      await workspace.send("POST", "/v1/audiences", { name, rule: { "traits.city": "Paris" } });
      await workspace.send("POST", "/v1/webhooks", { url: "https://nobody.invalid/services/of/some/receiver" });
      await enter(workspace, schemaId, "ada@example.com");
      const { page, go } = await console().open(workspace, { path: "/feed" });
      const beyond = `[...document.querySelectorAll("main td *:not(wbr)")].filter((one) => {
        const cell = one.closest("td").getBoundingClientRect();
        const { left, right } = one.getBoundingClientRect();
        return left < cell.left - 8 || right > cell.right + 8;
      }).map((one) => one.outerHTML)`;
      const seen = [
        ["/feed", "entered"],
        ["/webhooks", "failing"],
        ["/dead-letters", "refused"],
      ] as const;
      for (const width of [1440, 360]) {
        await page.setViewportSize({ width, height: 900 });
        for (const [path, text] of seen) {
          await go(path);
          await page.getByRole("cell", { name: text }).first().waitFor();
          assert.deepEqual(await page.evaluate(beyond), [], `${path} at ${width}`);
        }
      }
      // Where one is too wide, its rows are cards: nothing has to be scrolled to. It is a table again where it has the room.
      for (const width of [700, 1_000, 1_440]) {
        await page.setViewportSize({ width, height: 900 });
        for (const [path, text] of seen) {
          await go(path);
          await page.getByRole("cell", { name: text }).first().waitFor();
          await soon(async () => assert.deepEqual(await page.evaluate(CUT_OFF), [], `${path}, ${width} px`));
          assert.equal(await page.evaluate("document.documentElement.scrollWidth > innerWidth"), false, path);
          if (width !== 1_000) assert.equal(await page.locator(".stacks").count(), width === 700 ? 1 : 0, path);
        }
      }
    });

    it("show who came and went as it happens, of all audiences or of one", async () => {
      const { workspace, schemaId, id } = await parisians();
      const { page, look } = await console().open(workspace, { path: "/feed", as: "viewer" });
      await page.getByText("Nobody came or went yet").waitFor();
      await page.getByText("Watching").waitFor();
      await look("feed-empty");
      await enter(workspace, schemaId, "ada@example.com");
      await page.getByRole("cell", { name: "entered" }).waitFor();
      await page.getByRole("link", { name: "Parisians" }).waitFor();
      await page.getByRole("link", { name: "ada@example.com" }).waitFor();
      const other = await workspace.send("POST", "/v1/audiences", { name: "Everybody", rule: {} });
      await page.getByRole("link", { name: "Everybody" }).waitFor();
      const { body } = await workspace.send("DELETE", `/v1/audiences/${textAt(other.body, "audience_id")}`);
      assert.deepEqual(body, {});
      await page.getByRole("cell", { name: "audience deleted" }).waitFor();
      await look("feed");
      assert.deepEqual(await page.locator("tbody td:first-child").allTextContents(), ["3", "2", "1"]);
      await page.getByLabel("Audience").focus();
      await page.keyboard.type("Parisians");
      await page.locator("tbody tr").nth(1).waitFor({ state: "detached" });
      assert.match(page.url(), new RegExp(`audience=${id}`));
      assert.equal(await page.getByRole("link", { name: "Send it to a webhook" }).count(), 0);
      // Who is erased is named no more.
      await page.getByLabel("Audience").selectOption("");
      await page.getByText("ada@example.com").first().waitFor();
      const found = await workspace.send("POST", "/v1/profiles/lookup", {
        identifiers: [{ namespace: "email", value: "ada@example.com" }],
      });
      await workspace.send("DELETE", `/v1/profiles/${textAt(found.body, "profiles.0.profile_id")}`);
      await page.getByRole("cell", { name: "person erased" }).waitFor();
      await page.getByText("ada@example.com").first().waitFor({ state: "detached" });
      const gone = page.getByRole("row", { name: /person erased/ });
      await gone.getByRole("cell", { name: "the person was erased", exact: true }).waitFor();
      assert.equal(await gone.getByRole("link").count(), 0, "nothing is left to be opened");
      await look("feed-erased");
    });

    it("are cards where something in them is too wide, and a table again once there are rows without it", async () => {
      const { workspace, schemaId } = await parisians();
      const { page } = await console().open(workspace, { path: "/feed", as: "viewer" });
      await page.setViewportSize({ width: 1_440, height: 900 });
      await enter(workspace, schemaId, "ada@example.com");
      await page.getByRole("link", { name: "ada@example.com" }).waitFor();
      const stacks = page.locator(".stacks");
      assert.equal(await stacks.count(), 0);
      await page.evaluate('document.querySelector("td").append(new Image(2000, 50))');
      await stacks.waitFor();
      await page.evaluate('document.querySelector("td img").remove()');
      await enter(workspace, schemaId, "bob@example.com");
      await stacks.waitFor({ state: "detached" });
      assert.equal(await page.locator("table").count(), 1);
    });

    it("are followed further after a refusal that passes, which is told meanwhile", async () => {
      const { workspace, schemaId } = await parisians();
      await enter(workspace, schemaId, "ada@example.com");
      await head(workspace, 1);
      const opened = await console().open(workspace, { path: "/audiences", as: "viewer" });
      const { page, go } = opened;
      let refusals = 2;
      await page.route(/\/v1\/feed\?/, async (route) => {
        const isRefused = refusals > 0 && new URL(route.request().url()).searchParams.get("after") === "1";
        if (!isRefused) return route.fallback();
        refusals -= 1;
        const problem = { status: 503, code: "unavailable", title: "Unavailable", detail: "A store does not answer." };
        await route.fulfill({ status: 503, contentType: "application/problem+json", json: problem });
      });
      await go("/feed");
      const told = page.getByText("A store does not answer.");
      await told.waitFor();
      await page.getByText("Connecting").waitFor();
      await page.getByRole("cell", { name: "entered" }).waitFor();
      await told.waitFor({ state: "detached" });
      await page.getByText("Watching").waitFor();
      await enter(workspace, schemaId, "grace@example.com");
      await page.getByRole("link", { name: "grace@example.com" }).waitFor();
      wereRefused(opened, 503, 503);
    });

    it("do not say that nobody came to an audience where earlier entries are still to be read", async () => {
      const { workspace, schemaId, id } = await parisians();
      await enter(workspace, schemaId, "ada@example.com");
      await head(workspace, 1);
      const { page, go } = await console().open(workspace, { path: "/audiences", as: "viewer" });
      // As if very many entries of other audiences had come since.
      await page.route(/\/v1\/feed\?/, async (route) => {
        // Nothing comes to those who wait.
        if (new URL(route.request().url()).searchParams.has("wait")) return;
        await route.fulfill({ json: { entries: [], next: 10_000, head: 10_000, oldest: 1 } });
      });
      await go(`/feed?audience=${id}`);
      await page.getByText("Nobody came or went lately").waitFor();
      await page.getByRole("button", { name: "Show earlier ones" }).waitFor();
    });

    describe("webhooks", () => {
      let receiver: Receiver;
      before(async () => {
        receiver = await startReceiver();
      });
      after(() => receiver.close());

      it("are made, tested, set back, signed anew and deleted by mouse; the secret is shown once", async () => {
        const { workspace, schemaId } = await parisians();
        await enter(workspace, schemaId, "ada@example.com");
        await head(workspace, 1);
        const { page, look } = await console().open(workspace, { path: "/webhooks", as: "admin" });
        await page.getByText("There is no webhook yet").waitFor();
        await look("webhooks-empty");
        await page.getByRole("button", { name: "New webhook" }).first().click();
        await page.getByLabel("Address").fill(receiver.url);
        await page.getByLabel("Parisians").check();
        await page.getByLabel("a person was erased").uncheck();
        await page.getByLabel("Begins").selectOption("first");
        await look("webhook-new");
        await page.getByRole("button", { name: "Create", exact: true }).click();
        const secret = await page.getByRole("region", { name: "the secret" }).textContent();
        assert.match(secret!, /^whsec_/);
        await page.getByRole("button", { name: "I have saved it" }).click();
        await page.getByText("1 of 1").waitFor();
        await page.getByText("Parisians: entered, left, audience deleted").waitFor();
        assert.ok(!(await page.content()).includes(secret!));
        assert.deepEqual(receiver.seqs(), [1]);
        await page.getByRole("button", { name: "Test", exact: true }).click();
        await page.getByText("The receiver answered 200.").waitFor();
        await page.getByRole("button", { name: "Send again" }).click();
        await page.getByLabel("After entry").fill("0");
        await page.getByRole("dialog").getByRole("button", { name: "Send again" }).click();
        await page.getByText("The webhook goes on.").waitFor();
        await eventually("it is pushed once more", () => receiver.seqs().length === 2);
        assert.deepEqual(receiver.seqs(), [1, 1]);
        await page.getByRole("button", { name: "New secret" }).click();
        await page.getByRole("button", { name: "Create the new secret" }).click();
        await page.getByRole("button", { name: "I have saved it" }).click();
        receiver.answer(500);
        await enter(workspace, schemaId, "grace@example.com");
        await page.getByText("failing").waitFor();
        await page.getByText("1 entry behind").waitFor();
        await page.getByRole("button", { name: "Retry now" }).waitFor();
        await look("webhooks");
        await page.getByRole("button", { name: "Delete" }).click();
        await page.getByRole("button", { name: "Delete the webhook" }).click();
        await page.getByText("There is no webhook yet").waitFor();
      });

      it("are made by keyboard alone, and a wrong address is told at its field", async () => {
        const { workspace } = await parisians();
        const { page, wrongs } = await console().open(workspace, { path: "/webhooks", as: "admin" });
        await page.getByRole("button", { name: "New webhook" }).first().focus();
        await page.keyboard.press("Enter");
        await page.getByLabel("Address").focus();
        await page.keyboard.type("ftp://example.com");
        await page.keyboard.press("Enter");
        await page.locator(".field .wrong", { hasText: /^This must / }).waitFor();
        // A browser tells of each refused request.
        assert.equal(wrongs.length, 1);
        (wrongs as string[]).splice(0);
        await page.keyboard.press("ControlOrMeta+a");
        await page.keyboard.type(receiver.url);
        await page.keyboard.press("Enter");
        await page.getByText("Copy it now").waitFor();
        await page.keyboard.press("Escape");
        await page.getByText("0 of 0").waitFor();
      });

      it("say why a test was refused, and when they are tried next", async () => {
        const workspace = await console().app.workspace();
        const opened = await console().open(workspace, { path: "/stats" });
        const { page, go } = opened;
        await page.getByRole("heading", { name: "Statistics" }).waitFor();
        const webhook = { url: "https://hooks.example.com/" };
        const made = await workspace.send("POST", "/v1/webhooks", webhook);
        assert.equal(made.status, 201, made.text);
        await page.route("**/v1/webhooks?*", async (route) => {
          const answer = (await (await route.fetch()).json()) as { readonly webhooks: readonly object[] };
          const failing = { state: "failing", last_error: "It is away.", next_try_at: "2026-11-27T12:00:00.000Z" };
          await route.fulfill({
            json: { ...answer, webhooks: answer.webhooks.map((one) => ({ ...one, ...failing })) },
          });
        });
        const json = { code: "rate_limited", title: "Too many tests", detail: "Try again in a minute." };
        await page.route("**/v1/webhooks/*/test", (route) => route.fulfill({ status: 429, json }));
        await go("/webhooks");
        await page.getByText(/^next try .+, 27 Nov 2026/).waitFor({ timeout: 10_000 });
        await page.getByRole("button", { name: "Test", exact: true }).click();
        await page.getByText(json.detail).waitFor({ timeout: 5_000 });
        wereRefused(opened, 429);
      });

      it("are not for who is no admin", async () => {
        const { workspace } = await parisians();
        const { page } = await console().open(workspace, { path: "/webhooks", as: "editor" });
        await page.getByText("This page needs a key of role admin").waitFor();
        assert.equal(await page.getByRole("link", { name: "Webhooks" }).count(), 0);
      });
    });
  },
  { WEBHOOK_PRIVATE: "1" },
);
