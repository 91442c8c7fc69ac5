import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { json, onym, useFolder, type Ran } from "../support/cli.js";
import { runsOf, SCALE } from "../support/random/random.js";
import { archived, CALLS_EACH, eventCountsOf } from "../support/sdk/archive.js";
import { at, useApp, type TestWorkspace } from "../support/service/app.js";

/** 100,000 with SCALE=40. */
const CALLS = runsOf(2_500);
const PEOPLE = CALLS / CALLS_EACH;

describe(`Importing a Segment archive of ${CALLS} calls`, function () {
  this.timeout(60_000 * (1 + SCALE));
  const app = useApp({});
  const folder = useFolder();
  let workspace: TestWorkspace;
  let key: string;
  let file: string;
  before(async () => {
    workspace = await app().workspace();
    key = await workspace.key("admin");
    const lines = Array.from(archived(CALLS), (call) => `${JSON.stringify(call)}\n`);
    // Two members in one file, as archives that were put together have them.
    const half = lines.length / 2;
    const parts = [lines.slice(0, half), lines.slice(half)].map((part) => gzipSync(part.join("")));
    file = folder.file("archive.jsonl.gz", Buffer.concat(parts));
  });

  const importAll = (isTerminal = false): Promise<Ran> =>
    onym(["import", "segment", file, "--yes", "--json"], { url: app().url, key, isTerminal });
  const everyEventOnce = async (): Promise<void> =>
    assert.deepEqual([...(await eventCountsOf(app(), workspace, PEOPLE))], [[CALLS_EACH, PEOPLE]]);

  it("stores each call, into the profile of its person", async () => {
    const ran = await importAll();
    const expected = { sent: CALLS, accepted: CALLS, duplicates: 0, rejected: 0, unreadable: 0 };
    assert.deepEqual([ran.exit, json(ran), ran.err], [0, expected, ""]);
    await everyEventOnce();
  });

  it("a second time stores nothing, and shows a bar that comes to the end", async () => {
    const ran = await importAll(true);
    assert.deepEqual([ran.exit, at(json(ran), "accepted")], [0, CALLS]);
    await everyEventOnce();
    assert.match(ran.err, /\[=+ *\] +\d+% {2}[\d,]+ items, [\d,]+\/s/);
    assert.ok(ran.err.includes("[========================] 100%"), ran.err.slice(-200));
  });
});
