import path from "node:path";
import { chromium, type Page } from "playwright-core";
import type { Shop } from "./shop.js";

export interface Taking {
  readonly url: string;
  readonly key: string;
  /** The program of the browser. */
  readonly chromium: string;
  readonly folder: string;
}

const WIDTH = 1_280;
const HEIGHT = 820;

/** One picture for each story of the console. Answers their files. */
export async function takePictures(
  shop: Shop,
  { url, key, chromium: program, folder }: Taking,
): Promise<readonly string[]> {
  const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
  const files: string[] = [];
  try {
    const page = await browser.newPage({
      viewport: { width: WIDTH, height: HEIGHT },
      reducedMotion: "reduce",
      colorScheme: "light",
    });
    const take = async (name: string): Promise<void> => {
      const file = path.join(folder, `console-${name}.png`);
      await page.screenshot({ path: file });
      files.push(file);
    };
    const go = (to: string) => page.goto(`${url}/console/#${to}`);
    await go("/live");
    await page.getByLabel("API key").fill(key);
    await page.keyboard.press("Enter");
    await live(page, shop);
    await take("live");
    await go(`/profiles/${shop.ada}?tab=graph&namespace=email&value=ada@example.com`);
    await page.getByRole("group", { name: /Identity graph/ }).waitFor();
    await page.setViewportSize({ width: WIDTH, height: HEIGHT + 180 });
    await page.waitForTimeout(300);
    await take("profile");
    await page.setViewportSize({ width: WIDTH, height: HEIGHT });
    await page.setViewportSize({ width: WIDTH, height: HEIGHT + 90 });
    await go("/undo");
    await undo(page);
    await take("undo");
    await page.setViewportSize({ width: WIDTH, height: HEIGHT });
    await audience(page, go);
    await take("audience");
    return files;
  } finally {
    await browser.close();
  }
}

async function live(page: Page, { sendMore }: Shop): Promise<void> {
  await page.getByText("Watching").waitFor();
  await sendMore();
  await page.locator(".live-row", { hasText: "tim@example.com" }).waitFor();
  await page.locator(".live-row", { hasText: "refused" }).click();
  await page.getByText("Refused: validation failed").waitFor();
}

/** So that the picture begins there, a little below its upper edge. */
async function top(page: Page, at: ReturnType<Page["locator"]>): Promise<void> {
  const box = await at.boundingBox();
  await page.mouse.wheel(0, (box?.y ?? 0) - 100);
  await page.waitForTimeout(300);
}

async function undo(page: Page): Promise<void> {
  for (const [label, value] of [
    ["One", "u-101"],
    ["The other", "u-102"],
  ] as const) {
    const group = page.getByRole("group", { name: label, exact: true });
    await group.getByLabel("Namespace").selectOption("user_id");
    await group.getByLabel("Value").fill(value);
  }
  await page.keyboard.press("Enter");
  const preview = page.getByRole("heading", { name: "Preview: nothing is written yet" });
  await preview.waitFor();
  await page.getByRole("figure", { name: "Afterwards" }).waitFor();
  await top(page, preview);
}

async function audience(page: Page, go: (to: string) => Promise<unknown>): Promise<void> {
  await go("/new-audience");
  await page.getByLabel("Name", { exact: true }).fill("Big spenders of Paris, not yet plus");
  await page.getByRole("tab", { name: "JSON" }).click();
  const rule = {
    $and: [
      { "traits.city": "Paris" },
      { $events: { schema_id: "order", sum: "total", is: { $gte: 100 }, within: "90d" } },
      { $not: { "traits.plan": "plus" } },
    ],
  };
  await page.getByLabel("Rule", { exact: true }).fill(JSON.stringify(rule));
  await page.getByRole("tab", { name: "Builder" }).click();
  await page.locator(".preview-count").waitFor();
  await page.locator(".sample li").first().waitFor();
  await page.waitForTimeout(600);
}
