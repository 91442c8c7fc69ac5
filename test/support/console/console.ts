import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import { soon } from "../eventually.js";
import { takesWay } from "../house/lanes.js";
import { useApp, type App, type Caller, type Settings, type TestWorkspace } from "../service/app.js";

export const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
/** A folder for pictures of the pages, to be looked at. */
export const PICTURES = process.env["PICTURES"];
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

export interface OpenOptions {
  /** The role of the key that is logged in; owner if it is not said. */
  readonly as?: Caller;
  /** The page's own address: `/live`. */
  readonly path?: string;
  readonly width?: number;
  /** Another service than that of the `describe`. */
  readonly app?: App;
}

/** A page of the console in a browser, with everything that it did wrong. */
export interface Opened {
  readonly page: Page;
  /** What went wrong so far: errors on the browser's console, requests to elsewhere, violations of the policy. */
  readonly wrongs: readonly string[];
  /** Goes to another page of the console. */
  readonly go: (path: string) => Promise<void>;
  /**
   * In both themes, wide and on a phone: no rule of axe is broken and nothing has to be scrolled sideways. With `PART`, wide and light, and what
   * this part adds. Takes a picture of each where `PICTURES` names a folder.
   */
  readonly look: (name: string) => Promise<void>;
  close(): Promise<void>;
}

export interface Console {
  readonly app: App;
  open(workspace: TestWorkspace, options?: OpenOptions): Promise<Opened>;
  /** A browser of its own, where nobody is logged in. */
  stranger(): Promise<Opened>;
}

/** A `describe` whose tests have a browser. Where there is no Chromium, a line says so. After each test nothing may have gone wrong. */
export function describeConsole(
  title: string,
  tests: (console: () => Console) => void,
  settings: Settings | null = null,
): void {
  if (!existsSync(CHROMIUM)) {
    console.log(`    NOT RUN: the tests of the console (${title}) need ${CHROMIUM}, which is not here`);
    return;
  }
  describe(`The console: ${title}`, function () {
    // Two browsers and two services share the machine.
    this.timeout(180_000);
    const app = useApp(settings);
    let browser: Browser;
    const opened: Opened[] = [];
    before(async () => {
      browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
    });
    after(() => browser.close());
    afterEach(async function () {
      const wrongs = opened.flatMap((one) => one.wrongs);
      await Promise.all(opened.splice(0).map((one) => one.close()));
      // A test that failed has not taken the errors away that it expects, and a hook that fails leaves it no second try.
      if (this.currentTest?.state === "passed") assert.deepEqual(wrongs, []);
    });
    const begin = async (cookie: string | null, options: OpenOptions): Promise<Opened> => {
      const { path: at = "/", width = 1_280, app: of = app() } = options;
      const context = await browser.newContext({ viewport: { width, height: 900 }, reducedMotion: "reduce" });
      if (cookie !== null) {
        const [name = "", value = ""] = cookie.split(";")[0]!.split("=", 2);
        await context.addCookies([{ name, value, url: of.url, httpOnly: true, sameSite: "Strict" }]);
      }
      const one = await openPage(context, of.url, at);
      opened.push(one);
      return one;
    };
    tests(() => ({
      app: app(),
      open: async (workspace, options = {}) =>
        begin(await logIn(options.app ?? app(), await workspace.key(options.as ?? "owner")), options),
      stranger: () => begin(null, {}),
    }));
  });
}

/** What a page of ours sends with each request. */
export const ownPage = (url: string) => ({ Origin: new URL(url).origin });

/** Answers the cookie. */
export async function logIn(app: App, key: string): Promise<string> {
  const answer = await app.send("POST", "/console/session", { body: { key }, headers: ownPage(app.url) });
  assert.equal(answer.status, 204, answer.text);
  return String(answer.headers["set-cookie"]?.[0]);
}

async function openPage(context: BrowserContext, url: string, at: string): Promise<Opened> {
  const page = await context.newPage();
  const wrongs: string[] = [];
  page.on("request", (request) => {
    const to = request.url();
    if (!to.startsWith(`${url}/`) && !to.startsWith("data:")) wrongs.push(`a request to ${to}`);
  });
  page.on("console", (message) => void (message.type() === "error" && wrongs.push(message.text())));
  page.on("pageerror", (error) => wrongs.push(error.message));
  await page.addInitScript({
    content: `document.addEventListener("securitypolicyviolation", (e) => console.error("policy: " + e.violatedDirective + " " + e.sample));`,
  });
  const go = async (to: string): Promise<void> => {
    await page.goto(`${url}/console/#${to}`);
  };
  await go(at);
  return {
    page,
    wrongs,
    go,
    look: (name) => look(page, name),
    close: () => context.close(),
  };
}

const EVERY_RULE = "axe.run()";
/** All that another theme can break. */
const CONTRAST = 'axe.run({ runOnly: ["color-contrast", "link-in-text-block"] })';
const EVERY_MODE = [
  { theme: "light", width: 1_440, rules: EVERY_RULE },
  { theme: "dark", width: 1_440, rules: CONTRAST },
  { theme: "dark", width: 360, rules: EVERY_RULE },
  { theme: "light", width: 360, rules: CONTRAST },
] as const;
const MODES = EVERY_MODE.filter((_, index) => index === 0 || takesWay(index));

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** To be evaluated: what of a table stands beyond the edge, or has to be scrolled to. */
export const CUT_OFF = `[
  ...[...document.querySelectorAll("main .table-scroll")].filter((one) => one.scrollWidth > one.clientWidth),
  ...[...document.querySelectorAll("main .table td *")].filter((one) => {
    const { left, right, width } = one.getBoundingClientRect();
    return width > 0 && (left < -1 || right > innerWidth + 1);
  }),
].map((one) => "cut off: " + one.outerHTML.slice(0, 200))`;
/** To be evaluated: words of a picture that stand on each other, or are too small to be read. */
const UNREADABLE = `(() => {
  const words = [...document.querySelectorAll(".graph-label")].map((one) => ({ text: one.textContent, box: one.getBoundingClientRect() }));
  const meet = (a, b) => a.left < b.right - 2 && b.left < a.right - 2 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  return words.flatMap(({ text, box }, i) => [
    ...(box.height < 9 ? [text + " is " + box.height + " px high"] : []),
    ...words.slice(i + 1).filter((other) => meet(box, other.box)).map((other) => text + " stands on " + other.text),
  ]);
})()`;
const DRAWN_ANEW = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";

async function look(page: Page, name: string): Promise<void> {
  await page.evaluate(await readFile(AXE, "utf8"));
  const before = page.viewportSize()!;
  for (const { theme, width, rules } of MODES) {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: width === 360 ? 780 : 900 });
    const where = `${name}, ${theme}, ${width} px`;
    const found = (await page.evaluate(rules)) as { readonly violations: readonly Violation[] };
    const told = found.violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary = "" }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
    );
    assert.deepEqual(told, [], where);
    const beyond = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    assert.ok(Number(beyond) <= 0, `${where}: ${String(beyond)} px stand beyond the edge`);
    // A busy browser draws the new size only some frames later.
    await soon(async () => {
      await page.evaluate(DRAWN_ANEW);
      if (width === 360) assert.deepEqual(await page.evaluate(CUT_OFF), [], where);
      assert.deepEqual(await page.evaluate(UNREADABLE), [], where);
    });
    if (PICTURES === undefined) continue;
    await mkdir(PICTURES, { recursive: true });
    await page.screenshot({ path: path.join(PICTURES, `${name}-${theme}-${width}.png`), fullPage: true });
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(before);
}
