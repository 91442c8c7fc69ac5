import assert from "node:assert/strict";
import { describeConsole, type Opened } from "../support/console/console.js";
import { crawl, whenLoaded } from "../support/console/crawl.js";
import { fullWorkspace } from "../support/console/full.js";
import { SCALE } from "../support/random/random.js";

describeConsole("what a role may do", (console) => {
  /** Presses each button of the page, and in the dialog that it opens each but Cancel. */
  async function pressAll({ page }: Opened): Promise<number> {
    const buttons = page.locator("main button:enabled:not(.copy)");
    const texts = await buttons.allTextContents();
    for (let i = 0; i < texts.length; i++) {
      const one = buttons.nth(i);
      if ((await one.count()) === 0 || !(await one.isVisible())) continue;
      // It may go while it is asked.
      if (!(await one.isEnabled({ timeout: 2_000 }).catch(() => false))) continue;
      await one.click({ timeout: 2_000 }).catch(() => undefined);
      const acts = page.locator("dialog .primary:enabled, dialog .danger:enabled");
      if ((await page.locator("dialog[open]").count()) === 0) continue;
      await acts
        .first()
        .click({ timeout: 1_000 })
        .catch(() => undefined);
      await page.waitForTimeout(100);
      for (let j = 0; j < 3 && (await page.locator("dialog[open]").count()) > 0; j++)
        await page.keyboard.press("Escape");
      await whenLoaded(page);
    }
    return texts.length;
  }

  // The long run tries those that may do more.
  for (const role of SCALE > 1 ? (["viewer", "editor", "admin"] as const) : (["viewer"] as const))
    it(`is all that a page offers: nothing of what a key of role ${role} can press is forbidden`, async () => {
      const workspace = await fullWorkspace(console().app, { name: "Shop", value: "somebody" });
      const opened = await console().open(workspace, { as: role, path: "/stats" });
      const forbidden: string[] = [];
      opened.page.on("response", (response) => {
        if (response.status() === 403) forbidden.push(`${response.request().method()} ${response.url()}`);
      });
      let pressed = 0;
      const kinds = await crawl(opened, async () => {
        pressed += await pressAll(opened);
      });
      assert.deepEqual(forbidden, []);
      assert.ok(kinds.length >= 12 && pressed > 10, `${kinds.join(" ")}: ${pressed}`);
      assert.equal(kinds.includes("keys"), false);
      // What a button asks for may be refused for other reasons.
      (opened.wrongs as string[]).splice(0);
    }).timeout(180_000);
});
