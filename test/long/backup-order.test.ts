import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { silentLog } from "../../app/logger.js";
import { askForBackup } from "../../app/backup-socket.js";
import { openSide, withCatalogPlace, type Side } from "../../app/move/side.js";
import { verify } from "../../app/verify/verify.js";
import { readConfig } from "../../core/config.js";
import { CATALOG_KINDS, catalogRows, loadCatalogRow } from "../../store/catalog-copying.js";
import { dumpAll, loadAll } from "../support/copying/rows.js";
import { withFolder } from "../support/faults.js";
import { atRest } from "../support/moving/world.js";
import { listAt, send, startApp, textAt, type TestWorkspace } from "../support/service/app.js";

const SCHEMA = {
  type: "object",
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
    cents: { type: "integer", "x-trait": { name: "cents", merge: "sum" } },
  },
};
const IN_CITIES = {
  type: "object",
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    city: { type: "string", "x-trait": { name: "city", merge: "latest" } },
  },
};
const PEOPLE = 8;
const config = (dataDir: string) => readConfig({ DATA_DIR: dataDir });

/** Each acknowledged event, by its person. */
interface Sent {
  readonly eventId: string;
  readonly email: string;
}

/** Sends until it is stopped: people, and the cookies that join them. */
async function load(
  workspace: TestWorkspace,
  schema: string,
  sent: Sent[],
  isOn: () => boolean,
  sender: number,
): Promise<void> {
  for (let n = sender; isOn(); n += 4) {
    const email = n % 3 === 0 ? `new${n}@example.com` : `p${n % PEOPLE}@example.com`;
    const { status, body } = await workspace.collect(schema, { email, cookie: `c${n % 37}`, cents: 1 });
    assert.equal(status, 202);
    sent.push({ eventId: String(body["event_id"]), email });
  }
}

/** The documents of one copy and the graph of a later one, as two servers would have been copied. */
const combine = (documents: string, graph: string, to: string): Promise<void> =>
  combineWith(documents, graph, to, async () => undefined);

type Sides = Readonly<Record<"first" | "later" | "target", Side>>;

async function combineWith(
  documents: string,
  graph: string,
  to: string,
  alsoCopy: (sides: Sides) => Promise<void>,
): Promise<void> {
  const [first, later] = [await openSide(config(documents), silentLog), await openSide(config(graph), silentLog)];
  const secret = await first.backends.catalog.secret();
  await withCatalogPlace(config(to), silentLog, (place) => place.adopt(secret));
  const target = await openSide(config(to), silentLog);
  for (const kind of CATALOG_KINDS)
    for await (const row of catalogRows(first.backends, kind)) await loadCatalogRow(target.backends, kind, row);
  await loadAll(target.backends.copying.documents, await dumpAll(first.backends.copying.documents, 500));
  await loadAll(target.backends.copying.graph, await dumpAll(later.backends.copying.graph, 500));
  await alsoCopy({ first, later, target });
  for (const side of [first, later, target]) await side.close();
}

