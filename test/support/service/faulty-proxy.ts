import http from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** What becomes of a request: `cut` is lost on the way to the service, `lost` is its answer on the way back. */
export type Fate = "pass" | "cut" | "lost" | { readonly status: number; readonly headers?: http.OutgoingHttpHeaders };

export interface Seen {
  readonly at: number;
  readonly target: string;
  readonly text: string;
}

/** Stands between a client and the service at the URL, and does to each request what the test says; `seen` holds all that came. */
export async function startFaultyProxy(service: string, fateOf: (n: number, target: string) => Fate) {
  const seen: Seen[] = [];
  const handle = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const body = await buffer(request);
    const target = request.url ?? "";
    const fate = fateOf(seen.length, target);
    seen.push({ at: Date.now(), target, text: body.toString() });
    if (fate === "cut") return void request.socket.destroy();
    if (typeof fate === "object") return void response.writeHead(fate.status, fate.headers).end("{}");
    const { authorization = "" } = request.headers;
    const type = request.headers["content-type"];
    const answer = await fetch(service + target, {
      method: request.method!,
      headers: {
        Authorization: authorization,
        "Accept-Encoding": "identity",
        ...(type !== undefined && { "Content-Type": type }),
      },
      ...(body.length > 0 && { body }),
    });
    const text = await answer.text();
    if (fate === "lost") return void request.socket.destroy();
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(text);
  };
  const server = http.createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close: (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
