import { useLayoutEffect } from "preact/hooks";
import { go, keepBy, leadsAway } from "./router.js";
import { createStore } from "./store.js";

/** Those parts of the page that hold work which is not stored. */
const holders = new Set<object>();

/** What a person wants to do, and would lose such work by: to be asked about. Null: nothing. */
export const question = createStore<(() => void) | null>(null);

/** At once, or after the person said that the work may be lost. */
export function whenFree(act: () => void): void {
  if (holders.size === 0) act();
  else question.set(act);
}

/** As long as `isHeld`, nobody leaves the page without being asked. */
export function useUnsaved(isHeld: boolean): void {
  useLayoutEffect(() => {
    if (!isHeld) return undefined;
    const own = {};
    holders.add(own);
    return () => void holders.delete(own);
  }, [isHeld]);
}

keepBy((target) => {
  if (holders.size === 0) return false;
  question.set(() => go(target));
  return true;
});

addEventListener("beforeunload", (event) => {
  if (holders.size > 0) event.preventDefault();
});

/** Before the browser follows a link, so that the history stays as it is. */
addEventListener(
  "click",
  (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href^='#']") : null;
    const target = link?.getAttribute("href") ?? "";
    const isElsewhere = event.ctrlKey || event.metaKey || event.shiftKey;
    if (holders.size === 0 || isElsewhere || !target.startsWith("#/") || !leadsAway(target)) return;
    event.preventDefault();
    whenFree(() => go(target));
  },
  { capture: true },
);
