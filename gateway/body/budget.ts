import type { Response } from "express";
import type { AppError } from "../../core/errors.js";
import { readBytes } from "../../core/json/spans.js";

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
  /** Nobody works with it any more. */
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
      const change = (bytes: number): void => {
        const left = (owners.get(owner) ?? 0) + bytes;
        if (left === 0) owners.delete(owner);
        else owners.set(owner, left);
        all += bytes;
        own += bytes;
      };
      return {
        add: (bytes) => {
          const isOwn = (owners.get(owner) ?? 0) + bytes > ownerBytesMax;
          if (isOwn || all + bytes > bytesMax) throw refusal(isOwn);
          change(bytes);
        },
        release: () => {
          if (own > 0) change(-own);
        },
      };
    },
  };
}

/** On `response.locals`. */
interface Holding {
  held?: HeldBytes;
}

/** What the body of this request takes, from now on until `giveBack`. */
export function hold(response: Response, held: HeldBytes): HeldBytes {
  (response.locals as Holding).held = held;
  return held;
}

/** The work on the request has ended. What was read of it goes with its room, because its client may be slow to take the answer. */
export function giveBack(response: Response): void {
  const { held } = response.locals as Holding;
  if (held === undefined) return;
  response.locals = {};
  held.release();
}

/** Of what is read from a body. One of extreme form counts as half of what all may have, so that it comes in at all. */
export const copyBytes = (body: Buffer): number => Math.min(readBytes(body), COPY_BYTES_MAX);
const COPY_BYTES_MAX = 32 * 1_048_576;
