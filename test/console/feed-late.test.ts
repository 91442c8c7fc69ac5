import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { DRAWN } from "../support/console/crawl.js";
import { describeConsole } from "../support/console/console.js";
import { wereRefused } from "../support/console/hands.js";

const ALPHA = "0198a000-0000-7000-8000-0000000000aa";
const BETA = "0198a000-0000-7000-8000-0000000000bb";
const HEAD = 9_000;

const entry = (seq: number, audienceId: string) => ({
  seq,
  at: "2026-01-01T00:00:00.000Z",
  type: "entered",
  audience_id: audienceId,
  profile_id: `0198a000-0000-7000-8000-${String(seq).padStart(12, "0")}`,
  cause: "changed",
});
const audience = (audienceId: string, name: string) => ({
  audience_id: audienceId,
  name,
  rule: {},
  version: 1,
  state: "live",
  size: 1,
  as_of_seq: HEAD,
  created_at: "2026-01-01T00:00:00.000Z",
});

/** A feed with two entries of each audience among any thousand numbers. `before` runs before each answer. */
async function feedIn(page: Page, before: (audienceId: string, after: number) => Promise<void>): Promise<number[]> {
  const asked: number[] = [];
  const audiences = [audience(ALPHA, "Alpha"), audience(BETA, "Beta")];
  await page.route(/\/v1\/audiences(\?|$)/, (route) => route.fulfill({ json: { audiences, next_cursor: null } }));
  await page.route(/\/v1\/feed\?/, async (route) => {
    const query = new URL(route.request().url()).searchParams;
    const [of, after] = [query.get("audience_id") ?? ALPHA, Number(query.get("after"))];
    if (query.has("wait")) return;
    if (query.get("limit") !== "1") asked.push(after);
    await before(of, after);
    const entries = query.get("limit") === "1" ? [] : [entry(after + 10, of), entry(after + 990, of)];
    await route.fulfill({ json: { entries, next: after + 1_000, head: HEAD, oldest: 1 } }).catch(() => undefined);
  });
  return asked;
}

describeConsole("entries of the feed that come late", (console) => {
  it("are not added to those of another audience that was chosen meanwhile", async () => {
    const { page, go } = await console().open(await console().app.workspace(), { path: "/stats" });
    await page.route("**/v1/profiles/lookup", (route) =>
      route.fulfill({ json: { profiles: [], unknown: [], unknown_ids: [] } }),
    );
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    const asked = await feedIn(page, (of, after) => (of === ALPHA && after === 7_000 ? held : Promise.resolve()));
    const earlier = page.getByRole("button", { name: "Show earlier ones" });
    const audiences = (): Promise<string[]> =>
      page
        .locator("main tbody")
        .getByRole("link", { name: /^(Alpha|Beta)$/ })
        .allTextContents();
    await go(`/feed?audience=${ALPHA}`);
    await earlier.click();
    await page.getByLabel("Audience").selectOption(BETA);
    await page.locator("main tbody").getByText("Beta").nth(1).waitFor({ timeout: 20_000 });
    letGo();
    await page.waitForTimeout(500);
    await page.evaluate(DRAWN);
    assert.deepEqual(await audiences(), ["Beta", "Beta"]);
    await earlier.click();
    await page.locator("main tbody").getByText("Beta").nth(3).waitFor({ timeout: 20_000 });
    assert.equal(asked.at(-1), 7_000);
  });

  it("have no word for a name before the name could be asked for, and then the name", async () => {
    const opened = await console().open(await console().app.workspace(), { path: "/stats" });
    const { page, go } = opened;
    let isBusy = true;
    let times = 0;
    await page.route("**/v1/profiles/lookup", (route) => {
      times += 1;
      const problem = { code: "rate_limited", title: "Too many", detail: "Later.", status: 429 };
      const asked = (route.request().postDataJSON() as { readonly profile_ids: readonly string[] }).profile_ids;
      const profiles = asked.map((one) => ({
        profile_id: one,
        matched: [],
        matched_ids: [one],
        identifiers: [{ namespace: "email", value: "ada@example.com" }],
        traits: {},
      }));
      return isBusy
        ? route.fulfill({ status: 429, headers: { "Retry-After": "2" }, json: problem })
        : route.fulfill({ json: { profiles, unknown: [], unknown_ids: [] } });
    });
    await feedIn(page, () => Promise.resolve());
    const refused = page.waitForResponse("**/v1/profiles/lookup");
    await go("/feed");
    await refused;
    await page.locator("main tbody tr").nth(1).waitFor();
    await page.evaluate(DRAWN);
    isBusy = false;
    assert.equal(await page.getByText("no name").count(), 0);
    await page.getByText("ada@example.com").nth(1).waitFor({ timeout: 20_000 });
    wereRefused(opened, ...Array.from({ length: times - 1 }, () => 429));
  });
});
