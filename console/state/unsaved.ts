import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { go, keepBy, leadsAway, leave } from "./router.js";
import { createStore } from "./store.js";

/** Those parts of the page that hold work which is not stored. */
const holders = new Set<object>();

/** What a person wants to do, and would lose such work by: to be asked about. Null: nothing. */
export const question = createStore<(() => void) | null>(null);

export const isWorkHeld = (): boolean => holders.size > 0;

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

/** How many parts of the page show what is never shown again. */
export const secretsShown = createStore(0);

/** As long as `isShown`, the end of the session leaves the page as it is. */
export function useSecret(isShown: boolean): void {
  useLayoutEffect(() => {
    if (!isShown) return undefined;
    secretsShown.set(secretsShown.get() + 1);
    return () => secretsShown.set(secretsShown.get() - 1);
  }, [isShown]);
}

export interface Draft<Values> {
  readonly values: Values;
  /** What is stored, as it was read last. */
  readonly base: Values;
  readonly change: (changed: Partial<Values>) => void;
  /** To be called with what is stored by now. */
  readonly settle: (stored: Values) => void;
}

/** Those members that differ. Only they are stored, because somebody else may have changed the others since they were read. */
export function changesOf<Values extends object>(before: Values, after: Values): Partial<Values> {
  const standing = new Map(Object.entries(before).map(([name, value]) => [name, JSON.stringify(value)]));
  const changed = Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== standing.get(name));
  return Object.fromEntries(changed) as Partial<Values>;
}

/** What a person makes of what is stored. What is edited stays when that is read again, and is not left without being asked. */
export function useDraft<Values extends object>(stored: Values): Draft<Values> {
  const [values, setValues] = useState(stored);
  const [base, setBase] = useState(stored);
  const text = JSON.stringify(stored);
  const latest = useRef(base);
  latest.current = base;
  useEffect(() => {
    // Of the values as they are by now: what is typed before this runs for the first time is not drawn yet.
    setValues((last) => ({ ...stored, ...changesOf(latest.current, last) }));
    setBase(stored);
    // The text stands for what is stored, which is made anew with each drawing.
  }, [text]);
  useUnsaved(isChanged(values, base));
  const change = useCallback((changed: Partial<Values>) => setValues((last) => ({ ...last, ...changed })), []);
  return { values, base, change, settle: setBase };
}

const isChanged = (one: object, other: object): boolean => JSON.stringify(one) !== JSON.stringify(other);

keepBy(() => {
  if (holders.size === 0) return false;
  question.set(leave);
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
