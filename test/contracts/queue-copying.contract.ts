import assert from "node:assert/strict";
import type { MessageRow, QueueCopying } from "../../core/ports/copying.js";
import type { Contract } from "../support/contract.js";
import { soon } from "../support/eventually.js";

const MB = 1_024 ** 2;

export const queueCopyingContract: Contract<QueueCopying> = {
  "answers all that was loaded, in portions that end where their messages reach 8 MB, and keeps it": async ({
    port,
  }) => {
    const rows = Array.from({ length: 20 }, (_, n): MessageRow => {
      const counts = { attempts: n, failedAt: n === 0 ? null : 1_772_359_200_000 + n, crashes: n % 2 };
      return { message: Buffer.alloc(MB, n + 1), ...counts };
    });
    await port.load(rows);
    const found: MessageRow[] = [];
    let hasTurned = false;
    setImmediate(() => (hasTurned = true));
    for await (const portion of port.messages()) {
      assert.ok(hasTurned, "the event loop has not turned");
      hasTurned = false;
      setImmediate(() => (hasTurned = true));
      const ahead = portion.slice(0, -1).reduce((bytes, { message }) => bytes + message.length, 0);
      assert.ok(ahead < 8 * MB, `${portion.length} messages in one portion`);
      found.push(...portion);
    }
    assert.deepEqual(found, rows);
    await soon(async () => assert.equal(await port.count(), rows.length));
    await port.clear();
    await soon(async () => assert.equal(await port.count(), 0));
  },

  "finds all of them again behind a reading that was ended early": async ({ port }) => {
    const message = Buffer.from("one");
    await port.load(Array.from({ length: 250 }, () => ({ message, attempts: 0, failedAt: null, crashes: 0 })));
    for (let reading = 0; reading < 3; reading += 1) for await (const _ of port.messages()) break;
    let rows = 0;
    for await (const portion of port.messages()) rows += portion.length;
    assert.equal(rows, 250);
    await port.clear();
  },
};
