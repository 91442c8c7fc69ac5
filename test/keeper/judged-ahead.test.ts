import assert from "node:assert/strict";
import type { AudienceId, WorkspaceId } from "../../core/ids.js";
import type { LookServices } from "../../commands/audiences/look.js";
import { silentLog } from "../../app/logger.js";
import { createAudienceTask } from "../../keeper/audiences/task.js";
import { withApp, withFolder } from "../support/faults.js";
import { listAt, textAt, workspaceOf, type App, type TestWorkspace } from "../support/service/app.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const LINE = "judged anew";

/** The machine's clock and real time. In the past: new ids of all tests follow the latest time. */
const world = () => {
  const time = { ms: Date.now() - 100 * DAY_MS, steadyMs: 0 };
  const pass = (ms: number): void => {
    time.ms += ms;
    time.steadyMs += ms;
  };
  return { time, pass, options: { now: () => time.ms, steady: () => time.steadyMs } };
};

interface Shop {
  readonly workspace: TestWorkspace;
  readonly recent: AudienceId;
  readonly lapsed: AudienceId;
  /** Not a matter of time. */
  readonly everybody: AudienceId;
}

/** With one person, who did something just now. */
async function shopIn(app: App, nowMs: number): Promise<Shop> {
  const workspace = await app.workspace();
  const schemaId = await workspace.schema();
  const create = async (name: string, rule: object) =>
    textAt((await workspace.send("POST", "/v1/audiences", { name, rule })).body, "audience_id") as AudienceId;
  const seen = { $events: { schema_id: schemaId } };
  const seenOfLate = { $events: { schema_id: schemaId, within: "30d" } };
  const shop = {
    workspace,
    recent: await create("recent", seenOfLate),
    lapsed: await create("lapsed", { $and: [seen, { $not: seenOfLate }] }),
    everybody: await create("everybody", seen),
  };
  const timestamp = new Date(nowMs).toISOString();
  const payload = { email: "ada@example.com" };
  const { body } = await workspace.send("POST", "/v1/collect", { schema_id: schemaId, timestamp, payload });
  await workspace.settled(body["event_id"]);
  await rest(app);
  return shop;
}

const rest = (app: App) => app.service.keeper!.rest();
const setOf = (app: App, { workspace }: Shop) => app.service.backends.audiences.audiences(workspace.id as WorkspaceId);

/** How many are in each, and in which the profile itself says that it is. */
async function shown({ workspace, recent, lapsed, everybody }: Shop) {
  const sizes: number[] = [];
  for (const one of [recent, lapsed, everybody])
    sizes.push(listAt((await workspace.send("GET", `/v1/audiences/${one}/members`)).body, "members").length);
  const identifiers = [{ namespace: "email", value: "ada@example.com" }];
  const { body } = await workspace.send("POST", "/v1/profiles/lookup", { identifiers });
  return [sizes, listAt(body, "profiles.0.audiences").map((one) => textAt(one, "name"))];
}

const RIGHT = [
  [1, 0, 1],
  ["recent", "everybody"],
];
const SPOILED = [
  [0, 1, 1],
  ["recent", "everybody"],
];

