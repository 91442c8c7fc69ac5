import type { World } from "./world.js";

const WIDTH = 24;
const REDRAW_MS = 100;

export interface Progress {
  /** Part of the whole, 0 to 1, or null where nobody knows it. */
  readonly show: (part: number | null, items: number) => void;
  /** Takes the bar away, so that lines can be printed. */
  readonly clear: () => void;
}

/** A bar on a terminal; nothing elsewhere. */
export function createProgress({ showsProgress, err }: World, what: string): Progress {
  const began = performance.now();
  let shownAt = -Infinity;
  let isShown = false;
  if (!showsProgress) return { show: () => {}, clear: () => {} };
  return {
    show: (part, items) => {
      const now = performance.now();
      if (now - shownAt < REDRAW_MS && part !== 1) return;
      shownAt = now;
      isShown = true;
      const rate = Math.round(items / Math.max((now - began) / 1_000, 0.001));
      const bar = part === null ? "" : `[${"=".repeat(Math.round(WIDTH * part)).padEnd(WIDTH)}] ${percent(part)}  `;
      err(`\r\x1b[K${bar}${items.toLocaleString("en-US")} ${what}, ${rate.toLocaleString("en-US")}/s`);
    },
    clear: () => {
      if (isShown) err("\r\x1b[K");
      isShown = false;
    },
  };
}

const percent = (part: number): string => `${Math.floor(part * 100)}%`.padStart(4);
