import { setTimeout as sleep } from "node:timers/promises";
import { isUnavailable } from "../core/errors.js";
import { failureOf, translated } from "./neo4j-failure.js";

export interface TriesOptions {
  /** Tries while the server is away. What it only undid is tried until the time is up. */
  readonly awayMax: number;
  readonly isOver: () => boolean;
}

const PAUSE_MS_MAX = 200;

/** Again after a conflict or a lost connection, from a few milliseconds on: the driver's own retries begin with a second. */
export async function inTries<T>(attempt: () => Promise<T>, { awayMax, isOver }: TriesOptions): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      const failure = failureOf(error);
      // `unavailable` comes from a server that was given its time already.
      const isHopeless = failure === "refused" || isUnavailable(error) || (failure === "away" && tries >= awayMax);
      if (isHopeless || isOver()) throw translated(error);
    }
    await sleep(Math.min(2 ** tries, PAUSE_MS_MAX) * (0.5 + Math.random()));
  }
}
