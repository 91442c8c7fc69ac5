import type { Backends } from "../../../app/backends.js";
import type { EventId } from "../../../core/ids.js";
import type { FoldSteps } from "../../../store/fold-by-pending.js";

/** The steps of a message and of an identify, each a call of a port. `take`: the worker has it; `settle`: it says what became of it. On servers a fold has steps of its own. */
export type Step =
  | ("publish" | "publishAll" | "take" | "insert" | "link" | "fold" | keyof FoldSteps | "bury" | "settle")
  /** Of an erasure. `advance`: the keeper notes how far it is. */
  | ("erase" | "advance" | "drop" | "removeFacets" | "purge")
  /** Of a replay and of a backfill. */
  | ("note" | "saveBackfill")
  /** Of an import: its beginning and its end; what it stores. */
  | ("setImporting" | "putSchema" | "saveFacets")
  /** Of audiences. */
  | ("markUids" | "clearMarks" | "claimSeat" | "saveSeat" | "appendFeed" | "saveAudiences");

/** Before the step; all written and no COMMIT yet; COMMIT returned and nobody told; after the step. */
export const EMBEDDED_MOMENTS = ["before", "uncommitted", "committed", "after"] as const;
/** A server commits where nobody here sees it: `during` is when it was asked and has not answered. */
export const SERVERS_MOMENTS = ["before", "during", "after"] as const;
export type Moment = (typeof EMBEDDED_MOMENTS | typeof SERVERS_MOMENTS)[number];

/** Where a process is to kill itself: at the `call`-th time (from 1) of a step, or whenever it is to store one event. */
export type KillPoint =
  | { readonly kind: "step"; readonly step: Step; readonly moment: Moment; readonly call: number }
  | { readonly kind: "event"; readonly eventId: EventId };

/** Puts a point between the product's parts, so that the product itself knows nothing of it. */
export function createKiller(die: () => void) {
  let point: KillPoint | null = null;
  let calls = 0;
  let atCommit: "uncommitted" | "committed" | null = null;

  /** Answers what to do when the step is over. */
  const enter = (step: Step): (() => void) => {
    if (point?.kind !== "step" || point.step !== step) return GO_ON;
    calls += 1;
    if (calls !== point.call) return GO_ON;
    const { moment } = point;
    if (moment === "before") die();
    // By then the request is written, and no answer can have been read.
    if (moment === "during") setImmediate(die);
    // The step's write is in the next group that is committed: whoever waits is in it.
    if (moment === "uncommitted" || moment === "committed") atCommit = moment;
    return moment === "after" ? die : GO_ON;
  };
  const around = async <T>(step: Step, call: () => Promise<T>): Promise<T> => {
    const leave = enter(step);
    const answer = await call();
    leave();
    return answer;
  };
  const isFatal = (eventId: EventId): boolean => point?.kind === "event" && point.eventId === eventId;

  return {
    /** From now on the calls of this point's step are counted. */
    aim: (aimed: KillPoint): void => {
      point = aimed;
      calls = 0;
    },
    commit: (commit: () => void): void => {
      if (atCommit === "uncommitted") die();
      commit();
      if (atCommit === "committed") die();
    },
    /** The steps of a fold, where it has several. */
    aroundFold: around,
    wrap: ({
      queue,
      events,
      profiles,
      graph,
      catalog,
      marks,
      seats,
      audiences,
      purge,
      ...others
    }: Backends): Backends => ({
      ...others,
      queue: {
        ...queue,
        publish: (message) => around("publish", () => queue.publish(message)),
        publishAll: (messages) => around("publishAll", () => queue.publishAll(messages)),
        consume: (batchMax, handler) =>
          queue.consume(batchMax, async (batch) => {
            enter("take")();
            const outcomes = await handler(batch);
            const leave = enter("settle");
            // The queue settles once it has the outcomes, and tells nobody when.
            if (leave !== GO_ON) setTimeout(leave, SETTLED_MS);
            return outcomes;
          }),
      },
      events: {
        ...events,
        insert: (workspace, inserted) => {
          if (inserted.some(({ eventId }) => isFatal(eventId))) die();
          return around("insert", () => events.insert(workspace, inserted));
        },
        fold: (workspace, folds) => around("fold", () => events.fold(workspace, folds)),
        bury: (letter) => around("bury", () => events.bury(letter)),
        drop: (workspace, ids, reason) => around("drop", () => events.drop(workspace, ids, reason)),
        noteReplay: (...of) => around("note", () => events.noteReplay(...of)),
      },
      catalog: {
        ...catalog,
        setImporting: (...of) => around("setImporting", () => catalog.setImporting(...of)),
        putSchema: (schema) => around("putSchema", () => catalog.putSchema(schema)),
        saveBackfill: (backfill) => around("saveBackfill", () => catalog.saveBackfill(backfill)),
      },
      profiles: {
        ...profiles,
        save: (...of) => around("saveFacets", () => profiles.save(...of)),
        remove: (workspace, uids) => around("removeFacets", () => profiles.remove(workspace, uids)),
      },
      marks: {
        ...marks,
        mark: (...of) => around("markUids", () => marks.mark(...of)),
        clear: (of) => around("clearMarks", () => marks.clear(of)),
      },
      seats: {
        ...seats,
        claim: (...of) => around("claimSeat", () => seats.claim(...of)),
        save: (...of) => around("saveSeat", () => seats.save(...of)),
        append: (...of) => around("appendFeed", () => seats.append(...of)),
      },
      audiences: {
        ...audiences,
        changeAudiences: (...of) => around("saveAudiences", () => audiences.changeAudiences(...of)),
      },
      purge: () => around("purge", purge),
      graph: {
        ...graph,
        update: (workspace, want, decide) => around("link", () => graph.update(workspace, want, decide)),
        erase: (workspace, request) => around("erase", () => graph.erase(workspace, request)),
        advanceErasure: (...asked) => around("advance", () => graph.advanceErasure(...asked)),
      },
    }),
  };
}

const GO_ON = (): void => {};
const SETTLED_MS = 100;
