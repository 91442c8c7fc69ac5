import assert from "node:assert/strict";
import { replayLetters } from "../../commands/letters/replay.js";
import { AppError } from "../../core/errors.js";
import { encodeMessage } from "../../core/event/message.js";
import type { DeadLetterId } from "../../core/ids.js";
import { aDeadLetter, anEvent } from "../support/builders.js";
import { isAppError } from "../support/errors.js";
import { aWorkspace } from "../support/identity/fixtures.js";

/** As many as are read together. */
const PORTION = 8;

describe("A replay of dead letters that must leave some to the next", () => {
  const workspace = aWorkspace();
  const letters = Array.from({ length: 20 }, (_, n) =>
    aDeadLetter({ workspace, at: n, message: encodeMessage(anEvent({ workspace })) }),
  );
  const { at, deadLetterId } = letters[PORTION - 1]!;
  let queued: number;
  const services = {
    limits: { payloadBytesMax: 1_000 },
    erasures: { hasErasures: async () => false },
    queue: {
      publishAll: async (messages: readonly Buffer[]) => {
        queued += messages.length;
      },
    },
    events: {
      find: async () => null,
      findDeadLetter: async (_: unknown, id: DeadLetterId) => letters.find((one) => one.deadLetterId === id) ?? null,
      noteReplay: async () => {},
      openLetters: async (_: unknown, { after, limit }: { after: { at: number } | null; limit: number }) =>
        letters.filter((one) => one.at > (after?.at ?? -1)).slice(0, limit),
      countOpenLetters: async (_: unknown, { after }: { after: { at: number } }) =>
        letters.filter((one) => one.at > after.at).length,
    },
  } as unknown as Parameters<typeof replayLetters>[0];

  /** `taking` stands for each portion's bytes, and answers how many times these were taken before. */
  const replay = async (taking: (before: number) => void, deadLetterIds: readonly DeadLetterId[] | null = null) => {
    let [taken, given] = [0, 0];
    const takeBytes = async () => {
      taking(taken);
      taken += 1;
      return false;
    };
    const giveBack = () => void (given += 1);
    const selection = { deadLetterIds, reason: null, before: null, after: null };
    try {
      return await replayLetters(services, { workspace, now: 0 }, selection, { takeBytes, giveBack, dryRun: false });
    } finally {
      assert.equal(given, taken, "it holds bytes no longer");
    }
  };
  const refusedFrom = (times: number) => (before: number) => {
    if (before >= times) throw new AppError("rate_limited", "There is no room.");
  };
  const one = { replayed: PORTION, skipped: [], remaining: letters.length - PORTION, last: { at, deadLetterId } };

  beforeEach(() => {
    queued = 0;
  });

  it("comes to all of them where there is room and time", async () => {
    const { replayed, remaining, last } = await replay(() => {});
    assert.deepEqual([replayed, remaining, last, queued], [letters.length, 0, null, letters.length]);
  });

  it("ends with what remains where a later portion has no room", async () => {
    assert.deepEqual(await replay(refusedFrom(1)), one);
    assert.equal(queued, PORTION);
  });

  it("is refused where already the first has no room, and where a later one of named letters has none", async () => {
    await assert.rejects(replay(refusedFrom(0)), isAppError("rate_limited"));
    assert.equal(queued, 0);
    const ids = letters.map((letter) => letter.deadLetterId);
    await assert.rejects(replay(refusedFrom(1), ids), isAppError("rate_limited"));
    assert.equal(queued, PORTION);
  });

  it("ends with what remains after ten seconds", async () => {
    const now = performance.now.bind(performance);
    let ms = 0;
    performance.now = () => ms;
    try {
      assert.deepEqual(await replay(() => (ms += 10_000)), one);
      ms = 0;
      assert.equal((await replay(() => (ms += 1_000))).replayed, letters.length);
    } finally {
      performance.now = now;
    }
  });
});
