import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createFindings } from "../../app/verify/findings.js";
import { verifyTallies } from "../../app/verify/tallies.js";
import type { StandingTally } from "../../core/audience/audience.js";
import { AppError } from "../../core/errors.js";
import type { StoredEvent } from "../../core/event/event.js";
import { newId, type EventId, type TallyId, type WorkspaceId } from "../../core/ids.js";
import type { Tallied } from "../../core/ports/tally-store.js";
import { temporaryFolder } from "../support/backends.js";
import { dropPlaces } from "../support/house/places.js";
import { placesOf } from "../support/servers/servers.js";
import { listAt, startApp, textAt, type App, type Settings, type TestWorkspace } from "../support/service/app.js";

const SHOP = {
  type: "object",
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    total: { type: "number" },
  },
};
/** Nothing is young any more. */
const later = (): number => Date.now() + 120_000;

describe("npm run verify, of what events count for", () => {
  let folder = "";
  let settings: Settings = {};
  let app: App;
  let workspace: TestWorkspace;
  let id: WorkspaceId;
  let spenders = "";
  let events: readonly StoredEvent[] = [];
  let tally: StandingTally;

  const backends = () => app.service.backends;
  const rest = () => app.service.keeper!.rest();
  const verify = async (isRepair = false) => {
    const findings = createFindings();
    await verifyTallies({ backends: backends(), findings, isRepair, now: later() });
    return { lines: findings.lines().join("\n"), open: findings.open() };
  };
  const members = async (): Promise<number> =>
    listAt((await workspace.send("GET", `/v1/audiences/${spenders}/members`)).body, "members").length;
  const counted = (event: StoredEvent, amount: number | null, tallyId = tally.tallyId): Tallied => ({
    eventId: event.eventId,
    uid: event.facet!,
    tallies: [{ tallyId, amount }],
  });
  const collect = async (payload: object): Promise<StoredEvent> => {
    const sent = await workspace.collect(schemaId, payload);
    await workspace.settled(sent.body["event_id"]);
    return (await backends().events.find(id, textAt(sent.body, "event_id") as EventId))!;
  };
  let schemaId = "";

  before(async () => {
    folder = await temporaryFolder();
    settings = placesOf(folder);
    app = await startApp({ DATA_DIR: folder, ...settings });
    workspace = await app.workspace();
    id = workspace.id as WorkspaceId;
    schemaId = await workspace.schema(SHOP);
    const where = { total: { $gte: 10 } };
    const rule = { $events: { schema_id: schemaId, where, sum: "total", is: { $gte: 30 } } };
    spenders = textAt((await workspace.send("POST", "/v1/audiences", { name: "spenders", rule })).body, "audience_id");
    const payloads = [20, 20, 5].map((total) => ({ email: "ada@example.com", total }));
    const all: StoredEvent[] = [];
    for (const payload of [...payloads, { email: "eve@example.com", total: 25 }]) all.push(await collect(payload));
    events = all;
    await rest();
    tally = (await backends().audiences.audiences(id)).tallies[0]!;
  });
  after(async () => {
    await app.close();
    await dropPlaces(settings);
    await rm(folder, { recursive: true, force: true });
  });

  const WRONG = /^wrong_tallies: 1 /m;
  const DAMAGES: Readonly<Record<string, () => Promise<void>>> = {
    "an event that does not count, and should": () => backends().tallies.uncount(id, [counted(events[0]!, null)]),
    "an event that counts, and should not": () => backends().tallies.count(id, [counted(events[2]!, 5)]),
    "an event that counts with another amount": async () => {
      await backends().tallies.uncount(id, [counted(events[1]!, null)]);
      await backends().tallies.count(id, [counted(events[1]!, 200)]);
    },
    "an event that counts without its amount": async () => {
      await backends().tallies.uncount(id, [counted(events[3]!, null)]);
      await backends().tallies.count(id, [counted(events[3]!, null)]);
    },
    "an event that counts for a tally that nobody has": () =>
      backends().tallies.count(id, [counted(events[0]!, null, newId<TallyId>())]),
  };
  for (const [title, damage] of Object.entries(DAMAGES))
    it(`tells and mends ${title}`, async () => {
      assert.deepEqual(await verify(), { lines: "", open: 0 });
      await damage();
      const found = await verify();
      assert.match(found.lines, WRONG);
      assert.equal(found.open, 1);
      const mended = await verify(true);
      assert.match(mended.lines, /^wrong_tallies: 1 .*; 1 mended/m);
      assert.equal(mended.open, 0);
      assert.deepEqual(await verify(), { lines: "", open: 0 });
    });

  it("has the profiles looked at that were judged by what was wrong", async () => {
    assert.equal(await members(), 1);
    await backends().tallies.uncount(id, [counted(events[0]!, null)]);
    await backends().marks.mark(id, [events[0]!.facet!], Date.now());
    await rest();
    assert.equal(await members(), 0);
    await verify(true);
    await rest();
    assert.equal(await members(), 1);
  });

  it("tells nothing of what a worker is in the midst of, nor of what was dropped meanwhile", async () => {
    await backends().tallies.uncount(id, [counted(events[0]!, null)]);
    const dropped = await collect({ email: "bob@example.com", total: 90 });
    await backends().tallies.uncount(id, [counted(dropped, null)]);
    const looking = verify();
    await sleep(300);
    await backends().tallies.count(id, [counted(events[0]!, 20)]);
    await backends().events.drop(id, [dropped.eventId], "erased");
    assert.deepEqual(await looking, { lines: "", open: 0 });
  });

  it("leaves alone what is about to be forgotten, and what is still being counted", async () => {
    const { audiences } = backends();
    const given = await audiences.audiences(id);
    const gone = newId<TallyId>();
    const [open] = given.tallies.map((one): StandingTally => ({ ...one, filling: { after: null } }));
    // In one moment, so that the keeper is not faster.
    const watching = { ...audiences, audiences: async () => ({ ...given, tallies: [open!], forgotten: [gone] }) };
    await backends().tallies.count(id, [counted(events[0]!, null, gone)]);
    await backends().tallies.uncount(id, [counted(events[1]!, null)]);
    const findings = createFindings();
    const deps = { backends: { ...backends(), audiences: watching }, findings, isRepair: true, now: later() };
    await verifyTallies(deps);
    assert.deepEqual(findings.lines(), [
      "not compared: 1 ways to count events for which older ones are still being counted",
    ]);
    assert.match((await verify(true)).lines, /^wrong_tallies: 2 .*; 2 mended/m);
  });

  it("leaves young events alone, and where messages are queued tells nothing that may come to count yet", async () => {
    await backends().tallies.uncount(id, [counted(events[0]!, null)]);
    const findings = createFindings();
    await verifyTallies({ backends: backends(), findings, isRepair: false, now: Date.now() });
    assert.deepEqual(findings.lines(), []);
    const uncounted = () => Promise.reject(new AppError("unavailable", "a worker does not answer"));
    for (const depth of [() => Promise.resolve(1), uncounted]) {
      const queue = { ...backends().queue, depth };
      await verifyTallies({ backends: { ...backends(), queue }, findings, isRepair: true, now: later() });
    }
    assert.deepEqual(findings.lines(), ["not compared: 2 events that may still be queued, and do not count yet"]);
    assert.match((await verify(true)).lines, /^wrong_tallies: 1 .*; 1 mended/m);
  });
});
