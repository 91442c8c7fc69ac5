import assert from "node:assert/strict";
import { parseRule } from "../../core/rule/parse.js";
import type { WrittenRule } from "../../core/rule/rule.js";
import type { Vocabulary } from "../../core/rule/vocabulary.js";
import { describeConsole, type Opened } from "../support/console/console.js";
import { press, reach } from "../support/console/hands.js";
import { textAt, until, type TestWorkspace } from "../support/service/app.js";

const ORDER = {
  type: "object",
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    city: { type: "string", "x-trait": { name: "city" } },
    total: { type: "number" },
    items: { type: "array", items: { type: "object", properties: { sku: { type: "string" } } } },
  },
};

describeConsole("audiences", (console) => {
  /** Three people of two cities, with their orders. */
  async function shop(): Promise<{ readonly workspace: TestWorkspace; readonly schemaId: string }> {
    const workspace = await console().app.workspace("Shop");
    const schemaId = await workspace.schema(ORDER);
    const made = [];
    for (const [email, city, total] of [
      ["ada@example.com", "Paris", 700],
      ["grace@example.com", "Paris", 20],
      ["alan@example.com", "Lyon", 900],
    ] as const)
      made.push(await workspace.collect(schemaId, { email, city, total, items: [{ sku: "tea" }] }));
    for (const { body } of made) await workspace.settled(body["event_id"]);
    return { workspace, schemaId };
  }
  const create = async (workspace: TestWorkspace, name: string, rule: object): Promise<string> =>
    textAt((await workspace.send("POST", "/v1/audiences", { name, rule })).body, "audience_id");
  const live = (workspace: TestWorkspace, id: string, size: number) =>
    until(
      () => workspace.send("GET", `/v1/audiences/${id}`),
      ({ body }) => body["state"] === "live" && body["size"] === size,
    );
  const stored = async (workspace: TestWorkspace): Promise<{ readonly name: string; readonly rule: unknown }> => {
    const { body } = await workspace.send("GET", "/v1/audiences");
    return (body["audiences"] as { name: string; rule: unknown }[]).at(-1)!;
  };
  const countOf = (page: Opened["page"], found: number) =>
    page.locator(".preview-count", { hasText: new RegExp(`^${found}$`) }).waitFor();

  it("are built by mouse, counted while one builds, changed and deleted", async () => {
    const { workspace, schemaId } = await shop();
    const { page, look, wrongs } = await console().open(workspace, { path: "/audiences", as: "editor" });
    await page.getByText("There is no audience yet").waitFor();
    await look("audiences-empty");
    await page.getByRole("link", { name: "New audience" }).first().click();
    await page.getByLabel("Name", { exact: true }).fill("Big spenders of Paris");
    await page.getByText("Choose a field.").waitFor();
    await page.getByLabel("Field", { exact: true }).fill("traits.city");
    await page.getByLabel("Value", { exact: true }).fill("Paris");
    await countOf(page, 2);
    await page.getByRole("button", { name: "Event", exact: true }).click();
    await page.getByLabel("What of the events").selectOption("sum");
    await page.getByText("Choose the number to add up.").waitFor();
    await page.getByLabel("The number to add up").fill("total");
    await page.getByLabel("Value", { exact: true }).last().fill("500");
    // What the service says stands at the condition.
    await page.getByText("$events.sum needs the schema_id of a schema that declares it").waitFor();
    // A browser tells of each refused request.
    assert.deepEqual(wrongs.length, 1);
    (wrongs as string[]).splice(0);
    await page.getByLabel("Of the schema").selectOption(schemaId);
    await countOf(page, 1);
    await page.getByText("ada@example.com").waitFor();
    await look("audience-builder");
    await page.getByRole("button", { name: "Create the audience" }).click();
    await page.getByRole("heading", { name: "Big spenders of Paris" }).waitFor();
    await page.getByText("city is “Paris”").waitFor();
    assert.deepEqual((await stored(workspace)).rule, {
      $and: [
        { "traits.city": "Paris" },
        { $events: { schema_id: schemaId, sum: "total", is: { $gte: 500 }, within: "30d" } },
      ],
    });
    await page.getByRole("table").getByRole("row").nth(1).waitFor();
    await look("audience");
    await page.getByRole("link", { name: "Edit", exact: true }).click();
    await page.getByRole("button", { name: "Remove these events" }).click();
    await countOf(page, 2);
    await page.getByLabel("Name", { exact: true }).fill("Parisians");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Parisians" }).waitFor();
    assert.deepEqual((await stored(workspace)).rule, { "traits.city": "Paris" });
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete the audience" }).click();
    await page.getByText("There is no audience yet").waitFor();
  });

  it("say what they need before they can be created, and lose the first condition when there is something else", async () => {
    const { workspace } = await shop();
    const { page } = await console().open(workspace, { path: "/new-audience", as: "editor" });
    await page.getByText("Enter a name").waitFor();
    await page.getByLabel("Name", { exact: true }).fill("Buyers");
    await page.getByText("Finish the conditions", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Event", exact: true }).click();
    assert.equal(await page.getByLabel("Field", { exact: true }).count(), 0);
    await page.locator(".preview-count").waitFor();
    await page.getByRole("button", { name: "Condition", exact: true }).click();
    await page.getByRole("button", { name: "Group", exact: true }).first().click();
    assert.equal(await page.locator(".part").count(), 4, "an empty one beside others stays");
    await page.setViewportSize({ width: 360, height: 780 });
    const wide: number = await page.evaluate(
      `(() => { const line = document.querySelectorAll(".events-part > .part-line")[1]; return line.querySelector("select").clientWidth / line.clientWidth; })()`,
    );
    assert.ok(wide > 0.9, "the name of a schema can be read on a phone");
  });

  it("are not marked as wrong before somebody was there, and take the bare name of a trait", async () => {
    const { workspace } = await shop();
    const opened = await console().open(workspace, { path: "/new-audience", as: "editor" });
    const { page, look } = opened;
    await page.getByText("Choose a field.").waitFor();
    assert.equal(await page.locator(".part.wrong").count(), 0);
    await look("audience-new");
    const field = page.getByLabel("Field", { exact: true });
    await field.focus();
    await page.getByLabel("Name", { exact: true }).fill("Parisians");
    await page.locator(".part.wrong", { hasText: "Choose a field." }).waitFor();
    await field.fill("city");
    await page.getByLabel("Value", { exact: true }).fill("Paris");
    assert.equal(await field.inputValue(), "traits.city");
    await countOf(page, 2);
    assert.equal(await page.locator(".part.wrong").count(), 0);
    (opened.wrongs as string[]).splice(0);
  });

  it("that are refused say why once, until the rule or the name is another", async () => {
    const { workspace } = await shop();
    const opened = await console().open(workspace, { path: "/new-audience", as: "editor" });
    const { page } = opened;
    await page.getByLabel("Name", { exact: true }).fill("Odd");
    await page.getByRole("tab", { name: "JSON" }).click();
    const rule = page.getByLabel("Rule", { exact: true });
    await rule.fill('{"traits.city": {"$odd": 1}}');
    await page.getByRole("button", { name: "Create the audience" }).click();
    const box = page.locator(".rule-fields > div > .message.bad");
    await box.waitFor();
    const text = (await box.textContent())!;
    assert.equal(text.split("$odd").length - 1, 1, text);
    await rule.fill('{"traits.city": "Paris"}');
    await box.waitFor({ state: "detached" });
    await countOf(page, 2);
    (opened.wrongs as string[]).splice(0);
  });

  it("are built by keyboard alone", async () => {
    const { workspace } = await shop();
    const { page } = await console().open(workspace, { path: "/audiences", as: "editor" });
    const { keyboard } = page;
    await page.getByText("There is no audience yet").waitFor();
    await press(page, "New audience");
    await page.getByRole("heading", { name: "New audience" }).waitFor();
    await reach(page, "Name");
    await keyboard.type("Not of Lyon");
    await reach(page, "How they are joined");
    await keyboard.type("None");
    await reach(page, "Field");
    await keyboard.type("traits.city");
    // A browser offers the names it knows.
    await keyboard.press("Escape");
    await reach(page, "Value");
    await keyboard.type("Lyon");
    await countOf(page, 2);
    await press(page, "Event");
    // What was added has the focus.
    await page.getByLabel("What of the events").and(page.locator(":focus")).waitFor();
    await press(page, "Remove these events");
    await page.getByRole("button", { name: "Condition" }).and(page.locator(":focus")).waitFor();
    await press(page, "Create the audience");
    await page.getByRole("heading", { name: "Not of Lyon" }).waitFor();
    assert.deepEqual((await stored(workspace)).rule, { $not: { "traits.city": "Lyon" } });
  });

  it("are read, page by page, by a viewer, who sees nothing that is not for them", async () => {
    const { workspace, schemaId } = await shop();
    const made = await Promise.all(
      Array.from({ length: 60 }, (_, i) => workspace.collect(schemaId, { email: `${i}@example.com`, city: "Rome" })),
    );
    await Promise.all(made.map(({ body }) => workspace.settled(body["event_id"])));
    const id = await create(workspace, "Romans", { "traits.city": "Rome" });
    assert.equal((await live(workspace, id, 60)).body["size"], 60);
    const { page, go } = await console().open(workspace, { path: "/audiences", as: "viewer" });
    let lookUps = 0;
    page.on("request", (request) => void (request.url().endsWith("/profiles/lookup") && (lookUps += 1)));
    await page.getByRole("link", { name: "Romans" }).click();
    await page.getByRole("link", { name: "@example.com" }).nth(49).waitFor();
    await page.getByRole("button", { name: "Show more" }).click();
    await page.getByRole("row").nth(60).waitFor();
    await page.getByRole("link", { name: "@example.com" }).nth(59).waitFor();
    // One for each page, however many there are on it.
    assert.equal(lookUps, 2);
    assert.equal(await page.getByRole("row").count(), 61);
    for (const name of ["Edit", "Delete…", "New audience"])
      assert.equal(await page.getByText(name, { exact: true }).count(), 0, name);
    await go("/new-audience");
    await page.getByText("This page needs a key of role editor").waitFor();
  });

  it("name the audiences that refer to one that cannot be deleted", async () => {
    const { workspace } = await shop();
    const id = await create(workspace, "Parisians", { "traits.city": "Paris" });
    await create(workspace, "Also Parisians", { $audience: id });
    const { page, wrongs } = await console().open(workspace, { path: `/audiences/${id}`, as: "editor" });
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete the audience" }).click();
    await page.getByRole("dialog").getByRole("link", { name: "Also Parisians" }).waitFor();
    // A browser tells of each refused request.
    assert.equal(wrongs.length, 1);
    (wrongs as string[]).splice(0);
  });

  it("are not written over: who comes second is told", async () => {
    const { workspace } = await shop();
    const id = await create(workspace, "Parisians", { "traits.city": "Paris" });
    const { page, wrongs } = await console().open(workspace, { path: `/audiences/${id}/change`, as: "editor" });
    await page.getByLabel("Name", { exact: true }).fill("Mine");
    await workspace.send("PUT", `/v1/audiences/${id}`, { name: "Theirs" });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Somebody else changed this audience meanwhile").waitFor();
    (wrongs as string[]).splice(0);
    await page.getByRole("button", { name: "Read it again" }).click();
    await page.getByRole("heading", { name: "Edit “Theirs”" }).waitFor();
    assert.equal((await stored(workspace)).name, "Theirs");
  });

  it("keep their meaning from JSON to the builder and back, whatever the rule", async () => {
    const { workspace, schemaId } = await shop();
    const other = await create(workspace, "Parisians", { "traits.city": "Paris" });
    const { page, wrongs } = await console().open(workspace, { path: "/new-audience" });
    for (const rule of rulesOf(schemaId, other)) {
      await page.getByRole("tab", { name: "JSON" }).click();
      await page.getByLabel("Rule", { exact: true }).fill(JSON.stringify(rule));
      await page.getByRole("tab", { name: "Builder" }).click();
      await page.getByRole("tab", { name: "JSON" }).click();
      const back: unknown = JSON.parse(await page.getByLabel("Rule", { exact: true }).inputValue());
      assert.deepEqual(meaning(back), meaning(rule), JSON.stringify(rule));
    }
    // Text that is no rule stays where it can be mended.
    await page.getByLabel("Rule", { exact: true }).fill('{"traits.city": ');
    await page.getByRole("tab", { name: "Builder" }).click();
    assert.equal(await page.getByRole("tab", { name: "JSON" }).getAttribute("aria-selected"), "true");
    // On a busy machine the page may count a rule before the next one is filled in, and some are refused.
    assert.deepEqual(
      wrongs.filter((one) => !one.includes("422")),
      [],
    );
    (wrongs as string[]).splice(0);
  });
});

const rulesOf = (schema: string, other: string): readonly object[] => [
  {},
  { "traits.city": "Paris" },
  { "traits.city": null, "traits.n": 5, "traits.b": false },
  { "traits.n": { $gte: 1, $lt: 5.5, $ne: 3 } },
  { "traits.city": { $in: ["Paris", "Lyon"] }, "traits.n": { $nin: [1, 2.5] } },
  { "traits.city": { $in: ["Paris", null, 4] } },
  { "traits.city": { $in: [] } },
  { "traits.city": { $in: ["a\nb", ""] } },
  { "traits.city": { $exists: false }, "traits.n": { $exists: true } },
  { "traits.city": { $starts: "P", $ends: "s", $contains: "ari" } },
  { "traits.city": "two\nlines" },
  { last_seen: { $lt: { $now: "-7d" } }, first_seen: { $gte: "2026-01-01T00:00:00Z" } },
  { "traits.city": { $gt: { $now: "+90m" } } },
  { event_count: { $gte: 3 }, "identifiers.email": "ada@example.com" },
  { $or: [{ "traits.city": "Paris" }, { $and: [{ "traits.n": 1 }, { "traits.b": true }] }] },
  { $or: [{ "traits.city": "Paris", "traits.n": 1 }, { "traits.b": true }] },
  { $not: { "traits.city": "Paris" } },
  { $not: { "traits.city": "Paris", "traits.n": 1 } },
  { $not: { $or: [{ "traits.city": "Paris" }, { "traits.n": 1 }] } },
  { $not: { $and: [{ "traits.city": "Paris" }, { "traits.n": 1 }] } },
  { $not: { $not: { $or: [{ "traits.city": "Paris" }, { "traits.n": 1 }] } } },
  { $not: { $not: { "traits.city": "Paris" } } },
  { $not: {} },
  { $not: { $audience: other } },
  { $and: [{ $audience: other }, { "traits.city": "Paris" }] },
  { $events: {} },
  { $events: { schema_id: schema, at_least: 3, within: "30d" } },
  { $events: { schema_id: schema, where: { total: { $gte: 5, $lt: 50 }, "items.sku": "tea" } } },
  { $events: { schema_id: schema, sum: "total", is: { $gte: 500 }, within: "12h" } },
  { $events: { schema_id: schema, sum: "total", is: { $gte: 500, $lt: 900 } } },
  { $events: { schema_id: schema, sum: "total", is: 4 } },
  { $and: [{ $not: { $events: { schema_id: schema, within: "1m" } } }, { $or: [{ $not: { "traits.n": 2 } }] }] },
];

const VOCABULARY: Vocabulary = {
  isTrait: () => true,
  namespace: () => ({ normalize: (text: string) => text }),
  schema: () => ({ declares: () => true, mayBeNumber: () => true }),
  audience: () => ({ conditions: 1, depth: 1, isCircular: false }),
};

/** The rule as the service understands it, without what changes nothing: a join in the same join, and a join of one. */
function meaning(rule: unknown): unknown {
  const parsed = parseRule(rule, "rule", VOCABULARY);
  assert.ok("rule" in parsed, JSON.stringify([rule, parsed]));
  return flat(parsed.rule);
}

function flat(rule: WrittenRule): unknown {
  if (rule.kind === "not") {
    const part = flat(rule.part) as WrittenRule;
    return part.kind === "not" ? part.part : { kind: "not", part };
  }
  if (!("parts" in rule)) return rule;
  const parts = rule.parts
    .map((part) => flat(part) as WrittenRule)
    .flatMap((part) => (part.kind === rule.kind ? part.parts : [part]));
  return parts.length === 1 ? parts[0] : { kind: rule.kind, parts };
}
