import assert from "node:assert/strict";
import { describeConsole } from "../support/console/console.js";
import { crawl, whenLoaded } from "../support/console/crawl.js";
import { fullWorkspace } from "../support/console/full.js";

/** Chromium's own measure: how much of the window moved, and how far. It calls a tenth good. */
const SHIFT_MAX = 0.05;
const WATCH = `new PerformanceObserver((list) => {
  for (const { value, hadRecentInput, sources } of list.getEntries()) {
    if (hadRecentInput) continue;
    globalThis.shift = (globalThis.shift ?? 0) + value;
    globalThis.shifted = [...(globalThis.shifted ?? []), ...sources.map(({ node }) => node?.outerHTML?.slice(0, 120) ?? "")];
  }
}).observe({ type: "layout-shift", buffered: true });`;
const LOADED_MS = 400;

describeConsole("what stands on a page", (console) => {
  it("stays where it is while the rest is read", async () => {
    const workspace = await fullWorkspace(console().app, { name: "Shop", value: "somebody" });
    const opened = await console().open(workspace, { path: "/stats" });
    const { page } = opened;
    await page.addInitScript({ content: WATCH });
    const jumps: string[] = [];
    const kinds = await crawl(opened, async (path) => {
      await page.reload();
      await page.locator("main h1").first().waitFor();
      await whenLoaded(page);
      await page.waitForTimeout(LOADED_MS);
      const shift = Number(await page.evaluate("globalThis.shift ?? 0"));
      if (shift > SHIFT_MAX)
        jumps.push(`${path}: ${shift.toFixed(2)} ${await page.evaluate<string>("globalThis.shifted.join(' | ')")}`);
    });
    assert.ok(kinds.length > 20, kinds.join(" "));
    assert.deepEqual(jumps, []);
  }).timeout(180_000);
});
