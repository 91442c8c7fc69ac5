import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { textAt } from "../../support/service/app.js";
import { describeConsole } from "../../support/console/console.js";
import { soon } from "../../support/eventually.js";
import { assertWithin } from "../../support/house/yardstick.js";
import { tell } from "../../support/random/random.js";
import { aPerson, id, identify } from "../../support/console/people.js";

const OPENED_MS = 1_000;
const DRAWN_MS = 2_000;

describeConsole("a profile", (console) => {
  it("shows traits with their sources, identifiers, events and changes, by mouse", async () => {
    const workspace = await console().app.workspace();
    const { profileId, email, eventId } = await aPerson(workspace, "ada");
    const { page, look } = await console().open(workspace, { path: `/profiles/${profileId}` });
    const trait = page.getByRole("row", { name: /city/ });
    await trait.getByText("Lyon").waitFor();
    assert.equal(await trait.getByRole("link").getAttribute("href"), `#/events/${eventId}`);
    await look("people-profile-traits");
    await page.getByRole("tab", { name: "Events" }).click();
    await page.getByRole("button", { name: "Payload" }).click();
    await page.getByText('"city": "Lyon"').waitFor();
    await look("people-profile-timeline");
    await page.getByRole("tab", { name: "Identifiers" }).click();
    await page.getByRole("region", { name: "Identifiers" }).getByText(email).waitFor();
    await look("people-profile-identifiers");
    await page.getByRole("tab", { name: "Changes" }).click();
    await page.getByRole("region", { name: "Changes" }).getByText("created").waitFor();
    await look("people-profile-history");
  });

  it("shows every tab as a whole on a phone, whichever is chosen", async () => {
    const workspace = await console().app.workspace();
    const { profileId } = await aPerson(workspace, "ada");
    for (const chosen of ["traits", "history"]) {
      const path = `/profiles/${profileId}?tab=${chosen}`;
      const { page } = await console().open(workspace, { path, width: 360 });
      const tabs = page.getByRole("tab");
      await tabs.first().waitFor();
      assert.equal(await tabs.count(), 5);
      for (const tab of await tabs.all()) {
        const { x, width } = (await tab.boundingBox())!;
        assert.ok(x >= 0 && x + width <= 360, `${await tab.textContent()} is cut off at ${x + width}`);
      }
      const lines: number = await page.evaluate(
        `(() => { const time = document.querySelector(".figure .value time"); time.textContent = "43 minutes ago"; return time.getClientRects().length; })()`,
      );
      assert.equal(lines, 1, "a time stands in one line");
      await page.getByRole("tab", { name: "Events" }).click();
      await page.getByRole("button", { name: "Payload" }).click();
      await page.locator("td pre").waitFor();
      assert.equal(await page.evaluate('getComputedStyle(document.querySelector("td pre")).textAlign'), "left");
    }
  });

  it("draws its identity graph, where the arrow keys say the evidence of each link", async () => {
    const workspace = await console().app.workspace();
    const { profileId, email } = await aPerson(workspace, "ada");
    await identify(workspace, id("email", email), id("device_id", "phone"));
    await identify(workspace, id("device_id", "phone"), id("cookie_id", "a"), id("cookie_id", "b"));
    const path = `/profiles/${profileId}?tab=traits&namespace=email&value=${encodeURIComponent(email)}`;
    const { page, look } = await console().open(workspace, { path });
    await page.getByRole("tab", { name: "Traits" }).focus();
    for (let i = 0; i < 3; i += 1) await page.keyboard.press("ArrowRight");
    const graph = page.getByRole("group", { name: /Identity graph/ });
    await graph.waitFor();
    await graph.getByRole("button", { name: `email ${email}, the one that you looked for` }).waitFor();
    await page.locator(".graph-chosen").getByRole("link", { name: "Unlink from all…" }).waitFor();
    // All of it is one stop of the Tab key.
    assert.equal(await graph.locator('[tabindex="0"]').count(), 1);
    await graph.locator('[tabindex="0"]').focus();
    const heard: string[] = [];
    const items = await graph.locator("[data-id]").count();
    for (let i = 0; i < items; i += 1) {
      heard.push(await page.evaluate<string>("document.activeElement.getAttribute('aria-label')"));
      await page.keyboard.press("ArrowRight");
    }
    assert.equal(new Set(heard).size, items);
    const links = heard.filter((one) => one.startsWith("Link between"));
    assert.equal(links.length + 6, items);
    for (const one of links) assert.match(one, /by an? (identify call|event) on .*, with the key \w+/);
    assert.ok(links.some((one) => one.includes(email) && one.includes("phone") && one.endsWith("a bridge")));
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page
      .locator(".graph-chosen")
      .getByText(/identify|event|link/)
      .first()
      .waitFor();
    await page
      .getByRole("region", { name: "Links" })
      .getByRole("button", { name: "Show", exact: true })
      .first()
      .click();
    await page.locator(".graph-chosen").getByRole("link", { name: "Unlink these two…" }).waitFor();
    await look("people-profile-graph");
  });

  it("writes no word of a small graph onto a bridge", async () => {
    const workspace = await console().app.workspace();
    const [user, email, phone] = [
      id("user_id", "u-100"),
      id("email", "ada@example.com"),
      id("device_id", "phone-of-ada"),
    ];
    let profileId = "";
    for (const identifiers of [
      [user, email],
      [email, id("cookie_id", "c-100")],
      [user, id("phone", "+33612345678")],
      [email, phone],
      [phone, id("cookie_id", "c-871"), id("cookie_id", "c-902")],
    ])
      ({ profileId } = await identify(workspace, ...identifiers));
    const { page } = await console().open(workspace, { path: `/profiles/${profileId}?tab=graph` });
    await page.locator(".graph-label").nth(6).waitFor();
    const onBridges = await page.evaluate<readonly string[]>(`[...document.querySelectorAll(".graph-label")]
      .filter((label) => {
        const { left, right, top, bottom } = label.getBoundingClientRect();
        return [...document.querySelectorAll(".graph-link.bridge .graph-line")].some((line) =>
          Array.from({ length: 101 }, (_, n) => line.getPointAtLength((line.getTotalLength() * n) / 100).matrixTransform(line.getScreenCTM()))
            .some(({ x, y }) => x > left && x < right && y > top + 2 && y < bottom - 2),
        );
      })
      .map(({ textContent }) => textContent)`);
    assert.deepEqual(onBridges, []);
  });

  it("draws a graph of 85 identifiers with words that can be read, and the keyboard names each", async () => {
    const workspace = await console().app.workspace();
    let profileId = "";
    for (let i = 0; i < 40; i += 1) {
      const hub = id("user_id", `customer-number-${i >> 3}`);
      const [phone, cookie] = [id("device_id", `phone-of-somebody-${i}`), id("cookie_id", `cookie-${i}`)];
      await identify(workspace, hub, phone, cookie);
      const last = id("device_id", `phone-of-somebody-${Math.max(0, i - 1)}`);
      profileId = (await identify(workspace, phone, last)).profileId;
    }
    const { page, look } = await console().open(workspace, { path: `/profiles/${profileId}?tab=graph` });
    const graph = page.getByRole("group", { name: /Identity graph/ });
    await graph.locator(".graph-label").first().waitFor();
    const labels = await graph.locator(".graph-label").count();
    assert.ok(labels >= 5, `${labels} have words`);
    await look("people-profile-graph-85");
    for (let i = 0; i < 3; i += 1) await page.getByRole("button", { name: "Larger" }).click();
    await soon(async () => assert.ok((await graph.locator(".graph-label").count()) > labels));
    await graph.locator('[tabindex="0"]').focus();
    await page.keyboard.press("End");
    const name = await page.evaluate<string>("document.activeElement.getAttribute('aria-label')");
    assert.match(name, /customer|phone|cookie/);
    // The browser tells of a size when it has time for it; the words do not wait for that.
    await page.addInitScript({ content: "ResizeObserver = class { observe() {} disconnect() {} };" });
    await page.reload();
    await graph.locator(".graph-label").first().waitFor();
    assert.equal(await graph.locator(".graph-label").count(), labels);
  });

  it("opens with 10,000 identifiers, and draws them as counters", async () => {
    const workspace = await console().app.workspace();
    await identify(workspace, id("user_id", "crowd"), id("email", "crowd@example.com"));
    const sends: Promise<unknown>[] = [];
    let profileId = "";
    for (let i = 0; i < 10_000; i += 3) {
      const more = Array.from({ length: 3 }, (_, j) => id(j % 3 === 0 ? "device_id" : "cookie_id", `c${i + j}`));
      sends.push(identify(workspace, id("user_id", "crowd"), ...more).then((done) => (profileId = done.profileId)));
      if (sends.length === 8) await Promise.all(sends.splice(0));
    }
    await Promise.all(sends);
    // A group that hangs on one link.
    await identify(workspace, id("cookie_id", "c5"), id("phone", "+12025550110"));
    await identify(workspace, id("phone", "+12025550110"), id("email", "other@example.com"));
    const { page, go, look } = await console().open(workspace, { path: "/search" });
    await page.getByLabel("Value or id").waitFor();
    const asked: string[] = [];
    page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      if (pathname.startsWith("/v1/profiles/")) asked.push(pathname);
    });
    const graph = page.getByRole("group", { name: /Identity graph/ });
    const open = async () => {
      await go("/search");
      await page.getByLabel("Value or id").waitFor();
      const began = performance.now();
      await go(`/profiles/${profileId}?tab=graph&namespace=cookie_id&value=c77`);
      await page.getByText("10,000+", { exact: true }).waitFor();
      const opened = performance.now() - began;
      await graph.waitFor();
      const drawn = performance.now() - began;
      tell(`opened after ${opened.toFixed(0)} ms, its graph drawn after ${drawn.toFixed(0)} ms`);
      return { opened, drawn };
    };
    await assertWithin(OPENED_MS, async () => (await open()).opened, "until it was opened");
    await assertWithin(DRAWN_MS, async () => (await open()).drawn, "until its graph was drawn");
    assert.deepEqual(new Set(asked), new Set([`/v1/profiles/${profileId}`, `/v1/profiles/${profileId}/outline`]));
    const names = await graph
      .locator("[data-id]")
      .evaluateAll((all) =>
        (all as unknown as { getAttribute(name: string): string }[]).map((one) => one.getAttribute("aria-label")),
      );
    assert.ok(names.length < 200, `${names.length} are drawn`);
    for (const wanted of [
      /^[\d,]+ identifiers of cookie_id$/,
      /^[\d,]+ identifiers of device_id$/,
      /^user_id crowd$/,
      /^cookie_id c77, the one that you looked for$/,
      /^cookie_id c5$/,
      /^phone \+12025550110$/,
      /a bridge$/,
    ])
      assert.ok(
        names.some((name) => wanted.test(name)),
        String(wanted),
      );
    await look("people-profile-large");
  });

  it("erases a person after a preview and a word, by keyboard alone", async () => {
    const workspace = await console().app.workspace();
    const { profileId } = await aPerson(workspace, "gone");
    const { page, look } = await console().open(workspace, { as: "admin", path: `/profiles/${profileId}` });
    await page.getByRole("button", { name: "Erase…" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Erase a person" });
    await dialog.getByText("1 event", { exact: true }).waitFor();
    await look("people-profile-erase");
    const erase = dialog.getByRole("button", { name: "Erase forever" });
    assert.ok(await erase.isDisabled());
    // In the words of the page of the erasures.
    await dialog.getByText("New events do not bring the person back, until you readmit them.").waitFor();
    await dialog.getByLabel("Keep the person out").waitFor();
    await dialog.getByLabel("I know that nobody can undo this").focus();
    await page.keyboard.press("Space");
    await erase.focus();
    await page.keyboard.press("Enter");
    await page.getByText("The person is erased.").waitFor();
    await page
      .getByRole("heading", { name: /receipt|erasure/i })
      .first()
      .waitFor();
    assert.equal((await workspace.send("GET", `/v1/profiles/${profileId}`)).status, 404);
  });

  it("asks anew when the person changed between preview and erasure", async () => {
    const workspace = await console().app.workspace();
    const { profileId } = await aPerson(workspace, "moving");
    const { page, wrongs } = await console().open(workspace, { path: `/profiles/${profileId}` });
    await page.getByRole("button", { name: "Erase…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("I know").waitFor();
    await identify(workspace, id("user_id", "moving"), id("device_id", "new"));
    await dialog.getByLabel("I know").check();
    await dialog.getByRole("button", { name: "Erase forever" }).click();
    await dialog.getByText("The person changed").waitFor();
    await dialog.getByRole("button", { name: "Look again" }).click();
    await dialog.getByText("device_id").waitFor();
    assert.equal((await workspace.send("GET", `/v1/profiles/${profileId}`)).status, 200);
    // A browser tells of the refused one.
    assert.equal((wrongs as string[]).splice(0).length, 1);
  });

  it("shows a viewer nothing that would be refused", async () => {
    const workspace = await console().app.workspace();
    const { profileId } = await aPerson(workspace, "seen");
    const { page } = await console().open(workspace, { as: "viewer", path: `/profiles/${profileId}?tab=graph` });
    await page.getByRole("button", { name: "Show", exact: true }).first().click();
    await page.locator(".graph-chosen").getByText("with key").waitFor();
    assert.equal(await page.getByText(/Erase…|Unlink/).count(), 0);
    await page.getByRole("tab", { name: "Identifiers" }).click();
    await page.getByRole("region", { name: "Identifiers" }).waitFor();
    assert.equal(await page.getByText(/Erase…|Unlink/).count(), 0);
    assert.equal(await page.getByRole("link", { name: "Undo" }).count(), 0);
  });

  it("saves all that is known of a person as a file", async () => {
    const workspace = await console().app.workspace();
    const { profileId, eventId, changeId } = await aPerson(workspace, "file");
    const { page } = await console().open(workspace, { as: "viewer", path: `/profiles/${profileId}` });
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save as a file" }).click(),
    ]);
    const saved: unknown = JSON.parse(await readFile(await download.path(), "utf8"));
    assert.equal(textAt(saved, "complete"), "true");
    assert.equal(textAt(saved, "events.0.event_id"), eventId);
    assert.equal(textAt(saved, "profile.traits.city"), "Lyon");
    assert.ok(JSON.stringify(saved).includes(changeId));
    assert.equal(textAt(saved, "nodes.length"), "3");
  });

  it("does not say of a file that it holds all, where the service tells only a part of so large a profile", async () => {
    const workspace = await console().app.workspace();
    const { profileId } = await aPerson(workspace, "large");
    const { page } = await console().open(workspace, { as: "viewer", path: `/profiles/${profileId}` });
    await page.route(`**/v1/profiles/${profileId}`, async (route) => {
      const json = (await (await route.fetch()).json()) as object;
      await route.fulfill({ json: { ...json, partial: true } });
    });
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save as a file" }).click(),
    ]);
    await page.getByText("in the file are those of its first 3 identifiers").waitFor();
    const saved: unknown = JSON.parse(await readFile(await download.path(), "utf8"));
    assert.equal(textAt(saved, "complete"), "false");
  });

  it("says that there is no such profile", async () => {
    const { page, look, wrongs } = await console().open(await console().app.workspace(), {
      path: "/profiles/01900000-0000-7000-8000-000000000000",
    });
    await page.getByText("There is no such profile").waitFor();
    await look("people-profile-none");
    (wrongs as string[]).splice(0);
  });
});
