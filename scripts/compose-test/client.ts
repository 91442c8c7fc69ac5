import { setTimeout as sleep } from "node:timers/promises";

export type Json = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Empty when the answer is not a JSON object. */
  readonly body: Json;
}

export interface Question {
  readonly key?: string;
  /** An object is sent as JSON, a string as it is. */
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Ask = (method: "GET" | "POST" | "PUT" | "DELETE", path: string, question?: Question) => Promise<Answer>;

/** Longer than any deadline of the service, so that a hang is seen as one. */
const TIMEOUT_MS = 15_000;

export function createClient(url: string): Ask {
  return async (method, path, { key, body, headers } = {}) => {
    const response = await fetch(new URL(path, url), {
      method,
      headers: {
        ...(key !== undefined && { Authorization: `Bearer ${key}` }),
        ...(body !== undefined && { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return { status: response.status, headers: response.headers, body: parsed(await response.text()) };
  };
}

function parsed(text: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Json) : {};
  } catch {
    return {};
  }
}

const PERIOD_MS = 100;

/** Asks until nothing is thrown; after `timeoutMs` the last error is the answer. */
export async function eventually<T>(ask: () => Promise<T>, timeoutMs = 30_000): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (Date.now() > end) throw error;
      await sleep(PERIOD_MS);
    }
  }
}
