import assert from "node:assert/strict";
import type { Backends } from "../../../app/backends.js";
import { AppError } from "../../../core/errors.js";
import { decodeMessage, encodeMessage } from "../../../core/event/message.js";
import { newId, type DeadLetterId, type EventId, type SchemaId, type WorkspaceId } from "../../../core/ids.js";
import { anEvent, aDeadLetter } from "../../support/builders.js";
import { eventually } from "../../support/eventually.js";
import { createRandom, SEED, shuffled } from "../../support/random/random.js";
import { at, listAt, submission, textAt, useApp, type Answer, type TestWorkspace } from "../../support/service/app.js";

const ORDER = {
  type: "object",
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    city: { type: "string", "x-trait": { name: "city" } },
    total: { type: "number", "x-trait": { name: "spent", merge: "sum" } },
  },
};

interface Hooks {
  /** Whether this event dies. */
  dies: (eventId: EventId) => boolean;
  /** Whether its stored event cannot be read. */
  isDamaged: (eventId: EventId) => boolean;
  beforeNote: () => Promise<void>;
  numbers: boolean;
  publishes: number;
}
const CALM: Hooks = {
  dies: () => false,
  isDamaged: () => false,
  beforeNote: async () => {},
  numbers: true,
  publishes: Infinity,
};

