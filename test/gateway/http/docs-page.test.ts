import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { useApp } from "../../support/service/app.js";

const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const hasChromium = existsSync(CHROMIUM);
/** A folder for pictures of the page, to be looked at. */
const PICTURES = process.env["PICTURES"];

describe("GET /docs", () => {
  const app = useApp();

  it("answers a page that may run its own files and nothing else", async () => {
    const { status, headers, text } = await app().send("GET", "/docs");
    assert.deepEqual(
      [status, headers["content-type"], headers["cache-control"]],
      [200, "text/html; charset=utf-8", "no-store"],
    );
    const policy = String(headers["content-security-policy"]);
    assert.match(policy, /^default-src 'none';/);
    assert.match(policy, /script-src 'self'(;|$)/);
    assert.doesNotMatch(policy, /unsafe|\*|https?:/);
    assert.equal(headers["x-content-type-options"], "nosniff");
    for (const [, address] of text.matchAll(/(?:src|href)="([^"]+)"/g)) assert.match(address!, /^(docs\/|data:,$)/);
  });

  it("serves the files of the page with their types, to be kept where their address names the version", async () => {
    const { text } = await app().send("GET", "/docs");
    const files = [...text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, address]) => `/${address}`);
    const got = await Promise.all(files.map((file) => app().send("GET", file)));
    const kept = "public, max-age=31536000, immutable";
    assert.deepEqual(
      got.map(({ status, headers }) => [status, headers["content-type"], headers["cache-control"]]),
      [
        [200, "text/css; charset=utf-8", kept],
        [200, "text/javascript; charset=utf-8", kept],
        [200, "text/javascript; charset=utf-8", "no-store"],
      ],
    );
    for (const { headers } of got) assert.equal(headers["x-content-type-options"], "nosniff");
  });

  it("serves no other file of the package", async () => {
    const { text } = await app().send("GET", "/docs");
    const folder = `/${/href="(docs\/[^"/]+)\//.exec(text)![1]!}`;
    for (const file of ["index.html", "swagger-ui.js", "swagger-ui-bundle.js.map", "package.json", "..%2fpackage.json"])
      assert.equal((await app().send("GET", `${folder}/${file}`)).status, 404, file);
  });

  if (hasChromium) inBrowser(app);
  else console.log(`    NOT RUN: the tests of /docs in a browser need ${CHROMIUM}, which is not here`);
});

function inBrowser(app: ReturnType<typeof useApp>): void {
  let browser: Browser;
  before(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  });
  after(() => browser.close());

  const picture = async (page: Page, name: string): Promise<void> => {
    if (PICTURES === undefined) return;
    await mkdir(PICTURES, { recursive: true });
    await page.screenshot({ path: path.join(PICTURES, `${name}.png`) });
  };

  it("shows every operation in a browser and tries one out, with no request to elsewhere and no violation of its policy", async () => {
    const key = await (await app().workspace()).key("viewer");
    const page = await browser.newPage({ viewport: { width: 1_280, height: 1_000 } });
    const elsewhere: string[] = [];
    const told: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(`${app().url}/`) && !request.url().startsWith("data:"))
        elsewhere.push(request.url());
    });
    page.on("console", (message) => void (message.type() === "error" && told.push(message.text())));
    page.on("pageerror", (error) => told.push(error.message));
    await page.addInitScript({
      content: `document.addEventListener("securitypolicyviolation", (e) => console.error("policy: " + e.violatedDirective));`,
    });
    await page.goto(`${app().url}/docs`);
    await page.locator(".opblock").first().waitFor();
    const { paths } = (await (await fetch(`${app().url}/openapi.json`)).json()) as { readonly paths: object };
    const count = Object.values(paths).flatMap((methods: object) => Object.keys(methods)).length;
    assert.equal(await page.locator(".opblock").count(), count);
    await picture(page, "docs");

    await page.locator(".btn.authorize").first().click();
    await page.locator(".modal-ux .auth-container input").first().fill(key);
    await page.locator(".modal-ux .auth-btn-wrapper .authorize").first().click();
    await page.locator(".modal-ux .btn-done").first().click();

    const listed = page.locator("#operations-Identity-listNamespaces");
    await listed.locator(".opblock-summary-control").click();
    await listed.locator("button.execute").click();
    await listed.locator(".live-responses-table .response-col_status").first().waitFor();
    const answer = await listed.locator(".live-responses-table").innerText();
    assert.match(answer, /200/);
    assert.match(answer, /cookie_id/);
    await listed.scrollIntoViewIfNeeded();
    await picture(page, "docs-tried");

    const collect = page.locator("#operations-Send-collect");
    await collect.locator(".opblock-summary-control").click();
    assert.match(await collect.locator("textarea.body-param__text").inputValue(), /"schema_id": "signup"/);
    await collect.scrollIntoViewIfNeeded();
    await picture(page, "docs-collect");
    assert.deepEqual({ elsewhere, told }, { elsewhere: [], told: [] });
    await page.close();
  });
}
