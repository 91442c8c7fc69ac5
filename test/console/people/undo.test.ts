import assert from "node:assert/strict";
import { textAt, type TestWorkspace } from "../../support/service/app.js";
import type { Page } from "playwright-core";
import { describeConsole } from "../../support/console/console.js";
import { aKiosk, id, identify } from "../../support/console/people.js";

const [ADA, BOB, PHONE, TABLET] = [
  id("user_id", "ada"),
  id("user_id", "bob"),
  id("device_id", "phone"),
  id("device_id", "tablet"),
];

/** Two people who were taken for one. */
async function merged(workspace: TestWorkspace) {
  const ada = await identify(workspace, ADA, PHONE);
  const bob = await identify(workspace, BOB, TABLET);
  const { changeId } = await identify(workspace, ADA, BOB);
  return { ada: ada.profileId, bob: bob.profileId, changeId };
}
const profileOf = async (workspace: TestWorkspace, identifier: { namespace: string; value: string }) =>
  textAt(
    (await workspace.send("POST", "/v1/profiles/lookup", { identifiers: [identifier] })).body,
    "profiles.0.profile_id",
  );
const changesOf = async (workspace: TestWorkspace) =>
  Number(textAt((await workspace.send("GET", "/v1/changes")).body, "changes.length"));

/** What has the focus, once this heading has it: it is announced too. */
const waitForFocusOn = (page: Page, heading: string) =>
  page.getByRole("status").locator("h2:focus", { hasText: heading }).waitFor();

