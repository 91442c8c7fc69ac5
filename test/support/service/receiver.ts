import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";

/** One request that came, whole. */
export interface Received {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly body: Batch;
}

export interface Batch {
  readonly webhook_id: string;
  readonly first_seq: number;
  readonly last_seq: number;
  readonly entries: readonly { readonly seq: number; readonly type: string; readonly [name: string]: unknown }[];
}

export type Answering = (received: Received, response: http.ServerResponse) => void;

/** A receiver of webhooks. */
export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** The numbers that came, in order, with those that came again. */
  readonly seqs: () => readonly number[];
  /** From now on; at first it answers 200. */
  answer(answering: Answering | number): void;
  close(): Promise<void>;
}

export async function startReceiver(host = "127.0.0.1", port = 0): Promise<Receiver> {
  const received: Received[] = [];
  let answering: Answering = (_, response) => void response.end();
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      const one = { headers: request.headers as Received["headers"], text, body: JSON.parse(text || "{}") as Batch };
      received.push(one);
      answering(one, response);
    });
  });
  server.listen(port, host);
  await once(server, "listening");
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}/hook`,
    received,
    seqs: () => received.flatMap(({ body }) => (body.entries ?? []).map(({ seq }) => seq)),
    answer: (given) => {
      answering = typeof given === "function" ? given : (_, response) => void response.writeHead(given).end();
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Numbers in the order in which each came first. */
export const firstOf = (seqs: readonly number[]): readonly number[] => [...new Set(seqs)];
