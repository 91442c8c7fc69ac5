import type { LookWithBytes, TakeBytes } from "../../commands/services.js";
import { AppError } from "../../core/errors.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { Part, TakeTurn } from "../route.js";

const MIB = 1_048_576;
/** Of a workspace that makes no more than these, few answers are being made: each takes 64 KB at least, where it may be large. */
const FEW_BYTES = 262_144;
/** Of one workspace, about so much is read and made in a turn of the event loop. */
const TURN_BYTES = 262_144;
/** What is read of nothing takes its time too. */
const READ_BYTES = 4_096;
/** What items have of which nobody knows is an average: so much of it is what was told last. */
const NEWS = 1 / 8;
/** No less where they may have more than a turn gives: so only four such parts are read in one turn. */
const UNKNOWN_BYTES = 65_536;

/** What becomes of a read whose client is gone: nobody gets this answer, and it is no failure. */
export const CLIENT_LEFT = new AppError("unavailable", "The client is gone.");

export interface BytesInFlightOptions {
  /** Of all answers that are being made or sent, and of those of one workspace. */
  readonly bytesMax?: number;
  readonly workspaceBytesMax?: number;
  /** Of those of one workspace that are being made: the larger they are, the fewer at once. One alone may be larger. */
  readonly makingBytesMax?: number;
  /** How long an answer waits for its turn. */
  readonly waitMs?: number;
}

/** What the answer to one request holds. */
export interface Share {
  /**
   * To be called before the bytes are read. The first call waits for its turn; a further one is refused at once when there is no room,
   * so that nobody waits while holding. Throws `rate_limited` where the workspace's own answers fill its share, else `unavailable`.
   * Answers whether others had to be done first.
   */
  readonly take: TakeBytes;
  readonly look: LookWithBytes;
  /** To be called behind `take`. */
  readonly takeTurn: TakeTurn;
  /**
   * To be called behind `take` by who makes the answer a little at a time, for seconds: it holds what it took, and the others of its
   * workspace need not wait until it is made.
   */
  readonly linger: () => void;
  /** The answer is made, and has so many bytes. */
  readonly settle: (bytes: number) => void;
  /** Nobody waits for it any more: what it has not yet is refused with `CLIENT_LEFT`. */
  readonly leave: () => void;
  /** Before what was read is read anew: the next `take` waits for its turn again. */
  readonly giveBack: () => void;
  /** The client took it, or never will: parts of the work that still run are given nothing, because nobody would give it back. */
  readonly release: () => void;
}

export interface BytesInFlight {
  open(workspace: WorkspaceId): Share;
}

interface Waiting {
  readonly bytes: number;
  readonly start: () => void;
}

/** A workspace is in here while it has answers in flight, and no longer. */
interface Line {
  held: number;
  making: number;
  readonly waiting: Set<Waiting>;
  /** What may still be read in this turn of the event loop, and who waits for the next. */
  turnLeft: number;
  readonly turns: { readonly bytesOf: () => number; readonly start: () => void }[];
  /** What an item of a list has of which nobody knows; a list of which nothing was told has as much as it may. */
  readonly itemBytes: Map<string, number>;
}

/** The first in line is asked when its turn comes: by then those before it have told what they had. */
function giveTurns(line: Line): void {
  for (let first = line.turns[0]; first !== undefined; first = line.turns[0]) {
    const bytes = Math.min(TURN_BYTES, Math.max(READ_BYTES, first.bytesOf()));
    if (bytes > line.turnLeft) return;
    if (line.turnLeft === TURN_BYTES)
      setImmediate(() => {
        line.turnLeft = TURN_BYTES;
        giveTurns(line);
      });
    line.turnLeft -= bytes;
    line.turns.shift();
    first.start();
  }
}

function likely({ itemBytes }: Line, most: number, { list, items }: NonNullable<Part["of"]>): number {
  const likely = Math.min(most, items * (itemBytes.get(list) ?? most));
  return most > TURN_BYTES ? Math.max(UNKNOWN_BYTES, likely) : likely;
}

function refusal(isOfOthers: boolean): AppError {
  const [code, detail] = isOfOthers
    ? (["unavailable", "Too many large responses are in progress."] as const)
    : (["rate_limited", "Too many large responses of this workspace are in progress. Read them first."] as const);
  return new AppError(code, detail, { headers: { "Retry-After": "2" } });
}

