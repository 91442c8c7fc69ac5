import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { describeConsole } from "../support/console/console.js";
import { wereRefused } from "../support/console/hands.js";
import { eventually, soon } from "../support/eventually.js";
import { textAt, until } from "../support/service/app.js";

describeConsole("the members of an audience", (console) => {
  it("show behind pages that have none, and it says that nobody is in it only at the end", async () => {
    const workspace = await console().app.workspace("Shop");
    const { body: sent } = await workspace.collect(await workspace.schema(), { email: "ada@example.com" });
    await workspace.settled(sent["event_id"]);
    const made = await workspace.send("POST", "/v1/audiences", { name: "Everybody", rule: {} });
    const id = textAt(made.body, "audience_id");
    await until(
      () => workspace.send("GET", `/v1/audiences/${id}`),
      ({ body }) => body["state"] === "live" && body["size"] === 1,
    );
    const { page, go } = await console().open(workspace, { path: "/audiences", as: "viewer" });
    const answers: object[] = [];
    await page.route(/\/members\?/, async (route) => {
      const answer = answers.shift();
      await (answer === undefined ? route.continue() : route.fulfill({ json: answer }));
    });
    const { body } = await workspace.send("GET", `/v1/audiences/${id}/members`);
    const empty = (cursor: string | null) => ({ ...body, members: [], next_cursor: cursor });
    answers.push(empty("a"), empty("b"), { ...body, next_cursor: null });
    await go(`/audiences/${id}`);
    await page.getByText("ada@example.com").waitFor();
    assert.equal(answers.length, 0);
    await go("/audiences");
    await page.getByRole("link", { name: "Everybody" }).waitFor();
    answers.push(empty("a"), empty(null));
    await go(`/audiences/${id}`);
    await page.getByText("Nobody is in it now").waitFor();
    assert.equal(answers.length, 0);
  });

  it("stay, all pages that somebody asked for, when they are read again because somebody came", async () => {
    const workspace = await console().app.workspace("Shop");
    const schemaId = await workspace.schema();
    const come = async (n: number): Promise<void> => {
      const { body } = await workspace.collect(schemaId, { email: `${n}@example.com` });
      await workspace.settled(body["event_id"]);
    };
    await Promise.all(Array.from({ length: 60 }, (_, n) => come(n)));
    const made = await workspace.send("POST", "/v1/audiences", { name: "Everybody", rule: {} });
    const id = textAt(made.body, "audience_id");
    await until(
      () => workspace.send("GET", `/v1/audiences/${id}`),
      ({ body }) => body["state"] === "live" && body["size"] === 60,
    );
    const { page } = await console().open(workspace, { path: `/audiences/${id}`, as: "viewer" });
    const rows = page.locator("tbody tr");
    await page.getByRole("button", { name: "Show more" }).click();
    await rows.nth(59).waitFor();
    await come(60);
    await rows.nth(60).waitFor();
    assert.equal(await rows.count(), 61);
  });

  it("show while it grows, also where they are read more slowly than it does", async () => {
    const workspace = await console().app.workspace("Shop");
    const made = await workspace.send("POST", "/v1/audiences", { name: "Everybody", rule: {} });
    const { page, go, wrongs } = await console().open(workspace, { path: "/stats", as: "viewer" });
    let size = 0;
    await page.route(/\/v1\/audiences\/[^/?]+$/, (route) => {
      size += 1;
      return route.fulfill({ json: { ...made.body, state: "live", size } });
    });
    await page.route(/\/members\?/, async (route) => {
      const asked = size;
      await sleep(4_000);
      const members = [{ profile_id: `p${asked}`, since: new Date().toISOString() }];
      await route.fulfill({ json: { members, next_cursor: null, as_of_seq: 1, state: "live" } }).catch(() => undefined);
    });
    await page.route("**/v1/profiles/**", (route) => route.fulfill({ status: 404, json: { code: "not_found" } }));
    await go(`/audiences/${textAt(made.body, "audience_id")}`);
    const rows = page.locator("tbody tr");
    await rows.waitFor({ timeout: 15_000 });
    const first = await rows.textContent();
    await soon(async () => assert.notEqual(await rows.textContent(), first));
    // None of them has a profile.
    (wrongs as string[]).splice(0);
  });

  it("are counted soon after they are shown, in an audience that was just made", async () => {
    const workspace = await console().app.workspace("Shop");
    const made = await workspace.send("POST", "/v1/audiences", { name: "Everybody", rule: {} });
    const { page, go } = await console().open(workspace, { path: "/audiences", as: "viewer" });
    await page.getByRole("link", { name: "Everybody" }).waitFor();
    const asked: number[] = [];
    await page.route(/\/v1\/audiences\/[^/?]+$/, (route) => {
      asked.push(Date.now());
      const isMade = asked.length > 1;
      return route.fulfill({ json: { ...made.body, state: isMade ? "live" : "building", size: isMade ? 5 : 0 } });
    });
    await go(`/audiences/${textAt(made.body, "audience_id")}`);
    await page.locator(".facts").getByText("5", { exact: true }).waitFor();
    const [first = 0, second = 0] = asked;
    assert.ok(second - first < 2_000, `${second - first} ms`);
  });

  it("are not all read again because another audience changed", async () => {
    const workspace = await console().app.workspace("Shop");
    const made = await workspace.send("POST", "/v1/audiences", { name: "Everybody", rule: {} });
    const { page, go, wrongs } = await console().open(workspace, { path: "/stats", as: "viewer" });
    let asOf = 0;
    await page.route(/\/v1\/audiences\/[^/?]+$/, (route) => {
      asOf += 1;
      return route.fulfill({ json: { ...made.body, state: "live", size: 60, as_of_seq: asOf } });
    });
    let further = 0;
    await page.route(/\/members\?/, (route) => {
      const isFurther = route.request().url().includes("cursor=");
      if (isFurther) further += 1;
      const [from, to] = isFurther ? [50, 60] : [0, 50];
      const members = Array.from({ length: to - from }, (_, n) => ({
        profile_id: `p${from + n}`,
        since: new Date().toISOString(),
      }));
      return route.fulfill({ json: { members, next_cursor: isFurther ? null : "a", as_of_seq: asOf, state: "live" } });
    });
    await page.route("**/v1/profiles/**", (route) => route.fulfill({ status: 404, json: { code: "not_found" } }));
    await go(`/audiences/${textAt(made.body, "audience_id")}`);
    await page.getByRole("button", { name: "Show more" }).click();
    await page.locator("tbody tr").nth(59).waitFor();
    const [seen, read] = [asOf, further];
    await soon(() => assert.ok(asOf >= seen + 3));
    // The one more: the first reading after all are shown.
    assert.ok(further <= read + 1, `${further} of ${read}`);
    // None of them has a profile.
    (wrongs as string[]).splice(0);
  });

  it("do not stay where one came and one was erased, also where they fill several pages", async () => {
    const workspace = await console().app.workspace("Shop");
    const made = await workspace.send("POST", "/v1/audiences", { name: "Everybody", rule: {} });
    const { page, go, wrongs } = await console().open(workspace, { path: "/stats", as: "viewer" });
    let [gone, asked] = [0, 0];
    await page.route(/\/v1\/audiences\/[^/?]+$/, (route) => {
      asked += 1;
      return route.fulfill({ json: { ...made.body, state: "live", size: 60, as_of_seq: 100 + gone } });
    });
    await page.route(/\/members\?/, (route) => {
      const isFurther = route.request().url().includes("cursor=");
      const [from, to] = isFurther ? [50, 60 + gone] : [gone, 50];
      const members = Array.from({ length: to - from }, (_, n) => ({
        profile_id: `p${from + n}`,
        since: new Date().toISOString(),
      }));
      return route.fulfill({ json: { members, next_cursor: isFurther ? null : "a", state: "live" } });
    });
    await page.route("**/v1/profiles/**", (route) => route.fulfill({ status: 404, json: { code: "not_found" } }));
    await go(`/audiences/${textAt(made.body, "audience_id")}`);
    await page.getByRole("button", { name: "Show more" }).click();
    await page.locator("tbody tr").nth(59).waitFor();
    const seen = asked;
    await soon(() => assert.ok(asked >= seen + 2));
    gone = 1;
    // Half a minute later.
    await page.evaluate("{ const now = Date.now; Date.now = () => now() + 30_000; }");
    await page.getByTitle("p60", { exact: true }).waitFor({ timeout: 15_000 });
    assert.equal(await page.getByTitle("p0", { exact: true }).count(), 0);
    // None of them has a profile.
    (wrongs as string[]).splice(0);
  });

  it("who would be in one are counted again by themselves where the service was too busy", async () => {
    const opened = await console().open(await console().app.workspace("Shop"), { path: "/audiences", as: "editor" });
    const { page, go } = opened;
    const asked: number[] = [];
    await page.route("**/v1/audiences/preview", async (route) => {
      // The page may have asked for the rule that it begins with.
      if (route.request().postData()?.includes("event_count") !== true) return route.continue();
      asked.push(Date.now());
      if (asked.length > 2) return route.continue();
      const problem = { code: "rate_limited", title: "Too many requests", detail: "Ask later.", status: 429 };
      await route.fulfill({ status: 429, headers: { "Retry-After": "3" }, json: problem });
    });
    await go("/new-audience");
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.getByLabel("Rule", { exact: true }).fill('{"event_count":{"$gte":1}}');
    await page.getByText("The service is busy").waitFor();
    await eventually("it is asked for the third time", () => asked.length === 3);
    await page.getByText("The service is busy").waitFor({ state: "detached" });
    await page.locator(".preview-count", { hasText: /^0$/ }).waitFor();
    wereRefused(opened, 429, 429);
    const [first = 0, second = 0, third = 0] = asked;
    assert.ok(second - first >= 2_900 && third - second >= 2_900, asked.join(", "));
  });

  it("who would be in one stand in the same order whenever they are drawn, each with a link", async () => {
    const workspace = await console().app.workspace("Shop");
    const schemaId = await workspace.schema();
    for (const name of ["ada", "grace", "alan"]) {
      const { body } = await workspace.collect(schemaId, { email: `${name}@example.com` });
      await workspace.settled(body["event_id"]);
    }
    const { page, go } = await console().open(workspace, { path: "/audiences", as: "editor" });
    let drawn: readonly string[] = [];
    // As they may be drawn: the greatest id first.
    await page.route("**/v1/audiences/preview", async (route) => {
      const answer = await route.fetch();
      const preview = (await answer.json()) as { readonly sample: readonly { readonly profile_id: string }[] };
      const sample = preview.sample.toSorted((a, b) => (a.profile_id < b.profile_id ? 1 : -1));
      drawn = sample.map(({ profile_id: profileId }) => profileId);
      await route.fulfill({ json: { ...preview, sample } });
    });
    await go("/new-audience");
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.getByLabel("Rule", { exact: true }).fill("{}");
    const sample = page.locator(".sample");
    await sample.getByRole("link", { name: "@example.com" }).nth(2).waitFor();
    const shown: readonly string[] = await page.evaluate(
      `[...document.querySelectorAll(".sample .id a")].map((one) => one.title)`,
    );
    assert.deepEqual(shown, drawn.toReversed());
  });
});
