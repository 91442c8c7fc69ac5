import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import type { Services } from "../../commands/services.js";
import { SETTINGS } from "../../core/config.js";
import { createRoutes } from "../../gateway/routes.js";
import { eventually } from "../../scripts/shared/async.js";
import { at, listAt, textAt } from "../support/service/app.js";
import { blocksOf, firstCommands, pageOf } from "../support/house/docs-page.js";
import { run, type Program } from "../support/service/process.js";

const PRINTED = "http://127.0.0.1:8080";
const OPERATOR_KEY = "docs-operator-key";

describe("The commands of the pages", () => {
  let folder: string;
  let program: Program;
  let url: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "onym-docs-"));
    program = run({ DATA_DIR: folder, OPERATOR_KEY });
    url = (await program.listening()) ?? assert.fail(program.stderr());
  });
  after(async () => {
    program.signal("SIGKILL");
    await program.exited();
    await rm(folder, { recursive: true, force: true });
  });

  const shell = async (command: string, key: string): Promise<unknown> => {
    const { stdout } = await promisify(execFile)("sh", ["-ec", command], { env: { ...process.env, ONYM_KEY: key } });
    return JSON.parse(stdout) as unknown;
  };
  /** Of a workspace; where a page does not ask for an empty one, the commands that a first start prints have run there. */
  const keyOf = async (page: string): Promise<string> => {
    const created = await fetch(`${url}/v1/workspaces`, {
      method: "POST",
      headers: { Authorization: `Bearer ${OPERATOR_KEY}`, "Content-Type": "application/json" },
      body: JSON.stringify({ name: page }),
    });
    const { key } = (await created.json()) as { readonly key: string };
    const isForEmptyData = /Start with\s+empty\s+data/.test(await pageOf(page));
    if (!isForEmptyData) await promisify(execFile)("sh", ["-ec", firstCommands(url, key)]);
    return key;
  };
  /** Runs what a page prints for the shell, in a workspace of its own or that of the key. A status of 400 or more fails. */
  const answersOf = async (page: string, keyGiven?: string): Promise<readonly unknown[]> => {
    const key = keyGiven ?? (await keyOf(page));
    const answers: unknown[] = [];
    for (const { language, text } of blocksOf(await pageOf(page)))
      if (language === "sh" && text.includes("$ONYM_KEY"))
        answers.push(await shell(text.replaceAll(PRINTED, url).replaceAll("curl -sS", "curl -sSf"), key));
    return answers;
  };
  /** In one shell, because each block may name what those before it found. */
  const documentsOf = async (page: string): Promise<readonly unknown[]> => {
    const blocks = blocksOf(await pageOf(page)).filter(({ language }) => language === "sh");
    const text = blocks.map((block) => block.text).join("\n");
    const command = text.replaceAll(PRINTED, url).replaceAll("curl -sS", "curl -sSf");
    const env = { ...process.env, ONYM_KEY: await keyOf(page) };
    const { stdout } = await promisify(execFile)("sh", ["-ec", command], { env });
    return stdout.split(/(?<=\})\s*(?=\{)/).map((one) => JSON.parse(one) as unknown);
  };
  const outcomesOf = (answers: readonly unknown[]): readonly unknown[] =>
    answers.map((answer) => at(answer, "outcome")).filter((outcome) => outcome !== undefined);

  it("work in identity.md, from top to bottom, and do what the text says", async () => {
    const answers = await answersOf("identity.md");
    assert.deepEqual(outcomesOf(answers), [
      "created",
      "partial",
      "created",
      "merged",
      "unlinked",
      "unlinked",
      "unlinked",
      "reverted",
    ]);
    assert.equal(at(answers[2], "dropped.0.rule"), "limit");
    const explained = answers.find((answer) => at(answer, "bridges") !== undefined);
    assert.equal(at(explained, "path.length"), 2);
    assert.equal(answers.length, 14, "all of the page's commands ran");
  });

  it("work in concepts.md, and each answer is the one that the text gives", async () => {
    const answers = await answersOf("concepts.md");
    assert.deepEqual(outcomesOf(answers), ["merged", "unlinked"]);
    const profiles = answers.flatMap((answer) => (at(answer, "profiles") ?? []) as readonly unknown[]);
    const said = profiles.map((profile) => ({
      identifiers: at(profile, "identifiers.length"),
      traits: at(profile, "traits"),
      events: at(profile, "event_count"),
    }));
    assert.deepEqual(said, [
      { identifiers: 1, traits: { city: "London" }, events: 1 },
      { identifiers: 1, traits: { largest_order: 99.5 }, events: 1 },
      { identifiers: 2, traits: { city: "London", largest_order: 99.5 }, events: 2 },
      { identifiers: 1, traits: { city: "London" }, events: 1 },
    ]);
    assert.equal(at(profiles[2], "audiences.length"), 0);
  });

  it("work in erasure.md: nobody is erased by looking, and a receipt proves the rest", async () => {
    const [, looked, erased, receipts, check, suppressed] = await answersOf("erasure.md");
    assert.deepEqual(at(looked, "identifiers"), { email: 1, cookie_id: 1 });
    assert.equal(at(receipts, "erasures.0.erasure_id"), at(erased, "erasure_id"));
    assert.equal(at(check, "identifiers.0.erasure_id"), at(erased, "erasure_id"));
    assert.match(String(at(suppressed, "status")), /^(erasing|completed)$/);
  });

  it("work in schemas.md: the second version is accepted, because it is compatible", async () => {
    const answers = await answersOf("schemas.md");
    assert.equal(at(answers.at(-1), "version"), 2);
  });

  it("work in profiles.md, with the data of schemas.md", async () => {
    const key = await keyOf("schemas.md");
    await answersOf("schemas.md", key);
    const found = await eventually(async () => {
      const [answer] = await answersOf("profiles.md", key);
      assert.equal(listAt(answer, "profiles").length, 1);
      return answer;
    }, 10_000);
    assert.equal(at(found, "profiles.0.traits.largest_order"), 99.5);
  });

  it("work in plan.md: the event is planned, the policies are set, and nothing is in quarantine yet", async () => {
    const [schema, dataset, plan, settings, letters] = await answersOf("plan.md");
    assert.equal(at(dataset, "schema_id"), at(schema, "schema_id"));
    const planned = { schema_id: "order-completed", unplanned: null, violations: "quarantine" };
    assert.deepEqual(at(plan, "events.Order Completed"), planned);
    assert.deepEqual([at(settings, "unplanned"), at(settings, "keep_rejects")], ["mark", true]);
    assert.deepEqual(at(letters, "dead_letters"), []);
  });

  it("work in README.md: a key for SDKs, and the settings, are made", async () => {
    const [key, sdk, limited, settings] = await answersOf("../README.md");
    assert.equal(at(key, "send"), "collect");
    assert.equal(at(sdk, "collect_only_adds_traits"), true);
    assert.equal(at(limited, "limit"), 1);
    assert.equal(at(settings, "shared_identifier_limit"), 5);
  });

  it("work in production.md: the keys can do what the text says", async () => {
    const [owner, sender] = await answersOf("production.md");
    assert.deepEqual([at(owner, "role"), at(owner, "send")], ["owner", null]);
    assert.deepEqual([at(sender, "role"), at(sender, "send")], ["editor", "collect"]);
  });

  it("work in sdk.md: the key may stand in a web page", async () => {
    const [sender, sdk] = await answersOf("sdk.md");
    assert.deepEqual([at(sender, "send"), at(sender, "origins")], ["collect", ["https://shop.example"]]);
    assert.equal(at(sdk, "collect_only_adds_traits"), true);
    const page = await pageOf("sdk.md");
    const call = /```text\n(curl [^`]*)```/.exec(page)?.[1] ?? assert.fail("the page shows a call");
    const { stdout } = await promisify(execFile)("sh", ["-ec", call.replace(PRINTED, url)], {
      env: { ...process.env, ONYM_WRITE_KEY: String(at(sender, "key")) },
    });
    assert.ok(page.includes(stdout), stdout);
  });

  it("work in audiences.md, one after the other: the right people are in the right audiences", async () => {
    const answers = await documentsOf("audiences.md");
    const audiencesOf = (profile: unknown) => listAt(profile, "audiences").map((one) => textAt(one, "name"));
    const [grace] = answers.flatMap((answer) => (at(answer, "profiles") ?? []) as readonly unknown[]);
    assert.deepEqual(audiencesOf(grace), [
      "Big spenders of 90 days",
      "Three orders, no refund",
      "Big spenders without a refund",
    ]);
    const members = answers.filter((answer) => at(answer, "members") !== undefined);
    assert.deepEqual(
      members.map((one) => listAt(one, "members").length),
      [1, 1],
    );
    assert.equal(at(members[0], "members.0.profile_id"), at(grace, "profile_id"));
    assert.notEqual(at(members[1], "members.0.profile_id"), at(grace, "profile_id"));
    const preview = answers.at(-1);
    const named = ["count", "exact", "profiles", "sample.length"].map((name) => at(preview, name));
    assert.deepEqual(named, [2, true, 4, 1], "Grace and Linus");
  });

  it("work in webhooks.md", async () => {
    const [feed, webhook] = await answersOf("webhooks.md");
    assert.deepEqual(feed, { entries: [], next: 0, head: 0, oldest: 1 });
    assert.deepEqual([at(webhook, "state"), at(webhook, "delivered")], ["active", 0]);
  });

  it("work in api.md: the check names what is wrong, and the batch is accepted", async () => {
    const answers = await answersOf("api.md");
    assert.equal(answers.length, 4);
    const [, check, batch] = answers;
    assert.deepEqual([at(check, "status"), at(check, "errors.0.path")], ["fail", "email"]);
    assert.deepEqual([at(batch, "accepted"), at(batch, "rejected")], [2, 0]);
  });
});

describe("docs/api.md", () => {
  it("names every route of the service", async () => {
    const page = await pageOf("api.md");
    const routes = createRoutes({ limits: { identifiersMax: 20 } } as unknown as Services);
    const written = routes.map(
      ({ method, path: given }) =>
        `\`${method.toUpperCase()} ${given.replace(":version", "{n}").replace(/:(\w+)/g, "{$1}")}\``,
    );
    assert.deepEqual(
      written.filter((name) => !page.includes(name)),
      [],
    );
  });
});

interface Described {
  readonly default?: string | number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
}

describe("docs/settings.md", () => {
  it("lists every setting in the order of the code, with its default, its bounds and its description", async () => {
    const rows = [...(await pageOf("settings.md")).matchAll(/^\| `.*$/gm)].map(([row]) =>
      row.split("|").map((cell) => cell.trim()),
    );
    const listed = Object.entries(SETTINGS.properties).map(([name, setting]) => {
      const { minimum, maximum, default: byDefault, description } = setting as Described;
      const bounds = minimum === undefined ? "" : `${minimum} to ${maximum}`;
      return ["", `\`${name}\``, byDefault === "" ? "unset" : String(byDefault), bounds, description, ""];
    });
    assert.deepEqual(rows, listed);
  });
});
