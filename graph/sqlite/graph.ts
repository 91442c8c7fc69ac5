import type { Database } from "../../core/database.js";
import { atOnce } from "../../core/identity/step.js";
import { AppError } from "../../core/errors.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { repeatIn } from "../rules/repeats.js";
import { prepareBorder } from "./border.js";
import { createChangeList, prepareFindChange } from "./changes.js";
import { createHistory } from "./history.js";
import { createChangeTraces, createLinks } from "./links.js";
import { prepareLook } from "./snapshot.js";
import { createForbiddenPairReads, createProfileReads } from "./profiles.js";
import { preparePlanWriter } from "./write.js";
import { readSetOf, readSetOfAll } from "../rules/read-set.js";

/** The graph in the embedded store. The tables exist already (`GRAPH_TABLES`); the database stays open after `close`. */
export function createSqliteGraph({ database }: { readonly database: Database }): IdentityGraph {
  const look = prepareLook(database);
  const borderOf = prepareBorder(database);
  const writePlan = preparePlanWriter(database);
  const findChange = prepareFindChange(database);
  let closed = false;

  /** What throws becomes a rejection, so that a caller has one way to fail. */
  const read = async <T>(work: () => T): Promise<T> => {
    if (closed) throw closedError();
    return database.read(work);
  };

  return {
    ready: () => read(() => database.check()),
    read: async (workspace, want) => {
      if (closed) throw closedError();
      return database.readTogether(() => look(workspace, want));
    },
    repeats: async (workspace, sets) => {
      if (closed) throw closedError();
      return database.readTogether(() => {
        const snapshot = look(workspace, readSetOfAll(sets.map(readSetOf)));
        return sets.map((keys) => repeatIn(snapshot, keys));
      });
    },
    update: (workspace, want, decide, turn = atOnce) =>
      turn(async () => {
        if (closed) throw closedError();
        return database.write(() => {
          const snapshot = look(workspace, want);
          let decided = decide(snapshot, null);
          while (decided.border !== undefined) decided = decide(snapshot, borderOf(workspace, decided.border));
          const { plan, result } = decided;
          if (plan !== null) writePlan(workspace, plan, snapshot);
          return result;
        });
      }),
    ...createProfileReads(database, read),
    links: createLinks(database, read),
    ...createChangeTraces(database, read),
    ...createForbiddenPairReads(database, read),
    findChange: (workspace, changeId) => read(() => findChange(workspace, changeId)),
    changes: createChangeList(database, read),
    history: createHistory(database, read),
    close: async () => {
      if (closed) return;
      closed = true;
      // Writes commit in their order, so behind this one nothing of ours is under way; a closed store has nothing left.
      await database.write(() => undefined).catch(() => undefined);
    },
  };
}

const closedError = (): AppError => new AppError("unavailable", "The identity graph is closed.");
