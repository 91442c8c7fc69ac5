import assert from "node:assert/strict";
import type { Locator } from "playwright-core";
import { describeConsole } from "../support/console/console.js";
import { aPerson } from "../support/console/people.js";
import { textAt } from "../support/service/app.js";

/** Of a browser. */
interface Styled {
  getComputedStyle(of: unknown): { readonly color: string };
}

describeConsole("buttons that take something away", (console) => {
  it("look unlike the harmless ones beside them, in both themes", async () => {
    const workspace = await console().app.workspace();
    const { profileId, email } = await aPerson(workspace, "ada");
    const made = await workspace.send("POST", "/v1/audiences", { name: "Lyon", rule: { "traits.city": "Lyon" } });
    const why = `from_namespace=user_id&from_value=ada&to_namespace=email&to_value=${encodeURIComponent(email)}`;
    const pair = `namespace=user_id&value=ada&to_namespace=email&to_value=${encodeURIComponent(email)}`;
    // The only owner key cannot be revoked.
    await workspace.send("POST", "/v1/keys", { role: "viewer", name: "reader" });
    const { page, go, look } = await console().open(workspace, { path: "/search" });
    const colour = (of: Locator) => of.evaluate((one) => (globalThis as unknown as Styled).getComputedStyle(one).color);
    const pages = [
      ["/keys", "button", "Revoke…", "Rotate…"],
      [`/audiences/${textAt(made.body, "audience_id")}`, "button", "Delete…", "Edit"],
      [`/profiles/${profileId}`, "button", "Erase…", "Save as a file"],
      [`/profiles/${profileId}?tab=identifiers`, "link", "Unlink from all others: this user_id", "Save as a file"],
      ["/erasures", "button", "Erase a person…", "Check"],
      [`/why?${why}`, "link", "Unlink step 1", "See the graph"],
      [`/undo?what=pair&${pair}`, "button", "Unlink…", "Cancel"],
    ] as const;
    for (const [path, role, risky, harmless] of pages) {
      await go(path);
      const one = page.getByRole(role, { name: risky, exact: true }).first();
      await one.waitFor();
      const other = page
        .getByRole("button", { name: harmless, exact: true })
        .or(page.getByRole("link", { name: harmless, exact: true }))
        .first();
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        assert.notEqual(await colour(one), await colour(other), `${risky} on ${path}, ${colorScheme}`);
      }
      await look(`risky-${risky.split(" ")[0]!.replace("…", "")}`);
    }
    await page.getByRole("button", { name: "Unlink…" }).click();
    await page.getByRole("dialog").locator(".button.danger", { hasText: "Unlink" }).waitFor();
  });
});
