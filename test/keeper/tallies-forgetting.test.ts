import assert from "node:assert/strict";
import { silentLog } from "../../app/logger.js";
import { AppError } from "../../core/errors.js";
import { NO_AUDIENCES, type AudienceSet, type StandingTally } from "../../core/audience/audience.js";
import { newId, type EventId, type TallyId, type WorkspaceId } from "../../core/ids.js";
import type { TallyChange } from "../../core/ports/audience-store.js";
import type { ForgetPage } from "../../core/ports/tally-store.js";
import { createTallyTask, createWalks, tendTallies, type TallyDeps } from "../../keeper/tallies.js";

const workspace = newId<WorkspaceId>();

/** Tallies to be forgotten, and in how many pieces each goes. */
function world(count: number, piecesOf: (n: number) => number) {
  const all = Array.from({ length: count }, () => newId<TallyId>());
  let set: AudienceSet = { ...NO_AUDIENCES, version: "1", forgotten: all };
  const pieces = new Map<TallyId, number>();
  let notes = 0;
  const deps = {
    log: silentLog,
    audiences: {
      audiences: async () => set,
      changeTallies: async (_: WorkspaceId, change: (current: AudienceSet) => TallyChange | null) => {
        notes += 1;
        return (set = { ...set, ...change(set) });
      },
    },
    tallies: {
      forget: async (_: WorkspaceId, tallyId: TallyId, { after }: ForgetPage) => {
        const done = (pieces.get(tallyId) ?? 0) + 1;
        assert.equal(after, done === 1 ? null : `${done - 1}`);
        pieces.set(tallyId, done);
        return done < piecesOf(all.indexOf(tallyId)) ? `${done}` : null;
      },
    },
  } as unknown as TallyDeps;
  return { deps, pieces, left: () => set.forgotten.length, notes: () => notes };
}

describe("Tallies that are to be forgotten", () => {
  it("go together where they are small, under one note", async () => {
    const { deps, left, notes } = world(200, () => 1);
    const walks = createWalks();
    let steps = 0;
    for (; await tendTallies(deps, workspace, walks); steps += 1) assert.ok(steps < 200, `${left()} are left`);
    assert.deepEqual([left(), steps, notes()], [0, 10, 10]);
  });

  it("go also beside a workspace whose audiences are damaged, and the log says so once", async () => {
    const { deps, left } = world(50, () => 1);
    const told: unknown[] = [];
    const damaged = newId<WorkspaceId>();
    const task = createTallyTask({
      ...deps,
      log: { ...silentLog, error: (fields) => void told.push(fields["workspace"]) },
      audiences: {
        ...deps.audiences,
        audiences: async (asked) => {
          if (asked === workspace) return deps.audiences.audiences(asked);
          throw new AppError("damaged", "A stored record is damaged: audiences.");
        },
        watching: async ({ after }) => (after === null ? [damaged, workspace] : []),
      },
    });
    for (let n = 0; n < 10; n += 1) await task.step();
    assert.deepEqual([left(), told], [0, [damaged]]);
  });

  it("leave the list also where their rows are damaged, and what is to be counted goes on", async () => {
    const { deps, left } = world(50, () => 1);
    const told: unknown[] = [];
    const set = await deps.audiences.audiences(workspace);
    const [damaged] = set.forgotten;
    const tally = { schemaId: null, where: [], sum: null };
    const filling: StandingTally = { tallyId: newId<TallyId>(), tally, filling: { after: null } };
    await deps.audiences.changeTallies(workspace, () => ({ ...set, tallies: [filling] }));
    const events = { arrivals: async () => ({ events: [], damaged: [], next: null }) };
    const tallies = {
      ...deps.tallies,
      forget: async (...asked: Parameters<typeof deps.tallies.forget>) => {
        if (asked[1] !== damaged) return deps.tallies.forget(...asked);
        throw new AppError("damaged", "A stored record is damaged: tallies.");
      },
    };
    const log = {
      ...silentLog,
      error: (fields: Readonly<Record<string, unknown>>) => void told.push(fields["tallyId"]),
    };
    const walks = createWalks();
    for (let n = 0; n < 4; n += 1) await tendTallies({ ...deps, events, tallies, log }, workspace, walks);
    const after = await deps.audiences.audiences(workspace);
    assert.deepEqual([left(), told, after.tallies], [0, [damaged], [{ ...filling, filling: null }]]);
  });

  it("go piece by piece where they are large, each from where it stands", async () => {
    const { deps, pieces, left, notes } = world(4, (n) => (n === 1 ? 5 : 1));
    const walks = createWalks();
    await tendTallies(deps, workspace, walks);
    assert.deepEqual([[...pieces.values()], left(), notes()], [[1, 1], 3, 1]);
    while (await tendTallies(deps, workspace, walks));
    assert.deepEqual([[...pieces.values()], left(), notes()], [[1, 5, 1, 1], 0, 2]);
  });

  it("leave nothing behind in memory where another process ends them, or they go before they are filled", async () => {
    const walks = createWalks();
    const [first, second, third] = [newId<TallyId>(), newId<TallyId>(), newId<TallyId>()];
    const tally = { schemaId: null, where: null, sum: null } as unknown as StandingTally["tally"];
    let set: AudienceSet = NO_AUDIENCES;
    const place = { receivedAt: 1, eventId: newId<EventId>() };
    const deps = {
      log: silentLog,
      audiences: { audiences: async () => set, changeTallies: async () => undefined },
      events: { arrivals: async () => ({ events: [], damaged: [], next: place }) },
      tallies: { forget: async () => "further" },
    } as unknown as TallyDeps;
    const tended = async (filled: readonly TallyId[], forgotten: readonly TallyId[]) => {
      const tallies = filled.map((tallyId) => ({ tallyId, tally, filling: { after: null } }));
      set = { ...NO_AUDIENCES, tallies, forgotten };
      await tendTallies(deps, workspace, walks);
      const walk = walks.get(workspace);
      return walk === undefined ? null : [[...walk.filled.keys()], [...walk.forgotten.keys()]];
    };
    assert.deepEqual(await tended([first, second], []), [[first, second], []]);
    assert.deepEqual(await tended([second], [first]), [[second], [first]]);
    assert.deepEqual(await tended([], [third]), [[], [third]]);
    assert.equal(await tended([], []), null);
  });
});
