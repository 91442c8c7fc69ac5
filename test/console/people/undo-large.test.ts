import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { describeConsole } from "../../support/console/console.js";

const SIZE = 3_001;
const TOLD = 1_000;
const DRAWN = 500;

const uuid = (n: number): string => `0198a000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const refs = (many: number, size: number) =>
  Array.from({ length: Math.min(many, TOLD) }, (_, n) => ({ profile_id: uuid(n), size }));

/** What the service tells of the hub of `size` identifiers: what goes on behind the lists shows in the count alone. */
const preview = (size: number) => ({
  outcome: "unlinked",
  change_id: null,
  profile_ids: refs(size, 1).map((one) => one.profile_id),
  dry_run: true,
  before: [{ profile_id: uuid(0), size: SIZE }],
  after: refs(size, 1),
  profiles_before: 1,
  profiles_after: size,
});

/** A service with such a hub; `sizeOf` tells how large it is, by the number of the dry run. */
async function hubIn(page: Page, sizeOf: (looks: number) => number): Promise<void> {
  let looks = 0;
  await page.route("**/v1/identity/unlink*", (route) => {
    const isDry = route.request().url().includes("dry_run");
    if (isDry) looks += 1;
    const { profile_ids } = preview(sizeOf(looks));
    return route.fulfill({
      json: isDry ? preview(sizeOf(looks)) : { outcome: "unlinked", change_id: uuid(7), profile_ids },
    });
  });
  await page.route("**/v1/profiles/*/identifiers*", (route) =>
    route.fulfill({ json: { identifiers: [], next_cursor: null } }),
  );
}

const HUB = "/undo?what=identifier&namespace=device_id&value=kiosk";

describeConsole("an undo of thousands", (console) => {
  it("counts all of the profiles, before and after it is done, and draws the first of them", async () => {
    const { page, go } = await console().open(await console().app.workspace(), { as: "admin" });
    await hubIn(page, () => SIZE);
    await go(HUB);
    const after = page.getByRole("figure", { name: "Afterwards" });
    await after.getByText(`3,001 profiles, the first ${DRAWN} are shown`).waitFor({ timeout: 20_000 });
    const points = after.locator(".graph").getByRole("img", { name: /^1 identifier of profile/ });
    await points.first().waitFor();
    // In one line, and not as a list of hundreds.
    await after.getByText(`${DRAWN} profiles of one identifier each`).click();
    assert.equal(await after.locator(".undo-refs li:visible").count(), 20);
    await after.getByRole("button", { name: "Show more" }).click();
    assert.equal(await after.locator(".undo-refs li:visible").count(), 40);
    assert.equal(await points.count(), DRAWN);
    assert.equal(await page.getByRole("figure", { name: "Now" }).locator("figcaption").textContent(), "Now 1 profile");
    await page.getByRole("button", { name: "Unlink…" }).click();
    await page.getByRole("dialog").getByText("1 profile now, 3,001 profiles afterwards.").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Unlink", exact: true }).click();
    await page.getByText("and 2,991 more profiles").waitFor();
  });

  it("is not done where more profiles would come of it than the preview said", async () => {
    const { page, go } = await console().open(await console().app.workspace(), { as: "admin" });
    await hubIn(page, (looks) => (looks > 1 ? SIZE + 7 : SIZE));
    await go(HUB);
    await page.getByRole("button", { name: "Unlink…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unlink", exact: true }).click();
    await page.getByText("Something changed since the preview was made").waitFor({ timeout: 20_000 });
    await page.getByRole("figure", { name: "Afterwards" }).getByText("3,008 profiles").waitFor();
  });

  it("has a record that names the first of them, and says so", async () => {
    const { page, go } = await console().open(await console().app.workspace(), { as: "viewer" });
    const after = refs(SIZE, 1).map((one) => one.profile_id);
    const record = {
      change_id: uuid(7),
      at: "2026-01-01T00:00:00.000Z",
      source: "unlink",
      event_id: null,
      key_id: "k1",
      outcome: "unlinked",
      identifiers: [{ namespace: "device_id", value: "kiosk" }],
      before: [uuid(0)],
      after,
      dropped: [],
    };
    await page.route(`**/v1/changes/${uuid(7)}`, (route) => route.fulfill({ json: record }));
    await page.route(/\/v1\/changes\?/, (route) => route.fulfill({ json: { changes: [], next_cursor: null } }));
    await go(`/changes/${uuid(7)}`);
    await page.getByText("A record names the first 1,000. There may be more.").waitFor({ timeout: 20_000 });
  });
});
