import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { onym, useFolder, type Ran } from "../support/cli.js";
import { archived, CALLS_EACH, eventCountsOf } from "../support/sdk/archive.js";
import { useApp, type TestWorkspace } from "../support/service/app.js";
import { startFaultyProxy, type Fate } from "../support/service/faulty-proxy.js";

/** Three batches. */
const CALLS = 2_500;
const BATCH = 1_000;
const PEOPLE = CALLS / CALLS_EACH;
const LINES = Array.from(archived(CALLS), (call) => `${JSON.stringify(call)}\n`);

describe("onym import, when something fails", () => {
  const app = useApp();
  const folder = useFolder();
  let workspace: TestWorkspace;
  let key: string;
  let file: string;
  beforeEach(async () => {
    workspace = await app().workspace();
    key = await workspace.key("admin");
    file = folder.file("archive.jsonl", LINES.join(""));
  });

  const through = async (fateOf: (n: number) => Fate, args: readonly string[], stdin?: AsyncIterable<string>) => {
    const proxy = await startFaultyProxy(app().url, fateOf);
    try {
      const ran: Ran = await onym(["import", "segment", ...args], { url: proxy.url, key, ...(stdin && { stdin }) });
      return { ran, seen: proxy.seen };
    } finally {
      await proxy.close();
    }
  };
  const everyEventOnce = async (): Promise<void> => {
    assert.deepEqual([...(await eventCountsOf(app(), workspace, PEOPLE))], [[CALLS_EACH, PEOPLE]]);
  };

  it("waits as Retry-After says, sends again what got no answer, and stores each call once", async () => {
    const fates: readonly Fate[] = [{ status: 429, headers: { "Retry-After": "1" } }, "pass", "lost", "cut", "pass"];
    const { ran, seen } = await through((n) => fates[n] ?? "pass", [file, "--yes"]);
    assert.deepEqual([ran.exit, ran.out], [0, "2,500 items sent: 2,500 accepted\n"], ran.err);
    assert.equal(seen.length, 6);
    assert.ok(seen[1]!.at - seen[0]!.at >= 1_000, "it waited");
    assert.equal(seen[1]!.text, seen[0]!.text);
    await everyEventOnce();
  });

  it("tells how far it came, and goes on when it is run again", async () => {
    const { ran } = await through((n) => (n === 0 ? "pass" : { status: 401 }), [file, "--yes"]);
    assert.equal(ran.exit, 4);
    assert.match(ran.err, /^onym: stopped after 1,000 items: 401 .*run it again to go on: nothing is stored twice\n$/);
    assert.equal((await onym(["import", "segment", file, "--yes"], { url: app().url, key })).exit, 0);
    await everyEventOnce();
  });

  it("reads no further than it has sent, however large the input", async () => {
    let read = 0;
    async function* input(): AsyncGenerator<string> {
      for (const line of LINES) {
        read += 1;
        yield line;
        // Gives whoever would read ahead the time to.
        if (read % 100 === 0) await sleep(1);
      }
    }
    const readAt: number[] = [];
    const fateOf = (): Fate => {
      readAt.push(read);
      return "pass";
    };
    const { ran } = await through(fateOf, ["-", "--yes"], input());
    assert.equal(ran.exit, 0, ran.err);
    assert.deepEqual(readAt, [BATCH + 1, 2 * BATCH + 1, CALLS]);
  });
});
