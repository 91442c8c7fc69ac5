import assert from "node:assert/strict";
import type { Locator } from "playwright-core";
import { describeConsole } from "../support/console/console.js";
import { soon } from "../support/eventually.js";
import { textAt, type TestWorkspace } from "../support/service/app.js";

/** To be evaluated of a field: whether its text, or the hint in its place, is wider than it is. */
const IS_CUT = `(() => {
  const { font, paddingLeft, paddingRight } = getComputedStyle(one);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = font;
  const isChoice = one.tagName === "SELECT";
  const text = isChoice ? one.selectedOptions[0].text : one.placeholder;
  const room = one.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - (isChoice ? 20 : 0);
  return pen.measureText(text).width > room;
})()`;
/** To be evaluated: how much of this is hidden, in width and in height. */
const beyond = (selector: string): string =>
  `(({ scrollWidth, clientWidth, scrollHeight, clientHeight }) => [scrollWidth - clientWidth, scrollHeight - clientHeight])(document.querySelector("${selector}"))`;
const HIDDEN = "one.scrollHeight - one.clientHeight";
/** To be evaluated: the fields of a rule that have no room for a word, and what stands beyond its part. */
const NARROW = `[...document.querySelectorAll(".part .input, .part .button")].filter((one) => {
  const { width, right } = one.getBoundingClientRect();
  return (one.matches(".input") && width < 75) || right > one.closest(".part").getBoundingClientRect().right;
}).map((one) => one.outerHTML.slice(0, 120))`;
/** To be evaluated: the words of a picture that it cuts. */
const OUTSIDE = `[...document.querySelectorAll(".graph-label")].filter((one) => {
  const [word, plane] = [one, one.ownerSVGElement].map((it) => it.getBoundingClientRect());
  return word.left < plane.left || word.right > plane.right;
}).map((one) => one.textContent)`;
/** To be evaluated: how far below the field of a condition its test stands. */
const TOPS = `[...document.querySelectorAll(".part-line")].filter((one) => one.querySelector("[list]")).map((one) => {
  const [field, test] = [...one.querySelectorAll(".field")].map((part) => part.getBoundingClientRect().top);
  return test - field;
})`;
const styleOf = (name: string): string => `getComputedStyle(one).${name}`;
/** Of `one`, which takes the focus. */
async function ask(one: Locator, expression: string): Promise<unknown> {
  await one.focus();
  return one.page().evaluate(`((one) => ${expression})(document.activeElement)`);
}

