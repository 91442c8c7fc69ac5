import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { at } from "../support/service/app.js";
import { blocksOf, pageOf } from "../support/house/docs-page.js";
import { run, type Program } from "../support/service/process.js";

const PRINTED = "http://127.0.0.1:8080";

describe("docs/identity.md", () => {
  let folder: string;
  let program: Program;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "onym-docs-"));
    program = run({ DATA_DIR: folder });
  });
  after(async () => {
    program.signal("SIGKILL");
    await program.exited();
    await rm(folder, { recursive: true, force: true });
  });

  it("has commands that work as printed, from top to bottom, and do what the text says", async function () {
    this.timeout(60_000);
    const url = await program.listening();
    assert.ok(url !== null, program.stderr());
    const key = /onym_[0-9A-Za-z]{10}_[0-9A-Za-z]{38}/.exec(program.stdout())![0];
    const shell = async (command: string): Promise<unknown> => {
      const { stdout } = await promisify(execFile)("sh", ["-ec", command], { env: { ...process.env, ONYM_KEY: key } });
      return JSON.parse(stdout) as unknown;
    };
    const answers: unknown[] = [];
    for (const { language, text } of blocksOf(await pageOf("identity.md")))
      if (language === "sh")
        answers.push(await shell(text.replaceAll(PRINTED, url).replaceAll("curl -sS", "curl -sSf")));
    const outcomes = answers.map((answer) => at(answer, "outcome")).filter((outcome) => outcome !== undefined);
    assert.deepEqual(outcomes, [
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
});
