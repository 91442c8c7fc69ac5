import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backends } from "../../../app/backends.js";
import type { DeadLetterId, WorkspaceId } from "../../../core/ids.js";
import { aDeadLetter } from "../../support/builders.js";
import { eventually } from "../../support/eventually.js";
import { textAt, useApp, type Answer, type TestWorkspace } from "../../support/service/app.js";

const MIB = 1_048_576;
const REPLAY = "/v1/dead-letters/replay?dry_run=true";

for (const [size, payloadBytesMax] of [
  ["small ones", 262_144],
  ["as large as a payload may ever be", 15 * MIB],
] as const)
  describe(`Dead letters in memory (${size})`, () => {
    let [reading, most, reads, slowMs] = [0, 0, 0, 5];
    /** What a store reads is in memory from its request on, and each letter may be as large as a payload may be. */
    const counting = async <T>(letters: number, read: () => Promise<T>): Promise<T> => {
      reads += 1;
      reading += letters * payloadBytesMax;
      most = Math.max(most, reading);
      try {
        await sleep(slowMs);
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
      [reading, most, reads, slowMs] = [0, 0, 0, 5];
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

    it("other reads of the workspace begin between two portions of a replay", async () => {
      for (const body of [{}, { dead_letter_ids: ids }]) {
        slowMs = 50;
        let isReplayed = false;
        const replaying = workspace.send("POST", REPLAY, body).finally(() => (isReplayed = true));
        await eventually("it reads", () => reading > 0);
        const { status, text } = await workspace.send("GET", "/v1/dead-letters?limit=1");
        assert.equal(status, 200, text);
        assert.ok(!isReplayed || payloadBytesMax < MIB, "it was read before the replay ended");
        assert.equal((await replaying).status, 200);
      }
    });

    it("a replay ends once its client is gone", async () => {
      slowMs = 100;
      const leaving = new AbortController();
      const headers = { authorization: `Bearer ${await workspace.key("owner")}`, "content-type": "application/json" };
      const replaying = fetch(app().url + REPLAY, { method: "POST", headers, body: "{}", signal: leaving.signal });
      await eventually("it reads", () => reads > 0);
      leaving.abort();
      await assert.rejects(replaying);
      await eventually("it has ended", () => reading === 0);
      const before = reads;
      await sleep(3 * slowMs);
      assert.ok(reads <= before + 1, `${reads - before} further reads`);
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
