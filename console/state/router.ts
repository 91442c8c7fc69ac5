import { useCallback, useEffect, useRef } from "preact/hooks";
import { createStore, useStore } from "./store.js";

/** The page's own address, behind the `#`: no path of the server, so any proxy and any prefix will do. */
export interface Location {
  readonly path: string;
  readonly query: URLSearchParams;
}

function read(): Location {
  const [path = "", query = ""] = location.hash.slice(1).split("?", 2);
  return { path: path === "" ? "/" : path, query: new URLSearchParams(query) };
}

export const place = createStore<Location>(read());
/** What had the focus when one last went elsewhere. */
let left: Element | null = null;
/** The address of what is shown. */
let shown = location.hash;
// A page that is drawn anew is not as high yet when the browser would scroll.
history.scrollRestoration = "manual";
let made = 0;
/** Each entry of the browser's history has a name of its own. */
function entryOf(): string {
  const { entry: known } = (history.state ?? {}) as { readonly entry?: string };
  if (known !== undefined) return known;
  const name = `${performance.timeOrigin} ${(made += 1)}`;
  history.replaceState({ entry: name }, "");
  return name;
}
let entry = entryOf();
const marks = new Map<string, number>();

let isKept = (): boolean => false;
/** Asked where somebody is about to leave the page by the browser's own means; true: not yet. */
export const keepBy = (asked: () => boolean): void => {
  isKept = asked;
};
let isAgreed = false;

addEventListener("hashchange", () => {
  if (!isAgreed && leadsAway(location.hash) && isKept()) history.pushState({ entry }, "", shown);
  else move();
  isAgreed = false;
});

/** To where somebody wanted who was kept: that is the entry before. */
export function leave(): void {
  isAgreed = true;
  history.back();
}

/** Keeps a number for a step back to what is shown, such as how far a list was read. */
export const mark = (name: string, value: number): void => void marks.set(`${entry} ${name}`, value);
export const marked = (name: string): number | null => marks.get(`${entry} ${name}`) ?? null;

/** To another page than the one that is shown. */
export const leadsAway = (target: string): boolean => target.slice(1).split("?")[0] !== place.get().path;

function move(): void {
  left = document.activeElement;
  mark("top", scrollY);
  shown = location.hash;
  entry = entryOf();
  place.set(read());
}

/** Whether the focus is where it was then, or nowhere: whoever moved it meanwhile keeps it. */
export function isFocusLeft(): boolean {
  const at = document.activeElement;
  return at === null || at === document.body || at === left;
}

export const useLocation = (): Location => useStore(place);

/** For a link: each piece is escaped. `href("/profiles/:id", {id})`, `href("/changes", {}, {outcome: "merged"})`. */
export function href(
  pattern: string,
  params: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, string | null | undefined>> = {},
): string {
  const path = pattern.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  const given = Object.entries(query).filter((pair): pair is [string, string] => (pair[1] ?? "") !== "");
  return `#${path}${given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`}`;
}

/** Goes there; `replace` leaves no step back, for a filter that changes with each letter. */
export function go(target: string, { replace = false } = {}): void {
  if (replace) history.replaceState({ entry }, "", target);
  else history.pushState(null, "", target);
  move();
}

/** `go` behind an answer that may come late: nobody is taken from a page that they went to meanwhile. */
export function useGo(): (target: string) => void {
  const isShown = useRef(true);
  useEffect(() => () => void (isShown.current = false), []);
  return useCallback((target) => isShown.current && go(target), []);
}

/** The parameters of a pattern such as `/profiles/:id`; null: the path is another one. */
export function match(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [i, piece] of wanted.entries()) {
    const text = given[i]!;
    if (!piece.startsWith(":")) {
      if (piece !== text) return null;
      continue;
    }
    try {
      params[piece.slice(1)] = decodeURIComponent(text);
    } catch {
      return null;
    }
  }
  return params;
}
