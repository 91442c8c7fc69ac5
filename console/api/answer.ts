import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { returns } from "../state/connection.js";
import { useStore } from "../state/store.js";

export interface Answered<Answer> {
  /** Null: it is not here, or not any more. */
  readonly data: Answer | null;
  readonly error: unknown;
  readonly again: () => void;
}

/**
 * Asks, after so many milliseconds, what is no reading of one path. `of` stands for the question: another one is asked anew, and null is none.
 * What failed is asked again by itself when the service is back, or the session.
 */
export function useAnswer<Answer>(
  of: string | null,
  ask: (signal: AbortSignal) => Promise<Answer>,
  delay = 0,
): Answered<Answer> {
  const [state, setState] = useState<{ of: string | null; data: Answer | null; error: unknown }>({
    of,
    data: null,
    error: null,
  });
  const [asked, setAsked] = useState(0);
  const again = useCallback(() => setAsked((count) => count + 1), []);
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    setState({ of, data: null, error: null });
    if (of === null) return undefined;
    const abort = new AbortController();
    const { signal } = abort;
    const timer = setTimeout(() => {
      latest.current(signal).then(
        (data) => signal.aborted || setState({ of, data, error: null }),
        (error: unknown) => signal.aborted || setState({ of, data: null, error }),
      );
    }, delay);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [of, asked]);
  const returned = useStore(returns);
  useEffect(() => {
    if (state.error !== null) again();
  }, [returned]);
  const isOf = state.of === of;
  return { data: isOf ? state.data : null, error: isOf ? state.error : null, again };
}
