import net, { type AddressInfo } from "node:net";

/** A way to a server that can be cut. */
export interface Cuttable {
  /** The server's own address, with the host and port of this way. */
  readonly url: string;
  /** Ends all connections and takes no new one. */
  readonly cut: () => void;
  readonly restore: () => void;
  readonly close: () => Promise<void>;
}

export async function openCuttable(serverUrl: string): Promise<Cuttable> {
  const target = new URL(serverUrl);
  const sockets = new Set<net.Socket>();
  let isCut = false;
  const way = net.createServer((inner) => {
    if (isCut) {
      inner.destroy();
      return;
    }
    const outer = net.connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(from);
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => way.listen(0, "127.0.0.1", resolve));
  const url = new URL(serverUrl);
  url.hostname = "127.0.0.1";
  url.port = String((way.address() as AddressInfo).port);
  const endAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.toString(),
    cut: () => {
      isCut = true;
      endAll();
    },
    restore: () => {
      isCut = false;
    },
    close: () => {
      endAll();
      return new Promise((resolve) => way.close(() => resolve()));
    },
  };
}
