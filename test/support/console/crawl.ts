import type { Opened } from "./console.js";

/** `/profiles/0190f0f0-...` as `/profiles/*`: pages of one kind are one page. */
const kindOf = (path: string): string => {
  const [room = "", id, ...rest] = path.split("?")[0]!.split("/").slice(1);
  return [room, ...(id === undefined ? [] : ["*"]), ...rest].join("/");
};

const LINKS = `[...document.querySelectorAll("nav a[href^='#/'], main a[href^='#/']")].map((one) => one.getAttribute("href").slice(1))`;
/** To be evaluated: what was set is drawn. */
export const DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";

/** What was asked for last is drawn. */
export async function whenLoaded(page: Opened["page"]): Promise<void> {
  await page.evaluate(DRAWN);
  await page.locator("main h1").first().waitFor();
  for (let i = 0; i < 20 && (await page.locator("main .bones").count()) > 0; i++)
    await page.locator("main .bones").first().waitFor({ state: "detached" });
}

/** Opens each kind of page that can be reached by links, one of each. Answers the kinds. */
export async function crawl({ page, go }: Opened, visit: (path: string) => Promise<void>): Promise<readonly string[]> {
  const seen = new Set<string>();
  const open = ["/"];
  for (let path = open.shift(); path !== undefined; path = open.shift()) {
    if (seen.has(kindOf(path))) continue;
    seen.add(kindOf(path));
    await go(path);
    await whenLoaded(page);
    const links: readonly string[] = await page.evaluate(LINKS);
    open.push(...links);
    await visit(path);
  }
  return [...seen].toSorted();
}
