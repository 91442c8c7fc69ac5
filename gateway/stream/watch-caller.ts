import type { Response } from "express";
import { stillRight, type StillRightDeps } from "../access/still-right.js";
import type { Context } from "../route.js";

/** By the clock and not between parts: to whoever takes little at a time, a part lasts for minutes. */
const LOOK_MS = 2_000;

export interface CallerWatch {
  /** It has broken the connection. */
  readonly isOver: () => boolean;
  readonly stop: () => void;
}

/** Breaks the connection once the caller would be refused. A clean end could be taken for the end of all that there is. */
export function watchCaller(deps: StillRightDeps, context: Context, response: Response): CallerWatch {
  let isOver = false;
  const look = async (): Promise<void> => {
    // Who cannot be asked may be asked again.
    const key = await stillRight(deps, context).catch(() => context.key);
    if (key !== null) return;
    isOver = true;
    response.destroy();
  };
  const timer = setInterval(() => void look(), LOOK_MS);
  return { isOver: () => isOver, stop: () => clearInterval(timer) };
}
