import type { WorkspaceId } from "../../core/ids.js";
import type { Mark, MarkStore } from "../../core/ports/mark-store.js";

const PER_READ = 256;
/** Of one workspace, before another one has its turn. */
const PER_TURN = 64;
const AT_ONCE = 64;
/** So many are read in one step when all of them have to wait: in turns, and behind these. */
const TURNS_READ_MAX = 2_048;
const MORE_READ_MAX = 4_096;
/** And in one turn. */
const PASSED_MAX = 1_024;

export interface Taker {
  /** Gets 64 at most. */
  readonly take: (some: readonly Mark[]) => Promise<void>;
  readonly isFull: () => boolean;
  /** Whether any that were taken of the workspace may be looked at now. */
  readonly hasOpen: (workspace: WorkspaceId) => boolean;
  /** Whether the workspace is passed over. */
  readonly isParked: (workspace: WorkspaceId) => boolean;
}

export interface MarkWalk {
  /** Takes a step. Answers whether all were seen. */
  readonly step: (taker: Taker) => Promise<boolean>;
  /** Begins again with the oldest marks, in every workspace. */
  readonly rewind: () => void;
}

/**
 * Walks through the marks of all workspaces. They take turns, each with some of its oldest marks, so that the many of one hold up no other;
 * what room is left then goes to those that have more.
 */
export function createMarkWalk(marks: Pick<MarkStore, "marks">): MarkWalk {
  /** Whose turn was last; null: a round begins. */
  let last: WorkspaceId | null = null;
  /** Of those that have more: how far they were seen. */
  const places = new Map<WorkspaceId, Mark>();

  const step: MarkWalk["step"] = async ({ take, isFull, hasOpen, isParked }) => {
    /** Answers how many there was room for. */
    const takeSome = async (some: readonly Mark[], isEnough = isFull): Promise<number> => {
      let at = 0;
      for (; at < some.length && !isEnough(); at += AT_ONCE) await take(some.slice(at, at + AT_ONCE));
      return Math.min(at, some.length);
    };

    /** Takes more of the workspace, which comes last among those that have more now. */
    const goOn = async (workspace: WorkspaceId, place: Mark, limit: number, isEnough = isFull): Promise<void> => {
      places.delete(workspace);
      const page = await marks.marks(limit, place);
      const its = page.filter((mark) => mark.workspace === workspace);
      const taken = await takeSome(its, isEnough);
      if (its.length === limit || taken < its.length) places.set(workspace, its[taken - 1] ?? place);
    };

    /** Marks that have to wait are no turn: it goes on behind them, also where others filled the step. Answers how many were read. */
    const passWaiting = async (workspace: WorkspaceId): Promise<number> => {
      const isEnough = (): boolean => hasOpen(workspace) || isParked(workspace);
      let read = 0;
      for (; read < PASSED_MAX && !isEnough(); read += PER_READ) {
        const place = places.get(workspace);
        if (place === undefined) break;
        await goOn(workspace, place, PER_READ, isEnough);
      }
      return read;
    };

    /** Answers whether all had their turn. */
    const takeTurns = async (): Promise<boolean> => {
      for (let read = 0; !isFull() && read < TURNS_READ_MAX; read += PER_READ) {
        const page = await marks.marks(PER_READ, last);
        const isEnd = page.length < PER_READ;
        // Where these are all there are, there is room for them.
        const perTurn = isEnd && last === null ? PER_READ : PER_TURN;
        const turns = turnsOf(page).filter(({ workspace }) => !isParked(workspace));
        const given = turns.flatMap(({ its }) => its.slice(0, perTurn));
        const next = given[await takeSome(given)]?.workspace;
        for (const { workspace, its } of turns) {
          // For whom there was no room, is first in the next step.
          if (workspace === next) return false;
          last = workspace;
          const isCut = its.length > perTurn || (!isEnd && workspace === page.at(-1)!.workspace);
          if (isCut) places.set(workspace, later(its.slice(0, perTurn).at(-1)!, places.get(workspace)));
          else places.delete(workspace);
          if (isCut) read += await passWaiting(workspace);
        }
        last = isEnd ? null : page.at(-1)!.workspace;
        if (isEnd) return true;
      }
      return false;
    };

    const takeMore = async (): Promise<void> => {
      for (let read = 0; places.size > 0 && !isFull() && read < MORE_READ_MAX;) {
        const [workspace, place] = places.entries().next().value!;
        const limit = places.size === 1 ? PER_READ : PER_TURN;
        read += limit;
        if (isParked(workspace)) places.delete(workspace);
        else await goOn(workspace, place, limit);
      }
    };

    const isEnd = await takeTurns();
    await takeMore();
    return isEnd && places.size === 0;
  };
  return {
    step,
    // Who has more room next stays as it is.
    rewind: () => {
      for (const [workspace, place] of places) places.set(workspace, { ...place, since: 0 });
    },
  };
}

interface Turn {
  readonly workspace: WorkspaceId;
  readonly its: Mark[];
}

/** Those of one workspace stand together. */
function turnsOf(page: readonly Mark[]): readonly Turn[] {
  const turns: Turn[] = [];
  for (const mark of page) {
    const turn = turns.at(-1);
    if (turn?.workspace === mark.workspace) turn.its.push(mark);
    else turns.push({ workspace: mark.workspace, its: [mark] });
  }
  return turns;
}

const later = (one: Mark, other: Mark | undefined): Mark =>
  other === undefined || one.since > other.since || (one.since === other.since && one.uid > other.uid) ? one : other;
