import assert from "node:assert/strict";
import { AppError } from "../../core/errors.js";
import type { EventRecord } from "../../core/event/event.js";
import { deadLetterIdFor, type WorkspaceId } from "../../core/ids.js";
import type { Delivery } from "../../core/ports/event-queue.js";
import {
  anEvent,
  away,
  createBench,
  delivered,
  done,
  drain,
  endState,
  idOf,
  mail,
  runUntil,
  theLetter,
  WORKSPACES,
} from "../support/worker-bench.js";

const [ONE, TWO] = WORKSPACES;

describe("A dead letter", () => {
  it("is made of a message that is not ours, once however often it comes", async () => {
    const bench = createBench();
    const strange: Delivery = { message: Buffer.from("hello"), attempts: 0, failedAt: null, crashes: 0 };
    const other: Delivery = { message: Buffer.from('{"v":99}\n{}'), attempts: 0, failedAt: null, crashes: 0 };
    assert.deepEqual(await bench.start()([strange, other, strange]), [done, done, done]);
    const letters = [...bench.ports.state.letters.values()];
    assert.deepEqual(letters.map(({ reason }) => reason).toSorted(), [
      "not_an_onym_message",
      "unknown_message_version",
    ]);
    assert.ok(
      letters.every(({ workspace, eventId, killsEvent }) => workspace === null && eventId === null && !killsEvent),
    );
    assert.deepEqual(letters.map(({ message }) => message.toString()).toSorted(), ["hello", '{"v":99}\n{}']);
  });

  it("is made of a message that names a workspace which does not exist, and stores nothing there", async () => {
    const bench = createBench();
    const forged = anEvent(1, { workspace: "33333333-3333-4333-8333-333333333333" as WorkspaceId });
    assert.deepEqual(await bench.start()([delivered(forged), delivered(anEvent(2))]), [done, done]);
    const { reason, workspace, eventId, killsEvent } = theLetter(bench);
    assert.deepEqual([reason, workspace, eventId, killsEvent], ["unknown_workspace", null, null, false]);
    assert.deepEqual(endState(bench.ports.state).events, [`${ONE} ${idOf(2)} folded`]);
  });

  it("is made of a copy with another fingerprint, while the stored event waits for its own message", async () => {
    const bench = createBench();
    const first = delivered(anEvent(1, { fingerprint: "first" }));
    await runUntil(bench, [first], 4);
    const copy = anEvent(1, { fingerprint: "second", payload: { city: "Rome" } });
    assert.deepEqual(await bench.start()([delivered(copy), delivered(anEvent(2))]), [done, done]);
    const letter = theLetter(bench);
    assert.deepEqual(
      { ...letter, message: letter.message.toString() },
      {
        deadLetterId: deadLetterIdFor(copy.eventId, "second"),
        workspace: ONE,
        eventId: copy.eventId,
        reason: "idempotency_mismatch",
        at: 1_767_225_700_000,
        message: delivered(copy).message.toString(),
        killsEvent: false,
        times: 1,
        replayed: 0,
        replayedAt: null,
      },
    );
    assert.deepEqual(endState(bench.ports.state).marks, [idOf(2)]);
    assert.deepEqual(await bench.start()([first]), [done]);
    assert.deepEqual(endState(bench.ports.state).marks, [idOf(1), idOf(2)]);
    assert.doesNotMatch(endState(bench.ports.state).facets.join(), /Rome/);
  });

  it("of a stored event that cannot be finished holds what was stored, whatever else was sent under its id", async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const bench = createBench();
      const own = delivered(anEvent(1, { fingerprint: "first", payload: { poison: "x" } }));
      const copy = delivered(anEvent(1, { fingerprint: "second", folds: false }));
      const run = bench.start();
      // It is stored, and waits for its next try.
      await run([own]);
      const again = order.map((n) => [own, copy][n]!);
      await drain(run, again);
      const letters = [...bench.ports.state.letters.values()].filter(({ reason }) => reason !== "idempotency_mismatch");
      assert.deepEqual(
        letters.map(({ message, killsEvent }) => [message.toString(), killsEvent]),
        [[own.message.toString(), true]],
      );
    }
  });

  it("of a copy with another fingerprint does not stand for the stored event, also if processes died on it or it cannot be kept", async () => {
    for (const crashes of [0, 4]) {
      const bench = createBench({ crashesMax: 3 });
      const own = delivered(anEvent(1, { fingerprint: "first", payload: { poison: "x" } }));
      const copy = delivered(anEvent(1, { fingerprint: "second" }), 9, crashes);
      const run = bench.start();
      // It is stored, and waits for its next try.
      await run([own]);
      bench.ports.hook = (step) => {
        if (step === "insert") throw new AppError("validation_failed", "no");
      };
      await drain(run, [copy]);
      bench.ports.hook = () => undefined;
      await drain(run, [own]);
      const letters = [...bench.ports.state.letters.values()].map(({ message, killsEvent }) => [message, killsEvent]);
      assert.deepEqual(letters, [
        [copy.message, false],
        [own.message, true],
      ]);
    }
  });

  it("is made of a message on which too many processes died, and of none on which just enough did", async () => {
    const bench = createBench({ crashesMax: 3 });
    assert.deepEqual(await bench.start()([delivered(anEvent(1), 0, 3), delivered(anEvent(2), 0, 4)]), [done, done]);
    assert.deepEqual(endState(bench.ports.state).events, [`${ONE} ${idOf(1)} folded`]);
    const { reason, workspace, eventId, killsEvent } = theLetter(bench);
    assert.deepEqual([reason, workspace, eventId, killsEvent], ["crashed", ONE, idOf(2), true]);
  });

  it("is made of a poison message within 6 tries, while its neighbours go through at once", async () => {
    for (const poison of [
      anEvent(3, { payload: { poison: "x" } }),
      anEvent(3, { payload: "{" }),
      anEvent(3, { schemaVersion: 1, schemaId: "gone" as EventRecord["schemaId"] }),
    ]) {
      const bench = createBench();
      const events = [anEvent(1), anEvent(2), poison, anEvent(4), anEvent(5, { workspace: TWO })];
      const tries = await drain(
        bench.start(),
        events.map((event) => delivered(event)),
      );
      assert.deepEqual([...tries.slice(0, 2), ...tries.slice(3)], [1, 1, 1, 1]);
      assert.ok(tries[2]! <= 6);
      assert.equal(bench.ports.state.stored.get(`${ONE} ${idOf(3)}`.replace(" ", ":"))?.status, "dead");
      assert.ok(theLetter(bench).killsEvent);
      assert.deepEqual(endState(bench.ports.state).marks, [idOf(1), idOf(2), idOf(4), idOf(5)]);
      assert.equal(
        bench.ports.state.assertions.some(({ evidence }) => evidence.source === idOf(3)),
        false,
      );
    }
  });

  it("names the failure by a code and leaves its text, which may quote the data, out of letter and log", async () => {
    const reasons = new Map<string, string>();
    for (const payload of [{ poison: "canary-7f3a" }, '{"a":"canary-7f3a"']) {
      const bench = createBench();
      await drain(bench.start(), [delivered(anEvent(1, { payload, identifiers: [mail("canary-7f3a")] }))]);
      reasons.set(JSON.stringify(payload), theLetter(bench).reason);
      assert.ok(bench.logged.length >= 5);
      assert.doesNotMatch(bench.logged.join(), /canary/);
    }
    assert.deepEqual([...reasons.values()], ["validation_failed", "invalid_json"]);
  });

  it("does not kill a stored event that has nothing left to do", async () => {
    const bench = createBench({ crashesMax: 3 });
    await bench.start()([delivered(anEvent(1, { folds: false }))]);
    await bench.start()([delivered(anEvent(1, { folds: false }), 0, 4)]);
    assert.deepEqual(endState(bench.ports.state).events, [`${ONE} ${idOf(1)} stored`]);
    assert.equal(bench.ports.state.letters.size, 1);
  });

  it("is kept with few others at once where they name many, because each name is indexed", async () => {
    const origin = { kind: "unfit", type: null, messageId: null } as const;
    const verdict = { reason: "quarantined", errors: [], send: "collect", origin } as const;
    const notes = { countsMismatch: true, violations: [], unfolded: [], verdict };
    const naming = (n: number, names: number) =>
      anEvent(n, { notes, identifiers: Array.from({ length: names }, (_, at) => mail(`${n}.${at}`)) });
    const events = [naming(1, 300), naming(2, 200), naming(3, 1_000), ...[4, 5, 6, 7].map((n) => naming(n, 1))];
    const groups = new Map<string, number>();
    let turn = 0;
    const bench = createBench({
      wrap: (ports) => ({
        ...ports,
        events: {
          ...ports.events,
          bury: async (letter) => {
            groups.set(letter.eventId!, turn);
            await new Promise((resolve) => setImmediate(resolve));
            turn += 1;
            return ports.events.bury(letter);
          },
        },
      }),
    });
    assert.deepEqual(
      await bench.start()(events.map((event) => delivered(event))),
      events.map(() => done),
    );
    assert.equal(bench.ports.state.letters.size, 7);
    assert.deepEqual(
      events.map(({ eventId }) => groups.get(eventId)),
      [0, 0, 2, 3, 3, 3, 3],
    );
  });

  it("must be kept before its message is done", async () => {
    const bench = createBench();
    bench.ports.hook = (step) => {
      if (step === "bury") throw new Error("no place");
    };
    const batch = [
      delivered(anEvent(1, { payload: { poison: "x" } }), 4),
      { message: Buffer.from("x"), attempts: 9, failedAt: null, crashes: 0 },
    ];
    const process = bench.start();
    assert.deepEqual(await process(batch), [
      { kind: "retry", delayMs: 3_000, failedAt: 1_767_225_700_000 },
      { kind: "retry", delayMs: 3_000, failedAt: 1_767_225_700_000 },
    ]);
    bench.ports.hook = (step) => {
      if (step === "bury") throw away();
    };
    assert.deepEqual(await process(batch), [{ kind: "away" }, { kind: "away" }]);
    bench.ports.hook = () => undefined;
    assert.deepEqual(await process(batch), [done, done]);
  });
});
