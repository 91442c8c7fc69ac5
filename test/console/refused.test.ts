import assert from "node:assert/strict";
import { describeConsole, type Opened } from "../support/console/console.js";
import { press, wereRefused } from "../support/console/hands.js";
import { eventually } from "../support/eventually.js";
import { textAt, until, type TestWorkspace } from "../support/service/app.js";

describeConsole("what is refused", (console) => {
  const fresh = (): Promise<TestWorkspace> => console().app.workspace("Shop");
  const settings = (workspace: TestWorkspace, changes: object) => workspace.send("PUT", "/v1/sdk/settings", changes);
  const keeps = async (workspace: TestWorkspace): Promise<unknown> =>
    (await workspace.send("GET", "/v1/sdk/settings")).body["keep_rejects"];
  const letters = (workspace: TestWorkspace, many: number) =>
    until(
      () => workspace.send("GET", "/v1/dead-letters"),
      ({ body }) => (body["dead_letters"] as unknown[]).length === many,
    );
  const hash = ({ page }: Opened): Promise<string> => page.evaluate("decodeURIComponent(location.hash)");

  it("is told to be lost where nobody keeps it, and is kept by one button, on each page that it would be missed on", async () => {
    for (const path of ["/live", "/dead-letters", "/stats"]) {
      const workspace = await fresh();
      await settings(workspace, { phone: true });
      const schemaId = await workspace.schema();
      await workspace.collect(schemaId, { email: 7 });
      const opened = await console().open(workspace, { path, as: "admin" });
      const { page, look } = opened;
      await page.getByText("Refused events are not kept.").waitFor();
      if (path === "/dead-letters") await look("refused-not-kept");
      await press(page, "Keep refused events");
      await page.getByText("Refused events are kept: they are among the Dead letters").waitFor();
      assert.equal(await keeps(workspace), true);
      assert.equal((await workspace.send("GET", "/v1/sdk/settings")).body["phone"], true);
    }
  });

  it("is told to be lost to those who may not change that, with who may", async () => {
    const workspace = await fresh();
    const schemaId = await workspace.schema();
    await workspace.collect(schemaId, { email: 7 });
    const { page, look } = await console().open(workspace, { path: "/stats", as: "viewer" });
    await page.getByText("A key with the role admin or owner can turn on “Keep refused events”").waitFor();
    assert.equal(await page.getByRole("button", { name: "Keep refused events" }).count(), 0);
    await look("stats-not-kept");
  });

  it("is a link in the statistics, to the dead letters where they are kept", async () => {
    const workspace = await fresh();
    await settings(workspace, { keep_rejects: true });
    const [schemaId, other] = [await workspace.schema(), await workspace.schema()];
    await workspace.collect(schemaId, { email: 7 });
    await workspace.collect(other, { email: 8 });
    await letters(workspace, 2);
    const opened = await console().open(workspace, { path: "/stats", as: "admin" });
    const { page, look } = opened;
    await page.getByRole("row", { name: schemaId }).getByRole("link", { name: "1 × validation failed" }).click();
    await page.getByRole("heading", { name: "Dead letters" }).waitFor();
    await page.getByRole("cell", { name: "refused email must be string" }).waitFor();
    assert.match(await hash(opened), new RegExp(`reason=rejected.*schema=${schemaId}`));
    assert.equal(await page.locator("tbody tr").count(), 1);
    await look("dead-letters-of-schema");
    await page.getByRole("button", { name: /^Schema / }).click();
    await page.locator("tbody tr").nth(1).waitFor();
  });

  it("is not told to be none where not all letters could be read", async () => {
    const workspace = await fresh();
    const schemaId = await workspace.schema();
    const opened = await console().open(workspace, { path: "/stats", as: "admin" });
    const { page, go } = opened;
    const letter = (schema_id: string) => ({
      dead_letter_id: schema_id,
      event_id: null,
      reason: "rejected",
      at: new Date().toISOString(),
      state: "open",
      schema_id,
      error: null,
    });
    let isAway = true;
    await page.route(/\/v1\/dead-letters\?/, async (route) => {
      const query = new URL(route.request().url()).searchParams;
      if (query.has("cursor") && isAway)
        return route.fulfill({
          status: 503,
          json: { code: "unavailable", title: "Unavailable", detail: "Try again." },
        });
      const isFirst = !query.has("cursor") && !query.has("limit");
      const json = { dead_letters: [letter(isFirst ? "other" : schemaId)], next_cursor: isFirst ? "a" : null };
      return route.fulfill({ json });
    });
    await go(`/dead-letters?schema=${schemaId}`);
    await page.getByText("Unavailable").waitFor();
    assert.equal(await page.getByText("No dead letters").count(), 0);
    isAway = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator("tbody tr").waitFor();
    wereRefused(opened, 503);
  });

  it("is a link in the statistics, to the live events where it is not kept", async () => {
    const workspace = await fresh();
    const schemaId = await workspace.schema();
    const opened = await console().open(workspace, { path: "/live", as: "viewer" });
    const { page, go } = opened;
    await page.getByText("Watching").waitFor();
    await workspace.collect(schemaId, { email: 7 });
    const user = (value: string) => ({ namespace: "user_id", value });
    await workspace.send("PUT", "/v1/namespaces/user_id", { limit: 1 });
    await workspace.send("POST", "/v1/alias", { anonymous: user("ada"), known: user("bob") });
    await page.locator(".live-row").nth(1).waitFor();
    await page.locator(".live-row", { hasText: "no schema" }).waitFor();
    await go("/stats");
    await page.getByRole("cell", { name: "no schema" }).waitFor();
    await page.getByRole("link", { name: "1 × merge refused" }).click();
    await page.getByRole("heading", { name: "Live events" }).waitFor();
    assert.match(await hash(opened), /show=refused&filter=merge_refused$/);
    assert.equal(await page.getByLabel("Filter").inputValue(), "merge_refused");
    await page.locator(".live-row").first().waitFor();
    assert.equal(await page.locator(".live-row").count(), 1);
  });

  it("is waited for by name where nobody watched, and not with the set-up of a sender that sends already", async () => {
    const workspace = await fresh();
    const schemaId = await workspace.schema();
    await workspace.collect(schemaId, { email: 7 });
    const { page, look } = await console().open(workspace, { path: "/stats" });
    await page.getByRole("link", { name: "1 × validation failed" }).click();
    await page.getByRole("heading", { name: "Waiting for refused events" }).waitFor();
    assert.equal(await page.locator("main").getByRole("link", { name: "Set up a sender" }).count(), 0);
    await look("live-refused-empty");
    await page.getByText("Watching").waitFor();
    await workspace.collect(schemaId, { email: 7 });
    await page.locator(".live-row").waitFor();
  });

  it("leads from Live events to its dead letter where it is kept", async () => {
    const workspace = await fresh();
    await settings(workspace, { keep_rejects: true });
    const schemaId = await workspace.schema();
    const { page } = await console().open(workspace, { path: "/live", as: "admin" });
    await page.getByText("Watching").waitFor();
    await workspace.collect(schemaId, { email: 7 });
    await letters(workspace, 1);
    await page.locator(".live-row").click();
    const link = page.locator(".live-more").getByRole("link", { name: "dead letters" });
    await link.waitFor();
    assert.equal(await page.getByText("not stored: it was refused").count(), 0);
    await link.click();
    await page.getByRole("button", { name: "Details" }).click();
    const dialog = page.getByRole("dialog", { name: "Dead letter" });
    await dialog.getByRole("link", { name: "Check against the schema" }).waitFor();
    await dialog.getByRole("button", { name: "Replay" }).click();
    await page.getByRole("dialog", { name: "Nothing can be queued again" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Details" }).click();
    await dialog.getByRole("link", { name: "Check against the schema" }).click();
    await page.getByRole("tab", { name: "Check an event", selected: true }).waitFor();
    await page.getByText("No: it would be refused.").waitFor();
    assert.deepEqual(JSON.parse(await page.getByLabel("Payload").inputValue()), { email: 7 });
  });

  it("names its schema, and leads there only where there is one", async () => {
    const workspace = await fresh();
    await settings(workspace, { keep_rejects: true });
    const schemaId = await workspace.schema();
    await workspace.collect(schemaId, { email: 7 });
    await workspace.collect("ordr", { email: "ada@example.com" });
    await letters(workspace, 2);
    const { page, look } = await console().open(workspace, { path: "/dead-letters", as: "admin" });
    await page.getByRole("cell", { name: schemaId }).getByRole("link").waitFor();
    const unregistered = page.getByRole("row", { name: "ordr" });
    await unregistered.getByText("was not registered").waitFor();
    assert.equal(await unregistered.getByRole("link").count(), 0);
    await look("dead-letter-unregistered");
    await unregistered.getByRole("button", { name: "Details" }).click();
    await page.getByRole("dialog").getByText("was not registered").waitFor();
    assert.equal(await page.getByRole("dialog").getByRole("link", { name: "ordr" }).count(), 0);
  });

  it("is not offered for a replay while it is refused still: that and why is told", async () => {
    const workspace = await fresh();
    await settings(workspace, { keep_rejects: true });
    const schemaId = await workspace.schema();
    for (const email of [7, 8]) await workspace.collect(schemaId, { email });
    const { body } = await letters(workspace, 2);
    const { page, look } = await console().open(workspace, { path: "/dead-letters", as: "admin" });
    await page.getByRole("button", { name: "Replay all" }).click();
    const told = page.getByRole("dialog", { name: "Nothing can be queued again" });
    await told.getByText("2 letters: would be refused again by the current schemas and settings.").waitFor();
    await told.getByText("email must be string").waitFor();
    assert.equal(await told.getByRole("button", { name: /^Replay/ }).count(), 0);
    await look("replays-nothing");
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("cell", { name: "waiting" }).count(), 2);
    assert.equal(textAt(body, "dead_letters.0.reason"), "rejected");
    assert.equal(await page.getByText("rejected").count(), 0);
  });

  it("is not replayed before it is told how many would go, and the list shows what went before a failure", async () => {
    const workspace = await fresh();
    await settings(workspace, { keep_rejects: true });
    const schemaId = await workspace.schema();
    for (const email of [7, 8]) await workspace.collect(schemaId, { email });
    const { body } = await letters(workspace, 2);
    // From now on all of them may go.
    const any = { schema: { type: "object" }, compatibility: "none" };
    assert.equal((await workspace.send("POST", `/v1/schemas/${schemaId}/versions`, any)).status, 201);
    const opened = await console().open(workspace, { path: "/dead-letters", as: "admin" });
    const { page } = opened;
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    await page.route("**/v1/dead-letters/replay?dry_run=true", async (route) => {
      await held;
      await route.continue();
    });
    // One letter is a page, and the second page fails.
    const first = textAt(body, "dead_letters.0.dead_letter_id");
    await page.route("**/v1/dead-letters/replay?dry_run=false", async (route) => {
      if ((route.request().postDataJSON() as { cursor?: string }).cursor !== undefined)
        return route.fulfill({ status: 503, json: { code: "unavailable", title: "Unavailable", detail: "Again." } });
      const { body: went } = await workspace.send("POST", "/v1/dead-letters/replay", { dead_letter_ids: [first] });
      return route.fulfill({ json: { ...went, next_cursor: "further" } });
    });
    await page.getByRole("button", { name: "Replay all" }).click();
    const dialog = page.getByRole("dialog", { name: "Replay dead letters?" });
    await dialog.getByRole("button", { name: "Replay", exact: true }).waitFor();
    assert.ok(await dialog.getByRole("button", { name: "Replay", exact: true }).isDisabled());
    letGo();
    await dialog.getByRole("button", { name: "Replay 2 letters" }).click();
    await dialog.getByText("1 letter queued again before it failed").waitFor({ timeout: 10_000 });
    await dialog.getByRole("button", { name: "Replay 1 letter" }).waitFor();
    // The list behind the dialog.
    await eventually("it is read again", async () => (await page.locator("tbody tr").count()) === 1);
    wereRefused(opened, 503);
  });

  it("is not offered for a replay that cannot queue anything", async () => {
    const workspace = await fresh();
    await settings(workspace, { keep_rejects: true });
    const schemaId = await workspace.schema();
    await workspace.collect(schemaId, { email: 7 });
    await letters(workspace, 1);
    const { page } = await console().open(workspace, { path: "/dead-letters", as: "admin" });
    await page.route("**/v1/dead-letters/replay?dry_run=true", (route) =>
      route.fulfill({
        json: { replayed: 0, skipped: [{ dead_letter_id: "x", why: "erased", errors: [] }], next_cursor: null },
      }),
    );
    await page.getByRole("button", { name: "Replay…", exact: true }).click();
    const told = page.getByRole("dialog", { name: "Nothing can be queued again" });
    await told.getByText("1 letter: the event was erased.").waitFor();
    assert.equal(await told.getByRole("button", { name: /^Replay/ }).count(), 0);
  });
});
