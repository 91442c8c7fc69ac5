import assert from "node:assert/strict";
import { CUT_OFF, describeConsole, type Opened } from "../support/console/console.js";
import { crawl, whenLoaded } from "../support/console/crawl.js";
import { fullWorkspace } from "../support/console/full.js";
import { SCALE } from "../support/random/random.js";

const RUNS = "globalThis.ran = true";
/** Each must be shown as the text that it is. */
const TEXTS: Readonly<Record<string, string>> = {
  markup: [
    `<img src=x onerror="${RUNS}"><b class="evil">bold</b>`,
    `</title></textarea><script>${RUNS}</script>`,
    `"><svg class='evil' onload='${RUNS}'>`,
    `javascript:${RUNS}//%3Cb%20class=evil%3E&lt;i&gt;`,
    `{{constructor.constructor("${RUNS}")()}}\${${RUNS}}`,
  ].join(""),
  "text from right to left, what cannot be seen, and emoji":
    "\u202egpj.exe \u2066hidden\u2069 עברית مرحبا <b class=evil> 👩‍👩‍👧‍👦 🏳️‍🌈 e\u0301\u0301\u0301\u0301\u200b",
  "a name of the language": "__proto__",
  "a path": "../../v1/keys?x=%2F#/keys",
  "1,024 letters without a space": "x".repeat(1_024),
};

/** What `npm test` tries; the long run tries all. */
const SHORT: ReadonlySet<string> = new Set(["markup", "1,024 letters without a space"]);

/** Each was seen. */
const PAGES =
  "start live schemas schemas/* new-schema datasets dead-letters search profiles/* events/* why undo changes changes/* shared-identifiers forbidden-pairs erasures erasures/* audiences audiences/* audiences/*/change new-audience feed webhooks stats keys namespaces settings".split(
    " ",
  );

const EVIL = `(() => {
  const found = [...document.querySelectorAll(".evil, img, iframe, object, embed, script:not([src]), [onerror], [onload]")].map((one) => one.outerHTML);
  for (const one of document.querySelectorAll("a[href]"))
    if (!/^(#|https?:|\\/docs$)/.test(one.getAttribute("href"))) found.push(one.outerHTML);
  if (globalThis.ran !== undefined) found.push("it ran");
  const beyond = document.documentElement.scrollWidth - innerWidth;
  if (beyond > 0) found.push(beyond + " px stand beyond the edge");
  return found;
})()`;

describeConsole("hostile texts", (console) => {
  /** Opens what is folded in, so that everything is drawn. */
  async function openAll({ page }: Opened): Promise<void> {
    const rows = page.locator("main .live-row");
    for (let i = 0; i < (await rows.count()); i++) await rows.nth(i).click();
    for (const summary of await page.locator("main details:not([open]) summary").all()) await summary.click();
    for (const tab of await page.locator("main [role=tab]").all()) await tab.click();
  }

  const some = Object.entries(TEXTS).filter(([name]) => SCALE > 1 || SHORT.has(name));
  for (const [name, text] of some)
    it(`are texts on every page: ${name}`, async () => {
      const workspace = await fullWorkspace(console().app, { name: text.slice(0, 250), value: text });
      const opened = await console().open(workspace, { path: "/live", width: 360 });
      const { page, go } = opened;
      await page.getByText("Watching").waitFor();
      const kinds = await crawl(opened, async (path) => {
        await openAll(opened);
        assert.deepEqual(await page.evaluate(EVIL), [], path);
        assert.deepEqual(await page.evaluate(CUT_OFF), [], path);
      });
      assert.deepEqual(
        PAGES.filter((page) => !kinds.includes(page)),
        [],
      );
      assert.ok((await page.locator(".workspace strong").first().textContent())!.includes(text.slice(0, 250)));
      await go("/dead-letters");
      await page.getByRole("button", { name: "Details", exact: true }).first().click();
      await page.getByRole("dialog").getByRole("region", { name: "the payload" }).waitFor();
      assert.deepEqual(await page.evaluate(EVIL), [], "a dead letter");
      await page.keyboard.press("Escape");
      await go(`/search?q=${encodeURIComponent(text)}`);
      await whenLoaded(page);
      await page.waitForTimeout(200);
      assert.deepEqual(await page.evaluate(EVIL), [], "a search");
      // And it is there, as text.
      const told = name.startsWith("text from") ? text.slice(20, 40) : text.slice(0, 200);
      for (const path of ["/audiences", "/keys", "/datasets"]) {
        await go(path);
        await page.locator("main").getByText(told).first().waitFor();
      }
      // A browser tells of each refused request, such as a search for what is no id.
      const refused = /status of 4\d\d/;
      (opened.wrongs as string[]).splice(0, Infinity, ...opened.wrongs.filter((one) => !refused.test(one)));
    }).timeout(180_000);
});
