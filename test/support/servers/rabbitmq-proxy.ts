import { createServer, connect, type AddressInfo, type Server, type Socket } from "node:net";
import { once } from "node:events";

/** Stands between a queue and its broker, so that a test can make the broker fall silent or go away. */
export interface BrokerProxy {
  /** The broker's address, by this way. */
  readonly url: string;
  /** Ends every connection there is; new ones go through. */
  cut(): void;
  /** Ends every connection on the client's side alone: the broker keeps what it holds for it until it misses heartbeats. */
  lose(): void;
  /** Passes nothing on in either direction and loses nothing, as a stopped process does. */
  silence(isSilent: boolean): void;
  /** Passes nothing more on of what those connected by now send, as a broker that is short of memory or disk. */
  deafen(): void;
  /** Refuses new connections and cuts the present ones. */
  close(): Promise<void>;
  reopen(): Promise<void>;
}

export async function openBrokerProxy(brokerUrl: string): Promise<BrokerProxy> {
  const broker = new URL(brokerUrl);
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  let isSilent = false;
  let port = 0;

  const join = (client: Socket): void => {
    const upstream = connect(Number(broker.port || 5_672), broker.hostname);
    clients.add(client);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("data", (chunk: Buffer) => to.write(chunk));
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        if (from !== client || clients.delete(client)) to.destroy();
      });
      if (isSilent) from.pause();
    }
  };
  let server: Server;
  const listen = async (): Promise<void> => {
    server = createServer(join).listen(port, "127.0.0.1");
    await once(server, "listening");
    port = (server.address() as AddressInfo).port;
  };
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  await listen();
  const url = new URL(brokerUrl);
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.toString(),
    cut,
    lose: () => {
      for (const client of clients) {
        clients.delete(client);
        client.destroy();
      }
    },
    silence: (silent) => {
      isSilent = silent;
      for (const socket of sockets)
        if (silent) socket.pause();
        else socket.resume();
    },
    deafen: () => {
      for (const client of clients) client.pause();
    },
    close: async () => {
      server.close();
      cut();
      await once(server, "close");
    },
    reopen: listen,
  };
}
