import type { AppError } from "../../core/errors.js";

export interface ByteBudgetOptions {
  /** For all, and for one of them: a workspace, or an address. One alone leaves room for the others. */
  readonly bytesMax: number;
  readonly ownerBytesMax: number;
  /** What is thrown beyond it; `isOwn`: the owner's own share is full. */
  readonly refusal: (isOwn: boolean) => AppError;
}

/** What the body of one request takes of the process's memory. */
export interface HeldBytes {
  /** Throws when there is no room. Nobody waits here, because who waits would hold what it has. */
  readonly add: (bytes: number) => void;
  /** The request is over. */
  readonly release: () => void;
}

export interface ByteBudget {
  open(owner: string): HeldBytes;
}

/** Bounds what bodies that are read and worked on take of a process's memory, with all copies that their readers tell of. */
export function createByteBudget({ bytesMax, ownerBytesMax, refusal }: ByteBudgetOptions): ByteBudget {
  const owners = new Map<string, number>();
  let all = 0;
  return {
    open: (owner) => {
      let own = 0;
      let isOver = false;
      const change = (bytes: number): void => {
        const left = (owners.get(owner) ?? 0) + bytes;
        if (left === 0) owners.delete(owner);
        else owners.set(owner, left);
        all += bytes;
        own += bytes;
      };
      return {
        add: (bytes) => {
          // Whatever still works for a request that is over holds what was counted, and soon ends.
          if (isOver) return;
          const isOwn = (owners.get(owner) ?? 0) + bytes > ownerBytesMax;
          if (isOwn || all + bytes > bytesMax) throw refusal(isOwn);
          change(bytes);
        },
        release: () => {
          isOver = true;
          if (own > 0) change(-own);
        },
      };
    },
  };
}
