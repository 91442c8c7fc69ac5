import assert from "node:assert/strict";
import { textAt, type TestWorkspace } from "../../support/service/app.js";
import { describeConsole, type Opened } from "../../support/console/console.js";
import { id, identify, INJECTIONS } from "../../support/console/people.js";

const HARMFUL = "main script, main iframe, main img, main b, main [onerror], main [onload], main [onmouseover]";

/** One person, of whom every value that a sender may choose is hostile; and a stranger whom a rule kept apart. */
async function hostilePerson(workspace: TestWorkspace) {
  const schemaId = await workspace.schema({
    type: "object",
    properties: {
      user: { type: "string", "x-identity": { namespace: "user_id" } },
      devices: { type: "array", items: { type: "string", "x-identity": { namespace: "device_id" } } },
      words: { type: "array", items: { type: "string", "x-trait": { name: "words", merge: "union" } } },
      latest: { type: "string", "x-trait": { name: "latest" } },
    },
  });
  const values = INJECTIONS.map((value) => id("device_id", value));
  const { profileId, changeId } = await identify(workspace, id("user_id", INJECTIONS[0]!), ...values);
  const payload = {
    user: INJECTIONS[0],
    words: INJECTIONS,
    latest: INJECTIONS[1],
    ...Object.fromEntries(INJECTIONS.filter((one) => !one.includes("\0")).map((one, i) => [one.slice(0, 200), i])),
  };
  const sent = await workspace.collect(schemaId, payload);
  assert.equal(sent.status, 202, sent.text);
  const eventId = textAt((await workspace.settled(sent.body["event_id"])).body, "event_id");
  const pair = { from: id("user_id", INJECTIONS[0]!), to: id("email", "x@example.com"), forbid: true };
  await identify(workspace, pair.to);
  assert.equal((await workspace.send("POST", "/v1/identity/unlink", pair)).status, 200);
  return { profileId, changeId, eventId };
}

async function isHarmless({ page }: Opened, where: string): Promise<void> {
  assert.ok(!(await page.title()).includes("pwned"), where);
  assert.equal(await page.locator(HARMFUL).count(), 0, where);
  // What turns the text around it is shown by its number.
  const text = (await page.locator("main").textContent()) ?? "";
  assert.doesNotMatch(text, /[\u202a-\u202e\u2066-\u2069]/, where);
  for (const width of [360, 1_440]) {
    await page.setViewportSize({ width, height: 900 });
    const beyond = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
    assert.ok(beyond <= 0, `${where}, ${width} px: ${beyond} px stand beyond the edge`);
  }
}

describeConsole("what senders write", (console) => {
  it("stands on every page about people as text, and moves nothing", async function () {
    this.timeout(300_000);
    const workspace = await console().app.workspace();
    const { profileId, changeId, eventId } = await hostilePerson(workspace);
    const opened = await console().open(workspace, { path: "/search" });
    const { page, go, look } = opened;
    const to = async (path: string, shown: string): Promise<void> => {
      await go(path);
      await page.locator(`main ${shown}`).first().waitFor();
      await isHarmless(opened, path);
    };
    await to("/search", "td .sent");
    for (const [tab, shown] of [
      ["traits", "td .one-value"],
      ["timeline", "td .sent"],
      ["identifiers", "td .sent"],
      ["graph", ".graph-dot"],
      ["history", "td .sent"],
    ] as const)
      await to(`/profiles/${profileId}?tab=${tab}`, shown);
    await page.setViewportSize({ width: 1_280, height: 900 });
    await go(`/profiles/${profileId}?tab=graph`);
    await page.locator(".graph-dot").first().waitFor();
    await look("people-hostile-graph");
    await go(`/profiles/${profileId}?tab=traits`);
    await page.locator(".one-value").first().waitFor();
    await look("people-hostile-traits");
    await to(`/events/${eventId}`, ".code");
    await to("/changes", "td .sent");
    await to(`/changes/${changeId}`, "td .sent");
    await look("people-hostile-change");
    await to("/forbidden-pairs", "td .sent");
    for (const value of INJECTIONS.slice(1)) {
      const text = encodeURIComponent(value);
      const user = encodeURIComponent(INJECTIONS[0]!);
      // What cannot stand in an address as it is, a form cannot send either.
      if (!value.includes("\0")) await to(`/search?q=${text}`, ".card");
      await to(`/why?from_namespace=user_id&from_value=${user}&to_namespace=device_id&to_value=${text}`, ".path-node");
    }
    const long = encodeURIComponent(INJECTIONS.at(-1)!);
    await to(`/undo?what=identifier&namespace=device_id&value=${long}`, ".graph-dot");
    await look("people-hostile-undo");
    await go(
      `/why?from_namespace=device_id&from_value=${long}&to_namespace=device_id&to_value=${encodeURIComponent(INJECTIONS[10]!)}`,
    );
    await page.locator(".path-node").first().waitFor();
    await look("people-hostile-why");
  });
});
