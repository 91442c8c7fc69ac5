import assert from "node:assert/strict";
import { describeConsole } from "../support/console/console.js";
import { textAt, until } from "../support/service/app.js";

describeConsole("the name of an audience", (console) => {
  const levels = (leaf: object, many: number): object =>
    Array.from({ length: many }).reduce<object>((rule) => ({ $and: [rule, { event_count: { $lt: 1_000 } }] }), leaf);
  const leaf = { "traits.city": { $gt: "A", $lt: "Z" }, event_count: { $gte: 1 } };

  it("is stored without the rule, which the builder would write in another way and have judged anew", async () => {
    const workspace = await console().app.workspace("Shop");
    await workspace.schema();
    for (const [name, rule] of [
      ["First", levels(leaf, 1)],
      // The builder would write a ninth level.
      ["Deep", levels(leaf, 7)],
      ["Nobody", { $not: {} }],
    ] as const) {
      const made = await workspace.send("POST", "/v1/audiences", { name, rule });
      const path = `/v1/audiences/${textAt(made.body, "audience_id")}`;
      await until(
        () => workspace.send("GET", path),
        ({ body }) => body["state"] === "live",
      );
      const opened = await console().open(workspace, { path: `${path.slice(3)}/change`, as: "editor" });
      const { page } = opened;
      await page.getByLabel("Name", { exact: true }).fill(`${name}, once more`);
      await page.getByRole("tab", { name: "JSON" }).click();
      assert.deepEqual(JSON.parse(await page.getByLabel("Rule", { exact: true }).inputValue()), rule);
      await page.getByRole("tab", { name: "Builder" }).click();
      const answered = page.waitForResponse((response) => response.request().method() === "PUT", { timeout: 10_000 });
      await page.getByRole("button", { name: "Save" }).click({ timeout: 10_000 });
      assert.equal((await answered).status(), 200);
      // The page has left the answer behind by then.
      const { body } = await workspace.send("GET", path);
      assert.deepEqual([body["name"], body["state"], body["rule"]], [`${name}, once more`, "live", rule]);
      await opened.close();
    }
  });

  it("is stored with a rule that was edited", async () => {
    const workspace = await console().app.workspace("Shop");
    await workspace.schema();
    const made = await workspace.send("POST", "/v1/audiences", { name: "First", rule: { "traits.city": "Paris" } });
    const path = `/audiences/${textAt(made.body, "audience_id")}`;
    const { page } = await console().open(workspace, { path: `${path}/change`, as: "editor" });
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.getByLabel("Rule", { exact: true }).fill('{"traits.city":"Lyon"}');
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("city is “Lyon”").waitFor();
  });
});