describe("Audiences that were judged by a clock that was far ahead", () => {
  it("are judged anew a minute after it is right again, those that depend on the time, and the feed says so", () => {
    const { time, pass, options } = world();
    return withApp({}, options, async (app) => {
      const shop = await shopIn(app, time.ms);
      assert.deepEqual(await shown(shop), RIGHT);
      time.ms += 40 * DAY_MS;
      await rest(app);
      time.ms -= 40 * DAY_MS;
      await rest(app);
      assert.deepEqual(await shown(shop), SPOILED);
      const before = await setOf(app, shop);
      pass(MINUTE_MS);
      await rest(app);
      assert.deepEqual(await shown(shop), RIGHT);
      const { entries } = await app.service.backends.seats.feed(shop.workspace.id as WorkspaceId, 0, 100);
      const told = entries.map(({ entry }) => ("cause" in entry ? `${entry.type} ${entry.cause}` : entry.type));
      assert.deepEqual(told.slice(-4).toSorted(), ["entered time", "entered time", "left time", "left time"]);
      assert.equal(app.records.filter((line) => line.includes(LINE)).length, 1);
      assert.equal(before.judgedAt! > time.ms + 39 * DAY_MS, true);
      const after = await setOf(app, shop);
      assert.deepEqual([after.judgedAt, after.audiences.map(({ build }) => build)], [time.ms, [null, null, null]]);
    });
  });

  it("are judged anew also after a restart", () =>
    withFolder(async (folder) => {
      const { time, pass, options } = world();
      const settings = { DATA_DIR: folder };
      let shop: Shop | null = null;
      let key = "";
      await withApp(settings, options, async (app) => {
        shop = await shopIn(app, time.ms);
        key = await shop.workspace.key("owner");
        time.ms += 40 * DAY_MS;
        await rest(app);
      });
      time.ms -= 40 * DAY_MS;
      await withApp(settings, options, async (app) => {
        const here = { ...shop!, workspace: workspaceOf(app.url, shop!.workspace.id, key) };
        await rest(app);
        assert.deepEqual(await shown(here), SPOILED);
        pass(MINUTE_MS);
        await rest(app);
        assert.deepEqual(await shown(here), RIGHT);
      });
    }));

  it("are judged anew once an hour while another process goes by such a clock, and not once more when it does not", () => {
    const { time, pass, options } = world();
    return withApp({}, options, async (app) => {
      const shop = await shopIn(app, time.ms);
      const foreign = foreignKeeper(app, () => time.ms + 40 * DAY_MS);
      const anew = () => app.records.filter((line) => line.includes(LINE)).length;
      for (let minutes = 0; minutes < 59; minutes += 1) {
        pass(MINUTE_MS);
        await foreign();
        await rest(app);
      }
      assert.equal(anew(), 1);
      assert.deepEqual(await shown(shop), SPOILED);
      for (let minutes = 0; minutes < 5; minutes += 1) {
        pass(MINUTE_MS);
        await rest(app);
      }
      assert.equal(anew(), 2);
      assert.deepEqual(await shown(shop), RIGHT);
      pass(5 * HOUR_MS);
      await rest(app);
      assert.equal(anew(), 2);
    });
  });

  it("are known by a time that is written once an hour at most, before anything that depends on it is saved", () => {
    const { time, pass, options } = world();
    const saved: (number | undefined)[] = [];
    const wrap: NonNullable<Parameters<typeof withApp>[1]["wrap"]> = (backends) => ({
      ...backends,
      seats: {
        ...backends.seats,
        save: async (workspace, ...more) => {
          saved.push((await backends.audiences.audiences(workspace)).judgedAt);
          return backends.seats.save(workspace, ...more);
        },
      },
    });
    return withApp({}, { ...options, wrap }, async (app) => {
      const shop = await shopIn(app, time.ms);
      const { version, judgedAt } = await setOf(app, shop);
      assert.ok(saved.length > 0 && saved.every((one) => one === judgedAt), saved.join());
      const looked = async (): Promise<void> => {
        const identifiers = [
          { namespace: "email", value: "ada@example.com" },
          { namespace: "cookie_id", value: `${time.ms}` },
        ];
        await shop.workspace.send("POST", "/v1/identify", { identifiers });
        await rest(app);
      };
      pass(40 * MINUTE_MS);
      await looked();
      assert.deepEqual(await setOf(app, shop).then((set) => set.version), version);
      pass(40 * MINUTE_MS);
      const looks = saved.length;
      await looked();
      assert.deepEqual([saved.length > looks, saved.at(-1)], [true, time.ms]);
    });
  });
});

/** The keeper of another process on the same stores. Does all that it finds to do. */
function foreignKeeper(app: App, now: () => number): () => Promise<void> {
  const { backends, identity } = app.service;
  const limits = { profileIdentifiersMax: 10_000 } as LookServices["limits"];
  const movements = backends.graph;
  const task = createAudienceTask({ ...backends, identity, movements, limits, log: silentLog, now, steady: now });
  return async () => {
    while ((await task.step()) === 0);
  };
}
