import assert from "node:assert/strict";
import { describeConsole, type Opened } from "../support/console/console.js";
import { eventually } from "../support/eventually.js";

/** Longer than the page waits for what it reads. */
const READ_MS = 31_000;

describeConsole("a service that takes requests and does not answer", (console) => {
  const banner = ({ page }: Opened) => page.getByText("The service does not answer").first();
  const open = async (path: string): Promise<Opened> => {
    const opened = await console().open(await console().app.workspace("Shop"), { path, as: "owner" });
    await opened.page.getByText("Shop").first().waitFor();
    return opened;
  };

  it("is told of within half a minute also by a search, which asks with POST", async () => {
    const opened = await open("/stats");
    const { page, go } = opened;
    await page.route("**/v1/profiles/lookup", () => undefined);
    await page.clock.install();
    const asked = page.waitForRequest("**/v1/profiles/lookup");
    await go("/search?q=ada");
    await asked;
    await page.clock.runFor(READ_MS);
    await banner(opened).waitFor({ timeout: 20_000 });
  });

  it("shows something while one logs out, and the page again after half a minute", async () => {
    const opened = await open("/stats");
    const { page, look, wrongs } = opened;
    await page.route("**/console/session", (route) =>
      route.request().method() === "DELETE" ? undefined : route.fallback(),
    );
    await page.clock.install();
    const asked = page.waitForRequest((request) => request.method() === "DELETE");
    await page.getByRole("button", { name: "Log out" }).click();
    await asked;
    await page.clock.runFor(1_500);
    await page.locator(".login .bones").waitFor({ timeout: 20_000 });
    await look("log-out-hung");
    await page.clock.runFor(READ_MS);
    await page.getByRole("button", { name: "Log out" }).waitFor({ timeout: 20_000 });
    (wrongs as string[]).splice(0);
  });

  it("is told of where an answer begins and does not go on, and its dialog can be closed then", async () => {
    const opened = await open("/keys");
    const { page } = opened;
    await page.evaluate(`{
      const ask = fetch;
      window.fetch = (url, init) => {
        if (!String(url).endsWith("/v1/keys") || init.method !== "POST") return ask(url, init);
        const begin = (part) => {
          part.enqueue(new TextEncoder().encode('{"key_id"'));
          init.signal.addEventListener("abort", () => part.error(new DOMException("ended", "AbortError")));
        };
        window.isBegun = true;
        return Promise.resolve(new Response(new ReadableStream({ start: begin }), { status: 201 }));
      };
    }`);
    await page.getByRole("button", { name: "New key" }).first().click();
    await page.clock.install();
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await eventually("it is asked", () => page.evaluate("window.isBegun === true"));
    await page.clock.runFor(READ_MS);
    const dialog = page.getByRole("dialog");
    await dialog.getByText("It did not answer this request.").waitFor({ timeout: 20_000 });
    assert.equal(await dialog.getByRole("button", { name: "Close" }).isDisabled(), false);
  });
});
