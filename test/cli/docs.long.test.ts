import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { useFolder } from "../support/cli.js";
import { blocksOf, firstCommands, pageOf } from "../support/house/docs-page.js";
import { archived } from "../support/sdk/archive.js";
import { at, listAt, useApp } from "../support/service/app.js";

const MAIN = fileURLToPath(new URL("../../cli/main.js", import.meta.url));

describe("docs/cli.md", () => {
  const app = useApp();
  const folder = useFolder();
  before(() => {
    mkdirSync(path.join(folder.path(), "examples"));
    const messages = Array.from(archived(10), (message) => JSON.stringify(message));
    folder.file("archive.jsonl.gz", gzipSync(messages.join("\n")));
    folder.file("people.csv", "id,mail,city,points\n7,p7@example.com,London,12\n");
    folder.file("signups.csv", "at,mail,cookie\n2026-01-31T12:00:00Z,p8@example.com,c-8\n");
  });

  it("has commands that work, from top to bottom, after those of the first start", async () => {
    const workspace = await app().workspace();
    await promisify(execFile)("sh", ["-ec", firstCommands(app().url, await workspace.key("owner"))]);
    const blocks = blocksOf(await pageOf("cli.md"));
    const [, file = ""] = /into a new file, `(\S+)`/.exec(blocks.map(({ said }) => said).join("\n")) ?? [];
    folder.file(file, blocks.find(({ language }) => language === "json")!.text);
    await workspace.send("PUT", "/v1/namespaces/user_id", { limit: 1 });
    const env = { PATH: process.env["PATH"], ONYM_URL: app().url, ONYM_KEY: await workspace.key("owner") };
    const commands = blocks
      .filter(({ language }) => language === "sh")
      .flatMap(({ text }) => text.trim().split(/(?<!\\)\n/));
    assert.equal(commands.length, 16);
    const program = `'${process.execPath}' '${MAIN}'`;
    const outputs: string[] = [];
    for (const command of commands) {
      const here = command
        .replace("npx onym", program)
        .replace("http://127.0.0.1:8080", app().url)
        .replace("curl -sS", "curl -sSf");
      const { stdout } = await promisify(execFile)("sh", ["-ec", here], { cwd: folder.path(), env });
      outputs.push(stdout);
    }
    const { body } = await workspace.send("GET", "/v1/schemas");
    const versions = listAt(body, "schemas").map((schema) => at(schema, "version"));
    assert.deepEqual(versions, [1, 1], "a schema of the page is not one of those that stood before");
    const outputOf = (part: string): string => outputs[commands.findIndex((command) => command.includes(part))]!;
    assert.ok(outputOf(" lookup ").includes("email:ada@example.com"));
    assert.match(outputOf(" explain "), / -- .*: event /);
    assert.match(outputOf("--dry-run"), /^would be: unlinked/);
    assert.ok(outputOf("segment archive.jsonl.gz --yes").startsWith("10 items sent: 10 accepted"));
    assert.equal(outputOf("people.csv"), "1 item sent: 1 accepted\n");
    assert.equal(outputOf("signups.csv"), "1 item sent: 1 accepted\n");
  });

  it("lists every command", async () => {
    const page = await pageOf("cli.md");
    const { stdout } = await promisify(execFile)(process.execPath, [MAIN, "--help"]);
    const commands = [...stdout.matchAll(/^ {2}(\w+) {2,}/gm)].map(([, name]) => name!);
    assert.equal(commands.length, 10);
    for (const name of commands) assert.match(page, new RegExp(`^\\| \`${name}\` `, "m"));
  });
});
