import { once } from "node:events";
import http from "node:http";
import { text } from "node:stream/consumers";
import type { WorkspaceId } from "../../core/ids.js";

export interface Request {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  readonly path: string;
  readonly key?: string;
  /** An object is sent as JSON, a text as it is. */
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

export interface Client {
  /** Rejects when the connection breaks, or when no answer comes in time. */
  readonly send: (request: Request) => Promise<Answer>;
  readonly close: () => void;
}

const ANSWER_MS = 10_000;
const IDLE_MS = 30_000;

/** Connections that stay open, at most `connections` of them. */
export function openClient(url: string, connections: number, answerMs = ANSWER_MS): Client {
  const agent = new http.Agent({
    keepAlive: true,
    maxSockets: connections,
    maxFreeSockets: connections,
    // Without it an idle connection is kept until the service closes it, after 65 s, and a request sent just then is reset.
    timeout: IDLE_MS,
  });
  return {
    send: async ({ method, path, key, body, headers }) => {
      const content = body === undefined ? null : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
      const request = http.request(new URL(path, url), {
        agent,
        method,
        timeout: answerMs,
        headers: {
          ...(key !== undefined && { Authorization: `Bearer ${key}` }),
          ...(content !== null && { "Content-Type": "application/json", "Content-Length": content.length }),
          ...headers,
        },
      });
      request.on("timeout", () => request.destroy(new Error(`no answer within ${answerMs} ms`)));
      // Also after the answer has begun, when nobody waits for the request any more.
      request.on("error", () => {});
      request.end(content ?? undefined);
      const [response] = (await once(request, "response")) as [http.IncomingMessage];
      return { status: response.statusCode!, headers: response.headers, text: await text(response) };
    },
    close: () => agent.destroy(),
  };
}

/** The answer's body, whose shape the caller knows. */
export const bodyOf = <T>({ text }: Answer): T => JSON.parse(text) as T;

/** Sends what must work. Throws otherwise, with the answer. */
export async function requireAnswer<T>(client: Client, status: number, request: Request): Promise<T> {
  const answer = await client.send(request);
  if (answer.status === status) return bodyOf<T>(answer);
  throw new Error(`${request.method} ${request.path}: ${answer.status} instead of ${status}: ${answer.text}`);
}

/** A new workspace, by the operator's key; `key` is its owner's. */
export const createWorkspace = (client: Client, operatorKey: string, name: string) =>
  requireAnswer<{ readonly workspace_id: WorkspaceId; readonly key: string }>(client, 201, {
    method: "POST",
    path: "/v1/workspaces",
    key: operatorKey,
    body: { name },
  });
