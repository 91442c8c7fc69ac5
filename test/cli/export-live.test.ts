import assert from "node:assert/strict";
import { unlinkSync } from "node:fs";
import path from "node:path";
import { json, onym, useFolder } from "../support/cli.js";
import { EMBEDDED } from "../support/servers/servers.js";
import { at, listAt, startApp, useApp, type App, type TestWorkspace } from "../support/service/app.js";

describe("A copy by onym export and onym import onym", () => {
  const app = useApp();
  const folder = useFolder();
  let other: App;
  let workspace: TestWorkspace;
  let number = 0;
  before(async () => {
    other = await startApp(EMBEDDED);
  });
  after(() => other.close());
  beforeEach(async () => {
    workspace = await app().workspace();
    await workspace.send("POST", "/v1/identify", { identifiers: [{ namespace: "user_id", value: "early" }] });
  });
  const freshFolder = () => path.join(path.dirname(folder.file("x", "")), `copy-${(number += 1)}`);
  const run = async (args: readonly string[], url = app().url, of = workspace) =>
    onym(args, { url, key: await of.key("admin") });

  it("may be of a while in which people send: what is new is left out, and counted", async () => {
    const copy = freshFolder();
    await run(["export", copy]);
    for (const kind of ["links", "events"]) unlinkSync(path.join(copy, `${kind}.ndjson`));
    const [one, two] = ["late-1", "late-2"].map((value) => ({ namespace: "user_id", value }));
    await workspace.send("POST", "/v1/identify", { identifiers: [one, two] });
    assert.equal((await run(["export", copy])).exit, 0);
    const into = await other.workspace();
    const imported = await run(["import", "onym", copy, "--yes", "--json"], other.url, into);
    assert.deepEqual([imported.exit, at(json(imported), "left_out")], [0, 1], imported.err);
    assert.match(imported.err, /^left out: 1 line of links that name what came in during the export, or was erased$/m);
    assert.equal(listAt((await into.send("GET", "/v1/profiles")).body, "profiles").length, 1);
  });
});
