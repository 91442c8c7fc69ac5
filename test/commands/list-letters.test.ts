import assert from "node:assert/strict";
import { listLetters } from "../../commands/letters/read.js";
import type { DeadLetter, DeadLetterPage, LetterPosition } from "../../core/ports/event-store.js";
import { isOpen } from "../../core/ports/event-store.js";
import { aDeadLetter, aKeyId } from "../support/builders.js";
import { aWorkspace } from "../support/identity/fixtures.js";

describe("A list of dead letters of which few are those that are asked for", () => {
  const workspace = aWorkspace();
  const keyId = aKeyId();
  /** Newest first; all but the last one and one in the middle are of another reason, and open. */
  const letters = Array.from({ length: 25_000 }, (_, n) =>
    aDeadLetter({ workspace, at: 25_000 - n, reason: n === 12_345 || n === 24_999 ? "rejected" : "quarantined" }),
  );
  const replayed = { ...letters[24_999]!, replayed: 1 };
  letters[24_999] = replayed;
  /** With one read of the store, and in how many. */
  let [most, reads] = [0, 0];

  const isBehind = (before: LetterPosition | null) => (one: DeadLetter) => before === null || one.at < before.at;
  const deadLetters = async (_: unknown, { limit, before, downTo, reason, state }: DeadLetterPage) => {
    const looked = letters.filter(isBehind(before)).filter(({ at }) => downTo === undefined || at >= downTo.at);
    const isSought = (one: DeadLetter) =>
      (reason === null || one.reason === reason) && (state === undefined || isOpen(one) === (state === "open"));
    const found = looked.filter(isSought).slice(0, limit);
    [most, reads] = [Math.max(most, found.length < limit ? looked.length : looked.indexOf(found.at(-1)!)), reads + 1];
    return found;
  };
  /** How often the store was asked where a stretch ends. */
  let ends = 0;
  const letterBehind = async (_: unknown, { before }: DeadLetterPage, count: number) => {
    ends += 1;
    return letters.filter(isBehind(before))[count - 1] ?? null;
  };
  const services = {
    limits: { payloadBytesMax: 1_000 },
    erasures: { hasErasures: async () => false },
    events: { deadLetters, letterBehind },
  } as unknown as Parameters<typeof listLetters>[0];

  /** All pages of the list: how many letters each has. */
  const listed = async (asked: Partial<DeadLetterPage>, from: LetterPosition | null = null) => {
    [most, reads] = [0, 0];
    const [found, pages]: [DeadLetter[], number[]] = [[], []];
    for (let before = from; ;) {
      const page = { limit: 10, before, eventId: null, reason: null, ...asked };
      const { letters: some, next } = await listLetters(services, workspace, page);
      found.push(...some);
      pages.push(some.length);
      if (next === null) return { found, pages };
      before = next;
    }
  };

  for (const [name, asked, sought, pages] of [
    ["by key and reason", { keyId, reason: "rejected" }, [letters[12_345]!, replayed], [0, 1, 1]],
    ["by reason and state", { reason: "rejected", state: "replayed" }, [replayed], [0, 0, 1]],
    ["of those that were replayed", { state: "replayed" }, [replayed], [0, 0, 1]],
  ] as const)
    it(`looks at 2,000 with a read and at 10,000 for a page, and finds each once: ${name}`, async () => {
      assert.deepEqual(await listed(asked), { found: sought, pages });
      assert.ok(most <= 2_000 && reads <= 14, `${most} looked at with one of ${reads} reads`);
    });

  it("goes on where a page is full, and ends at the end", async () => {
    const { found, pages } = await listed({ limit: 100, keyId, reason: "quarantined" }, letters[21_998]);
    assert.deepEqual([found.length, pages.length], [3_000, 30]);
    assert.equal(new Set(found).size, found.length);
  });

  it("asks once where a stretch ends, also where it is the last one", async () => {
    const asked = { limit: 100, keyId, reason: "quarantined", eventId: null };
    for (const n of [21_998, 23_500]) {
      ends = 0;
      const page = await listLetters(services, workspace, { ...asked, before: letters[n]! });
      assert.deepEqual([page.letters.length, page.next?.at, ends], [100, letters[n + 100]!.at, 1]);
    }
  });

  it("asks once for what an index answers", async () => {
    assert.deepEqual(await listed({ reason: "rejected" }), { found: [letters[12_345]!, replayed], pages: [2] });
    assert.equal(reads, 1);
  });
});