describe("A replay of dead letters", () => {
  const hooks = { ...CALM };
  let buried = 0;
  afterEach(() => Object.assign(hooks, CALM));
  const wrap = (backends: Backends): Backends => {
    const { events, queue } = backends;
    return {
      ...backends,
      events: {
        ...events,
        find: (workspace, eventId) =>
          hooks.isDamaged(eventId)
            ? Promise.reject(new AppError("damaged", "It cannot be read."))
            : events.find(workspace, eventId),
        fold: (workspace, folds) =>
          folds.some(({ eventId }) => hooks.dies(eventId))
            ? Promise.reject(new AppError("validation_failed", "It dies."))
            : events.fold(workspace, folds),
        bury: async (letter) => {
          const isKept = await events.bury(hooks.numbers ? letter : { ...letter, times: 1 });
          buried += 1;
          return isKept;
        },
        noteReplay: async (...of) => {
          await hooks.beforeNote();
          await events.noteReplay(...of);
        },
      },
      queue: {
        ...queue,
        publishAll: (messages) =>
          (hooks.publishes -= 1) < 0
            ? Promise.reject(new AppError("unavailable", "The queue is full."))
            : queue.publishAll(messages),
      },
    };
  };
  const running = useApp({ WORKER_TRIES_MAX: "1" }, { wrap });

  const replay = async (workspace: TestWorkspace, body: object = {}, query = ""): Promise<Answer> =>
    workspace.send("POST", `/v1/dead-letters/replay${query}`, body);
  const counts = ({ status, body }: Answer): readonly unknown[] => [
    status,
    body["replayed"],
    body["remaining"],
    listAt(body, "skipped").map((one) => at(one, "why")),
  ];
  const letters = async (workspace: TestWorkspace, state = ""): Promise<readonly unknown[]> =>
    listAt(
      (await workspace.send("GET", `/v1/dead-letters?limit=100${state && `&state=${state}`}`)).body,
      "dead_letters",
    );
  const profilesOf = async (workspace: TestWorkspace): Promise<readonly string[]> =>
    listAt((await workspace.send("GET", "/v1/profiles?limit=100")).body, "profiles")
      .map((profile) => {
        const values = listAt(profile, "identifiers").map((one) => textAt(one, "value"));
        return JSON.stringify([values, at(profile, "traits"), at(profile, "event_count")]);
      })
      .toSorted();
  const collect = async (workspace: TestWorkspace, schemaId: string, payload: object, n = 0): Promise<string> => {
    const timestamp = new Date(Date.UTC(2026, 0, 1 + n)).toISOString();
    const { body } = await workspace.send("POST", "/v1/collect", { ...submission(schemaId, payload), timestamp });
    return textAt(body, "event_id");
  };
  const untilRest = (ids: readonly string[], workspace: TestWorkspace): Promise<unknown> =>
    Promise.all(ids.map((id) => workspace.send("GET", `/v1/events/${id}?wait=10`)));
  /** Letters that were never events of the queue. */
  const buryMany = async (
    workspace: TestWorkspace,
    count: number,
    reason = "crashed",
    payload = Buffer.from("{}"),
  ): Promise<readonly string[]> => {
    const made = Array.from({ length: count }, (_, n) => {
      const own = { workspace: workspace.id as WorkspaceId, schemaId: "none" as SchemaId };
      const event = anEvent({ ...own, folds: false, payload });
      const { eventId } = event;
      return aDeadLetter({ workspace: event.workspace, eventId, reason, at: n + 1, message: encodeMessage(event) });
    });
    const { events } = running().service.backends;
    for (let next = 0; next < made.length; next += 20)
      await Promise.all(made.slice(next, next + 20).map((letter) => events.bury(letter)));
    return made.map(({ deadLetterId }) => deadLetterId);
  };

  it("of any letters, any number of times, in any order leaves the profiles as if none had died", async () => {
    const random = createRandom(SEED);
    const [alive, dying] = [await running().workspace(), await running().workspace()];
    const payloads = Array.from({ length: 20 }, () => ({
      email: `p${random.below(4)}@example.com`,
      city: random.pick(["Paris", "Lyon"]),
      total: random.below(1_000) / 100,
    }));
    const own = async (workspace: TestWorkspace): Promise<string[]> => {
      const schemaId = await workspace.schema(ORDER);
      const ids: string[] = [];
      for (const [n, payload] of payloads.entries()) ids.push(await collect(workspace, schemaId, payload, n));
      await untilRest(ids, workspace);
      return ids;
    };
    await own(alive);
    hooks.dies = () => true;
    const ids = await own(dying);
    assert.equal((await letters(dying, "open")).length, ids.length);
    const before = await Promise.all(ids.map(async (id) => (await dying.send("GET", `/v1/events/${id}`)).body));
    assert.ok(before.every((event) => event["status"] === "dead"));
    const all = (await letters(dying)).map((one) => textAt(one, "dead_letter_id"));
    for (let round = 0; round < 6; round += 1) {
      const [healed, some] = [new Set(ids.filter(() => random.below(3) === 0)), shuffled(all, random).slice(0, 12)];
      hooks.dies = (eventId) => !healed.has(eventId);
      assert.deepEqual(counts(await replay(dying, { dead_letter_ids: some })), [200, 12, 0, []]);
      await running().service.keeper!.rest();
    }
    hooks.dies = () => false;
    await replay(dying, { dead_letter_ids: all });
    await untilRest(ids, dying);
    await Promise.all(ids.map((id) => dying.settled(id)));
    assert.deepEqual(await profilesOf(dying), await profilesOf(alive));
    for (const [n, id] of ids.entries()) {
      const now = (await dying.send("GET", `/v1/events/${id}`)).body;
      for (const name of ["schema_id", "schema_version", "timestamp", "received_at", "payload", "violations"])
        assert.deepEqual(now[name], before[n]![name], name);
    }
    await eventually("no letter is open", async () => {
      await replay(dying);
      return (await letters(dying, "open")).length === 0;
    });
    assert.equal((await letters(dying, "replayed")).length, ids.length);
  });

  for (const numbers of [true, false])
    it(`of one that dies again before it is noted: ${numbers ? "it is open" : "without numbers it would not be"}`, async () => {
      const workspace = await running().workspace();
      hooks.dies = () => true;
      hooks.numbers = numbers;
      const id = await collect(workspace, await workspace.schema(ORDER), { email: "ada@example.com" });
      await untilRest([id], workspace);
      const deaths = buried;
      hooks.beforeNote = () => eventually("it died again", () => buried > deaths);
      assert.deepEqual(counts(await replay(workspace)), [200, 1, 0, []]);
      const [letter] = await letters(workspace);
      assert.deepEqual(
        ["state", "times", "replayed", "outcome"].map((name) => at(letter, name)),
        numbers ? ["open", 2, 1, "died_again"] : ["replayed", 1, 1, "queued"],
      );
      assert.equal((await letters(workspace, "open")).length, numbers ? 1 : 0);
    });

  it("is numbered in the message and not in the letter, so that each death counts once", async () => {
    const workspace = await running().workspace();
    hooks.dies = () => true;
    const id = await collect(workspace, await workspace.schema(ORDER), { email: "ada@example.com" });
    await untilRest([id], workspace);
    const letterId = textAt((await letters(workspace))[0], "dead_letter_id") as DeadLetterId;
    const { events } = running().service.backends;
    const first = await events.findDeadLetter(workspace.id as WorkspaceId, letterId);
    for (const times of [2, 3]) {
      await replay(workspace);
      await eventually("it died again", async () => at((await letters(workspace))[0], "times") === times);
    }
    const third = await events.findDeadLetter(workspace.id as WorkspaceId, letterId);
    assert.deepEqual(third!.message, first!.message);
    assert.equal(decodeMessage(third!.message).kind, "event");
  });

  it("while the queue is full is 503, and what was noted stands", async () => {
    const workspace = await running().workspace();
    const ids = await buryMany(workspace, 60);
    hooks.publishes = 1;
    const full = await replay(workspace);
    assert.deepEqual([full.status, full.body["code"]], [503, "unavailable"]);
    const open = (await letters(workspace, "open")).map((one) => at(one, "dead_letter_id"));
    assert.deepEqual(open, ids.slice(8).toReversed());
    hooks.publishes = Infinity;
    assert.deepEqual(counts(await replay(workspace)), [200, 52, 0, []]);
    assert.deepEqual(await letters(workspace, "open"), []);
  });

  it("queues also those that together are more than the queue takes in one step", async () => {
    const workspace = await running().workspace();
    await buryMany(workspace, 20, "crashed", Buffer.from(JSON.stringify("x".repeat(1_048_576))));
    assert.deepEqual(counts(await replay(workspace)), [200, 20, 0, []]);
    assert.deepEqual(await letters(workspace, "open"), []);
  });

  it("looks at 1,000 letters a call, the oldest first, and goes on behind them", async () => {
    const workspace = await running().workspace();
    await buryMany(workspace, 1_030);
    await buryMany(workspace, 5, "rejected");
    const dry = await replay(workspace, { reason: "crashed" }, "?dry_run=true");
    assert.deepEqual([...counts(dry), dry.body["dry_run"]], [200, 1_000, 30, [], true]);
    const rest = await replay(workspace, { reason: "crashed", cursor: dry.body["next_cursor"] }, "?dry_run=true");
    assert.deepEqual([...counts(rest), rest.body["next_cursor"]], [200, 30, 0, [], null]);
    const first = await replay(workspace, { reason: "crashed" });
    assert.deepEqual(counts(first), [200, 1_000, 30, []]);
    // Neither that of another list nor that of a dry run, which replayed none of those before it.
    for (const body of [
      { cursor: first.body["next_cursor"] },
      { reason: "crashed", cursor: dry.body["next_cursor"] },
    ]) {
      const other = await replay(workspace, body);
      assert.deepEqual([other.status, other.body["code"]], [400, "invalid_cursor"]);
    }
    assert.deepEqual(counts(await replay(workspace, { reason: "crashed" })), [200, 30, 0, []]);
    assert.deepEqual(counts(await replay(workspace, { before: "1970-01-01T00:00:00.003Z" })), [200, 2, 0, []]);
    const wrong = await replay(workspace, { before: "2026-02-30T00:00:00Z" });
    assert.deepEqual([wrong.status, at(listAt(wrong.body, "errors")[0], "path")], [422, "before"]);
  });

  it("passes over one whose stored event is damaged: the others are queued, and it stays open", async () => {
    const workspace = await running().workspace();
    const ids = await buryMany(workspace, 3);
    const { events } = running().service.backends;
    const damaged = await events.findDeadLetter(workspace.id as WorkspaceId, ids[1] as DeadLetterId);
    hooks.isDamaged = (eventId) => eventId === damaged!.eventId;
    for (const query of ["?dry_run=true", ""])
      assert.deepEqual(counts(await replay(workspace, {}, query)), [200, 2, 0, ["damaged"]]);
    assert.deepEqual(
      (await letters(workspace, "open")).map((one) => at(one, "dead_letter_id")),
      [ids[1]],
    );
  });

  it("lets others have a turn of the event loop among its letters, also where it queues none of them", async () => {
    const workspace = await running().workspace();
    await buryMany(workspace, 60);
    for (const query of ["?dry_run=true", ""]) {
      const perTurn: number[] = [0];
      let isOver = false;
      const turn = (): void => {
        perTurn.push(0);
        if (!isOver) setImmediate(turn);
      };
      setImmediate(turn);
      hooks.isDamaged = () => {
        perTurn[perTurn.length - 1]! += 1;
        for (const began = performance.now(); performance.now() - began < 1;);
        return true;
      };
      assert.equal(listAt((await replay(workspace, {}, query)).body, "skipped").length, 60);
      isOver = true;
      assert.ok(Math.max(...perTurn) <= 10, `${perTurn.filter((letters) => letters > 0).join(", ")} letters a turn`);
    }
  });

  it("skips with a reason what cannot be replayed", async () => {
    const [workspace, other] = [await running().workspace(), await running().workspace()];
    const { events } = running().service.backends;
    const own = workspace.id as WorkspaceId;
    const [gone, erased] = [anEvent({ workspace: own, folds: false }), anEvent({ workspace: own })];
    await events.insert(own, [gone, erased]);
    await events.drop(own, [gone.eventId], "expired");
    await events.drop(own, [erased.eventId], "erased");
    const bury = async (changes: object, event = anEvent({ workspace: own })): Promise<string> => {
      const letter = { workspace: own, eventId: event.eventId, message: encodeMessage(event), killsEvent: false };
      const made = aDeadLetter({ ...letter, ...changes });
      await events.bury(made);
      return made.deadLetterId;
    };
    const ids = [
      await bury({}, gone),
      await bury({}, erased),
      await bury({ reason: "idempotency_mismatch" }),
      await bury({ message: Buffer.from("of another time") }),
      await bury({ workspace: null }),
      ...(await buryMany(other, 1)),
      newId<DeadLetterId>(),
    ];
    const reasons = ["expired", "erased", "idempotency_mismatch", "unreadable", "not_found", "not_found", "not_found"];
    const answer = await replay(workspace, { dead_letter_ids: ids });
    assert.deepEqual(counts(answer).slice(0, 2), [200, 0], answer.text);
    const why = new Map(listAt(answer.body, "skipped").map((one) => [at(one, "dead_letter_id"), at(one, "why")]));
    assert.deepEqual(
      ids.map((id) => why.get(id)),
      reasons,
    );
  });
});
