import type { Database } from "../../core/database.js";
import { atOnce } from "../../core/identity/step.js";
import { AppError } from "../../core/errors.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { repeatIn } from "../rules/repeats.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { Change, Repeat } from "../../core/identity/model.js";
import type { TombOf } from "../../core/identity/tombstone.js";
import { createHiddenKeys } from "../rules/hidden-keys.js";
import { prepareBorder } from "./border.js";
import { createErasures } from "./erasure/erasures.js";
import { createHiding } from "./erasure/hiding.js";
import { prepareRecords } from "./erasure/records.js";
import { prepareTombstones } from "./erasure/tombstones.js";
import { createChangeList, createFindChanges, prepareFindChange } from "./changes.js";
import { createMovements, prepareMovements } from "./movements/movements.js";
import { createHistoryIds } from "./history.js";
import { createChangeTraces, createLinks } from "./links.js";
import { prepareLook } from "./snapshot.js";
import { createForbiddenPairReads, createProfileReads } from "./profiles.js";
import { preparePlanWriter, refusedStep } from "./write.js";
import { readSetOf, readSetOfAll } from "../rules/read-set.js";

export interface SqliteGraphDeps {
  readonly database: Database;
  readonly tombOf: TombOf;
}

/** The graph in the embedded store. The tables exist already (`GRAPH_TABLES`); the database stays open after `close`. */
export function createSqliteGraph({ database, tombOf }: SqliteGraphDeps): IdentityGraph {
  const hiddenKeys = createHiddenKeys(tombOf);
  const erasures = { records: prepareRecords(database), tombstones: prepareTombstones(database, tombOf) };
  const hiding = createHiding(erasures.tombstones);
  const look = prepareLook(database, { erasures, hiddenKeys });
  const borderOf = prepareBorder(database);
  const movements = prepareMovements(database);
  const writePlan = preparePlanWriter(database, { hiding, hiddenKeys, tombOf, movements });
  const findChange = prepareFindChange(database);
  let closed = false;

  /** What throws becomes a rejection, so that a caller has one way to fail. */
  const read = async <T>(work: () => T): Promise<T> => {
    if (closed) throw closedError();
    return database.read(work);
  };

  const write = async <T>(work: () => T): Promise<T> => {
    if (closed) throw closedError();
    return database.write(work);
  };
  const changes = createChangeList(database, read);
  const findChanges = createFindChanges(database, read);
  const historyIds = createHistoryIds(database, read);
  /** What an erasure did not rewrite yet is hidden; which are under way is read first, since one may end meanwhile. */
  const hidden = async (workspace: WorkspaceId, find: () => Promise<readonly Change[]>): Promise<readonly Change[]> => {
    const underWay = await read(() => erasures.records.notGone(workspace));
    const found = await find();
    return read(() => hiding.shown(workspace, found, underWay));
  };

  return {
    ready: () => read(() => database.check()),
    read: async (workspace, want) => {
      if (closed) throw closedError();
      return database.readTogether(() => look(workspace, want));
    },
    repeats: async (workspace, sets, { untilNone = false } = {}) => {
      if (closed) throw closedError();
      return database.readTogether(() => {
        const answers: (Repeat | null)[] = [];
        for (
          let size = untilNone ? LOOKED_AT_FIRST : sets.length;
          answers.length < sets.length;
          size *= LOOKED_AT_FIRST
        ) {
          const some = sets.slice(answers.length, answers.length + size);
          const snapshot = look(workspace, readSetOfAll(some.map(readSetOf)));
          for (const keys of some) answers.push(repeatIn(snapshot, keys));
          if (untilNone && answers.includes(null)) break;
        }
        return answers;
      });
    },
    update: (workspace, want, decide, turn = atOnce) =>
      turn(async () => {
        if (closed) throw closedError();
        const written = database.write(() => {
          const snapshot = look(workspace, want);
          let decided = decide(snapshot, null);
          while (decided.border !== undefined) decided = decide(snapshot, borderOf(workspace, decided.border));
          const { plan, result } = decided;
          if (plan !== null) writePlan(workspace, plan, snapshot);
          return result;
        });
        return written.catch((error: unknown) => {
          throw refusedStep(error);
        });
      }),
    ...createProfileReads(database, read),
    links: createLinks(database, read),
    ...createChangeTraces(database, read),
    ...createForbiddenPairReads(database, read),
    ...createErasures({ database, ...erasures, tombOf, read, write }),
    ...createMovements(database, movements, { read, write }),
    findChange: (workspace, changeId) =>
      read(() => {
        const change = findChange(workspace, changeId);
        return change === null ? null : hiding.shown(workspace, [change], erasures.records.notGone(workspace))[0]!;
      }),
    changes: (...asked) => hidden(asked[0], () => changes(...asked)),
    findChanges: (...asked) => hidden(asked[0], () => findChanges(...asked)),
    history: (...asked) => hidden(asked[0], async () => findChanges(asked[0], await historyIds(...asked))),
    historyIds,
    close: async () => {
      if (closed) return;
      closed = true;
      // Writes commit in their order, so behind this one nothing of ours is under way; a closed store has nothing left.
      await database.write(() => undefined).catch(() => undefined);
    },
  };
}

/** Of many sets; then as many times so many, so that few are looked at in vain. */
const LOOKED_AT_FIRST = 4;

const closedError = (): AppError => new AppError("unavailable", "The identity graph is closed.");
