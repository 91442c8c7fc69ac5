import assert from "node:assert/strict";
import { unlinkSync } from "node:fs";
import path from "node:path";
import { newId, type EventId, type Uid, type WorkspaceId } from "../../core/ids.js";
import { json, onym, useFolder } from "../support/cli.js";
import { EMBEDDED } from "../support/servers/servers.js";
import { at, listAt, startApp, textAt, useApp, type App, type TestWorkspace } from "../support/service/app.js";

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

  it("has the schemas of all its events, also those that were registered while it was made", async () => {
    const copy = freshFolder();
    const value = "new@example.com";
    let eventId = "";
    const real = globalThis.fetch;
    // Between its files.
    globalThis.fetch = async (...asked) => {
      if (asked[0] === `${app().url}/v1/exports/changes`) {
        globalThis.fetch = real;
        const { body } = await workspace.collect(await workspace.schema(), { email: value, city: "Oslo" });
        eventId = textAt(body, "event_id");
        await workspace.settled(eventId);
      }
      return real(...asked);
    };
    try {
      assert.equal((await run(["export", copy])).exit, 0);
    } finally {
      globalThis.fetch = real;
    }
    const into = await other.workspace();
    const imported = await run(["import", "onym", copy, "--yes"], other.url, into);
    assert.equal(imported.exit, 0, imported.err);
    await into.settled(eventId);
    assert.equal(at((await into.send("GET", `/v1/events/${eventId}`)).body, "status"), "folded");
  });

  it("has an identifier with very large traits", async () => {
    const id = workspace.id as WorkspaceId;
    const { body } = await workspace.send("POST", "/v1/identify", {
      identifiers: [{ namespace: "user_id", value: "large" }],
    });
    const uid = textAt(body, "profile_id") as Uid;
    const [ts, eventId] = ["2026-01-01T00:00:00.000000000Z", newId<EventId>()];
    const large = (n: number) => [`t${n}`, { merge: "latest", value: "\u0001".repeat(1_024), ts, eventId }] as const;
    const traits = new Map(Array.from({ length: 500 }, (_, n) => large(n)));
    const facet = { firstSeen: ts, lastSeen: ts, eventCount: 1, traits };
    await app().service.backends.profiles.save(id, [{ uid, expectedRev: 0, facet, pending: [] }]);
    const copy = freshFolder();
    const exported = await run(["export", copy]);
    assert.equal(exported.exit, 0, exported.err);
    const into = await other.workspace();
    const imported = await run(["import", "onym", copy, "--yes"], other.url, into);
    assert.equal(imported.exit, 0, imported.err);
    const shown = await into.send("GET", `/v1/profiles/${uid}`);
    assert.equal(at(shown.body, "traits.t499"), large(499)[1].value);
  });
});
