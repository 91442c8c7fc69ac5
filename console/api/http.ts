import { BASE, wentAway } from "../state/connection.js";
import type { Problem, Refusal } from "./types.js";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The service refused. `problem.errors` names each field that is wrong. */
export class ApiError extends Error {
  readonly problem: Problem;
  /** In how many seconds it may be asked again; null: the answer does not say. */
  readonly retryAfter: number | null;
  constructor(problem: Problem, retryAfter: number | null) {
    super(problem.detail);
    this.name = "ApiError";
    this.problem = problem;
    this.retryAfter = retryAfter;
  }
}

/** Whether the service says that there is no such thing. */
export const isMissing = (error: unknown): boolean => error instanceof ApiError && error.problem.code === "not_found";

/** The service could not be reached. */
export class AwayError extends Error {
  constructor() {
    super("It did not answer this request.");
    this.name = "AwayError";
  }
}

let onLoggedOut: (detail: string) => void = () => {};
/** What is called when an answer says that the session is over. */
export const whenLoggedOut = (told: (detail: string) => void): void => {
  onLoggedOut = told;
};

/** The log-in that the page shows: a new one each time, so that a late answer to an earlier one is told from it. */
let shown: { readonly keyId: string } | null = null;
/** From now on, each request says that it is meant for this key: another tab may have logged in with another one. */
export const speakFor = (keyId: string): void => {
  shown = { keyId };
};

export interface Asking {
  /** Whichever key this browser logged in with, and not only the one that the page shows. */
  readonly isOfAnyKey?: boolean;
  readonly signal?: AbortSignal;
  /** It writes nothing, or next to nothing, and is answered as quickly as what is read, whatever its method. */
  readonly isRead?: true;
  readonly headers?: Readonly<Record<string, string>>;
  /** How the text of the answer is understood; as JSON if it is not said. */
  readonly read?: ((text: string) => unknown) | undefined;
}

/** Nothing that is read waits longer, a long `wait` included; a browser would wait for minutes. */
const READ_MS = 30_000;
/** An answer that began goes on at once: where it stops for so long, the connection is lost without a word. */
const REST_MS = 30_000;
/** What is written may be large, or many people's; and previews, explanations and dry runs may look at that much. */
const WRITE_MS = 120_000;

/**
 * Asks, and lets a good answer be taken, which may end it, and watches how long its rest is on the way. `path` begins with `/`. A text is
 * sent as it is. One signal for each request: what joins several keeps all of them.
 */
export async function ask<Taken>(
  method: Method,
  path: string,
  body: unknown,
  asking: Asking,
  take: (response: Response, end: () => void) => Promise<Taken>,
): Promise<Taken> {
  const { signal, isRead = method === "GET" } = asking;
  const own = new AbortController();
  const end = (): void => own.abort();
  const timer = setTimeout(end, isRead ? READ_MS : WRITE_MS);
  signal?.addEventListener("abort", end);
  if (signal?.aborted === true) end();
  try {
    const response = await answerTo(method, path, body, { ...asking, signal: own.signal }).catch((error: unknown) => {
      throw error instanceof ApiError ? error : lost(error, asking);
    });
    clearTimeout(timer);
    return await take(response, end);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  }
}

async function answerTo(method: Method, path: string, body: unknown, asking: Asking): Promise<Response> {
  const asked = shown;
  const response = await fetch(new URL(path.slice(1), BASE), {
    method,
    credentials: "same-origin",
    cache: "no-store",
    headers: {
      "X-Onym-Console": "1",
      ...(asked !== null && asking.isOfAnyKey !== true && { "X-Onym-Console-Key": asked.keyId }),
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...asking.headers,
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    ...(asking.signal !== undefined && { signal: asking.signal }),
  });
  if (response.ok) return response;
  const problem = await problemOf(response);
  // A proxy answers for a service that is away.
  if (problem.code === "unknown" && response.status >= 502) throw new AwayError();
  if (problem.code === "unauthenticated" && asked === shown) onLoggedOut(problem.detail);
  throw new ApiError(problem, secondsOf(response.headers.get("Retry-After")));
}

/** What to throw where no answer came, or not all of it: nobody waits for one that was given up. */
function lost(error: unknown, { signal }: Asking): unknown {
  if (signal?.aborted === true) return error;
  wentAway();
  return new AwayError();
}

/** A proxy may tell a date, too. */
const secondsOf = (told: string | null): number | null => (told !== null && /^\d+$/.test(told) ? Number(told) : null);

/** What the answer says. */
export async function api<Answer>(method: Method, path: string, body?: unknown, asking?: Asking): Promise<Answer> {
  return (await tagged<Answer>(method, path, body, asking)).answer;
}

/** What the answer says, and the tag of what it is about. */
export async function tagged<Answer>(
  method: Method,
  path: string,
  body?: unknown,
  asking: Asking = {},
): Promise<{ readonly answer: Answer; readonly tag: string | null }> {
  return ask(method, path, body, asking, async (response, end) => {
    const tag = response.headers.get("ETag");
    if (response.status === 204) return { answer: undefined as Answer, tag };
    const { read = JSON.parse } = asking;
    const text = await textOf(response, end).catch((error: unknown) => {
      throw lost(error, asking);
    });
    return { answer: read(text) as Answer, tag };
  });
}

/** Piece by piece: a slow connection has its time, and one on which nothing comes any more is ended. */
async function textOf({ body }: Response, end: () => void): Promise<string> {
  if (body === null) return "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const timer = setTimeout(end, REST_MS);
    const next = await reader.read().finally(() => clearTimeout(timer));
    if (next.done) return text;
    text += next.value;
  }
}

/** Whether such an item is in a list of `/v1`, page by page. `name` is the member of the answer that holds the items. */
export async function hasItem<Item>(path: string, name: string, is: (item: Item) => boolean): Promise<boolean> {
  let cursor: string | null = null;
  do {
    const page: Readonly<Record<string, unknown>> = await api("GET", `${path}${queryOf({ limit: 100, cursor })}`);
    if ((page[name] as readonly Item[]).some(is)) return true;
    cursor = page["next_cursor"] as string | null;
  } while (cursor !== null);
  return false;
}

async function problemOf(response: Response): Promise<Problem> {
  const { status } = response;
  const told = (await response.json().catch(() => ({}))) as Partial<Problem>;
  return { code: "unknown", title: `Status ${status}`, detail: response.statusText, ...told, status };
}

/** What a person reads of a failure. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof ApiError) {
    const { title, detail, errors = [] } = error.problem;
    return { title, detail, errors };
  }
  if (error instanceof AwayError) return { title: "The service is away", detail: error.message, errors: [] };
  return { title: "Something went wrong in this page", detail: String(error), errors: [] };
}

/** `?a=1&b=2` of what is given; nothing for null, undefined and the empty text. */
export function queryOf(values: Readonly<Record<string, string | number | boolean | null | undefined>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return query === "" ? "" : `?${query}`;
}
