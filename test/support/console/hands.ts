import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { Opened } from "./console.js";

const STEPS_MAX = 120;
const FOCUSED = `(() => {
  const one = document.activeElement;
  return (one?.getAttribute("aria-label") ?? (one?.labels?.[0] ?? one)?.textContent ?? "").trim();
})()`;

/** Presses Tab until what has this name has the focus: whoever has no mouse must get there. */
export async function reach(page: Page, name: string): Promise<void> {
  const passed = new Set<string>();
  for (let i = 0; i < STEPS_MAX; i++) {
    await page.keyboard.press("Tab");
    const focused: string = await page.evaluate(FOCUSED);
    if (focused === name) return;
    passed.add(focused);
  }
  assert.fail(`the keyboard does not reach “${name}”, but ${[...passed].join(", ")}`);
}

/** Goes there and presses Enter. */
export async function press(page: Page, name: string): Promise<void> {
  await reach(page, name);
  await page.keyboard.press("Enter");
}

/** Goes there, and types over what stands there. */
export async function write(page: Page, name: string, text: string): Promise<void> {
  await reach(page, name);
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
}

/** What the browser's console said was this: of each refused request it tells. */
export function wereRefused({ wrongs }: Opened, ...statuses: readonly number[]): void {
  const told = (wrongs as string[]).splice(0);
  assert.deepEqual(
    told.map((one) => Number(/status of (\d+)/.exec(one)?.[1])),
    statuses,
    told.join("\n"),
  );
}
