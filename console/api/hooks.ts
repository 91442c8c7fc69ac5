import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { returns } from "../state/connection.js";
import { mark, marked } from "../state/router.js";
import { useStore } from "../state/store.js";
import { api, AwayError, isMissing } from "./http.js";

export interface Query<Data> {
  /** What was read last, also while it is read again. */
  readonly data: Data | null;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

export interface QueryOptions {
  /** Milliseconds until it is read again, while the page can be seen. */
  readonly every?: number;
  /** Also while it cannot be seen. */
  readonly isAskedHidden?: boolean;
  /** It is read again when this is another one. */
  readonly stamp?: string;
  /** How the text of an answer is understood, always by the same function; as JSON if it is not said. */
  readonly read?: (text: string) => unknown;
}

/** Reads a path and keeps it fresh: again when the service was away, and every so often. A null path reads nothing. */
export function useQuery<Data>(path: string | null, options: QueryOptions = {}): Query<Data> {
  const { every, isAskedHidden = false, stamp, read: readText } = options;
  const [state, setState] = useState<{ path: string | null; data: Data | null; error: unknown; isLoading: boolean }>({
    path,
    data: null,
    error: null,
    isLoading: path !== null,
  });
  const [asked, setAsked] = useState(0);
  const returned = useStore(returns);
  const newest = useRef(stamp);
  newest.current = stamp;
  /** Null: it is read already. */
  const restart = useRef<(() => void) | null>(null);

  useEffect(() => {
    if (path === null) return setState({ path, data: null, error: null, isLoading: false });
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    // What is not there does not come by waiting: an id is never given again.
    let hasNone = false;
    const read = async (): Promise<void> => {
      clearTimeout(timer);
      restart.current = null;
      const of = newest.current;
      setState((last) => ({ path, data: last.path === path ? last.data : null, error: null, isLoading: true }));
      try {
        const data = await api<Data>("GET", path, undefined, { signal: abort.signal, read: readText });
        if (!abort.signal.aborted) setState({ path, data, error: null, isLoading: false });
      } catch (error) {
        if (abort.signal.aborted) return;
        hasNone = isMissing(error);
        // The banner says that the service is away. What was read before stays.
        setState((last) => ({
          path,
          data: last.data,
          error,
          isLoading: error instanceof AwayError && last.data === null,
        }));
      }
      if (abort.signal.aborted) return;
      // Only now: where it comes more slowly than the stamp changes, it would never be read.
      if (newest.current !== of) return read();
      restart.current = () => void read();
      if (every !== undefined && !hasNone) timer = setTimeout(() => void again(), every);
    };
    const again = (): Promise<void> | void => {
      if (!document.hidden || isAskedHidden) return read();
      timer = setTimeout(() => void again(), every);
    };
    void read();
    return () => {
      abort.abort();
      clearTimeout(timer);
      restart.current = null;
    };
  }, [path, asked, returned, every, isAskedHidden]);
  useEffect(() => restart.current?.(), [stamp]);

  const reload = useCallback(() => setAsked((count) => count + 1), []);
  const isOfPath = state.path === path;
  return {
    data: isOfPath ? state.data : null,
    error: isOfPath ? state.error : null,
    isLoading: isOfPath ? state.isLoading : path !== null,
    reload,
  };
}

export interface Pages<Item> extends Omit<Query<readonly Item[]>, "data"> {
  readonly items: readonly Item[] | null;
  /** Null: there is no further page. */
  readonly more: (() => void) | null;
  /** Somebody asked for a further page, which is not here yet. */
  readonly isAwaited: boolean;
}

type PageOf<Item> = Readonly<Record<string, unknown>> & { readonly next_cursor?: string | null } & {
  readonly items?: readonly Item[];
};

const cursorOf = (pages: readonly PageOf<unknown>[]): string | null => pages.at(-1)?.next_cursor ?? null;
const itemsOf = <Item>(name: string, page: PageOf<Item>): readonly Item[] =>
  (page[name] as readonly Item[] | undefined) ?? [];

/** Reads on behind these pages until there are as many as are wanted by then. A page without items shows nothing, and is not the end while there is a cursor. */
async function readOn<Item>(
  asked: Record<"path" | "name", string> & {
    readonly wanted: { readonly current: number };
    readonly signal: AbortSignal;
    readonly read: QueryOptions["read"];
  },
  pages: readonly PageOf<Item>[],
): Promise<readonly PageOf<Item>[]> {
  const { path, name, wanted, signal, read } = asked;
  const cursor = cursorOf(pages);
  if (cursor === null || (pages.length >= wanted.current && itemsOf(name, pages.at(-1)!).length > 0)) return pages;
  const joined = `${path}${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(cursor)}`;
  const page = await api<PageOf<Item>>("GET", joined, undefined, { signal, read });
  return readOn(asked, [...pages, page]);
}

/** A list of `/v1`, page by page. `name` is the member of the answer that holds the items. */
export function usePages<Item>(path: string | null, name: string, options: QueryOptions = {}): Pages<Item> {
  const first = useQuery<PageOf<Item>>(path, options);
  const { data: begin } = first;
  const [pages, setPages] = useState<readonly PageOf<Item>[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [isLoading, setLoading] = useState(false);
  const [isAwaited, setAwaited] = useState(false);
  const wanted = useRef(1);
  const newest = useRef(begin);
  newest.current = begin;
  const underWay = useRef<AbortController | null>(null);
  const read = async (of: string, from: PageOf<Item>, before: readonly PageOf<Item>[]): Promise<void> => {
    const abort = new AbortController();
    const { signal } = abort;
    underWay.current = abort;
    setLoading(true);
    setError(null);
    let found = before;
    try {
      // When the first page was read again, so are the others, which might not follow it any more. Until then all stay as they are.
      found = await readOn(
        { path: of, name, wanted, signal, read: options.read },
        before[0] === from ? before : [from],
      );
      if (!signal.aborted) setPages(found);
    } catch (failed) {
      if (!signal.aborted) setError(failed);
    }
    if (signal.aborted) return;
    setAwaited(false);
    // Only now: where the pages come more slowly than the first one is read again, they would never all be read.
    if (newest.current !== null && newest.current !== from) return read(of, newest.current, found);
    underWay.current = null;
    setLoading(false);
  };
  useEffect(() => {
    // After a step back, as many as there were.
    wanted.current = marked(`pages of ${path ?? ""}`) ?? 1;
    return () => {
      underWay.current?.abort();
      underWay.current = null;
      setPages([]);
      setError(null);
      setLoading(false);
      setAwaited(false);
    };
  }, [path]);
  useEffect(() => {
    if (path !== null && begin !== null && underWay.current === null) void read(path, begin, pages);
  }, [path, begin]);
  const more = (): void => {
    wanted.current = pages.length + 1;
    mark(`pages of ${path ?? ""}`, wanted.current);
    setAwaited(true);
    // What is under way reads on until then.
    if (path !== null && begin !== null && underWay.current === null) void read(path, begin, pages);
  };
  const isKnown = begin !== null && pages.length > 0;
  return {
    items: isKnown ? pages.flatMap((page) => itemsOf(name, page)) : null,
    more: isKnown && cursorOf(pages) !== null ? more : null,
    isAwaited,
    error: first.error ?? error,
    isLoading: first.isLoading || isLoading,
    reload: first.reload,
  };
}

/** All pages of a list of `/v1`, for what must not miss one; null data: they are not all here. */
export function useWhole<Item>(path: string | null, name: string): Query<readonly Item[]> {
  const { items, more, isLoading, error, reload } = usePages<Item>(path, name);
  useEffect(() => {
    if (!isLoading && error === null) more?.();
  }, [items, isLoading]);
  return { data: more === null ? items : null, isLoading, error, reload };
}

export interface Action<Args extends readonly unknown[], Result> {
  /** Undefined when it failed: `error` says why. */
  readonly run: (...args: Args) => Promise<Result | undefined>;
  readonly isBusy: boolean;
  readonly error: unknown;
  readonly reset: () => void;
}

/** Something that a person does: one at a time, with its failure to show. */
export function useAction<Args extends readonly unknown[], Result>(
  act: (...args: Args) => Promise<Result>,
): Action<Args, Result> {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const latest = useRef(act);
  latest.current = act;
  const underWay = useRef(false);
  const run = useCallback(async (...args: Args): Promise<Result | undefined> => {
    if (underWay.current) return undefined;
    underWay.current = true;
    setBusy(true);
    setError(null);
    try {
      return await latest.current(...args);
    } catch (failed) {
      setError(failed);
      return undefined;
    } finally {
      underWay.current = false;
      setBusy(false);
    }
  }, []);
  const reset = useCallback(() => setError(null), []);
  return { run, isBusy, error, reset };
}
