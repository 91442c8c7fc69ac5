import type { Problem } from "./types.js";

/** The service refused. `problem.errors` names each field that is wrong. */
export class ApiError extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(`${problem.status} ${problem.code}: ${problem.detail}`);
    this.name = "ApiError";
    this.problem = problem;
  }
}

/** The service could not be reached, or what answered is not the service. */
export class AwayError extends Error {
  /** What to say behind the name of the service: neither quotes its address nor what came. */
  readonly what: string;
  constructor(cause: unknown) {
    const { name, cause: inner } = cause as Error & { readonly cause?: { readonly code?: string } };
    const what = cause instanceof SyntaxError ? "does not answer in JSON" : `does not answer (${inner?.code ?? name})`;
    super(`the service ${what}`, { cause });
    this.name = "AwayError";
    this.what = what;
  }
}

const tellAway = (cause: unknown): never => {
  throw new AwayError(cause);
};

export interface HttpOptions {
  readonly url: string;
  readonly key: string;
  /** Of one try; 10 seconds. What the service is asked to wait (`?wait=`) comes on top. */
  readonly timeoutMs?: number;
  /** From the first try to the last; 5 minutes. */
  readonly retryMs?: number;
  readonly fetch?: typeof fetch;
}

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With its query: `/v1/changes?limit=10`. */
  readonly path: string;
  /** A text is JSON already. */
  readonly body?: unknown;
  /** Doing it twice is the same as doing it once, so it is tried again when nobody knows whether it was done. */
  readonly repeatable: boolean;
  /** Ends the tries. */
  readonly signal?: AbortSignal | undefined;
}

const FIRST_WAIT_MS = 250;
const WAIT_MS_MAX = 30_000;

/** Twice as long each time, and anything below that: clients that were cut off together must not come back together. */
export const backOff = (tries: number): number => Math.random() * Math.min(FIRST_WAIT_MS * 2 ** tries, WAIT_MS_MAX);

/** Seconds, or a date. */
export function retryAfterMs(response: Response): number {
  const told = response.headers.get("Retry-After") ?? "";
  const ms = /^\d+$/.test(told) ? Number(told) * 1_000 : Date.parse(told) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.max(ms, 0);
}

const sleep = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
  });

const WAITED_S_MAX = 60;

/** What the service was asked to wait before it answers. */
function waitedMs(path: string): number {
  const seconds = Number(new URLSearchParams(path.split("?")[1]).get("wait"));
  return Number.isFinite(seconds) ? 1_000 * Math.min(Math.max(seconds, 0), WAITED_S_MAX) : 0;
}

/** Of one try. `AbortSignal.any` would leave something of each try in a signal that lives for as long as the client. */
function createLimit(ends: AbortSignal | undefined, timeoutMs: number) {
  const controller = new AbortController();
  const abort = (): void => controller.abort(ends?.reason);
  const timer = setTimeout(
    () => controller.abort(new DOMException("The service did not answer in time.", "TimeoutError")),
    timeoutMs,
  );
  if (ends?.aborted === true) abort();
  else ends?.addEventListener("abort", abort);
  return {
    signal: controller.signal,
    end: (): void => {
      clearTimeout(timer);
      ends?.removeEventListener("abort", abort);
    },
  };
}

export async function problemOf(response: Response): Promise<Problem> {
  const { status, statusText: title } = response;
  const told = (await response.json().catch(() => ({}))) as Partial<Problem>;
  // A proxy answers in its own form.
  return { code: "unknown", title, detail: title, ...told, status };
}

/** Sends with `fetch`, again where that helps. Throws the `ApiError` or `AwayError` of the last try. */
export function createHttp({ url, key, timeoutMs = 10_000, retryMs = 300_000, ...options }: HttpOptions) {
  const doFetch = options.fetch ?? fetch;
  const base = url.replace(/\/+$/, "");
  const once = ({ method, path, body }: Call, signal: AbortSignal): Promise<Response> =>
    doFetch(base + path, {
      method,
      headers: { Authorization: `Bearer ${key}`, ...(body !== undefined && { "Content-Type": "application/json" }) },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      signal,
    });

  return async <Answer>(call: Call): Promise<Answer> => {
    const { repeatable, signal } = call;
    const end = Date.now() + retryMs;
    for (let tries = 0; ; tries += 1) {
      let failure: unknown;
      let waitMs = 0;
      const limit = createLimit(signal, timeoutMs + waitedMs(call.path));
      try {
        const response = await once(call, limit.signal).catch(tellAway);
        if (response.ok) return (response.status === 204 ? undefined : await response.json().catch(tellAway)) as Answer;
        failure = new ApiError(await problemOf(response));
        // 429 is said before anything is done. The others may have done it.
        const mayHelp = response.status === 429 || (repeatable && (response.status >= 500 || response.status === 408));
        if (!mayHelp) throw failure;
        waitMs = retryAfterMs(response);
      } catch (error) {
        if (error === failure || !repeatable) throw error;
        failure = error;
      } finally {
        limit.end();
      }
      waitMs += backOff(tries);
      if (signal?.aborted === true || Date.now() + waitMs > end) throw failure;
      await sleep(waitMs, signal);
    }
  };
}

export type Http = ReturnType<typeof createHttp>;
