import assert from "node:assert/strict";
import { describeConsole } from "../support/console/console.js";

const NONE = "01900000-0000-7000-8000-000000000000";
/** Each address of something, what it says where there is no such thing, and the way back. */
const PAGES = [
  [`/profiles/${NONE}`, "profile", "Search for somebody", "#/search"],
  [`/events/${NONE}`, "event", "Open live events", "#/live"],
  [`/changes/${NONE}`, "change", "All changes", "#/changes"],
  ["/schemas/no_such_schema", "schema", "All schemas", "#/schemas"],
  [`/audiences/${NONE}`, "audience", "All audiences", "#/audiences"],
  [`/audiences/${NONE}/change`, "audience", "All audiences", "#/audiences"],
  [`/erasures/${NONE}`, "erasure", "All erasures", "#/erasures"],
  // An address that was cut off.
  ["/profiles/01900000", "profile", "Search for somebody", "#/search"],
  ["/events/01900000", "event", "Open live events", "#/live"],
  ["/changes/01900000", "change", "All changes", "#/changes"],
  ["/audiences/01900000", "audience", "All audiences", "#/audiences"],
  ["/erasures/01900000", "erasure", "All erasures", "#/erasures"],
] as const;

describeConsole("what is not there", (console) => {
  it("is said on every page in the same way, with why that can be and a way back", async () => {
    const { page, go, look, wrongs } = await console().open(await console().app.workspace(), { path: "/search" });
    await page.getByText("Nobody is known yet").waitFor();
    for (const [path, what, name, address] of PAGES) {
      await go(path);
      const box = page.locator(".empty", { has: page.getByRole("heading", { name: `There is no such ${what}` }) });
      await box.waitFor();
      assert.ok(((await box.locator("p").textContent()) ?? "").length > 20, `${path} says why`);
      const back = box.getByRole("link", { name });
      assert.equal(await back.getAttribute("href"), address, path);
      assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0, path);
      assert.equal(await page.getByRole("alert").count(), 0, path);
    }
    await go(`/audiences/${NONE}`);
    await page.getByText("There is no such audience").waitFor();
    await look("missing-audience");
    await go("/schemas/no_such_schema");
    await page.getByText("There is no such schema").waitFor();
    await look("missing-schema");
    // A browser tells of each refused one.
    (wrongs as string[]).splice(0);
  });
});
