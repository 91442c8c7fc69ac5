import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backends } from "../../../app/backends.js";
import type { DeadLetterId, WorkspaceId } from "../../../core/ids.js";
import { aDeadLetter } from "../../support/builders.js";
import { textAt, useApp, type Answer, type TestWorkspace } from "../../support/service/app.js";

const MIB = 1_048_576;
const REPLAY = "/v1/dead-letters/replay?dry_run=true";

for (const [size, payloadBytesMax] of [
  ["small ones", 262_144],
  ["as large as a payload may ever be", 15 * MIB],
] as const)
  describe(`Dead letters in memory (${size})`, () => {
    let [reading, most] = [0, 0];
    /** What a store reads is in memory from its request on, and each letter may be as large as a payload may be. */
    const counting = async <T>(letters: number, read: () => Promise<T>): Promise<T> => {
      reading += letters * payloadBytesMax;
      most = Math.max(most, reading);
      try {
        await sleep(5);
        return await read();
      } finally {
        reading -= letters * payloadBytesMax;
      }
    };
    const wrap = (backends: Backends): Backends => {
      const { events } = backends;
      return {
        ...backends,
        events: {
          ...events,
          deadLetters: (workspace, page) => counting(page.limit, () => events.deadLetters(workspace, page)),
          openLetters: (workspace, page) => counting(page.limit, () => events.openLetters(workspace, page)),
          findDeadLetter: (...given) => counting(1, () => events.findDeadLetter(...given)),
        },
      };
    };
    const app = useApp({ PAYLOAD_BYTES_MAX: String(payloadBytesMax) }, { wrap });
    let workspace: TestWorkspace;
    let ids: readonly DeadLetterId[];
    beforeEach(async () => {
      workspace = await app().workspace();
      const letters = Array.from({ length: 16 }, (_, n) =>
        aDeadLetter({ workspace: workspace.id as WorkspaceId, at: n + 1 }),
      );
      for (const letter of letters) await app().service.backends.events.bury(letter);
      ids = letters.map(({ deadLetterId }) => deadLetterId);
      [reading, most] = [0, 0];
    });
    const times = (count: number, ask: () => Promise<Answer>): Promise<readonly Answer[]> =>
      Promise.all(Array.from({ length: count }, ask));

    it("a replay reads a few at a time, of all and of those that are named", async () => {
      for (const body of [{}, { dead_letter_ids: ids }]) {
        const { status, body: told, text } = await workspace.send("POST", REPLAY, body);
        assert.equal(status, 200, text);
        assert.equal((told["skipped"] as readonly unknown[]).length, 16);
      }
      assert.ok(most <= Math.max(2 * MIB, payloadBytesMax), `${most} bytes at once`);
    });

    it("replays of a workspace wait for each other", async () => {
      const answers = await times(20, () => workspace.send("POST", REPLAY, {}));
      const refused = answers.filter(({ status }) => status !== 200);
      for (const { status, body } of refused) {
        assert.equal(status, 429);
        assert.match(
          textAt(body, "detail"),
          /replays of this workspace are under way|large responses of this workspace/,
        );
      }
      assert.ok(refused.length < 20);
      assert.ok(most <= Math.max(4 * MIB, payloadBytesMax), `${most} bytes at once`);
    });

    it("a list reads no more of them than it counts", async () => {
      const { status, text } = await workspace.send("GET", "/v1/dead-letters?limit=25");
      assert.equal(status, 200, text);
      assert.ok(most <= Math.max(2 * MIB, payloadBytesMax), `${most} bytes at once`);
    });

    it("those that are deleted are read a few at a time", async () => {
      const all = ids.values();
      const answers = await times(16, () => workspace.send("DELETE", `/v1/dead-letters/${all.next().value}`));
      for (const { status, text } of answers) assert.equal(status, 409, text);
      assert.ok(most <= Math.max(2.5 * MIB, payloadBytesMax), `${most} bytes at once`);
    });
  });
