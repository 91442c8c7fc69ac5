import http from "node:http";

/** Calls the service's API. */
export interface Client {
  /** Resolves with the parsed answer of a 2xx, null for a 404; rejects with what the service said for anything else. */
  call<T>(method: "GET" | "POST", path: string, body?: object): Promise<T | null>;
  close(): void;
}

export function openClient(url: string, key: string, connections: number): Client {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  return {
    call: async <T>(method: "GET" | "POST", path: string, body?: object) => {
      const { status, text } = await exchange(agent, new URL(path, url), method, key, body);
      if (status === 404) return null;
      if (status < 200 || status > 299)
        throw new Error(`${method} ${path} answered ${status}: ${text.slice(0, 1_000)}`);
      return JSON.parse(text) as T;
    },
    close: () => agent.destroy(),
  };
}

function exchange(
  agent: http.Agent,
  url: URL,
  method: string,
  key: string,
  body: object | undefined,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const content = body === undefined ? null : Buffer.from(JSON.stringify(body));
    const headers = {
      Authorization: `Bearer ${key}`,
      ...(content !== null && { "Content-Type": "application/json", "Content-Length": content.length }),
    };
    const request = http.request(url, { agent, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") }),
      );
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(content ?? undefined);
  });
}

/** Calls `work` for each item, at most `width` at once. The first failure ends it. */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const workspaceQueue = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      await work(items[index]!, index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, workspaceQueue));
}
