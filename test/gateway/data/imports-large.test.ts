import assert from "node:assert/strict";
import type { WorkspaceId } from "../../../core/ids.js";
import { readLine } from "../../../gateway/routes/data/read-lines.js";
import { exportOf, identifier, KINDS, sendAll } from "../../support/service/imports.js";
import { NDJSON } from "../../support/service/batch.js";
import { EMBEDDED } from "../../support/servers/servers.js";
import { listAt, startApp, useApp, type App } from "../../support/service/app.js";

describe("An import", () => {
  const target = useApp();
  let source: App;
  before(async () => {
    source = await startApp(EMBEDDED);
  });
  after(() => source.close());

  it("takes the parts of a large profile in one request, and once more", async () => {
    const from = await source.workspace();
    const ada = identifier("email", "ada@example.com");
    const identify = (identifiers: readonly object[]) => from.send("POST", "/v1/identify", { identifiers });
    for (let n = 0; n < 12; n++)
      await identify([ada, ...Array.from({ length: 19 }, (_, m) => identifier("cookie_id", `c-${n}-${m}`))]);
    const profiles = await exportOf(from, "profiles");
    assert.equal(profiles.filter((line) => line.includes('"partial":true')).length, 3);
    const into = await target().workspace();
    await into.send("POST", "/v1/imports");
    for (let times = 0; times < 2; times++)
      for (const kind of KINDS) await sendAll(into, await exportOf(from, kind), 1_000);
    const shown = async (one: typeof from) => listAt((await one.send("GET", "/v1/profiles")).body, "profiles");
    assert.deepEqual(await shown(into), await shown(from));
    assert.equal((await shown(into)).length, 1);
  });

  it("takes the same changes twice at once, as after a request whose answer was late", async () => {
    const from = await source.workspace();
    for (let n = 0; n < 20; n++)
      await from.send("POST", "/v1/identify", { identifiers: [identifier("cookie_id", `c-${n}`)] });
    const into = await target().workspace();
    await into.send("POST", "/v1/imports");
    await sendAll(into, await exportOf(from, "profiles"), 1_000);
    const records = (await exportOf(from, "changes")).flatMap((line) => {
      const read = readLine(Buffer.from(line), "line", Date.now());
      return read?.kind === "change" ? read.record : [];
    });
    const { identity } = target().service;
    const restore = () => identity.restore(into.id as WorkspaceId, { kind: "changes", records });
    await Promise.all([restore(), restore(), restore()]);
    assert.equal(listAt((await into.send("GET", "/v1/changes?limit=100")).body, "changes").length, 20);
  });

  it("takes an event with as large a payload as the settings allow", async () => {
    const from = await source.workspace();
    const { body } = await from.collect(await from.schema(), { email: "ada@example.com" });
    await from.settled(body["event_id"]);
    const [line] = await exportOf(from, "events");
    const bytes = 6_000_000;
    const large = line!.replace('"payload":{', `"payload":{"note":"${"x".repeat(bytes - 100)}",`);
    const app = await startApp({ ...EMBEDDED, PAYLOAD_BYTES_MAX: String(bytes) });
    try {
      const into = await app.workspace();
      const { status, text } = await into.send("POST", "/v1/imports/lines?dry_run=true", large, NDJSON);
      assert.deepEqual([status, text], [200, '{"stored":0,"left_out":0}']);
    } finally {
      await app.close();
    }
  });
});
