import assert from "node:assert/strict";
import { keepRejects, type Rejected } from "../../commands/acceptance/keep-rejects.js";
import { createQuarantine, type QuarantineLimits } from "../../commands/quarantine.js";
import type { Services } from "../../commands/services.js";
import { AppError, type ErrorCode } from "../../core/errors.js";
import { decodeMessage } from "../../core/event/message.js";
import { newId, type KeyId, type WorkspaceId } from "../../core/ids.js";

const MIB = 1_048_576;
const caller = {
  workspace: newId<WorkspaceId>(),
  keyId: "k" as KeyId,
  sender: "k" as KeyId,
  send: null,
  now: Date.now(),
};
const rejected = (text: string, code: ErrorCode = "unknown_schema"): Rejected => ({
  bytes: Buffer.from(text),
  idempotencyKey: null,
  error: new AppError(code, "It is refused."),
});
const item = (payload: string, more = ""): string =>
  `{"schema_id":"late","timestamp":"2026-01-31T12:00:00Z","payload":${payload}${more}}`;

/** Answers the messages that were queued, and when the schema of each was looked up: in which turn of the event loop. */
async function keep(rejects: readonly Rejected[], limits: Partial<QuarantineLimits> = {}) {
  const kept: Buffer[] = [];
  const lookedUpIn: number[] = [];
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const services = {
    catalog: {
      sdk: async () => ({ settings: { keepRejects: true } }),
      findSchema: async () => (lookedUpIn.push(turns), null),
    },
    queue: { publishAll: async (messages: readonly Buffer[]) => void kept.push(...messages) },
    quarantine: createQuarantine({ perMinute: 10_000, bytesPerDay: 64 * MIB, ...limits }),
  } as unknown as Services;
  await keepRejects(services, caller, "batch", rejects);
  isOver = true;
  const events = kept.map((message) => {
    const decoded = decodeMessage(message);
    return decoded.kind === "event" ? decoded.event : assert.fail(decoded.reason);
  });
  return { events, lookedUpIn };
}
const bodiesOf = (events: readonly { readonly payload: Buffer }[]) => events.map(({ payload }) => payload.toString());

describe("Rejects that a workspace keeps", () => {
  it("are read a portion in each turn of the event loop", async () => {
    const { events, lookedUpIn } = await keep(Array.from({ length: 1_000 }, (_, n) => rejected(item(`{"n":${n}}`))));
    assert.equal(events.length, 1_000);
    assert.ok(new Set(lookedUpIn).size >= 15, `${new Set(lookedUpIn).size} turns`);
  });

  it("are not read once there is no room for them", async () => {
    const many = Array.from({ length: 1_000 }, () => rejected(item("{}")));
    for (const limits of [{ perMinute: 3 }, { bytesPerDay: 2_000 }]) {
      const { events, lookedUpIn } = await keep(many, limits);
      assert.ok(events.length > 0 && events.length <= 4, `${events.length} events`);
      assert.ok(lookedUpIn.length <= 64, `${lookedUpIn.length} were read`);
    }
  });

  it("are not parsed where they are too large or too deep: their size, schema and time are kept", async () => {
    const huge = item(`{"a":[${"{},".repeat(MIB)}{}]}`, ',"idempotency_key":"k-1"');
    const bodies = [huge, item(`{"a":${"[".repeat(100)}tru${"]".repeat(100)}}`), "[".repeat(200_000)];
    const { events } = await keep(bodies.map((text) => rejected(text, "payload_too_large")));
    assert.deepEqual(
      bodiesOf(events),
      bodies.map(({ length }) => `{"bytes":${length}}`),
    );
    assert.deepEqual(
      events.map(({ schemaId }) => schemaId),
      ["late", "late", "unknown"],
    );
    assert.equal(events[0]?.timestamp, "2026-01-31T12:00:00Z");
    const [again] = (await keep([rejected(item("{}", ',"idempotency_key":"k-1"'))])).events;
    assert.equal(events[0]?.eventId, again?.eventId, "the same key");
  });

  it("take no room while the queue is away", async () => {
    const quarantine = createQuarantine({ perMinute: 1, bytesPerDay: MIB });
    let isAway = true;
    let kept = 0;
    const publishAll = async (messages: readonly Buffer[]): Promise<void> => {
      if (isAway) throw new AppError("unavailable", "The queue is away.");
      kept += messages.length;
    };
    const services = {
      catalog: { sdk: async () => ({ settings: { keepRejects: true } }), findSchema: async () => null },
      queue: { publishAll },
      quarantine,
    } as unknown as Services;
    await keepRejects(services, caller, "batch", [rejected(item("{}"))]);
    isAway = false;
    await keepRejects(services, caller, "batch", [rejected(item("{}"))]);
    assert.equal(kept, 1);
  });

  it("are kept though another one is no JSON behind its first problem", async () => {
    const broken = item('{"a":"\\ud800","b":tru1}');
    const { events } = await keep([rejected(broken, "validation_failed"), rejected(item("{}"))]);
    assert.deepEqual(bodiesOf(events), [`{"bytes":${broken.length}}`, item("{}")]);
  });
});
