import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backends } from "../../app/backends.js";
import { AppError } from "../../core/errors.js";
import type { WorkspaceId } from "../../core/ids.js";
import { eventually } from "../support/eventually.js";
import { createRandom, SEED } from "../support/random/random.js";
import { at, listAt, textAt, useApp, until, type Answer, type TestWorkspace } from "../support/service/app.js";

const ORDER = {
  type: "object",
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    device: { type: "string", "x-identity": { namespace: "device_id" } },
    city: { type: "string", "x-trait": { name: "city" } },
    total: { type: "number", "x-trait": { name: "spent", merge: "sum" } },
    tag: { type: "string", "x-trait": { name: "tags", merge: "union" } },
  },
};
const none = (): void => {};

interface Hooks {
  beforeInsert: (workspace: WorkspaceId) => Promise<void> | void;
  looks: boolean;
  savesLost: number;
  damaged: string;
  readsAway: number;
  schemaIsGone: boolean;
}

const untouched = (): Hooks => ({
  beforeInsert: none,
  looks: true,
  savesLost: 0,
  damaged: "",
  readsAway: 0,
  schemaIsGone: false,
});

describe("a backfill", () => {
  const hooks = untouched();
  afterEach(() => Object.assign(hooks, untouched()));
  const wrap = (backends: Backends): Backends => {
    const { events, catalog } = backends;
    return {
      ...backends,
      events: {
        ...events,
        insert: async (workspace, given) => {
          await hooks.beforeInsert(workspace);
          return events.insert(workspace, given);
        },
        find: (workspace, eventId) => {
          if (hooks.readsAway-- > 0) return Promise.reject(new AppError("unavailable", "The store is away."));
          return eventId === hooks.damaged
            ? Promise.reject(new AppError("damaged", "The stored event is damaged."))
            : events.find(workspace, eventId);
        },
      },
      catalog: {
        ...catalog,
        findSchema: (...of) => (hooks.schemaIsGone ? Promise.resolve(null) : catalog.findSchema(...of)),
        backfillsOf: (...of) => (hooks.looks ? catalog.backfillsOf(...of) : Promise.resolve([])),
        // As if another keeper had been there first, or the process had died before it noted what it did.
        saveBackfill: (backfill) => (hooks.savesLost-- > 0 ? Promise.resolve(false) : catalog.saveBackfill(backfill)),
      },
    };
  };
  const running = useApp({ WORKER_TRIES_MAX: "1" }, { wrap });

  /** Sends them in order, and waits until all are done. */
  const send = async (workspace: TestWorkspace, schemaId: string, payloads: readonly object[]): Promise<string[]> => {
    const ids: string[] = [];
    for (const [n, payload] of payloads.entries()) {
      const timestamp = new Date(Date.UTC(2026, 0, 1 + n)).toISOString();
      const sent = await workspace.send("POST", "/v1/collect", { schema_id: schemaId, timestamp, payload });
      ids.push(textAt(sent.body, "event_id"));
      // No two of one millisecond: "received from since on" could not tell them apart.
      await sleep(2);
    }
    await Promise.all(ids.map((id) => workspace.send("GET", `/v1/events/${id}?wait=10`)));
    return ids;
  };
  const datasetOf = async (workspace: TestWorkspace): Promise<string> =>
    textAt(listAt((await workspace.send("GET", "/v1/datasets")).body, "datasets")[0], "dataset_id");
  const enable = async (workspace: TestWorkspace): Promise<string> => {
    const id = await datasetOf(workspace);
    await workspace.send("PATCH", `/v1/datasets/${id}`, { unified_profile: true });
    return id;
  };
  const begin = async (workspace: TestWorkspace, body: object = {}): Promise<Answer> =>
    workspace.send("POST", `/v1/datasets/${await enable(workspace)}/backfill`, body);
  const ended = async (workspace: TestWorkspace, created: Answer): Promise<Answer> => {
    await running().service.keeper!.rest();
    return until(
      () => workspace.send("GET", `/v1/backfills/${textAt(created.body, "backfill_id")}`),
      ({ body }) => body["state"] !== "running",
    );
  };
  const statusOf = async (workspace: TestWorkspace, eventId: string): Promise<unknown> =>
    at((await workspace.send("GET", `/v1/events/${eventId}`)).body, "status");
  /** What profiles say, whatever their ids. */
  const profilesOf = async (workspace: TestWorkspace): Promise<readonly string[]> => {
    const { body } = await workspace.send("GET", "/v1/profiles?limit=100");
    const shown = listAt(body, "profiles").map((profile) => {
      const identifiers = listAt(profile, "identifiers").map(
        (one) => `${textAt(one, "namespace")}:${textAt(one, "value")}`,
      );
      return JSON.stringify([identifiers.toSorted(), at(profile, "traits"), at(profile, "event_count")]);
    });
    return shown.toSorted();
  };

  const random = createRandom(SEED);
  const somePayloads = (count: number): readonly object[] =>
    Array.from({ length: count }, () => ({
      ...(random.below(4) > 0 && { email: `p${random.below(12)}@example.com` }),
      ...(random.below(3) === 0 && { device: `d-${random.below(25)}` }),
      city: random.pick(["Paris", "Lyon"]),
      total: random.below(1_000) / 100,
      tag: random.pick(["a", "b", "c"]),
    }));

  it("leaves the profiles of a service whose dataset had been enabled from the start", async () => {
    const payloads = somePayloads(25);
    const [early, late] = [await running().workspace(), await running().workspace()];
    await send(early, await early.schema(ORDER, true), payloads);
    await send(late, await late.schema(ORDER, false), payloads);
    assert.deepEqual(await profilesOf(late), []);
    const created = await begin(late);
    assert.equal(created.status, 202);
    assert.deepEqual([at(created.body, "state"), at(created.body, "total")], ["running", payloads.length]);
    const { body } = await ended(late, created);
    const named = payloads.filter((one) => "email" in one || "device" in one).length;
    assert.deepEqual(
      [at(body, "state"), at(body, "done"), at(body, "skipped")],
      ["done", named, payloads.length - named],
    );
    const expected = await profilesOf(early);
    assert.ok(expected.length > 1);
    assert.deepEqual(await profilesOf(late), expected);
    await ended(late, await begin(late));
    assert.deepEqual(await profilesOf(late), expected, "a second one changes nothing");
  });

  it("counts each event once, though its pieces are done again and again", async () => {
    const payloads = somePayloads(12);
    const [early, late] = [await running().workspace(), await running().workspace()];
    await send(early, await early.schema(ORDER, true), payloads);
    await send(late, await late.schema(ORDER, false), payloads);
    hooks.savesLost = 5;
    await ended(late, await begin(late));
    assert.ok(hooks.savesLost < 0);
    assert.deepEqual(await profilesOf(late), await profilesOf(early));
  });

  it("leaves out no event of a piece in which a store was away", async () => {
    const workspace = await running().workspace();
    const ids = await send(workspace, await workspace.schema(ORDER, false), [{ email: "a@b.c" }, { email: "d@e.f" }]);
    const datasetId = await enable(workspace);
    hooks.readsAway = 1;
    const { body } = await ended(workspace, await workspace.send("POST", `/v1/datasets/${datasetId}/backfill`));
    assert.ok(hooks.readsAway < 1);
    assert.deepEqual([at(body, "state"), at(body, "done"), at(body, "skipped")], ["done", 2, 0]);
    assert.deepEqual(await Promise.all(ids.map((id) => statusOf(workspace, id))), ["folded", "folded"]);
  });

  for (const looks of [true, false])
    it(`while events of its schema are queued: ${looks ? "they fold" : "without the look they would not"}`, async () => {
      const workspace = await running().workspace();
      const schemaId = await workspace.schema(ORDER, false);
      let release = none;
      const held = new Promise<void>((resolve) => (release = resolve));
      let isHeld = false;
      hooks.looks = looks;
      hooks.beforeInsert = async (of) => {
        if (of !== workspace.id) return;
        isHeld = true;
        await held;
      };
      const sent = await workspace.collect(schemaId, { email: "ada@example.com", total: 5 });
      const eventId = textAt(sent.body, "event_id");
      await eventually("the event is in the worker's hands", () => isHeld);
      const { body } = await ended(workspace, await begin(workspace));
      assert.deepEqual([at(body, "state"), at(body, "total"), at(body, "done")], ["done", 0, 0]);
      release();
      await eventually("the event is stored", async () => (await statusOf(workspace, eventId)) !== undefined);
      await workspace.send("POST", "/v1/collect", {
        schema_id: schemaId,
        timestamp: "2026-01-01T00:00:00Z",
        payload: {},
      });
      await running().service.keeper!.rest();
      if (looks) await workspace.settled(eventId, "folded");
      assert.equal(await statusOf(workspace, eventId), looks ? "folded" : "stored");
    });

  it("takes the events received from since on and before until, and what it would take in a dry run", async () => {
    const workspace = await running().workspace();
    const ids = await send(
      workspace,
      await workspace.schema(ORDER, false),
      somePayloads(3).map((one) => ({ ...one, email: "a@b.c" })),
    );
    const times = await Promise.all(
      ids.map(async (id) => textAt((await workspace.send("GET", `/v1/events/${id}`)).body, "received_at")),
    );
    const body = { since: times[1], until: times[2] };
    const path = `/v1/datasets/${await enable(workspace)}/backfill`;
    const tried = await workspace.send("POST", `${path}?dry_run=true`, body);
    assert.deepEqual([tried.status, at(tried.body, "total"), at(tried.body, "dry_run")], [200, 1, true]);
    assert.deepEqual(listAt((await workspace.send("GET", "/v1/backfills")).body, "backfills"), []);
    const done = await ended(workspace, await workspace.send("POST", path, body));
    assert.deepEqual([at(done.body, "done"), at(done.body, "since")], [1, times[1]]);
    assert.deepEqual(await Promise.all(ids.map((id) => statusOf(workspace, id))), ["stored", "folded", "stored"]);
    const listed = await workspace.send("GET", "/v1/backfills");
    assert.deepEqual(listAt(listed.body, "backfills"), [done.body]);
  });

  it("passes over a damaged event, which it counts as skipped", async () => {
    const workspace = await running().workspace();
    const ids = await send(
      workspace,
      await workspace.schema(ORDER, false),
      somePayloads(3).map((one) => ({ ...one, email: "a@b.c" })),
    );
    hooks.damaged = ids[1]!;
    const { body } = await ended(workspace, await begin(workspace));
    assert.deepEqual([at(body, "state"), at(body, "done"), at(body, "skipped")], ["done", 2, 1]);
    hooks.damaged = "";
    assert.deepEqual(await Promise.all(ids.map((id) => statusOf(workspace, id))), ["folded", "stored", "folded"]);
  });

  it("ends when it is stopped or its dataset is disabled, and what is queued then stays as it was pinned", async () => {
    const workspace = await running().workspace();
    const schemaId = await workspace.schema(ORDER, false);
    await send(workspace, schemaId, [{ email: "a@b.c" }]);
    hooks.savesLost = Infinity;
    const created = await begin(workspace);
    const path = `/v1/backfills/${textAt(created.body, "backfill_id")}`;
    hooks.savesLost = 0;
    const stopped = await workspace.send("DELETE", path);
    assert.equal(stopped.status, 200);
    assert.ok(["stopped", "done"].includes(textAt(stopped.body, "state")));
    assert.deepEqual((await workspace.send("DELETE", path)).body, stopped.body);
    hooks.savesLost = Infinity;
    const again = await begin(workspace);
    await workspace.send("PATCH", `/v1/datasets/${await datasetOf(workspace)}`, { unified_profile: false });
    hooks.savesLost = 0;
    assert.equal(at((await ended(workspace, again)).body, "state"), "stopped");
  });

  it("covers nothing any more once its dataset is disabled", async () => {
    const workspace = await running().workspace();
    const schemaId = await workspace.schema(ORDER, false);
    await ended(workspace, await begin(workspace));
    const { catalog } = running().service.backends;
    const [done] = await catalog.backfills(workspace.id as WorkspaceId, { limit: 1, after: null });
    // As on a shared catalog, where other gateways may not know of the dataset yet.
    await catalog.saveBackfill({ ...done!, coversUntil: Number.MAX_SAFE_INTEGER, rev: done!.rev + 1 });
    await workspace.send("PATCH", `/v1/datasets/${await datasetOf(workspace)}`, { unified_profile: false });
    const [off] = await send(workspace, schemaId, [{ email: "a@b.c" }]);
    assert.equal(await statusOf(workspace, off!), "stored");
  });

  it("leaves an event that cannot be folded to the queue, where it becomes a dead letter", async () => {
    const workspace = await running().workspace();
    const [eventId] = await send(workspace, await workspace.schema(ORDER, false), [{ email: "a@b.c" }]);
    const path = `/v1/datasets/${await enable(workspace)}/backfill`;
    hooks.schemaIsGone = true;
    const { body } = await ended(workspace, await workspace.send("POST", path, {}));
    assert.deepEqual([at(body, "state"), at(body, "done"), at(body, "skipped")], ["done", 0, 1]);
    const letters = await until(
      () => workspace.send("GET", "/v1/dead-letters"),
      (answer) => listAt(answer.body, "dead_letters").length > 0,
    );
    const letter = listAt(letters.body, "dead_letters")[0];
    assert.deepEqual([at(letter, "event_id"), at(letter, "reason")], [eventId, "unknown_schema"]);
  });

  it("is refused with the field or the reason", async () => {
    const [workspace, other] = [await running().workspace(), await running().workspace()];
    await workspace.schema(ORDER, false);
    const datasetId = await datasetOf(workspace);
    const path = `/v1/datasets/${datasetId}/backfill`;
    assert.equal((await workspace.send("POST", path, {})).status, 409);
    await enable(workspace);
    const wrong = async (body: object): Promise<readonly unknown[]> => {
      const { status, body: answer } = await workspace.send("POST", path, body);
      return [status, at(listAt(answer, "errors")[0], "path")];
    };
    assert.deepEqual(await wrong({ since: "2026-02-30T00:00:00Z" }), [422, "since"]);
    assert.deepEqual(await wrong({ since: "2026-02-02T00:00:00Z", until: "2026-02-01T00:00:00Z" }), [422, "since"]);
    assert.deepEqual(await wrong({ since: "2999-02-02T00:00:00Z" }), [422, "since"]);
    assert.deepEqual(await wrong({ from: "2026-02-02T00:00:00Z" }), [422, "from"]);
    const created = await workspace.send("POST", path);
    assert.equal(created.status, 202);
    const id = textAt(created.body, "backfill_id");
    for (const [method, target] of [
      ["POST", path],
      ["GET", `/v1/backfills/${id}`],
      ["DELETE", `/v1/backfills/${id}`],
    ] as const)
      assert.equal((await other.send(method, target)).status, 404, target);
    assert.deepEqual(listAt((await other.send("GET", "/v1/backfills")).body, "backfills"), []);
  });
});
