import assert from "node:assert/strict";
import type { Backfill } from "../../core/catalog/backfill.js";
import { AppError, type ErrorCode } from "../../core/errors.js";
import type { EventId, SchemaId, WorkspaceId } from "../../core/ids.js";
import type { SchemaArrival } from "../../core/ports/event-store.js";
import { createBackfillTask, type BackfillDeps } from "../../keeper/backfill.js";

describe("Backfills of which one fails", () => {
  let clock: number;
  let running: Map<string, Backfill>;
  /** Workspace and schema -> how their pieces fail. */
  let failing: Map<string, ErrorCode>;
  /** The pieces that were begun, by workspace and schema, and since when. */
  let begun: { readonly of: string; readonly at: number }[];
  let logged: string[];
  let task: ReturnType<typeof createBackfillTask>;

  const begin = (...all: readonly string[]): void => {
    for (const one of all) {
      const backfillId = `b-${String(running.size).padStart(3, "0")}`;
      const [workspace, schemaId] = one.split(" ");
      const walk = { position: null, since: null, coversUntil: 9e15, reserved: null, rev: 1, done: 0, skipped: 0 };
      running.set(backfillId, { workspace, schemaId, backfillId, state: "running", ...walk } as unknown as Backfill);
    }
  };
  const ofSchema = async (workspace: WorkspaceId, schemaId: SchemaId): Promise<readonly SchemaArrival[]> => {
    const of = `${workspace} ${schemaId}`;
    begun.push({ of, at: clock });
    const code = failing.get(of);
    if (code !== undefined) throw new AppError(code, code);
    return [{ eventId: `e-${begun.length}` as EventId, receivedAt: begun.length, facet: "f" } as SchemaArrival];
  };
  beforeEach(() => {
    clock = 0;
    running = new Map();
    failing = new Map();
    [begun, logged] = [[], []];
    const note = (_: object, message: string): void => void logged.push(message);
    task = createBackfillTask({
      catalog: {
        runningBackfills: async ({ limit, after }: { readonly limit: number; readonly after: string | null }) =>
          [...running.values()].filter(({ backfillId }) => backfillId > (after ?? "")).slice(0, limit),
        saveBackfill: async (one: Backfill) => Boolean(running.set(one.backfillId, one)),
        findDataset: async () => ({ unifiedProfile: true }),
      },
      events: { ofSchema },
      queue: {},
      complete: async () => {},
      log: { info: note, warn: note, error: note },
      now: () => 1_000,
      steady: () => clock,
    } as unknown as BackfillDeps);
  });

  /** Steps for so long, each of which takes a tenth of a second, or what it asks for. */
  const stepFor = async (ms: number): Promise<void> => {
    for (const end = clock + ms; clock < end;) {
      const inMs = await task.step();
      clock += Math.max(100, inMs);
    }
  };
  const piecesOf = (of: string): readonly number[] => begun.filter((one) => one.of === of).map(({ at }) => at);

  it("go on without the one whose graph is away, which is tried more and more seldom, until it is back", async () => {
    begin("a x", "b x");
    failing.set("a x", "unavailable");
    await stepFor(200_000);
    const tries = piecesOf("a x");
    assert.deepEqual(
      tries.slice(1).map((at, n) => Math.floor((at - tries[n]!) / 1_000)),
      [1, 2, 4, 8, 16, 32, 60, 60],
    );
    assert.ok(piecesOf("b x").length > 1_900, `${piecesOf("b x").length} pieces`);
    assert.equal(logged.length, tries.length);
    failing.clear();
    await stepFor(100_000);
    assert.ok(piecesOf("a x").length > 100, `${piecesOf("a x").length} pieces`);
    failing.set("a x", "unavailable");
    const before = piecesOf("a x").length;
    await stepFor(2_500);
    assert.equal(piecesOf("a x").length, before + 2);
  });

  it("wait together where a dependency of their workspace is away", async () => {
    begin("a x", "a y", "b x");
    for (const one of ["a x", "a y"]) failing.set(one, "unavailable");
    await stepFor(6_500);
    assert.equal(piecesOf("a x").length + piecesOf("a y").length, 3);
  });

  it("go on without the one that fails for good, and so does another one of its workspace", async () => {
    begin("a x", "a y");
    failing.set("a x", "damaged");
    await stepFor(130_000);
    assert.deepEqual(
      piecesOf("a x").map((at) => Math.floor(at / 10_000)),
      [0, 6, 12],
    );
    assert.ok(piecesOf("a y").length > 1_200, `${piecesOf("a y").length} pieces`);
    assert.deepEqual(new Set(logged), new Set(["a backfill failed, and waits for a minute"]));
  });

  it("go on however many of those before them wait; and none is at rest while one of them waits", async () => {
    begin(...Array.from({ length: 120 }, (_, n) => `a${n} x`), "b x");
    for (let n = 0; n < 120; n++) failing.set(`a${n} x`, "damaged");
    await stepFor(20_000);
    assert.ok(piecesOf("b x").length > 50, `${piecesOf("b x").length} pieces`);
    running.delete("b-120");
    assert.ok((await task.step()) > 0);
    assert.equal(task.isWaiting?.(), true);
    running.clear();
    assert.ok((await task.step()) > 0);
    assert.equal(task.isWaiting?.(), false);
  });
});