/** Bounds what the answers of a process take of its memory. Workspaces take turns, and one alone leaves room for the others. */
export function createBytesInFlight({
  bytesMax = 64 * MIB,
  workspaceBytesMax = 16 * MIB,
  makingBytesMax = 2.5 * MIB,
  waitMs = 5_000,
}: BytesInFlightOptions = {}): BytesInFlight {
  /** In the order of their turns. */
  const lines = new Map<WorkspaceId, Line>();
  let held = 0;

  const lineOf = (workspace: WorkspaceId): Line => {
    const line = lines.get(workspace) ?? {
      held: 0,
      making: 0,
      waiting: new Set(),
      turnLeft: TURN_BYTES,
      turns: [],
      itemBytes: new Map(),
    };
    lines.set(workspace, line);
    return line;
  };
  const toEnd = (workspace: WorkspaceId, line: Line): void => {
    lines.delete(workspace);
    lines.set(workspace, line);
  };
  const fits = (line: Line, bytes: number): boolean => line.held + bytes <= workspaceBytesMax;
  const mayBegin = (line: Line, bytes: number): boolean =>
    fits(line, bytes) && (line.making === 0 || line.making + bytes <= makingBytesMax);
  const add = (line: Line, bytes: number): void => {
    held += bytes;
    line.held += bytes;
  };
  const next = (): void => {
    for (const [workspace, line] of lines) {
      const [first] = line.waiting;
      if (first === undefined) {
        if (line.held === 0) lines.delete(workspace);
      } else if (mayBegin(line, first.bytes)) {
        // It keeps its turn: small answers of others would take all room that becomes free.
        if (held + first.bytes > bytesMax) return;
        toEnd(workspace, line);
        line.waiting.delete(first);
        add(line, first.bytes);
        line.making += first.bytes;
        first.start();
      }
    }
  };
  const wait = (
    workspace: WorkspaceId,
    bytes: number,
    { ms, onLeave }: { readonly ms: number; readonly onLeave: (leave: () => void) => void },
  ): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const line = lineOf(workspace);
      // Who begins to wait is behind those who wait already.
      if (line.waiting.size === 0) toEnd(workspace, line);
      let hasWaited = false;
      const end = (error: AppError): void => {
        clearTimeout(timer);
        if (!line.waiting.delete(one)) return;
        reject(error);
        next();
      };
      const timer = setTimeout(() => end(refusal(mayBegin(line, bytes))), ms);
      const start = (): void => {
        clearTimeout(timer);
        // In the next turn of the event loop: on the embedded store one answer is made within a turn, and this may be its end.
        setImmediate(resolve, hasWaited);
      };
      const one: Waiting = { bytes, start };
      line.waiting.add(one);
      onLeave(() => end(CLIENT_LEFT));
      next();
      hasWaited = true;
    });

  return {
    open: (workspace) => {
      let own = 0;
      let making = 0;
      let isLeft = false;
      let leave: (() => void) | null = null;
      const hold = (bytes: number): void => {
        add(lineOf(workspace), bytes - own);
        own = bytes;
        next();
      };
      const made = (bytes: number): void => {
        lineOf(workspace).making -= making;
        making = 0;
        hold(bytes);
      };
      const takeWithin = async (asked: number, ms: number): Promise<boolean> => {
        const bytes = Math.min(asked, workspaceBytesMax);
        if (isLeft) throw CLIENT_LEFT;
        if (own === 0) {
          const hasWaited = await wait(workspace, bytes, { ms, onLeave: (how) => (leave = how) });
          own = making = bytes;
          return hasWaited;
        }
        const line = lineOf(workspace);
        if (!fits(line, bytes) || held + bytes > bytesMax) throw refusal(fits(line, bytes));
        hold(own + bytes);
        return false;
      };
      const take: TakeBytes = (bytes) => takeWithin(bytes, waitMs);
      const giveBack = (): void => made(0);
      const end = (): void => {
        isLeft = true;
        leave?.();
      };
      return {
        take,
        look: async (bytes, isSo, leftMs) => {
          const hasRoom = await takeWithin(bytes, Math.min(waitMs, leftMs)).then(
            () => true,
            () => false,
          );
          return hasRoom ? isSo().finally(giveBack) : isLeft;
        },
        takeTurn: async ({ bytes, of, most = 1 }) => {
          const line = lineOf(workspace);
          const parts = line.making <= FEW_BYTES ? most : 1;
          await new Promise<void>((start) => {
            line.turns.push({ bytesOf: () => parts * (of === undefined ? bytes : likely(line, bytes, of)), start });
            giveTurns(line);
          });
          if (isLeft) throw CLIENT_LEFT;
          const had = (bytes: number, items: number): void => {
            // A page without items says nothing of others.
            if (of === undefined || items === 0) return;
            const each = bytes / items;
            const before = line.itemBytes.get(of.list) ?? each;
            line.itemBytes.set(of.list, Math.max(each, before + (each - before) * NEWS));
          };
          return { parts, had };
        },
        linger: () => made(own),
        settle: made,
        leave: end,
        giveBack,
        release: () => {
          giveBack();
          end();
        },
      };
    },
  };
}
