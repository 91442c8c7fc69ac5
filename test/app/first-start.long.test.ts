import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import net, { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { at, listAt, textAt } from "../support/service/app.js";
import { checkAnswer } from "../support/service/check-answer.js";
import { MAIN, ownerKeyOf, run, type Program } from "../support/service/process.js";

const ONLY_KEY = /^onym_[0-9A-Za-z]{10}_[0-9A-Za-z]{38}$/;
const KEY = /onym_[0-9A-Za-z]{10}_[0-9A-Za-z]{38}/g;

/** The commands as a person copies them: from `curl` to the end of the last line that is continued by a backslash. */
function commandsIn(text: string): readonly string[] {
  const commands: string[] = [];
  let open: string[] | null = null;
  for (const line of text.split("\n")) {
    if (open === null && line.startsWith("curl")) open = [];
    if (open === null) continue;
    open.push(line);
    if (line.endsWith("\\")) continue;
    commands.push(open.join("\n"));
    open = null;
  }
  return commands;
}

/** Runs it exactly as printed, from another folder, and asks curl for the status beside the body. */
async function shell(command: string): Promise<{ readonly status: number; readonly body: unknown }> {
  const { stdout } = await promisify(execFile)("sh", ["-c", `${command} -w '\\n%{http_code}'`], { cwd: "/" });
  const cut = stdout.lastIndexOf("\n");
  const status = Number(stdout.slice(cut + 1));
  const text = stdout.slice(0, cut);
  const target = /http:\/\/[^/]+(\/[^\s']+)/.exec(command)![1]!;
  checkAnswer("POST", target, { status, contentType: "application/json; charset=utf-8", text });
  return { status, body: JSON.parse(text) };
}

describe("The first start", () => {
  const programs: Program[] = [];
  let parent: string;
  let folder: string;
  const start = (settings: Readonly<Record<string, string>> = {}): Program => {
    const program = run({ DATA_DIR: folder, ...settings });
    programs.push(program);
    return program;
  };
  before(async () => {
    parent = await mkdtemp(path.join(tmpdir(), "onym-"));
    // Relative, and with what a shell would read as its own.
    folder = path.relative(process.cwd(), path.join(parent, "Ada's $data"));
  });
  after(async () => {
    for (const program of programs) program.signal("SIGKILL");
    await rm(parent, { recursive: true, force: true });
  });

  it("without a terminal puts the owner key into a file that only its owner can read, and prints four curl commands that read it from any folder; later starts print no key", async () => {
    const first = start();
    assert.ok((await first.listening()) !== null, first.stderr());
    assert.match(first.stdout(), /^workspace: default$/m);
    assert.deepEqual((first.stdout() + first.stderr()).match(KEY), null);
    const key = ownerKeyOf(first);
    assert.match(key, ONLY_KEY);
    assert.equal((await stat(path.join(folder, "owner-key"))).mode & 0o777, 0o600);

    const commands = commandsIn(first.stdout());
    assert.equal(commands.length, 4);
    const answers = [];
    for (const command of commands) answers.push(await shell(command));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 201, 202, 200],
    );
    const profile = listAt(answers[3]!.body, "profiles")[0];
    assert.equal(listAt(profile, "identifiers").length, 2, JSON.stringify(answers[3]!.body));
    assert.deepEqual(at(profile, "traits"), { city: "London" });
    assert.equal(at(profile, "event_count"), 1);

    first.signal("SIGTERM");
    assert.equal(await first.exited(), 0);
    const second = start();
    const url = await second.listening();
    assert.ok(url !== null, second.stderr());
    assert.deepEqual((second.stdout() + second.stderr()).match(KEY), null);
    assert.deepEqual(commandsIn(second.stdout()), []);
    const kept = await fetch(`${url}/v1/profiles/${textAt(profile, "profile_id")}`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    assert.equal(kept.status, 200);

    const rival = start();
    assert.notEqual(await rival.exited(), 0);
    assert.ok(rival.stderr().includes("DATA_DIR"), rival.stderr());
    assert.equal(rival.stderr().trim().split("\n").length, 1);
    second.signal("SIGTERM");
    assert.equal(await second.exited(), 0);
  });

  it("ends with code 2 and one line that names the variable when a setting is wrong", async () => {
    const wrong: readonly (readonly [string, string])[] = [
      ["LOG_LEVEL", "loud"],
      ["HOST", "203.0.113.1"],
      ["DATA_DIR", "/dev/null/data"],
      // A folder that nobody can write to, root included.
      ["DATA_DIR", "/proc"],
    ];
    await Promise.all(
      wrong.map(async ([name, value]) => {
        const program = start({ DATA_DIR: path.join(folder, name), [name]: value });
        assert.equal(await program.exited(), 2, program.stderr());
        assert.match(program.stderr(), new RegExp(`^onym: ${name}: .*\n$`));
        assert.ok(program.stderr().includes(value));
        assert.equal(program.stdout(), "");
      }),
    );
  });

  it("with few open files ends with one line that names the limit", () => {
    const program = spawnSync("sh", ["-c", `ulimit -n 64 && exec "${process.execPath}" "${MAIN}"`], {
      encoding: "utf8",
    });
    assert.deepEqual([program.status, program.stdout], [2, ""], program.stderr);
    assert.match(program.stderr, /^onym: ulimit -n: 64 open files are too few; the service needs at least 256\n$/);
  });

  it("that finds its port in use names PORT and makes no key that nobody was shown: the next start shows one", async () => {
    const data = path.join(folder, "port");
    const taken = net.createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => taken.once("listening", resolve));
    const { port } = taken.address() as AddressInfo;
    const failed = start({ DATA_DIR: data, PORT: String(port) });
    assert.equal(await failed.exited(), 2);
    assert.match(failed.stderr(), new RegExp(`^onym: PORT: ${port} is in use`));
    taken.close();
    const next = start({ DATA_DIR: data });
    await next.listening();
    assert.match(ownerKeyOf(next), ONLY_KEY);
  });
});
