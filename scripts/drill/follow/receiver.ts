import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** An entry of a feed. */
export interface Entry {
  readonly seq: number;
  readonly type: string;
  readonly audience_id?: string;
  readonly profile_id?: string;
  readonly at: string;
}

/** What one webhook told. */
export interface Heard {
  /** By number: 1, 2, 3, ... */
  readonly entries: Entry[];
  /** Entries that came again. */
  again: number;
  /** What is not as it was promised. */
  readonly wrong: string[];
}

interface Batch {
  readonly webhook_id: string;
  readonly entries: readonly Entry[];
}

/** One batch in so many is refused: it has to come again. */
const REFUSED = 40;

/** Keeps what comes, by webhook: each number at least once, and in order. */
export async function startReceiver() {
  const heard = new Map<string, Heard>();
  let batches = 0;
  const take = ({ webhook_id: webhookId, entries }: Batch): void => {
    const own = heard.get(webhookId) ?? { entries: [], again: 0, wrong: [] };
    heard.set(webhookId, own);
    for (const entry of entries) {
      const known = own.entries[entry.seq - 1];
      if (entry.seq === own.entries.length + 1) own.entries.push(entry);
      else if (known === undefined) own.wrong.push(`number ${entry.seq} came when ${own.entries.length} had come`);
      else if (JSON.stringify(known) !== JSON.stringify(entry))
        own.wrong.push(`number ${entry.seq} came as another one`);
      else own.again += 1;
    }
  };
  const answer = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const batch = (await json(request)) as Batch;
    take(batch);
    batches += 1;
    response.writeHead(batches % REFUSED === 0 ? 500 : 204).end();
  };
  const server = http.createServer((request, response) => {
    // Who posts was killed.
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    heard: (webhookId: string): Heard => heard.get(webhookId) ?? { entries: [], again: 0, wrong: [] },
    close: async (): Promise<void> => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;