describeConsole("undo", (console) => {
  it("previews two identifiers from each other with pictures, writes nothing before, and then does it, by keyboard alone", async () => {
    const workspace = await console().app.workspace();
    const { ada, bob } = await merged(workspace);
    const { page, look } = await console().open(workspace, { as: "admin", path: "/undo" });
    await page.getByText("user_id").first().waitFor({ state: "attached" });
    await page.getByRole("heading", { name: "Enter what to undo" }).waitFor();
    await page.getByText("Enter both values").waitFor();
    await page.getByLabel("What to undo").selectOption("change");
    await page.getByText("Enter the id of a change").waitFor();
    await page.getByLabel("What to undo").selectOption("pair");
    await look("people-undo-empty");
    const [one, other] = [page.getByRole("group", { name: "One" }), page.getByRole("group", { name: "The other" })];
    await one.getByLabel("Namespace").selectOption("user_id");
    await other.getByLabel("Namespace").selectOption("user_id");
    await one.getByLabel("Value").focus();
    await page.keyboard.type("ada");
    await other.getByLabel("Value").focus();
    await page.keyboard.type("bob");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Preview: nothing is written yet" }).waitFor();
    await waitForFocusOn(page, "Preview: nothing is written yet");
    const after = page.getByRole("figure", { name: "Afterwards" });
    await after.getByRole("img", { name: "user_id ada", exact: true }).waitFor();
    const now = page.getByRole("figure", { name: "Now" });
    await now.getByRole("img", { name: /^Link between user_id ada and user_id bob.*this undo removes it$/ }).waitFor();
    assert.equal(await after.getByRole("img", { name: /Link between/ }).count(), 2);
    await after.getByText("2 profiles").waitFor();
    assert.deepEqual(await after.locator(".undo-refs .sent").allTextContents(), ["ada", "phone", "bob", "tablet"]);
    await look("people-undo-preview");
    assert.equal(await profileOf(workspace, BOB), ada, "nothing is written");
    await page.getByRole("button", { name: "Unlink…" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Unlink?" }).waitFor();
    await page.getByRole("dialog").locator("button:focus", { hasText: "Cancel" }).waitFor();
    await look("people-undo-confirm");
    await page.getByRole("dialog").getByRole("button", { name: "Unlink", exact: true }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("Done: unlinked").waitFor();
    await waitForFocusOn(page, "Done: unlinked");
    await page.locator(".undo-refs").getByText("tablet").waitFor();
    assert.deepEqual(await page.locator(".undo-refs .sent").allTextContents(), ["ada", "phone", "bob", "tablet"]);
    const again = page.getByText("What is sent from now on may link them again");
    const hrefs = await Promise.all((await again.getByRole("link").all()).map((one) => one.getAttribute("href")));
    assert.deepEqual(hrefs, ["#/namespaces", "#/settings"]);
    await look("people-undo-done");
    assert.equal(await profileOf(workspace, BOB), bob);
    await page.getByRole("link", { name: "Undo this…" }).click();
    await page.getByRole("button", { name: "Revert…" }).waitFor();
    await page.getByRole("figure", { name: "Afterwards" }).getByText("1 profile").waitFor();
    await look("people-undo-back");
  });

  it("takes the preview away as soon as the form changes, and names both identifiers before it acts", async () => {
    const workspace = await console().app.workspace();
    const { ada } = await merged(workspace);
    const path = "/undo?what=pair&namespace=user_id&value=ada&to_namespace=user_id&to_value=bob";
    const { page, look } = await console().open(workspace, { as: "admin", path });
    const unlink = page.getByRole("button", { name: "Unlink…" });
    await unlink.waitFor();
    const value = page.getByRole("group", { name: "The other" }).getByLabel("Value");
    await value.focus();
    await page.keyboard.type("by");
    await page.getByRole("heading", { name: "The form changed: preview again" }).waitFor();
    assert.equal(await unlink.count(), 0);
    await look("people-undo-changed");
    await value.fill("");
    await page.getByRole("heading", { name: "The form changed: preview again" }).waitFor();
    assert.equal(await unlink.count(), 0);
    await value.fill("bob");
    await unlink.waitFor();
    await page.getByLabel("Forbid the pair").check();
    await page.getByRole("heading", { name: "The form changed: preview again" }).waitFor();
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByRole("button", { name: "Unlink and forbid…" }).click();
    const dialog = page.getByRole("dialog", { name: "Unlink and forbid?" });
    assert.deepEqual(await dialog.locator(".sent").allTextContents(), ["ada", "bob"]);
    await dialog.getByText("may not come into one profile again").waitFor();
    await look("people-undo-confirm-pair");
    await page.keyboard.press("Escape");
    assert.equal(await profileOf(workspace, BOB), ada, "nothing is written");
    await page.getByLabel("What to undo").selectOption("identifier");
    await page.getByRole("heading", { name: "The form changed: preview again" }).waitFor();
    await page.getByRole("button", { name: "Preview" }).click();
    await unlink.click();
    assert.deepEqual(await page.getByRole("dialog").locator(".sent").allTextContents(), ["ada"]);
  });

  it("reverts a change once, and tells the second tab so", async () => {
    const workspace = await console().app.workspace();
    const { bob, changeId } = await merged(workspace);
    const path = `/undo?what=change&change=${changeId}`;
    const tabs = [
      await console().open(workspace, { as: "admin", path }),
      await console().open(workspace, { as: "admin", path }),
    ];
    for (const { page } of tabs) await page.getByRole("button", { name: "Revert…" }).click();
    await tabs[0]!.page.getByRole("dialog").getByRole("button", { name: "Revert", exact: true }).click();
    await tabs[0]!.page.getByText("Done: reverted").waitFor();
    assert.equal(await profileOf(workspace, BOB), bob);
    const before = await changesOf(workspace);
    await tabs[1]!.page.getByRole("dialog").getByRole("button", { name: "Revert", exact: true }).click();
    await tabs[1]!.page.getByText("This was undone already").waitFor();
    await waitForFocusOn(tabs[1]!.page, "This was undone already");
    assert.equal(await changesOf(workspace), before);
    await tabs[1]!.look("people-undo-late");
    await tabs[1]!.page.reload();
    await tabs[1]!.page.getByText("There is nothing to undo").waitFor();
    await tabs[1]!.look("people-undo-nothing");
  });

  it("does nothing when something changed since the preview, and shows the new one", async () => {
    const workspace = await console().app.workspace();
    const { ada, changeId } = await merged(workspace);
    const { page } = await console().open(workspace, { path: `/undo?what=change&change=${changeId}` });
    await page.getByRole("button", { name: "Revert…" }).click();
    await identify(workspace, BOB, id("device_id", "laptop"));
    await page.getByRole("dialog").getByRole("button", { name: "Revert", exact: true }).click();
    await page.getByText("Something changed since the preview was made").waitFor();
    const again = page.getByRole("button", { name: "Revert…" });
    await again.and(page.locator(":focus")).waitFor();
    await again.click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await again.and(page.locator(":focus")).waitFor();
    await page.locator(".undo-refs").getByText("laptop").waitFor();
    assert.equal(await profileOf(workspace, BOB), ada);
  });

  it("forbids a pair, and says what still holds two together", async () => {
    const workspace = await console().app.workspace();
    await merged(workspace);
    await identify(workspace, PHONE, TABLET);
    const path = "/undo?what=pair&namespace=user_id&value=ada&to_namespace=user_id&to_value=bob";
    const { page, go, look, wrongs } = await console().open(workspace, { path });
    await page.getByText("Other links still connect the two").waitFor();
    await look("people-undo-still");
    await go(`${path}&forbid=true`);
    await page.getByText("so the pair cannot be forbidden").waitFor();
    await page.getByRole("link", { name: "Preview this one" }).first().waitFor();
    await look("people-undo-refused");
    // A browser tells of the refused one.
    assert.equal((wrongs as string[]).splice(0).length, 1);
    await workspace.send("POST", "/v1/identity/unlink", { from: PHONE, to: TABLET });
    await page.getByRole("button", { name: "Look again" }).click();
    await page.getByRole("button", { name: "Unlink and forbid…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unlink and forbid" }).click();
    await page.getByText("Done: unlinked").waitFor();
    assert.equal(await page.getByText("may link them again").count(), 0);
    const pairs = await workspace.send("GET", "/v1/identity/forbidden-pairs");
    assert.equal(textAt(pairs.body, "forbidden_pairs.length"), "1");
  });

  const ask = (forbid: boolean): string =>
    `/undo?what=pair&namespace=user_id&value=ada&to_namespace=user_id&to_value=bob${forbid ? "&forbid=true" : ""}`;
  const unlinkAsShown = async (page: Page): Promise<void> => {
    await page.getByRole("button", { name: "Unlink…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unlink", exact: true }).click();
    await page.getByText("Done: unlinked").waitFor();
  };
  const pairsOf = async (workspace: TestWorkspace): Promise<string> =>
    textAt((await workspace.send("GET", "/v1/identity/forbidden-pairs")).body, "forbidden_pairs.length");

  it("leads from a pair that cannot be forbidden yet over the link that holds it to keeping it apart", async () => {
    const workspace = await console().app.workspace();
    await identify(workspace, ADA, PHONE);
    await identify(workspace, PHONE, BOB);
    const { page, look, wrongs } = await console().open(workspace, { as: "admin", path: ask(true) });
    await page.getByText("so the pair cannot be forbidden yet").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    await page.getByRole("link", { name: "Preview this one" }).first().click();
    await unlinkAsShown(page);
    const offer = page.locator(".message", { hasText: "These are two people now" });
    await offer.locator(".sent").nth(1).waitFor();
    assert.deepEqual(await offer.locator(".sent").allTextContents(), ["ada", "bob"]);
    await look("people-undo-apart");
    assert.equal(await pairsOf(workspace), "0");
    // They are linked again meanwhile: what the page said to be apart would be parted.
    await identify(workspace, ADA, BOB);
    await offer.getByRole("link", { name: "Preview: also keep them apart" }).click();
    await page.getByRole("figure", { name: "Now" }).getByText("1 profile").waitFor({ timeout: 20_000 });
    assert.equal(await pairsOf(workspace), "0", "nothing is written");
    await page.getByRole("button", { name: "Unlink and forbid…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unlink and forbid" }).click();
    await page.getByText("Done: unlinked").waitFor();
    assert.equal(await pairsOf(workspace), "1");
    const pair = await workspace.send("POST", "/v1/identity/unlink?dry_run=true", { from: ADA, to: BOB, forbid: true });
    assert.equal(textAt(pair.body, "outcome"), "unchanged", "it is this pair");
    // A browser tells of the refused preview.
    assert.equal((wrongs as string[]).splice(0).length, 1);
  });

  it("says after an undo which links still hold the two together, down to their own", async () => {
    const workspace = await console().app.workspace();
    await merged(workspace);
    await identify(workspace, PHONE, TABLET);
    const { page, look } = await console().open(workspace, { as: "admin", path: ask(false) });
    await unlinkAsShown(page);
    await page.getByText("Other links still connect the two").waitFor();
    assert.equal(await page.getByText("bridge", { exact: true }).count(), 3);
    await look("people-undo-still-joined");
    await identify(workspace, ADA, BOB);
    await page.getByRole("link", { name: "Preview this one" }).nth(1).click();
    await unlinkAsShown(page);
    await page.getByText("Only their own link still holds these two together").waitFor();
    await look("people-undo-own-link");
    await page.getByRole("link", { name: "Preview: unlink and forbid" }).click();
    await page.getByRole("button", { name: "Unlink and forbid…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unlink and forbid" }).click();
    await page.getByText("Done: unlinked").waitFor();
    assert.equal(await pairsOf(workspace), "1");
    assert.notEqual(await profileOf(workspace, ADA), await profileOf(workspace, BOB));
  });

  it("offers the identifiers in between where no single link holds two together, first those that hold others together", async () => {
    const workspace = await console().app.workspace();
    await aKiosk(workspace);
    const path = "/undo?what=pair&namespace=user_id&value=ada&to_namespace=user_id&to_value=bob";
    const { page, look } = await console().open(workspace, { as: "admin", path });
    await page.getByRole("heading", { name: "No single link holds the two together" }).waitFor();
    const offers = page.getByRole("list", { name: "Identifiers in between" }).getByRole("listitem");
    await offers.first().waitFor();
    const [first, second, ...rest] = await offers.allTextContents();
    assert.equal(first, "Take device_id kiosk-7 out of this profile…The rest falls into 2 profiles.");
    assert.match(second!, /^Take device_id (phone|laptop) out of this profile…The two stay together without it\.$/);
    assert.deepEqual(rest, []);
    assert.equal(await page.getByText("There is nothing to undo").count(), 0);
    assert.equal(await page.getByRole("link", { name: "Preview this one" }).count(), 0);
    await look("people-undo-between");
    assert.equal(await profileOf(workspace, ADA), await profileOf(workspace, BOB), "nothing is written");
    const lines = await page.evaluate(
      "getComputedStyle(document.querySelector('.undo-refs a > .sent')).textDecorationLine",
    );
    assert.equal(lines, "underline", "the whole of the link looks like one");
    await page.getByRole("link", { name: "Take device_id kiosk-7 out of this profile…" }).click();
    await page.getByText("These two would be two people").waitFor();
    await page.getByRole("button", { name: "Unlink…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unlink", exact: true }).click();
    await page.getByText("Done: unlinked").waitFor();
    assert.notEqual(await profileOf(workspace, ADA), await profileOf(workspace, BOB));
  });

  it("shows the pictures and who would be two people also for another spelling than is stored", async () => {
    const workspace = await console().app.workspace();
    await identify(workspace, id("email", "ada@example.com"), BOB);
    const path = "/undo?what=pair&namespace=email&value=ADA%40Example.com&to_namespace=user_id&to_value=bob";
    const { page } = await console().open(workspace, { as: "admin", path });
    await page.getByText("These two would be two people").waitFor({ timeout: 10_000 });
    const names = page.getByRole("figure", { name: "Afterwards" }).locator(".undo-refs .sent");
    await names.nth(1).waitFor();
    assert.deepEqual((await names.allTextContents()).toSorted(), ["ada@example.com", "bob"]);
  });

  it("marks the bridge among the links that hold two together", async () => {
    const workspace = await console().app.workspace();
    await identify(workspace, ADA, PHONE);
    await identify(workspace, PHONE, BOB);
    const path = "/undo?what=pair&namespace=user_id&value=ada&to_namespace=user_id&to_value=bob";
    const { page } = await console().open(workspace, { as: "admin", path });
    await page.getByRole("heading", { name: "No link connects just these two" }).waitFor();
    assert.equal(await page.getByText("bridge", { exact: true }).count(), 2);
    assert.equal(await page.getByRole("link", { name: "Preview this one" }).count(), 2);
  });

  it("unlinks one identifier from all others, also where a picture would be too large", async () => {
    const workspace = await console().app.workspace();
    const { profileId } = await identify(workspace, ADA, PHONE);
    for (let i = 0; i < 520; i += 10)
      await identify(workspace, PHONE, ...Array.from({ length: 10 }, (_, j) => id("cookie_id", `c${i + j}`)));
    const { page, look } = await console().open(workspace, { path: `/profiles/${profileId}?tab=identifiers` });
    await page.getByRole("link", { name: "Unlink from all others: this user_id" }).click();
    const after = page.getByRole("figure", { name: "Afterwards" });
    await after.getByRole("img", { name: "1 identifier of profile" }).waitFor();
    await after.getByRole("img", { name: "521 identifiers of profile" }).waitFor();
    await look("people-undo-large");
    await page.getByRole("button", { name: "Unlink…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unlink", exact: true }).click();
    await page.getByText("Done: unlinked").waitFor();
  });

  it("is not there for an editor", async () => {
    const workspace = await console().app.workspace();
    const { page } = await console().open(workspace, { as: "editor", path: "/undo" });
    await page.getByText("This page needs a key of role admin or higher").waitFor();
  });
});
