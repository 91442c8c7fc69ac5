import assert from "node:assert/strict";
import { describeConsole } from "../../support/console/console.js";
import { press } from "../../support/console/hands.js";
import { aKiosk, id, identify } from "../../support/console/people.js";

type Named = { readonly namespace: string; readonly value: string };
const sayName = ({ namespace, value }: Named): string => `${namespace} ${value}`;
const sayPair = (one: string, other: string): string => [one, other].toSorted().join(" - ");

/** To be evaluated: the words that a line runs through. */
const CROSSED = `(() => {
  const lines = [...document.querySelectorAll(".graph-line")].map((line) => {
    const on = (end) => new DOMPoint(line["x" + end].baseVal.value, line["y" + end].baseVal.value).matrixTransform(line.getScreenCTM());
    const [a, b] = [on(1), on(2)];
    return Array.from({ length: 200 }, (_, i) => ({ x: a.x + ((b.x - a.x) * i) / 199, y: a.y + ((b.y - a.y) * i) / 199 }));
  });
  return [...document.querySelectorAll(".graph-label")].filter((word) => {
    const { left, right, top, bottom } = word.getBoundingClientRect();
    return lines.some((points) => points.some(({ x, y }) => x > left + 1 && x < right - 1 && y > top + 2 && y < bottom - 2));
  }).map((word) => word.textContent);
})()`;

describeConsole("bridges", (console) => {
  it("are by one rule in the graph and on the page of two, with a mark of their own, and no line runs through a word", async () => {
    const workspace = await console().app.workspace();
    await aKiosk(workspace);
    const ada = id("user_id", "ada");
    await identify(workspace, ada, id("email", "ada@example.com"));
    await identify(workspace, id("email", "ada@example.com"), id("cookie_id", "c-1"));
    const { profileId } = await identify(workspace, id("cookie_id", "c-1"), id("cookie_id", "c-2"));

    const read = (await workspace.send("GET", `/v1/profiles/${profileId}/graph?limit=100`)).body;
    const nodes = read["nodes"] as readonly (Named & { readonly uid: string })[];
    const wanted: string[] = [];
    for (const { from, to } of read["links"] as readonly { readonly from: string; readonly to: string }[]) {
      const [a, b] = [from, to].map((uid) => nodes.find((node) => node.uid === uid)!);
      const names = [a!, b!].map(({ namespace, value }) => ({ namespace, value }));
      const { body } = await workspace.send("POST", "/v1/identity/explain", { from: names[0], to: names[1] });
      if ((body["bridges"] as readonly unknown[]).length > 0) wanted.push(sayPair(sayName(a!), sayName(b!)));
    }
    assert.equal(wanted.length, 3);

    const { page, go, look } = await console().open(workspace, { path: `/profiles/${profileId}?tab=graph` });
    const graph = page.getByRole("group", { name: /Identity graph/ });
    await graph.locator(".graph-label").first().waitFor();
    await page.getByText("A bridge is a link whose removal parts the profile in two.").waitFor();
    const said: readonly string[] = await page.evaluate(
      `[...document.querySelectorAll(".graph-link.bridge")].map((one) => one.getAttribute("aria-label"))`,
    );
    const found = said.map((one) => /^Link between (.+) and (.+?), by/.exec(one)!);
    assert.deepEqual(found.map(([, from, to]) => sayPair(from!, to!)).toSorted(), wanted.toSorted());
    assert.equal(await graph.locator(".graph-middle").count(), 3);
    assert.equal(await page.getByRole("region", { name: "Links" }).getByText("bridge", { exact: true }).count(), 3);
    await page.locator(".graph-legend").getByText("bridge").waitFor();
    assert.deepEqual(await page.evaluate(CROSSED), []);
    await look("people-bridges-graph");

    await go("/why?from_namespace=user_id&from_value=ada&to_namespace=cookie_id&to_value=c-2");
    await page.getByRole("heading", { name: "One person, by 3 links" }).waitFor();
    assert.equal(await page.getByRole("list", { name: "The path" }).getByText("bridge", { exact: true }).count(), 3);
    await page.getByText("A bridge is a link whose removal parts the two").waitFor();
    await look("people-bridges-why");
  });

  it("brings the picture into view on a phone when a link of the list is shown", async () => {
    const workspace = await console().app.workspace();
    const { profileId } = await identify(
      workspace,
      ...Array.from({ length: 8 }, (_, n) => id("device_id", `phone-${n}`)),
    );
    const path = `/profiles/${profileId}?tab=graph`;
    const { page } = await console().open(workspace, { path, width: 360 });
    await page.getByRole("button", { name: "Show", exact: true }).last().click();
    const told = page.locator(".graph-chosen");
    await told.getByText("with key").waitFor();
    const { y, height } = (await told.boundingBox())!;
    assert.ok(y >= 50 && y + height <= 900, `it is at ${y}`);
  });

  it("marks in the graph who was searched for in another spelling than it is stored", async () => {
    const workspace = await console().app.workspace();
    const { profileId } = await identify(workspace, id("email", "ada@example.com"), id("phone", "+442079460958"));
    const { page, go } = await console().open(workspace, { path: "/stats" });
    for (const [namespace, value] of [
      ["email", " ADA@Example.com"],
      ["phone", "+44 20 7946 0958"],
    ]) {
      await go("/stats");
      await go(`/profiles/${profileId}?tab=graph&namespace=${namespace}&value=${encodeURIComponent(value!)}`);
      await page
        .getByRole("button", { name: new RegExp(`^${namespace} .*, the one that you looked for$`) })
        .waitFor({ timeout: 10_000 });
    }
  });

  it("offers to unlink a kiosk from all below its graph, by keyboard", async () => {
    const workspace = await console().app.workspace();
    await aKiosk(workspace);
    const { profileId } = await identify(workspace, id("user_id", "ada"), id("user_id", "ada"));
    const { page } = await console().open(workspace, { path: `/profiles/${profileId}?tab=graph` });
    await page.getByRole("region", { name: "Links" }).focus();
    await press(page, "device_idkiosk-7");
    const unlink = page.locator(".graph-chosen").getByRole("link", { name: "Unlink from all…" });
    assert.match((await unlink.getAttribute("href"))!, /kiosk-7/);
  });
});
