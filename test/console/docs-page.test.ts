import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { CHROMIUM, PICTURES } from "../support/console/console.js";
import { useApp } from "../support/service/app.js";

if (existsSync(CHROMIUM)) describe("GET /docs in a browser", inBrowser);
else console.log(`    NOT RUN: the test of /docs in a browser needs ${CHROMIUM}, which is not here`);

function inBrowser(): void {
  const app = useApp();
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