describeConsole("small things that were hard to understand", (console) => {
  const fresh = (): Promise<TestWorkspace> => console().app.workspace("Shop");

  it("fields on a phone show their hints and choices in full", async () => {
    const { page, go } = await console().open(await fresh(), { path: "/live", as: "admin", width: 360 });
    assert.equal(await ask(page.getByLabel("Filter"), IS_CUT), false);
    await go("/new-schema");
    const choice = page.getByLabel("Compatibility");
    await choice.waitFor();
    assert.equal(await ask(choice, IS_CUT), false);
    await page.getByText("a new version must still accept every event that the previous version accepts").waitFor();
    await choice.selectOption("none");
    assert.equal(await ask(choice, IS_CUT), false);
  });

  it("the choices of two versions of one day are told apart on a phone, and the edge of a schema shows that it scrolls", async () => {
    const workspace = await fresh();
    const schemaId = await workspace.schema();
    const schema = { type: "object", properties: { email: { type: "string" }, plan: { type: "string" } } };
    const path = `/v1/schemas/${schemaId}/versions`;
    assert.equal((await workspace.send("POST", path, { compatibility: "none", schema })).status, 201);
    const { page } = await console().open(workspace, { path: `/schemas/${schemaId}`, as: "admin", width: 360 });
    const box = page.locator("div.code", { has: page.getByRole("region", { name: "the schema" }) });
    const [whole, text, copy] = await Promise.all(
      [box, box.locator("pre"), box.locator(".copy")].map((one) => one.boundingBox()),
    );
    assert.ok(whole!.x + whole!.width - (text!.x + text!.width) <= 2, "its shadow ends before the edge");
    const padding = Number.parseFloat(String(await ask(box.locator("pre"), styleOf("paddingRight"))));
    assert.ok(padding >= copy!.width, "its text is below the button");
    await page.getByRole("tab", { name: "Versions" }).click();
    for (const name of ["From", "To"])
      assert.equal(await ask(page.getByLabel(name, { exact: true }), IS_CUT), false, name);
    assert.match(
      (await page.getByLabel("To", { exact: true }).locator("option").first().textContent())!,
      /^Version 2, .* \d\d:\d\d \S+$/,
    );
  });

  it("the side bar has room for the name of a workspace", async () => {
    const workspace = await console().app.workspace("Corner shop of the old town");
    const { page } = await console().open(workspace, { path: "/stats" });
    await page.locator(".workspace strong").waitFor();
    assert.deepEqual(await page.evaluate(beyond(".workspace strong")), [0, 0]);
  });

  it("the box of a schema is as high as its text, and the edge of one that scrolls shows it", async () => {
    const { page, look } = await console().open(await fresh(), { path: "/new-schema", as: "admin" });
    const box = page.getByLabel("JSON Schema");
    const hidden = async (): Promise<number> => Number(await ask(box, HIDDEN));
    await box.waitFor();
    assert.ok((await hidden()) <= 0, `${await hidden()} px of it are hidden`);
    const properties = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`field_${n}`, {}]));
    await box.fill(JSON.stringify({ type: "object", properties }, null, 2));
    assert.ok((await hidden()) > 0);
    assert.match(String(await ask(box, styleOf("backgroundImage"))), /gradient/);
    await page.getByText("Valid: this would become version 1.").waitFor();
    await look("schema-long");
  });

  it("an unticked box is as light or dark as the fields beside it, and a ticked one is not", async () => {
    const { page } = await console().open(await fresh(), { path: "/settings", as: "admin" });
    await page.emulateMedia({ colorScheme: "dark" });
    const colour = styleOf("backgroundColor");
    const box = page.getByLabel("Use the phone number as an identifier");
    const field = await ask(page.getByLabel("Shared identifier limit"), colour);
    assert.equal(await ask(box, colour), field);
    await box.check();
    assert.notEqual(await ask(box, colour), field);
  });

  it("an empty chart says so, with its legend above", async () => {
    const { page } = await console().open(await fresh(), { path: "/stats", as: "viewer" });
    await page.getByText("No events in the last 60 minutes").waitFor();
    const [legend, plane] = await Promise.all(
      [".chart-key", ".chart svg"].map((one) => page.locator(one).first().boundingBox()),
    );
    assert.ok(legend!.y + legend!.height <= plane!.y);
  });

  it("the queue is called empty only where nothing waits in it", async () => {
    const { page, go } = await console().open(await console().app.workspace(), { path: "/keys" });
    let queue: object = {};
    await page.route("**/v1/stats", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...((await answer.json()) as object), queue } });
    });
    for (const [waiting, told] of [
      [5_000, "since when is not known"],
      [null, "since when is not known"],
      // It is nobody's own.
      [0, "no event of any workspace is waiting"],
    ] as const) {
      queue = { waiting, oldest_at: null };
      await go("/stats");
      await page.locator(".figure", { hasText: "In the queue" }).getByText(told).waitFor({ timeout: 10_000 });
      await go("/keys");
      await page.getByRole("heading", { name: "Keys" }).waitFor();
    }
  });

  it("the only owner key is marked and has no button that revokes it, while it is the only one", async () => {
    const workspace = await fresh();
    const { page, go } = await console().open(workspace, { path: "/keys" });
    await page.getByText("only owner key", { exact: true }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Revoke" }).count(), 0);
    await workspace.send("POST", "/v1/keys", { role: "owner", name: "another" });
    await go("/stats");
    await go("/keys");
    await page.getByRole("row", { name: /another/ }).waitFor();
    assert.equal(await page.getByText("only owner key").count(), 0);
    assert.equal(await page.getByRole("button", { name: "Revoke" }).count(), 2);
  });

  it("empty lists have their main button once, and webhooks say that an audience comes first", async () => {
    const { page, go, look } = await console().open(await fresh());
    for (const [path, name, empty] of [
      ["/schemas", "New schema", "There is no schema yet"],
      ["/datasets", "New dataset", "There is no dataset yet"],
      ["/audiences", "New audience", "There is no audience yet"],
      ["/webhooks", "New webhook", "There is no webhook yet"],
    ] as const) {
      await go(path);
      await page.getByText(empty, { exact: true }).waitFor();
      assert.equal(await page.locator("main .button", { hasText: name }).count(), 1, path);
      if (path === "/schemas" || path === "/datasets") {
        await page.getByText("Events sent by SDKs need neither a schema nor a dataset").waitFor();
        await page.locator("main").getByRole("link", { name: "Set up a sender" }).waitFor();
      }
    }
    await page.getByText("There is no audience yet: make one first.").waitFor();
    await look("webhooks-first");
    await page.getByRole("link", { name: "New audience" }).click();
    await page.getByText("There are no traits yet.").waitFor();
    await look("audience-without-traits");
  });

  it("a form that cannot be stored yet says beside its button what it needs", async () => {
    const workspace = await fresh();
    const schemaId = await workspace.schema();
    const { page, go } = await console().open(workspace, { path: "/datasets" });
    const needs = page.getByRole("dialog").locator(".needs");
    for (const [path, button, text] of [
      ["/datasets", "New dataset", "Enter a name"],
      ["/namespaces", "New namespace", "Enter a name"],
      ["/webhooks", "New webhook", "Enter an address"],
    ] as const) {
      await go(path);
      await page.getByRole("button", { name: button }).first().click();
      await needs.getByText(text, { exact: true }).waitFor();
      await page.keyboard.press("Escape");
    }
    await go(`/schemas/${schemaId}`);
    await page.getByRole("tab", { name: "New version" }).click();
    await page.getByText("Change the schema first", { exact: true }).waitFor();
  });

  it("a new audience tells nothing of missing traits where a schema has some", async () => {
    const workspace = await fresh();
    await workspace.schema();
    const { page } = await console().open(workspace, { path: "/new-audience", as: "editor" });
    await page.locator("datalist option[value='traits.city']").first().waitFor({ state: "attached" });
    assert.equal(await page.getByText("There are no traits yet.").count(), 0);
  });

  it("the fields of a rule have room on a phone, however deep their group is", async () => {
    const workspace = await fresh();
    const schemaId = await workspace.schema();
    const inner = {
      $or: [{ "traits.city": "Paris" }, { $events: { schema_id: schemaId, at_least: 3, within: "30d" } }],
    };
    const rule = { $and: [{ "traits.city": "Paris" }, { $or: [{ $and: [inner, { "traits.city": "Lyon" }] }] }] };
    const made = await workspace.send("POST", "/v1/audiences", { name: "Deep", rule });
    const path = `/audiences/${textAt(made.body, "audience_id")}/change`;
    const { page } = await console().open(workspace, { path, as: "editor", width: 360 });
    await page.getByRole("button", { name: "Test what the events hold" }).waitFor();
    assert.equal(await page.locator(".group .group .group .group").count(), 1);
    assert.deepEqual(await page.evaluate(NARROW), []);
    const tops: readonly number[] = await page.evaluate(TOPS);
    assert.equal(tops.length, 3);
    for (const top of tops) assert.equal(top, 0, "a field and its test share a line");
  });

  it("names of namespaces are whole where the window is narrow, and it is a table still", async () => {
    const workspace = await fresh();
    await workspace.send("PUT", `/v1/namespaces/${"long_".repeat(12)}`, { kind: "device" });
    const { page } = await console().open(workspace, { path: "/namespaces", as: "admin", width: 985 });
    const name = page.getByText("advertising_id", { exact: true });
    await name.waitFor();
    assert.ok((await name.boundingBox())!.height < 30, "it takes more than a line");
    assert.equal(await page.locator(".stacks").count(), 0);
    await page.getByText("long_long").waitFor();
  });

  it("a dialog that is too high scrolls between its head and its foot", async () => {
    const { page } = await console().open(await fresh(), { path: "/namespaces", as: "admin" });
    await page.setViewportSize({ width: 1_280, height: 500 });
    await page.getByRole("button", { name: "New namespace" }).click();
    const dialog = page.getByRole("dialog");
    // Its buttons are in sight from the beginning.
    const last = await dialog.getByRole("button", { name: "Create" }).boundingBox();
    assert.ok(last !== null && last.y + last.height <= 500);
    await dialog.getByLabel("Blocked values").scrollIntoViewIfNeeded();
    assert.deepEqual(await page.evaluate(beyond(".dialog")), [0, 0]);
    assert.notEqual(await page.evaluate("document.querySelector('.dialog-body').scrollTop"), 0);
    // Where there is hardly room for head and foot, all of it scrolls.
    await page.setViewportSize({ width: 1_280, height: 300 });
    assert.notDeepEqual(await page.evaluate(beyond(".dialog")), [0, 0]);
  });

  it("a change as a card has its short values beside its identifiers", async () => {
    const workspace = await fresh();
    const identifiers = ["a", "b", "c"].map((value) => ({ namespace: "cookie_id", value }));
    await workspace.send("POST", "/v1/identify", { identifiers });
    const { page } = await console().open(workspace, { path: "/changes", as: "admin", width: 640 });
    const card = page.locator(".stacks tbody tr");
    const [who, open] = [card.locator("td").nth(1), card.getByRole("link", { name: "Open" })];
    await open.waitFor();
    const [whole, names, source, button] = await Promise.all(
      [card, who, card.locator("td").nth(2), open].map((one) => one.boundingBox()),
    );
    assert.ok(source!.y < names!.y + names!.height, "the source stands below the identifiers");
    assert.ok(button!.x > whole!.x + whole!.width / 2, "the button has a line of its own");
  });

  it("the words of an identity graph stand within its picture on a phone, however wide their letters are", async () => {
    const workspace = await fresh();
    const identifiers = Array.from({ length: 6 }, (_, i) => ({ namespace: "cookie_id", value: `@W@W@W@W@W${i}` }));
    const made = await workspace.send("POST", "/v1/identify", { identifiers });
    const path = `/profiles/${textAt(made.body, "profile_id")}?tab=graph`;
    const { page } = await console().open(workspace, { path, as: "viewer", width: 360 });
    await page.locator(".graph-label", { hasText: "@" }).first().waitFor();
    await soon(async () => assert.deepEqual(await page.evaluate(OUTSIDE), []));
  });
});
