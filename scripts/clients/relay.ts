import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { buffer, text } from "node:stream/consumers";
import type { Answer } from "../shared/client.js";

/** A request that carried calls, at a moment of the monotonic clock. */
export interface Attempt {
  readonly at: number;
  readonly path: string;
  readonly status: number;
}

export type Relay = Awaited<ReturnType<typeof openRelay>>;

/** They belong to one connection, not to the answer. */
const OF_A_CONNECTION = new Set(["connection", "keep-alive", "transfer-encoding", "content-length", "date"]);

const copied = (headers: http.IncomingHttpHeaders): http.OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_A_CONNECTION.has(name)));

/** Stands before the service, notes what is sent, and can give an answer of the service's to requests that it never sees. */
export async function openRelay(target: string) {
  let refusal: Answer | null = null;
  let left = 0;
  const attempts: Attempt[] = [];

  const forward = async (request: http.IncomingMessage, body: Buffer): Promise<Answer> => {
    const { method, headers, url = "/" } = request;
    const onward = http.request(target + url, { method, headers });
    onward.end(body);
    const [response] = (await once(onward, "response")) as [http.IncomingMessage];
    return { status: response.statusCode!, headers: response.headers, text: await text(response) };
  };
  const answer = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const at = performance.now();
    const body = await buffer(request);
    const carries = request.method === "POST";
    const isRefused = carries && left > 0;
    if (isRefused) left -= 1;
    const given = isRefused ? refusal! : await forward(request, body);
    if (carries) attempts.push({ at, path: request.url ?? "", status: given.status });
    response.writeHead(given.status, copied(given.headers)).end(given.text);
  };
  const server = http.createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    attempts,
    /** The next so many requests with calls get this answer. */
    refuse: (given: Answer, times: number) => {
      refusal = given;
      left = times;
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