describe("A backup of servers that run", () => {
  it("documents first and the graph later, under load: restored and repaired, it has every event that was answered before", () =>
    withFolder(async (folder) => {
      const [data, documents, graph, to] = ["data", "documents", "graph", "to"].map((one) => path.join(folder, one));
      for (const one of [documents!, graph!]) await mkdir(one);
      const app = await startApp({ DATA_DIR: data! });
      const workspace = await app.workspace();
      const key = await workspace.key("owner");
      const schema = await workspace.schema(SCHEMA);
      const sent: Sent[] = [];
      let isOn = true;
      const loads = [0, 1, 2, 3].map((sender) => load(workspace, schema, sent, () => isOn, sender));
      while (sent.length < 60) await new Promise(setImmediate);
      const before = sent.slice();
      for (const { eventId } of before) await workspace.settled(eventId);
      assert.ok("pages" in (await askForBackup(data!, path.join(documents!, "onym.db")))!);
      const later = sent.length + 60;
      while (sent.length < later) await new Promise(setImmediate);
      assert.ok("pages" in (await askForBackup(data!, path.join(graph!, "onym.db")))!);
      isOn = false;
      await Promise.all(loads);
      await app.service.close();

      await combine(documents!, graph!, to!);
      await verify(config(to!), silentLog, true);
      const restored = await startApp({ DATA_DIR: to! });
      while ((await restored.service.backends.queue.depth()) > 0) await new Promise(setImmediate);
      for (const { eventId, email } of before) {
        const { body } = await send(restored.url, "GET", `/v1/events/${eventId}`, { key });
        assert.equal(body["status"], "folded", eventId);
        const profile = await send(restored.url, "GET", `/v1/profiles/${textAt(body, "profile_id")}`, { key });
        assert.ok(profile.text.includes(email), profile.text);
      }
      // Each event brought one cent: the sum over all profiles is the number of events in them, each once.
      const profiles = listAt((await send(restored.url, "GET", "/v1/profiles", { key })).body, "profiles");
      const sums = profiles.map((profile) => Number(textAt(profile, "traits.cents")));
      const counts = profiles.map((profile) => Number(textAt(profile, "event_count")));
      assert.deepEqual(sums, counts);
      assert.ok(counts.reduce((all, one) => all + one, 0) >= before.length);
      await restored.service.close();
      const { lines, isWhole } = await verify(config(to!), silentLog, false);
      assert.equal(isWhole, true, lines.join("\n"));
      // In the other order events name people whom the graph does not know, and nothing can mend that.
      await combine(graph!, documents!, path.join(folder, "reversed"));
      const reversed = await verify(config(path.join(folder, "reversed")), silentLog, true);
      assert.match(reversed.lines.join("\n"), /^unknown_facets: /m);
      assert.equal(reversed.isWhole, false);
    }));

  it("with somebody erased between the two copies: repaired, nothing is left of them, and the feed tells of it", () =>
    withFolder(async (folder) => {
      const [data, documents, graph, to] = ["data", "documents", "graph", "to"].map((one) => path.join(folder, one));
      for (const one of [documents!, graph!]) await mkdir(one);
      const app = await startApp({ DATA_DIR: data! });
      const workspace = await app.workspace();
      const key = await workspace.key("owner");
      const schema = await workspace.schema(IN_CITIES);
      await workspace.send("POST", "/v1/audiences", { name: "l", rule: { "traits.city": "London" } });
      for (const email of ["goes@example.com", "goes@example.com", "stays@example.com"])
        await workspace.settled((await workspace.collect(schema, { email, city: "London" })).body["event_id"]);
      await atRest(app);
      assert.ok("pages" in (await askForBackup(data!, path.join(documents!, "onym.db")))!);
      const identifiers = [{ namespace: "email", value: "goes@example.com" }];
      await workspace.send("POST", "/v1/erasures", { identifiers, suppress: false });
      await atRest(app);
      assert.ok("pages" in (await askForBackup(data!, path.join(graph!, "onym.db")))!);
      await app.service.close();

      await combineWith(documents!, graph!, to!, async ({ first, target }) => {
        const rows = await dumpAll(first.backends.copying.members, 500);
        await loadAll(target.backends.copying.members, rows);
      });
      const look = async (isRepair: boolean) => {
        const { lines, isWhole } = await verify(config(to!), silentLog, isRepair, () => Date.now() + 120_000);
        return { text: lines.join("\n"), isWhole };
      };
      const found = await look(false);
      assert.match(found.text, /^erased_bytes: 3 /m);
      assert.ok(!found.text.includes("unknown_facets"), found.text);
      const repaired = await look(true);
      assert.match(repaired.text, /^erased_bytes: 3 .*; 3 mended/m);
      assert.equal(repaired.isWhole, true, repaired.text);
      const restored = await startApp({ DATA_DIR: to! });
      await atRest(restored);
      const feed = listAt((await send(restored.url, "GET", "/v1/feed", { key })).body, "entries");
      const types = feed.map((entry) => textAt(entry, "type"));
      assert.deepEqual(types, ["entered", "entered", "left", "profile_erased"]);
      await restored.service.close();
      const { text, isWhole } = await look(false);
      assert.equal(isWhole, true, text);
    }));

  for (const [members, told] of [
    ["first", "later"],
    ["later", "first"],
  ] as const)
    it(`with the members of the ${members} copy and the feed of the ${told} one: looked at and repaired, each audience has its size`, () =>
      withFolder(async (folder) => {
        const [data, first, later, to] = ["data", "first", "later", "to"].map((one) => path.join(folder, one));
        for (const one of [first!, later!]) await mkdir(one);
        const app = await startApp({ DATA_DIR: data! });
        const workspace = await app.workspace();
        const key = await workspace.key("owner");
        const schema = await workspace.schema(IN_CITIES);
        const made = await workspace.send("POST", "/v1/audiences", { name: "l", rule: { "traits.city": "London" } });
        const audience = textAt(made.body, "audience_id");
        const sendOf = async (email: string, city: string): Promise<void> => {
          await workspace.settled((await workspace.collect(schema, { email, city })).body["event_id"]);
          await app.service.keeper!.rest();
        };
        await sendOf("stays@example.com", "London");
        assert.ok("pages" in (await askForBackup(data!, path.join(first!, "onym.db")))!);
        await sendOf("comes@example.com", "London");
        assert.ok("pages" in (await askForBackup(data!, path.join(later!, "onym.db")))!);
        await app.service.close();

        await combineWith(first!, later!, to!, async (sides) => {
          const [seats, feed] = [sides[members], sides[told]].map(({ backends }) => backends.copying.members);
          const [{ seats: rows }, { feed: entries, feedHeads }] = [
            await dumpAll(seats!, 500),
            await dumpAll(feed!, 500),
          ];
          await loadAll(sides.target.backends.copying.members, { seats: rows, feed: entries, feedHeads, marks: [] });
        });
        const restored = await startApp({ DATA_DIR: to! });
        // Somebody looks before it is repaired.
        const payload = { email: "comes@example.com", city: members === "first" ? "London" : "Paris" };
        const event = { schema_id: schema, payload, timestamp: new Date().toISOString() };
        const { body } = await send(restored.url, "POST", "/v1/collect", { key, body: event });
        await send(restored.url, "GET", `/v1/events/${textAt(body, "event_id")}?wait=10`, { key });
        await restored.service.keeper!.rest();
        const sizeOf = async (url: string): Promise<unknown> =>
          (await send(url, "GET", `/v1/audiences/${audience}`, { key })).body["size"];
        const isSize = members === "first" ? 2 : 1;
        assert.notEqual(await sizeOf(restored.url), isSize);
        await restored.service.close();
        const { lines, isWhole } = await verify(config(to!), silentLog, true);
        assert.equal(isWhole, true, lines.join("\n"));
        assert.match(lines.join("\n"), /^wrong_sizes: 1 .*; 1 mended/m);
        const whole = await startApp({ DATA_DIR: to! });
        assert.equal(await sizeOf(whole.url), isSize);
        await whole.service.close();
      }));
});
