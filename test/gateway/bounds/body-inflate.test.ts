import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { gzipSync } from "node:zlib";
import { AppError } from "../../../core/errors.js";
import { createByteBudget } from "../../../gateway/body/budget.js";
import { inflate, isGzip } from "../../../gateway/body/inflate.js";
import { countInflated } from "../../../gateway/body/read.js";
import { isAppError } from "../../support/errors.js";

const MIB = 1_048_576;
const digest = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

describe("A gzip body", () => {
  it("is inflated to what it was, from none to exactly the limit", async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from("{}"), randomBytes(300_000), Buffer.alloc(MIB, "a")]) {
      const inflated = await inflate(gzipSync(bytes), { bytesMax: Math.max(1, bytes.length) });
      assert.ok(inflated.kind === "inflated");
      assert.equal(digest(inflated.bytes), digest(bytes));
    }
  });

  it("of several members is inflated as one", async () => {
    const inflated = await inflate(Buffer.concat([gzipSync("[1,"), gzipSync("2]")]), { bytesMax: 10 });
    assert.deepEqual(inflated, { kind: "inflated", bytes: Buffer.from("[1,2]") });
  });

  it("is given up at the limit: of a bomb of 64 MiB at most one part more comes out", async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MIB));
    let taken = 0;
    const took = (bytes: number): void => void (taken += bytes);
    assert.deepEqual(await inflate(bomb, { bytesMax: MIB, took }), { kind: "too_large" });
    assert.ok(taken <= MIB);
  });

  it("that is none, ends early or has a wrong checksum is broken", async () => {
    const sound = gzipSync(randomBytes(100_000));
    const changed = Buffer.from(sound);
    changed[changed.length - 6]! ^= 1;
    for (const bytes of [
      Buffer.from("no gzip"),
      Buffer.from([0x1f, 0x8b]),
      Buffer.alloc(0),
      sound.subarray(0, -1),
      changed,
    ])
      assert.deepEqual(await inflate(bytes, { bytesMax: MIB }), { kind: "broken" }, bytes.toString("hex", 0, 8));
  });

  it("stops where the one who is told of its bytes throws", async () => {
    const full = new AppError("unavailable", "full");
    const took = (): never => {
      throw full;
    };
    await assert.rejects(inflate(gzipSync("a"), { bytesMax: 10, took }), isAppError("unavailable"));
  });

  it("lets the event loop turn while it is inflated", async () => {
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    turn();
    await inflate(gzipSync(randomBytes(4 * MIB)), { bytesMax: 4 * MIB });
    isOver = true;
    assert.ok(turns >= 32, `${turns} turns`);
  });

  it("is known by its first two bytes", () => {
    assert.ok(isGzip(gzipSync("")));
    assert.ok(!isGzip(Buffer.from("{}")) && !isGzip(Buffer.alloc(0)));
  });
});

describe("The bytes of bodies", () => {
  const open = () =>
    createByteBudget({
      bytesMax: 100,
      ownerBytesMax: 60,
      comingBytesMax: 30,
      refusal: (isOwn) => new AppError(isOwn ? "rate_limited" : "unavailable", "full"),
    });

  it("fill the share of their owner, then that of all, and are free again at the end", () => {
    const budget = open();
    const [first, second, other] = [budget.open("a"), budget.open("a"), budget.open("b")];
    first.add(40);
    second.add(20);
    assert.throws(() => second.add(1), isAppError("rate_limited"));
    assert.throws(() => other.add(41), isAppError("unavailable"));
    other.add(40);
    first.release();
    first.release();
    second.add(40);
    second.release();
    other.release();
    budget.open("c").add(60);
    assert.throws(() => budget.open("c").add(1), isAppError("rate_limited"));
  });

  it("that are still coming fill a smaller share of their owner, and leave it when they are whole or released", () => {
    const budget = open();
    const [first, second, third] = [budget.open("a"), budget.open("a"), budget.open("a")];
    first.came(20);
    second.came(10);
    assert.throws(() => third.came(1), isAppError("rate_limited"));
    budget.open("b").came(30);
    second.release();
    third.came(10);
    first.add(5);
    second.came(20);
    assert.throws(() => second.came(1), isAppError("rate_limited"));
    assert.throws(() => budget.open("c").came(16), isAppError("unavailable"));
  });

  it("counts what comes out of it, but nothing of a small one that stays small", () => {
    const counts = (length: number, parts: readonly number[]): readonly number[] => {
      const counted: number[] = [];
      const count = countInflated({ headers: { "content-length": `${length}` } } as IncomingMessage, (bytes) => {
        counted.push(bytes);
      });
      for (const part of parts) count(part);
      return counted;
    };
    assert.deepEqual(counts(300, [4_096]), []);
    assert.deepEqual(counts(300, [4_000, 97, 10]), [4_097, 10]);
    assert.deepEqual(counts(5_000, [10, 20]), [10, 20]);
  });
});
