import { returns } from "../state/connection.js";
import { ApiError, ask, AwayError } from "./http.js";

export interface StreamEvent {
  readonly name: string;
  readonly data: unknown;
}

const AGAIN_MS = 1_000;
const REFUSED_S = 5;
/** The service says something every two seconds. */
const SILENT_MS = 15_000;

/**
 * Listens to server-sent events of `/v1` until it is stopped, and begins anew when the connection is lost. `onState` also hears why the
 * service refuses it, else null. With `fetch`, because a browser's own `EventSource` sends no header.
 */
export function listen(
  path: string,
  told: (event: StreamEvent) => void,
  onState: (isOpen: boolean, refusal: ApiError | null) => void,
): () => void {
  const abort = new AbortController();
  const read = async (response: Response, end: () => void): Promise<void> => {
    onState(true, null);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const timer = setTimeout(end, SILENT_MS);
      const next = await reader.read().finally(() => clearTimeout(timer));
      if (next.done) return;
      const pieces = (text + next.value).split("\n\n");
      text = pieces.pop() ?? "";
      for (const piece of pieces) {
        // U+2028 and U+2029 end no line of a stream, but without the flag they end what `.` matches.
        const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(piece) ?? [];
        if (name !== undefined && data !== undefined) told({ name, data: JSON.parse(data) as unknown });
      }
    }
  };
  const goOn = async (): Promise<void> => {
    while (!abort.signal.aborted) {
      const asking = { signal: abort.signal, headers: { Accept: "text/event-stream" } };
      const failed: unknown = await ask("GET", path, undefined, asking, read).then(
        () => null,
        (error: unknown) => error,
      );
      if (abort.signal.aborted) return;
      const refusal = failed instanceof ApiError ? failed : null;
      onState(false, refusal);
      if (failed instanceof AwayError) await untilBack(abort.signal);
      else await wait(refusal === null ? AGAIN_MS : (refusal.retryAfter ?? REFUSED_S) * 1_000);
    }
  };
  void goOn();
  return () => abort.abort();
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The connection is looked after elsewhere. */
const untilBack = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const stop = returns.listen(() => {
      stop();
      resolve();
    });
    signal.addEventListener("abort", () => {
      stop();
      resolve();
    });
  });
