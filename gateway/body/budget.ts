import type { Response } from "express";
import type { AppError } from "../../core/errors.js";
import { readBytes } from "../../core/json/spans.js";

export interface ByteBudgetOptions {
  /** For all, and for one of them: a workspace, or an address. One alone leaves room for the others. */
  readonly bytesMax: number;
  readonly ownerBytesMax: number;
  /** For what one owner has in bodies that have not come whole: slow connections cost it nothing to keep. Absent: its whole share. */
  readonly comingBytesMax?: number;
  /** What is thrown beyond it; `isOwn`: the owner's own share is full. */
  readonly refusal: (isOwn: boolean) => AppError;
}

/** What the body of one request takes of the process's memory. Throws when there is no room: who waits would hold what it has. */
export interface HeldBytes {
  /** Of the body itself, while it comes. */
  readonly came: (bytes: number) => void;
  /** Of what is made of it: so it has come whole. */
  readonly add: (bytes: number) => void;
  /** Nobody works with it any more. */
  readonly release: () => void;
}

export interface ByteBudget {
  open(owner: string): HeldBytes;
}

/** Of one owner; it is in the table while it has any. */
interface Share {
  held: number;
  /** Of these, in bodies that have not come whole. */
  coming: number;
}

/** Bounds what bodies that are read and worked on take of a process's memory, with all copies that their readers tell of. */
export function createByteBudget({
  bytesMax,
  ownerBytesMax,
  comingBytesMax = ownerBytesMax,
  refusal,
}: ByteBudgetOptions): ByteBudget {
  const owners = new Map<string, Share>();
  let all = 0;
  return {
    open: (owner) => {
      let [own, coming] = [0, 0];
      const change = (bytes: number, comingBytes: number): void => {
        const share = owners.get(owner) ?? { held: 0, coming: 0 };
        const isOwn =
          share.held + bytes > ownerBytesMax || (comingBytes > 0 && share.coming + comingBytes > comingBytesMax);
        if (isOwn || all + bytes > bytesMax) throw refusal(isOwn);
        all += bytes;
        own += bytes;
        coming += comingBytes;
        share.held += bytes;
        share.coming += comingBytes;
        if (share.held === 0) owners.delete(owner);
        else owners.set(owner, share);
      };
      return {
        came: (bytes) => change(bytes, bytes),
        add: (bytes) => change(bytes, -coming),
        release: () => change(-own, -coming),
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

/** Of what is read from a body. One of extreme form counts as what the largest body leaves of its owner's share, so that it comes in at all. */
export const copyBytes = (body: Buffer): number => Math.min(readBytes(body), COPY_BYTES_MAX);
const COPY_BYTES_MAX = 28 * 1_048_576;
