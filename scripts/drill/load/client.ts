import http from "node:http";

export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

export interface Request {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  readonly path: string;
  readonly key: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Client {
  /** Rejects when the connection breaks, or when no answer comes in time. */
  send(request: Request): Promise<Answer>;
  close(): void;
}

const ANSWER_MS = 10_000;

/** Connections that stay open, at most `connections` of them. */
export function openClient(url: string, connections: number): Client {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections, maxFreeSockets: connections });
  const { hostname, port } = new URL(url);
  return {
    send: ({ method, path, key, body, headers }) =>
      new Promise((resolve, reject) => {
        const given = {
          Authorization: `Bearer ${key}`,
          ...(body !== undefined && {
            "Content-Type": "application/json",
            "Content-Length": Buffer.byteLength(body),
          }),
          ...headers,
        };
        const request = http.request({ hostname, port, agent, method, path, headers: given, timeout: ANSWER_MS });
        request.on("response", (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text: Buffer.concat(chunks).toString(),
            }),
          );
        });
        request.on("timeout", () => request.destroy(new Error(`no answer within ${ANSWER_MS} ms`)));
        request.on("error", reject);
        request.end(body);
      }),
    close: () => agent.destroy(),
  };
}

/** The answer's body, whose shape the caller knows. */
export const bodyOf = ({ text }: Answer): unknown => JSON.parse(text);

/** Sends what must work. Throws otherwise, with the answer. */
export async function requireAnswer<T>(client: Client, status: number, request: Request): Promise<T> {
  const answer = await client.send(request);
  if (answer.status === status) return bodyOf(answer) as T;
  throw new Error(`${request.method} ${request.path}: ${answer.status} instead of ${status}: ${answer.text}`);
}
