import { useEffect, useRef, useState } from "preact/hooks";
import type { FeedEntry, FeedPage } from "../../api/audiences.js";
import { useAction } from "../../api/hooks.js";
import { api, ApiError, AwayError, queryOf } from "../../api/http.js";
import { returns } from "../../state/connection.js";
import { useStore } from "../../state/store.js";

const LIMIT = 1_000;
/** Numbers looked at when it begins, and for each step into the past; most of them are of other audiences than the chosen one. */
const stepOf = (audienceId: string): number => (audienceId === "" ? 200 : LIMIT);
const WAIT_S = 20;
const AGAIN_MS = 2_000;
const KEPT_MAX = 5_000;

export interface Feed {
  /** Newest first; null: they are being read. */
  readonly entries: readonly FeedEntry[] | null;
  readonly isWatching: boolean;
  readonly error: unknown;
  /** Null: there are none before. */
  readonly earlier: (() => void) | null;
  readonly isReading: boolean;
}

interface State {
  readonly entries: readonly FeedEntry[];
  /** All numbers above it were looked at. */
  readonly from: number;
  readonly oldest: number;
}

/** The feed, newest first, followed as it grows. */
export function useFeed(audienceId: string): Feed {
  const [state, setState] = useState<State | null>(null);
  const [isWatching, setWatching] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const returned = useStore(returns);
  const step = stepOf(audienceId);
  /** Ends with the list that is shown. */
  const shown = useRef(new AbortController());
  const read = (after: number, more: object, signal?: AbortSignal): Promise<FeedPage> =>
    api("GET", `/v1/feed${queryOf({ audience_id: audienceId, after, ...more })}`, undefined, signal && { signal });

  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    shown.current = abort;
    /** Goes on after what passes, such as a 503 of a service that is about to end: nothing of what is shown is lost by it. */
    const patiently = async (after: number, limit: number, waitS?: number): Promise<FeedPage> => {
      for (let wait = waitS; ; wait = undefined) {
        try {
          // After a failure without a wait, so that it is known at once that it passed.
          const page = await read(after, { limit, wait }, signal);
          setError(null);
          return page;
        } catch (failed) {
          if (!isPassing(failed)) throw failed;
          setWatching(false);
          setError(failed);
          await pause();
        }
      }
    };
    const follow = async (): Promise<void> => {
      const { head, oldest } = await patiently(0, 1).catch(trimmed);
      const from = Math.max(0, oldest - 1, head - step);
      const first = await patiently(from, LIMIT);
      setState({ entries: first.entries.toReversed(), from, oldest });
      setWatching(true);
      for (let after = first.next; !signal.aborted;) {
        const page = await patiently(after, LIMIT, WAIT_S);
        setWatching(true);
        after = page.next;
        if (page.entries.length > 0)
          setState(
            (last) => last && { ...last, entries: [...page.entries.toReversed(), ...last.entries].slice(0, KEPT_MAX) },
          );
      }
    };
    const goOn = async (): Promise<void> => {
      while (!signal.aborted) {
        try {
          await follow();
        } catch (failed) {
          if (signal.aborted) return;
          setWatching(false);
          // The banner says so, and this begins anew when it is back.
          if (failed instanceof AwayError) return;
          // What was read is of before: another store, or kept no more.
          if (!isMoved(failed)) return setError(failed);
          await pause();
        }
      }
    };
    setState(null);
    setError(null);
    setWatching(false);
    void goOn();
    return () => abort.abort();
  }, [audienceId, returned]);

  const going = useAction(async () => {
    if (state === null) return;
    const { from: to, oldest } = state;
    const from = Math.max(0, oldest - 1, to - step);
    const { signal } = shown.current;
    const page = await read(from, { limit: LIMIT }, signal).catch((failed: unknown) => {
      if (signal.aborted) return null;
      throw failed;
    });
    // Of another audience, or of before the service went away.
    if (page === null || signal.aborted) return;
    const found = page.entries.filter(({ seq }) => seq <= to).toReversed();
    setState((last) => last && { ...last, entries: [...last.entries, ...found], from });
  });
  const hasEarlier = state !== null && state.from > Math.max(0, state.oldest - 1) && state.entries.length < KEPT_MAX;
  return {
    entries: state?.entries ?? null,
    isWatching,
    error: error ?? going.error,
    earlier: hasEarlier ? () => void going.run() : null,
    isReading: going.isBusy,
  };
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, AGAIN_MS));

const isPassing = (error: unknown): boolean =>
  error instanceof ApiError && (error.problem.status === 429 || error.problem.status >= 500);

const isMoved = (error: unknown): boolean =>
  error instanceof ApiError && ["unknown_position", "feed_trimmed"].includes(error.problem.code);

/** What comes after 0 may be kept no more: the refusal says what is. */
function trimmed(error: unknown): Pick<FeedPage, "head" | "oldest"> {
  if (!isMoved(error)) throw error;
  const { head = 0, oldest = 1 } = (error as ApiError).problem as { readonly head?: number; readonly oldest?: number };
  return { head, oldest };
}
